"""A consumer of stream2 that shares no code with ours: ZeroMQ, cbor2, and DECTRIS' own decompression."""

import contextlib
import re
from collections.abc import Iterator
from typing import Any

import cbor2
import numpy as np
import zmq
from dectris.compression import decompress
from numpy.typing import NDArray

PATIENCE_MS = 20_000


def decoded(message: bytes) -> dict[str, Any]:
    """A message, its arrays as numpy has them; the key `type` is the first one."""
    found: dict[str, Any] = cbor2.loads(message, tag_hook=_tagged)
    assert next(iter(found)) == "type"
    return found


def _tagged(tag: Any, immutable: bool) -> Any:
    if tag.tag == 56500:
        algorithm, size, packed = tag.value
        return decompress(packed, algorithm, elem_size=size)
    if 64 <= tag.tag <= 87:  # RFC 8746, 2.1: 0b010 f s e ll
        is_float, signed, little, length = tag.tag >> 4 & 1, tag.tag >> 3 & 1, tag.tag >> 2 & 1, tag.tag & 3
        kind = "f" if is_float else "i" if signed else "u"
        return np.frombuffer(tag.value, f"{'<' if little else '>'}{kind}{1 << length + is_float}")
    if tag.tag == 40:
        shape, values = tag.value
        return values.reshape(shape)
    return tag


class Consumer:
    """Connected to the address of a stream."""

    def __init__(self, socket: Any) -> None:
        self._socket = socket

    def next(self, wait_ms: int = PATIENCE_MS) -> dict[str, Any]:
        """The next message."""
        assert self._socket.poll(wait_ms), "no message comes"
        data = self._socket.recv()
        assert not self._socket.get(zmq.RCVMORE), "a message is one part"
        return decoded(data)

    def all(self) -> list[dict[str, Any]]:
        """All messages up to the end."""
        found = [self.next()]
        while found[-1]["type"] != "end":
            found.append(self.next())
        return found


@contextlib.contextmanager
def consumer(address: str, kind: str = "push", **options: int) -> Iterator[Consumer]:
    with zmq.Context() as context, context.socket(zmq.PULL if kind == "push" else zmq.SUB) as socket:
        for name, value in options.items():
            socket.set(getattr(zmq, name), value)
        if kind == "pub":
            socket.subscribe(b"")
        socket.connect(re.sub(r"//(\*|0\.0\.0\.0)", "//127.0.0.1", address))
        yield Consumer(socket)
        socket.close(0)


def as_uint16(photons: NDArray[np.int16]) -> NDArray[np.uint16]:
    """What docs/reference/files.md says of such pixels: holes, masked and invalid ones 65535, saturated 65534."""
    out = np.maximum(photons, 0).astype(np.uint16)
    out[photons < -32700] = 65535
    out[photons > 32700] = 65534
    return out
