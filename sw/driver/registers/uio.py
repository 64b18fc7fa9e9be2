"""The interrupt of a UIO device (the kernel's Documentation/driver-api/uio-howto.rst: /dev/uioX, irqcontrol)."""

import errno
import os
import select
import sys
import time
from pathlib import Path

from framelane.base.errors import BoardError
from framelane.driver.registers.mmap_registers import ROOT, MmapRegisters, open_uio

_COUNT_BYTES = 4


class UioInterrupt:
    """The interrupt of the UIO device `path`, open until `close`. BoardError where there is none."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError as error:
            raise BoardError(f"cannot open {path}: {os.strerror(error.errno or 0)}") from error

    def wait(self, timeout_s: float) -> bool:
        """Allow the interrupt again, and wait for it, so long at most; whether it came, now or since the last call.

        The driver masks it each time that it comes: a level that stands comes again with the next call.
        """
        deadline = time.monotonic() + timeout_s
        try:
            self._allow()
            while (left := deadline - time.monotonic()) > 0:
                if select.select([self._descriptor], [], [], left)[0]:
                    return len(os.read(self._descriptor, _COUNT_BYTES)) == _COUNT_BYTES
        except BlockingIOError:
            return False
        except OSError as error:
            raise BoardError(
                f"no interrupt comes from {self._path}: {os.strerror(error.errno or 0)}: has its driver one?"
            ) from error
        return False

    def _allow(self) -> None:
        try:
            os.write(self._descriptor, (1).to_bytes(_COUNT_BYTES, sys.byteorder))
        except OSError as error:
            if error.errno != errno.ENOSYS:  # a driver that never masks it
                raise

    def close(self) -> None:
        """Let go of it. May be called twice."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


class UioRegisters:
    """The registers of a UIO device and its interrupt; see `Registers`."""

    def __init__(self, registers: MmapRegisters, interrupt: UioInterrupt) -> None:
        self._registers, self._interrupt = registers, interrupt

    def read(self, offset: int) -> int:
        """See `Registers`."""
        return self._registers.read(offset)

    def write(self, offset: int, value: int) -> None:
        """See `Registers`."""
        self._registers.write(offset, value)

    def wait_interrupt(self, timeout_s: float) -> bool:
        """See `Interruptible`."""
        return self._interrupt.wait(timeout_s)

    def close(self) -> None:
        """See `Registers`."""
        self._interrupt.close()
        self._registers.close()


def open_uio_device(name: str, root: Path = ROOT) -> UioRegisters:
    """Map 0 of the UIO device `name` ("uio0"), and its interrupt. BoardError where that cannot be had."""
    registers = open_uio(name, root)
    try:
        return UioRegisters(registers, UioInterrupt(root / "dev" / name))
    except BoardError:
        registers.close()
        raise
