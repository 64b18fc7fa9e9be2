"""A PCI device behind VFIO: its BARs as registers, its configuration space, its interrupt."""

import contextlib
import errno
import fcntl
import mmap
import os
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import BoardError
from framelane.driver.registers.mmap_registers import MappedRegisters
from framelane.driver.vfio import _abi
from framelane.driver.vfio.container import Container
from framelane.driver.vfio.event_file import EventFile
from framelane.driver.vfio.group import ROOT, find_group

_COMMAND = 4
_MEMORY_SPACE, _BUS_MASTER = 2, 4
"""PCI Local Bus Specification 3.0, 6.2.2: the device answers accesses to its memory BARs, and may write by itself."""
_INTERRUPTS = (_abi.VFIO_PCI_MSIX_IRQ_INDEX, _abi.VFIO_PCI_MSI_IRQ_INDEX)
"""What is asked for, the best first."""


class VfioInterrupt:
    """The first vector of a device's MSI-X, or MSI, as an event file; open until `close`."""

    def __init__(self, device: int, index: int) -> None:
        self._device, self._index, self._events = device, index, EventFile()
        request = _abi.IrqSet(
            flags=_abi.VFIO_IRQ_SET_DATA_EVENTFD | _abi.VFIO_IRQ_SET_ACTION_TRIGGER,
            index=index,
            count=1,
            fd=self._events.descriptor,
        )
        try:
            _abi.call(device, _abi.VFIO_DEVICE_SET_IRQS, request)
        except OSError:
            self._events.close()
            raise

    def wait(self, timeout_s: float) -> bool:
        """Whether one has come since the last call, within that time."""
        return self._events.wait(timeout_s)

    def close(self) -> None:
        """Let go of it. May be called twice."""
        if self._events.descriptor < 0:
            return
        off = _abi.IrqSet(
            flags=_abi.VFIO_IRQ_SET_DATA_NONE | _abi.VFIO_IRQ_SET_ACTION_TRIGGER, index=self._index, count=0
        )
        with contextlib.suppress(OSError):  # the device may be gone
            _abi.call(self._device, _abi.VFIO_DEVICE_SET_IRQS, off)
        self._events.close()


class VfioDevice:
    """The PCI device at `address` ("0000:03:00.0"), open until `close`, with an address space of its own.

    It is reset when it is opened, where it can be, and may write to what is mapped by `map` alone. BoardError, with
    what to do, where it cannot be had.
    """

    def __init__(self, address: str, root: Path = ROOT) -> None:
        self.address = address
        self._container = Container(find_group(address, root), root)
        self._device = -1
        self._interrupt: VfioInterrupt | None = None
        try:
            self._device = self._container.device(address)
            info = _abi.call(self._device, _abi.VFIO_DEVICE_GET_INFO, _abi.DeviceInfo())
            if not info.flags & _abi.VFIO_DEVICE_FLAGS_PCI:
                raise BoardError(f"{address} is not a PCI device for VFIO: bind it to vfio-pci")
            self._n_irqs = int(info.num_irqs)
            if info.flags & _abi.VFIO_DEVICE_FLAGS_RESET:
                fcntl.ioctl(self._device, _abi.VFIO_DEVICE_RESET)
            self._config = self._region(_abi.VFIO_PCI_CONFIG_REGION_INDEX)
            self._command(_MEMORY_SPACE | _BUS_MASTER, on=True)
        except OSError as error:
            self.close()
            raise BoardError(f"PCI device {address} cannot be used: {os.strerror(error.errno or 0)}") from error
        except BaseException:
            self.close()
            raise

    def registers(self, bar: int = 0) -> MappedRegisters:
        """The memory of BAR `bar` as registers. BoardError where it has none that can be mapped."""
        try:
            region = self._region(bar)
            if not region.size or not region.flags & _abi.VFIO_REGION_INFO_FLAG_MMAP:
                raise BoardError(f"PCI device {self.address} has no BAR {bar} that can be mapped: see `lspci -v`")
            mapped = mmap.mmap(self._device, region.size, offset=region.offset)
        except OSError as error:
            reason = os.strerror(error.errno or 0)
            raise BoardError(f"BAR {bar} of PCI device {self.address} cannot be mapped: {reason}") from error
        return MappedRegisters(mapped, f"PCI device {self.address}", region.size)

    def config(self, offset: int, size: int) -> int:
        """A number of so many bytes in the device's configuration space, where its capabilities are as it has them."""
        return int.from_bytes(os.pread(self._device, size, self._config.offset + offset), "little")

    def map(self, memory: NDArray[np.uint8], alignment: int) -> int:
        """Let the device write `memory` (uint8, whole pages): at which of its addresses, a multiple of `alignment`."""
        address = self._container.place(memory.nbytes, alignment)
        self._container.map(memory, address)
        return address

    def unmap(self, address: int) -> None:
        """Take that memory away from it."""
        self._container.unmap(address)

    def interrupt(self) -> VfioInterrupt:
        """Its interrupt, closed with the device. BoardError where it has neither MSI-X nor MSI."""
        for index in _INTERRUPTS:
            if index >= self._n_irqs:
                continue
            try:
                info = _abi.call(self._device, _abi.VFIO_DEVICE_GET_IRQ_INFO, _abi.IrqInfo(index=index))
                if info.count and info.flags & _abi.VFIO_IRQ_INFO_EVENTFD:
                    self._interrupt = VfioInterrupt(self._device, index)
                    return self._interrupt
            except OSError as error:
                if error.errno != errno.EINVAL:
                    reason = os.strerror(error.errno or 0)
                    raise BoardError(f"PCI device {self.address} gives no interrupt: {reason}") from error
        raise BoardError(f"PCI device {self.address} has neither MSI-X nor MSI: poll instead")

    def close(self) -> None:
        """Let it write no more, then let go of it, and of what was mapped. May be called twice."""
        if self._interrupt is not None:
            self._interrupt.close()
        if self._device >= 0:
            with contextlib.suppress(OSError):  # the device may be gone
                self._command(_BUS_MASTER, on=False)
            os.close(self._device)
            self._device = -1
        self._container.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _region(self, index: int) -> _abi.RegionInfo:
        found: _abi.RegionInfo = _abi.call(self._device, _abi.VFIO_DEVICE_GET_REGION_INFO, _abi.RegionInfo(index=index))
        return found

    def _command(self, bits: int, *, on: bool) -> None:
        """Set or clear bits of the command register."""
        old = self.config(_COMMAND, 2)
        new = old | bits if on else old & ~bits
        os.pwrite(self._device, new.to_bytes(2, "little"), self._config.offset + _COMMAND)
