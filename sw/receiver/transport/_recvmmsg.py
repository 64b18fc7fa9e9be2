"""Many datagrams from the kernel in one call (recvmmsg(2)), for which Python has no function."""

import ctypes
import errno
import os
import socket
from typing import Any

import numpy as np
from numpy.typing import NDArray

PEER_BYTES = 16
"""Bytes of a sockaddr_in (ip(7)): family, port at 2, address at 4."""


class _IoVec(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


class _MsgHdr(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_void_p),
        ("name_length", ctypes.c_uint),
        ("vectors", ctypes.c_void_p),
        ("n_vectors", ctypes.c_size_t),
        ("control", ctypes.c_void_p),
        ("control_length", ctypes.c_size_t),
        ("flags", ctypes.c_int),
    )


class _MMsgHdr(ctypes.Structure):
    _fields_ = (("header", _MsgHdr), ("bytes", ctypes.c_uint))


_library = ctypes.CDLL(None, use_errno=True)
_library.recvmmsg.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_uint, ctypes.c_int, ctypes.c_void_p)


class Datagrams:
    """Where datagrams go: number n to `memory` (uint8) from `starts[n]` (int64) on, at most `size` bytes.

    `sizes` and `peers` (n, `PEER_BYTES`) are of those that `receive` has brought.
    """

    def __init__(self, memory: NDArray[np.uint8], starts: NDArray[np.int64], size: int) -> None:
        count = len(starts)
        self.peers = np.zeros((count, PEER_BYTES), np.uint8)
        self._memory = memory
        self._vectors: NDArray[Any] = np.empty(count, np.dtype(_IoVec))
        self._vectors["base"], self._vectors["length"] = _addresses(memory, starts), size
        self._messages: NDArray[Any] = np.zeros(count, np.dtype(_MMsgHdr))
        headers, numbers = self._messages["header"], np.arange(count)
        headers["name"], headers["name_length"] = _addresses(self.peers, numbers * PEER_BYTES), PEER_BYTES
        headers["vectors"] = _addresses(self._vectors, numbers * self._vectors.itemsize)
        headers["n_vectors"] = 1

    @property
    def address(self) -> int:
        """Where the kernel's description of them is, for a call of recvmmsg(2) by others."""
        return int(self._messages.ctypes.data)

    @property
    def received(self) -> NDArray[np.uint32]:
        """Bytes of every datagram, as the kernel writes them: a view."""
        received: NDArray[np.uint32] = self._messages["bytes"]
        return received

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Bytes of every datagram."""
        return self._messages["bytes"].astype(np.int64)

    def receive(self, sock: socket.socket) -> int:
        """How many have come; nothing is waited for. OSError as `socket.recv`."""
        came = int(_library.recvmmsg(sock.fileno(), self.address, len(self._messages), socket.MSG_DONTWAIT, None))
        if came >= 0:
            return came
        code = ctypes.get_errno()
        if code in (errno.EAGAIN, errno.EINTR):
            return 0
        raise OSError(code, os.strerror(code))


def _addresses(array: NDArray[Any], offsets: NDArray[np.int64]) -> NDArray[np.uint64]:
    return offsets.astype(np.uint64) + np.uint64(array.ctypes.data)
