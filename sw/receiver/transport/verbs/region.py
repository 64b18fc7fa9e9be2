"""One memory region, exactly the ring: registered for RDMA WRITE, and for nothing else.

InfiniBand vol. 1, 10.6 (memory management). pyverbs registers host memory under its own address only, which others can
guess (ReDMArk, USENIX Security 2021); the kernel registers it under any (rdma/ib_user_verbs.h, `hca_va`), and that is
what libibverbs' `ibv_reg_mr_iova` calls too.
"""

import contextlib
import errno
import os
import struct
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import TransportError
from framelane.receiver.transport.verbs.library import Pyverbs
from framelane.session.session_plan import random_base

_REG_MR, _DEREG_MR = 9, 13
"""IB_USER_VERBS_CMD_*. A command is written to the device's file; its answer comes to an address that it names."""
_HEADER = struct.Struct("=IHH")
"""Command, and words of 32 bits of what is written and of the answer."""
_REG_MR_COMMAND = struct.Struct("=QQQQII")
"""Address of the answer, start, length, address on the wire, handle of the PD, access."""
_REG_MR_ANSWER = struct.Struct("=III")
"""Handle, lkey, rkey."""
_PAGE = 2 << 20
"""The two addresses of a byte agree modulo this, so that the NIC can use huge pages."""

ADVICE = {
    errno.ENOMEM: "raise the limit of locked memory (`ulimit -l`), or give fewer slots",
    errno.EPERM: "the process may not lock memory: run it with a higher `ulimit -l`, or with CAP_IPC_LOCK",
    errno.EFAULT: "the memory is not of this process any more",
}


class Region(Protocol):
    """The registered ring: `base` is the virtual address on the wire of its first byte."""

    base: int
    rkey: int
    lkey: int

    def flush(self) -> None:
        """Make all that has been placed so far visible to those who read the memory."""

    def close(self) -> None:
        """Deregister: from now on no packet is placed. May be called twice."""


class HostRegion:
    """Host memory under a random 64-bit address, by the kernel's own command on the open device `fd`."""

    def __init__(self, fd: int, pd_handle: int, memory: NDArray[np.uint8], access: int) -> None:
        """OSError where the driver does not do that."""
        self._fd = fd
        self._memory: NDArray[np.uint8] | None = memory
        start, size = memory.ctypes.data, memory.nbytes
        self.base = random_base(size + _PAGE) // _PAGE * _PAGE + start % _PAGE
        answer = np.zeros(_REG_MR_ANSWER.size, np.uint8)
        body = _REG_MR_COMMAND.pack(answer.ctypes.data, start, size, self.base, pd_handle, access)
        self._command(_REG_MR, body, answer.nbytes)
        self._handle, self.lkey, self.rkey = _REG_MR_ANSWER.unpack(answer.tobytes())

    def flush(self) -> None:
        """See `Region`: a completion says so already."""

    def close(self) -> None:
        """See `Region`."""
        if self._memory is not None:
            try:
                self._command(_DEREG_MR, struct.pack("=I", self._handle), 0)
            except OSError as error:
                raise TransportError(f"cannot deregister the ring: {error.strerror}: end this process") from error
            self._memory = None

    def _command(self, number: int, body: bytes, answer_bytes: int) -> None:
        os.write(self._fd, _HEADER.pack(number, (_HEADER.size + len(body)) // 4, answer_bytes // 4) + body)


class LibraryRegion:
    """Memory that pyverbs has registered, under the address that the library gives it."""

    def __init__(self, mr: Any, base: int, keep: object) -> None:
        self._mr, self._keep = mr, keep
        self.base, self.lkey, self.rkey = base, int(mr.lkey), int(mr.rkey)

    def flush(self) -> None:
        """See `Region`: a completion says so already."""

    def close(self) -> None:
        """See `Region`."""
        self._mr.close()
        self._keep = None


def register(library: Pyverbs, context: Any, pd: Any, memory: NDArray[np.uint8]) -> Region:
    """Register host memory: under a random address, or, where the driver refuses that, under its own.

    TransportError where it cannot be registered at all.
    """
    if not (memory.flags.c_contiguous and memory.flags.writeable):
        raise TransportError("this memory cannot be registered: it is read-only, or has gaps")
    access = access_flags(library)
    with contextlib.suppress(OSError):
        return HostRegion(context.cmd_fd, pd.handle, memory, access)
    with library.explaining(f"register a ring of {memory.nbytes} bytes", ADVICE):
        mr = library.mr.MR(pd, memory.nbytes, access, address=memory.ctypes.data)
    return LibraryRegion(mr, memory.ctypes.data, memory)


def access_flags(library: Pyverbs) -> int:
    """What may be done to the ring: RDMA WRITE, for which the specification also wants local write (10.6.3.1)."""
    return int(library.enums.IBV_ACCESS_LOCAL_WRITE | library.enums.IBV_ACCESS_REMOTE_WRITE)
