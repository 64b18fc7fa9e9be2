"""Lines of the session's link, and documents, that are almost right: the same random numbers, the same bytes."""

import json
import random
from collections.abc import Callable
from typing import Any

_NUMBERS = (0, 1, -1, 2, 255, 256, 1 << 31, 1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, 1 << 64, 10**400, -(10**30))
_VALUES: tuple[Any, ...] = (
    *_NUMBERS, None, True, False, 0.5, 1e308, "", "0", "\0", "\ud800", "é" * 50, [], [[]], {}, {"": 0}, [0] * 50,
)  # fmt: skip
_PIECES = (
    b"\n", b"\r\n", b"\0", b"\xff\xfe", b"\xc3", b"{", b"}", b"[", b"]", b'"', b",", b":", b"\\u0000", b"NaN", b"-",
    b"1e999", b"true", b"[" * 3000, b'{"a":' * 500, b"9" * 5000, b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00",
)  # fmt: skip
_TOML_VALUES = (
    *(str(number).encode() for number in _NUMBERS), b"true", b"0.5", b"1e400", b"nan", b"inf", b'""', b'"0"', b"''",
    b'"\\u0000"', b"[]", b"[[]]", b"{}", b"{ip = 1}", b"1979-05-27", b"0x10", b"'''", b'"' + b"x" * 5000 + b'"', b"1_0",
)  # fmt: skip
_TOML_KEYS = (b"ROWS", b"mtus", b"row", b"sources", b'"\\u001b[31m"', b'"' + b"k" * 9000 + b'"', b"source.ip")


def mutated(chance: random.Random, line: bytes) -> bytes:
    """One to three changes of a line, which may make several of it, or none; it ends with a newline, mostly."""
    for _ in range(chance.randint(1, 3)):
        line = chance.choice(_MUTATIONS)(chance, line)
    return line if chance.random() < 0.1 else line + b"\n"


def mutated_toml(chance: random.Random, text: bytes) -> bytes:
    """One to three changes of a document in TOML: of a line, or of bytes anywhere."""
    for _ in range(chance.randint(1, 3)):
        text = chance.choice((_toml, _toml, _bytes, _piece, _cut))(chance, text)
    return text


def _toml(chance: random.Random, text: bytes) -> bytes:
    """A line with another value or key, twice, or not at all."""
    lines = text.split(b"\n")
    at = chance.randrange(len(lines))
    key, equals, value = lines[at].partition(b" = ")
    lines[at : at + 1] = chance.choice(
        [
            [key + b" = " + chance.choice(_TOML_VALUES)],
            [chance.choice(_TOML_KEYS) + b" = " + (value or b"1")],
            [lines[at]] * 2,
            [],
            [b"[" * chance.randint(1, 2) + key + b"]" * chance.randint(1, 2)],
            [key + b".x" + equals + value],
        ]
    )
    return b"\n".join(lines)


def _value(chance: random.Random, line: bytes) -> bytes:
    """Another value in a field, or in one of a field's."""
    try:
        document = json.loads(line)
        key = chance.choice(list(document))
        inner = document[key]
        if isinstance(inner, dict) and inner and chance.random() < 0.8:
            inner[chance.choice(list(inner))] = chance.choice(_VALUES)
        else:
            document[key] = chance.choice(_VALUES)
        return json.dumps(document).encode()
    except (ValueError, IndexError, TypeError, RecursionError):
        return line


def _number(chance: random.Random, line: bytes) -> bytes:
    """A report or a credit with numbers that may all be right for themselves."""
    numbers = [chance.choice((chance.randrange(8), chance.randrange(1000), chance.choice(_NUMBERS))) for _ in range(3)]
    return json.dumps(
        chance.choice(
            [
                {"source": numbers[0], "offered": numbers[1], "dropped": numbers[2], "ended": chance.random() < 0.3},
                {"window_end": numbers[0]},
            ]
        )
    ).encode()


def _key(chance: random.Random, line: bytes) -> bytes:
    """A field that goes, comes, or is another one."""
    try:
        document = json.loads(line)
        key = chance.choice(list(document))
        value = document.pop(key)
        if chance.random() < 0.7:
            document[chance.choice(["", key.upper(), key + "s", "x" * 100, "source"])] = value
        return json.dumps(document).encode()
    except (ValueError, IndexError, TypeError, AttributeError, RecursionError):
        return line


def _bytes(chance: random.Random, line: bytes) -> bytes:
    at, gone = chance.randrange(len(line) + 1), chance.randrange(4)
    new = bytes(chance.randrange(256) for _ in range(chance.randrange(4)))
    return line[:at] + new + line[at + gone :]


def _piece(chance: random.Random, line: bytes) -> bytes:
    at = chance.randrange(len(line) + 1)
    return line[:at] + chance.choice(_PIECES) + line[at:]


def _cut(chance: random.Random, line: bytes) -> bytes:
    return line[: chance.randrange(len(line) + 1)]


def _again(chance: random.Random, line: bytes) -> bytes:
    return (line + b"\n") * chance.randint(2, 5)


def _long(chance: random.Random, line: bytes) -> bytes:
    return line + b" " * chance.choice((1, 1000, 1 << 16, 1 << 17)) if chance.random() < 0.05 else line


_MUTATIONS: tuple[Callable[[random.Random, bytes], bytes], ...] = (
    _value, _number, _key, _bytes, _piece, _cut, _again, _long,
)  # fmt: skip
