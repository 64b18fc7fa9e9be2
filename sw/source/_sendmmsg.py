"""Many packets to the kernel in one call (sendmmsg(2)), for which Python has no function."""

import ctypes
import os
import socket
from typing import Any

import numpy as np
from numpy.typing import NDArray

from framelane.models.roce_tx.packet_batch import Batch

_MOST = 1024
"""UIO_MAXIOV: of more, the kernel takes these."""


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
    _fields_ = (("header", _MsgHdr), ("sent_bytes", ctypes.c_uint))


_VECTORS, _MESSAGES = np.dtype(_IoVec), np.dtype(_MMsgHdr)
_library = ctypes.CDLL(None, use_errno=True)
_library.sendmmsg.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_uint, ctypes.c_int)


class Messages:
    """The packets of `batch` without their first `skipped` bytes, to the socket address `target` (none: as bound).

    Keeps the batch alive, whose bytes are read when they are sent.
    """

    def __init__(self, batch: Batch, skipped: int, target: bytes) -> None:
        self._batch = batch
        self._target = np.frombuffer(target, np.uint8)
        self._vectors: NDArray[Any] = np.empty(len(batch), _VECTORS)
        cut = np.minimum(batch.sizes, skipped)
        self._vectors["base"] = batch.starts + cut + batch.memory.ctypes.data
        self._vectors["length"] = batch.sizes - cut
        self._messages: NDArray[Any] = np.zeros(len(batch), _MESSAGES)
        headers = self._messages["header"]
        headers["vectors"] = self._vectors.ctypes.data + np.arange(len(batch), dtype=np.uint64) * _VECTORS.itemsize
        headers["n_vectors"] = 1
        if target:
            headers["name"], headers["name_length"] = self._target.ctypes.data, len(target)

    def length(self, index: int) -> int:
        """Bytes of a packet as it is sent."""
        return int(self._vectors["length"][index])

    def send(self, descriptor: int, first: int) -> int:
        """Send from packet `first` on, without waiting; how many the kernel has taken, 1 or more.

        OSError where it takes none.
        """
        at = self._messages.ctypes.data + first * _MESSAGES.itemsize
        taken = int(_library.sendmmsg(descriptor, at, min(len(self._messages) - first, _MOST), socket.MSG_DONTWAIT))
        if taken < 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))
        return taken

    def __len__(self) -> int:
        return len(self._messages)
