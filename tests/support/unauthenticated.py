"""Clients of a session's link that show no token, or the wrong one, or show it and lie."""

import contextlib
import socket
import threading
from collections.abc import Iterator

from framelane.session.handshake import client_proof
from framelane.session.link_key import LinkKey
from framelane.session.session_link import Challenge, Hello, Role

Address = tuple[str, int]


def connected(address: Address) -> tuple[socket.socket, str]:
    """A connection, and the nonce that the receiver asks."""
    raw = socket.create_connection(address, 5)
    return raw, Challenge.unpack(raw.recv(1 << 12)).nonce


def hello(key: LinkKey, asked: str, source: int | None = 0, role: Role = "source", name: str = "") -> bytes:
    """What somebody with that key answers."""
    mine = Hello(role=role, source=source, name=name, nonce="0" * 64)
    return mine.model_copy(update={"proof": client_proof(key.token, asked, mine)}).pack()


def entered(address: Address, key: LinkKey, source: int, name: str = "") -> socket.socket:
    """A connection of a source, or of its relay `name`, that has shown the token and now says what it likes."""
    raw, asked = connected(address)
    raw.sendall(hello(key, asked, source, "relay" if name else "source", name))
    assert raw.recv(1 << 12).startswith(b'{"proof"')
    return raw


def heard(raw: socket.socket) -> bytes:
    """All that the receiver says until it closes the connection."""
    said = b""
    with contextlib.suppress(ConnectionResetError):
        while data := raw.recv(1 << 16):
            said += data
    return said


@contextlib.contextmanager
def flood(address: Address, per_s: float | None = None) -> Iterator[list[int]]:
    """Within the block clients connect, as fast as they can or `per_s`, and say nothing; how many have."""
    stop, count = threading.Event(), [0]

    def connect() -> None:
        while not stop.wait(0 if per_s is None else 1 / per_s):
            with contextlib.suppress(OSError), socket.create_connection(address, 0.2) as raw:
                raw.sendall(b"x")
                count[0] += 1

    threads = [threading.Thread(target=connect) for _ in range(2 if per_s is None else 1)]
    for thread in threads:
        thread.start()
    try:
        yield count
    finally:
        stop.set()
        for thread in threads:
            thread.join()
