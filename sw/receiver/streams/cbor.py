"""CBOR (RFC 8949), as much of it as messages need: definite lengths, shortest heads, floats of 64 bits."""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_UNSIGNED, _NEGATIVE, _BYTES, _TEXT, _ARRAY, _MAP, _TAG = range(7)
_SIMPLE = {False: b"\xf4", True: b"\xf5", None: b"\xf6"}
_FLOAT64 = 0xFB


@dataclass(frozen=True, slots=True)
class Tag:
    """A value with a tag of the registry (iana.org/assignments/cbor-tags)."""

    number: int
    value: Any


def encode(value: Any) -> bytes:
    """A value of None, bool, int, float, str, bytes, `Tag`, and lists and mappings of these. TypeError for another."""
    parts: list[bytes | memoryview] = []
    _add(value, parts)
    return b"".join(parts)


def _add(value: Any, parts: list[bytes | memoryview]) -> None:
    if value is None or isinstance(value, bool):
        parts.append(_SIMPLE[value])
    elif isinstance(value, int):
        parts.append(_head(_UNSIGNED, value) if value >= 0 else _head(_NEGATIVE, -1 - value))
    elif isinstance(value, float):
        parts.append(struct.pack(">Bd", _FLOAT64, value))
    elif isinstance(value, str):
        text = value.encode()
        parts += (_head(_TEXT, len(text)), text)
    elif isinstance(value, bytes | memoryview):
        parts += (_head(_BYTES, len(value)), value)
    elif isinstance(value, Tag):
        parts.append(_head(_TAG, value.number))
        _add(value.value, parts)
    elif isinstance(value, Mapping):
        parts.append(_head(_MAP, len(value)))
        for item in value.items():
            for each in item:
                _add(each, parts)
    elif isinstance(value, Sequence):
        parts.append(_head(_ARRAY, len(value)))
        for each in value:
            _add(each, parts)
    else:
        raise TypeError(f"a {type(value).__name__} has no form in a message")


def _head(kind: int, argument: int) -> bytes:
    """Section 3 of RFC 8949: the major type in three bits, and its argument in as few bytes as hold it."""
    if argument < 24:
        return bytes([kind << 5 | argument])
    for more, code in enumerate("BHIQ"):
        if argument < 1 << (8 << more):
            return struct.pack(f">B{code}", kind << 5 | 24 + more, argument)
    raise TypeError(f"{argument} has more than 64 bits")
