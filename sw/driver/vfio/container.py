"""The address space of devices: memory of this program, under addresses of its choice, by the IOMMU."""

import ctypes
import errno
import fcntl
import os
import resource
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import BoardError, ConfigError
from framelane.driver.vfio import _abi
from framelane.driver.vfio.group import ROOT, Group, not_viable

_FIRST_TRY = 1 << 32
"""Device addresses begin here where they can: clear of the interrupts' window and of 32-bit peers."""
_MOST_INFO = 1 << 16
_NO_REMAPPING = (
    "the IOMMU does not remap interrupts, so that a device could send any: switch that on in the firmware (x2APIC, "
    "interrupt remapping), or trust the card: `modprobe vfio_iommu_type1 allow_unsafe_interrupts=1` as root"
)


class Container:
    """The container of one group, open until `close`. BoardError, with what to do, where it cannot be had.

    `ranges` are the addresses that devices may have: first and last of each; empty where the kernel does not say.
    """

    def __init__(self, group: Group, root: Path = ROOT) -> None:
        self._mapped: dict[int, NDArray[np.uint8]] = {}
        self._descriptor = self._group = -1
        try:
            self._descriptor = _open(root / "dev/vfio/vfio", "this kernel has no VFIO: `modprobe vfio-pci` as root")
            self._check_version()
            self._group = _open(root / group.path, f"give your user access to it: `chown $USER /{group.path}` as root")
            status = _abi.call(self._group, _abi.VFIO_GROUP_GET_STATUS, _abi.GroupStatus())
            if not status.flags & _abi.VFIO_GROUP_FLAGS_VIABLE:
                raise BoardError(not_viable(group))
            fcntl.ioctl(self._group, _abi.VFIO_GROUP_SET_CONTAINER, ctypes.c_int(self._descriptor))
            fcntl.ioctl(self._descriptor, _abi.VFIO_SET_IOMMU, _abi.VFIO_TYPE1v2_IOMMU)
            self.ranges = _abi.iova_ranges(self._info())
        except OSError as error:
            self.close()
            advice = f": {_NO_REMAPPING}" if error.errno == errno.EPERM else ""
            reason = os.strerror(error.errno or 0)
            raise BoardError(f"IOMMU group {group.number} cannot be used: {reason}{advice}") from error
        except BaseException:
            self.close()
            raise

    def _check_version(self) -> None:
        version = fcntl.ioctl(self._descriptor, _abi.VFIO_GET_API_VERSION)
        if version != _abi.VFIO_API_VERSION:
            raise BoardError(
                f"VFIO of this kernel is of version {version}, this software knows {_abi.VFIO_API_VERSION}"
            )
        if not fcntl.ioctl(self._descriptor, _abi.VFIO_CHECK_EXTENSION, _abi.VFIO_TYPE1v2_IOMMU):
            raise BoardError("VFIO of this kernel maps no memory: `modprobe vfio_iommu_type1` as root")

    def _info(self) -> bytes:
        """What the kernel tells of the address space: asked twice, since it says then how long it is."""
        info = _abi.call(self._descriptor, _abi.VFIO_IOMMU_GET_INFO, _abi.IommuInfo())
        wanted = min(int(info.argsz), _MOST_INFO)
        data = bytearray(max(wanted, ctypes.sizeof(_abi.IommuInfo)))
        _abi.IommuInfo.from_buffer(data).argsz = len(data)
        fcntl.ioctl(self._descriptor, _abi.VFIO_IOMMU_GET_INFO, data)
        return bytes(data)

    def device(self, address: str) -> int:
        """The file of a device of the group, to be closed by the caller. BoardError where it cannot be opened."""
        name = ctypes.create_string_buffer(address.encode("ascii"))
        try:
            return int(fcntl.ioctl(self._group, _abi.VFIO_GROUP_GET_DEVICE_FD, name))
        except OSError as error:
            raise BoardError(f"PCI device {address} cannot be opened: {os.strerror(error.errno or 0)}") from error

    def place(self, size: int, alignment: int) -> int:
        """A device address for `size` bytes, a multiple of `alignment`: one that the IOMMU has, and nobody uses.

        BoardError where there is none.
        """
        for start, end in sorted(self.ranges or [(0, (1 << 48) - 1)], key=lambda each: each[1] < _FIRST_TRY):
            at = -(-max(start, min(_FIRST_TRY, end)) // alignment) * alignment
            for taken in sorted(self._mapped):
                if at < taken + self._mapped[taken].nbytes and taken < at + size:
                    at = -(-(taken + self._mapped[taken].nbytes) // alignment) * alignment
            if at + size - 1 <= end:
                return at
        raise BoardError(f"the IOMMU has no room for {size} bytes at a multiple of {alignment}: give fewer slots")

    def map(self, memory: NDArray[np.uint8], address: int) -> None:
        """Let devices write and read `memory` (uint8, C-contiguous, whole pages) at `address`, until `unmap`.

        ConfigError for memory that cannot be mapped; BoardError, with what to do, where the kernel refuses.
        """
        page = os.sysconf("SC_PAGESIZE")
        start = memory.ctypes.data
        if not (memory.flags.c_contiguous and memory.flags.writeable):
            raise ConfigError("this memory cannot be mapped: it is read-only, or has gaps")
        if start % page or memory.nbytes % page or address % page or not memory.nbytes:
            raise ConfigError(
                f"{memory.nbytes} bytes at {start:#x} cannot be mapped at {address:#x}: give whole pages of {page}"
            )
        flags = _abi.VFIO_DMA_MAP_FLAG_READ | _abi.VFIO_DMA_MAP_FLAG_WRITE
        request = _abi.DmaMap(flags=flags, vaddr=start, iova=address, size=memory.nbytes)
        try:
            _abi.call(self._descriptor, _abi.VFIO_IOMMU_MAP_DMA, request)
        except OSError as error:
            raise BoardError(_refusal(error, memory.nbytes, address)) from error
        self._mapped[address] = memory

    def unmap(self, address: int) -> None:
        """Take away what was mapped at `address`: what a device writes there from now on is a fault of the IOMMU."""
        memory = self._mapped.pop(address)
        request = _abi.DmaUnmap(iova=address, size=memory.nbytes)
        try:
            _abi.call(self._descriptor, _abi.VFIO_IOMMU_UNMAP_DMA, request)
        except OSError as error:
            raise BoardError(
                f"memory at {address:#x} cannot be taken away from the device: {os.strerror(error.errno or 0)}: end "
                "this process"
            ) from error

    def close(self) -> None:
        """Unmap all memory and let go of the group. May be called twice. Close the devices' files before."""
        try:
            for address in list(self._mapped):
                self.unmap(address)
        finally:
            for descriptor in (self._group, self._descriptor):
                if descriptor >= 0:
                    os.close(descriptor)
            self._group = self._descriptor = -1


def _open(path: Path, advice: str) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:
        if error.errno == errno.EBUSY:
            advice = "another program has it: end that"
        raise BoardError(f"cannot open {path}: {os.strerror(error.errno or 0)}: {advice}") from error


def _refusal(error: OSError, size: int, address: int) -> str:
    if error.errno == errno.ENOMEM:
        soft = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
        limit = "without limit" if soft == resource.RLIM_INFINITY else f"{soft}"
        return (
            f"{size} bytes cannot be locked for the device ({limit} may be): raise the limit, `ulimit -l "
            f"{-(-size // 1024)}` as root or LimitMEMLOCK=, or give fewer slots"
        )
    advice = {
        errno.EEXIST: "something is mapped there already",
        errno.EINVAL: "the IOMMU has no such address",
        errno.EFAULT: "the memory is not of this process any more",
    }.get(error.errno or 0, os.strerror(error.errno or 0))
    return f"{size} bytes cannot be mapped for the device at {address:#x}: {advice}"
