"""A PCI device bound to framelane's kernel module (`kernel`), for memory that VFIO cannot map: a GPU's."""

import contextlib
import ctypes
import errno
import fcntl
import mmap
import os
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import BoardError, ConfigError
from framelane.driver.registers.mmap_registers import MappedRegisters
from framelane.driver.vfio.event_file import EventFile

_VERSION = 1
_BAR_SHIFT = 40
_BARS = 6
_U32, _U64 = ctypes.c_uint32, ctypes.c_uint64


class _Info(ctypes.Structure):
    """struct framelane_pcie_info."""

    _fields_ = (("version", _U32), ("translated", _U32), ("bar_bytes", _U64 * _BARS))


class _Map(ctypes.Structure):
    """struct framelane_pcie_map, the memory of the program in its last two."""

    _fields_ = (
        ("page_log2", _U32), ("count", _U32), ("addresses", _U64), ("handle", _U64), ("dmabuf", ctypes.c_int32),
        ("reserved", _U32), ("start", _U64), ("bytes", _U64),
    )  # fmt: skip


def _request(direction: int, number: int, size: int) -> int:
    """asm-generic/ioctl.h; direction 1: the program writes, 2: it reads."""
    return direction << 30 | size << 16 | ord("F") << 8 | number


INFO = _request(2, 0xE0, ctypes.sizeof(_Info))
MAP = _request(3, 0xE1, ctypes.sizeof(_Map))
UNMAP = _request(1, 0xE2, 8)
INTERRUPT = _request(1, 0xE3, 4)

_ADVICE = {
    errno.ERANGE: "its pages lie scattered: give smaller ones (page_log2)",
    errno.ENOMEM: "raise the limit of locked memory (`ulimit -l`), or give fewer slots",
    errno.EINVAL: "give whole pages, as many as the memory has",
    errno.EBADF: "this is not a dma-buf",
}


class ModuleDevice:
    """The PCI device at `address` ("0000:03:00.0"), open until `close`; BoardError, with what to do, where it is not.

    It may write by itself from now on, to what is mapped alone where an IOMMU translates (`translated`), anywhere
    where none does.
    """

    def __init__(self, address: str, root: Path = Path("/")) -> None:
        self.address = address
        self._events: EventFile | None = None
        path = root / f"dev/framelane_pcie-{address}"
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except OSError as error:
            advice = {
                errno.ENOENT: "load the module, and bind the card to it (kernel/README.md)",
                errno.EBUSY: "another program has it: end that",
            }.get(error.errno or 0, "give your user access to it")
            raise BoardError(f"cannot open {path}: {os.strerror(error.errno or 0)}: {advice}") from error
        try:
            info = _Info()
            fcntl.ioctl(self._file, INFO, info)
        except OSError as error:
            os.close(self._file)
            raise BoardError(f"{path} is not a file of framelane's module: {os.strerror(error.errno or 0)}") from error
        if info.version != _VERSION:
            os.close(self._file)
            raise BoardError(
                f"the kernel module is of version {info.version}, this software knows {_VERSION}: build it"
            )
        self.translated = bool(info.translated)
        self._bars = list(info.bar_bytes)

    def registers(self, bar: int = 0) -> MappedRegisters:
        """The memory of BAR `bar` as registers. BoardError where it has none."""
        size = self._bars[bar] if 0 <= bar < _BARS else 0
        if not size:
            raise BoardError(f"PCI device {self.address} has no memory BAR {bar}: see `lspci -v`")
        mapped = mmap.mmap(self._file, size, offset=bar << _BAR_SHIFT)
        return MappedRegisters(mapped, f"PCI device {self.address}", size)

    def map_memory(self, memory: NDArray[np.uint8], page_log2: int) -> tuple[int, list[int]]:
        """Let the device write `memory` (uint8, C-contiguous): a handle for `unmap`, its address of each page.

        BoardError, with what to do, where the kernel refuses.
        """
        if not (memory.flags.c_contiguous and memory.flags.writeable):
            raise ConfigError("this memory cannot be mapped: it is read-only, or has gaps")
        asked = _Map(dmabuf=-1, start=memory.ctypes.data, bytes=memory.nbytes)
        return self._map(asked, memory.nbytes >> page_log2, page_log2, f"{memory.nbytes} bytes")

    def map_dmabuf(self, dmabuf: int, size: int, page_log2: int = 16) -> tuple[int, list[int]]:
        """The same of the first `size` bytes of a dma-buf, of a GPU or another device; it stays open until `unmap`."""
        return self._map(_Map(dmabuf=dmabuf), size >> page_log2, page_log2, f"{size} bytes of a dma-buf")

    def _map(self, asked: _Map, count: int, page_log2: int, what: str) -> tuple[int, list[int]]:
        addresses = np.zeros(max(1, count), np.uint64)
        asked.page_log2, asked.count, asked.addresses = page_log2, count, addresses.ctypes.data
        try:
            fcntl.ioctl(self._file, MAP, asked)
        except OSError as error:
            reason = os.strerror(error.errno or 0)
            advice = f": {_ADVICE[error.errno]}" if error.errno in _ADVICE else ""
            raise BoardError(
                f"{what} cannot be mapped for PCI device {self.address} in pages of {1 << page_log2} bytes: "
                f"{reason}{advice}"
            ) from error
        return int(asked.handle), addresses.tolist()

    def unmap(self, handle: int) -> None:
        """Take that memory away from it."""
        fcntl.ioctl(self._file, UNMAP, _U64(handle))

    def interrupt(self) -> EventFile:
        """Its interrupt, MSI-X or MSI, closed with the device. BoardError where it has none."""
        events = EventFile()
        try:
            fcntl.ioctl(self._file, INTERRUPT, ctypes.c_int32(events.descriptor))
        except OSError as error:
            events.close()
            raise BoardError(
                f"PCI device {self.address} gives no interrupt: {os.strerror(error.errno or 0)}"
            ) from error
        self._events = events
        return events

    def close(self) -> None:
        """Let it write no more, then let go of it, and of what was mapped. May be called twice."""
        if self._events is not None:
            with contextlib.suppress(OSError):  # the device may be gone
                fcntl.ioctl(self._file, INTERRUPT, ctypes.c_int32(-1))
            self._events.close()
            self._events = None
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
