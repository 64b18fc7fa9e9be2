"""The kernel's VFIO interface (linux/vfio.h): numbers of its ioctls, and the structures that they take.

`tests/driver/vfio/test_vfio_abi.py` compiles the same of the kernel's own header, and compares.
"""

import ctypes
import fcntl
from typing import Any

_U8, _U16, _U32, _U64 = ctypes.c_uint8, ctypes.c_uint16, ctypes.c_uint32, ctypes.c_uint64


def _number(offset: int) -> int:
    """_IO(';', 100 + offset): neither size nor direction is part of it."""
    return ord(";") << 8 | 100 + offset


VFIO_GET_API_VERSION = _number(0)
VFIO_CHECK_EXTENSION = _number(1)
VFIO_SET_IOMMU = _number(2)
VFIO_GROUP_GET_STATUS = _number(3)
VFIO_GROUP_SET_CONTAINER = _number(4)
VFIO_GROUP_GET_DEVICE_FD = _number(6)
VFIO_DEVICE_GET_INFO = _number(7)
VFIO_DEVICE_GET_REGION_INFO = _number(8)
VFIO_DEVICE_GET_IRQ_INFO = _number(9)
VFIO_DEVICE_SET_IRQS = _number(10)
VFIO_DEVICE_RESET = _number(11)
VFIO_IOMMU_GET_INFO = _number(12)
VFIO_IOMMU_MAP_DMA = _number(13)
VFIO_IOMMU_UNMAP_DMA = _number(14)

VFIO_API_VERSION = 0
VFIO_TYPE1v2_IOMMU = 3
VFIO_GROUP_FLAGS_VIABLE = 1
VFIO_DEVICE_FLAGS_RESET = 1
VFIO_DEVICE_FLAGS_PCI = 2
VFIO_REGION_INFO_FLAG_MMAP = 4
VFIO_IRQ_INFO_EVENTFD = 1
VFIO_IRQ_SET_DATA_NONE, VFIO_IRQ_SET_DATA_EVENTFD = 1, 4
VFIO_IRQ_SET_ACTION_TRIGGER = 32
VFIO_PCI_CONFIG_REGION_INDEX = 7
VFIO_PCI_MSI_IRQ_INDEX, VFIO_PCI_MSIX_IRQ_INDEX = 1, 2
VFIO_IOMMU_INFO_PGSIZES, VFIO_IOMMU_INFO_CAPS = 1, 2
VFIO_IOMMU_TYPE1_INFO_CAP_IOVA_RANGE = 1
VFIO_DMA_MAP_FLAG_READ, VFIO_DMA_MAP_FLAG_WRITE = 1, 2


class GroupStatus(ctypes.Structure):
    """struct vfio_group_status."""

    _fields_ = (("argsz", _U32), ("flags", _U32))


class DeviceInfo(ctypes.Structure):
    """struct vfio_device_info."""

    _fields_ = (
        ("argsz", _U32), ("flags", _U32), ("num_regions", _U32), ("num_irqs", _U32), ("cap_offset", _U32),
    )  # fmt: skip


class RegionInfo(ctypes.Structure):
    """struct vfio_region_info."""

    _fields_ = (
        ("argsz", _U32), ("flags", _U32), ("index", _U32), ("cap_offset", _U32), ("size", _U64), ("offset", _U64),
    )  # fmt: skip


class IrqInfo(ctypes.Structure):
    """struct vfio_irq_info."""

    _fields_ = (("argsz", _U32), ("flags", _U32), ("index", _U32), ("count", _U32))


class IrqSet(ctypes.Structure):
    """struct vfio_irq_set, with one event file behind it."""

    _fields_ = (
        ("argsz", _U32), ("flags", _U32), ("index", _U32), ("start", _U32), ("count", _U32), ("fd", ctypes.c_int32),
    )  # fmt: skip


class IommuInfo(ctypes.Structure):
    """struct vfio_iommu_type1_info; in kernels before 6.6 it has no `pad`, and is 4 bytes shorter on 32 bits alone."""

    _fields_ = (("argsz", _U32), ("flags", _U32), ("iova_pgsizes", _U64), ("cap_offset", _U32), ("pad", _U32))


class CapabilityHeader(ctypes.Structure):
    """struct vfio_info_cap_header: `next` is an offset from the beginning of what it is in."""

    _fields_ = (("id", _U16), ("version", _U16), ("next", _U32))


class IovaRanges(ctypes.Structure):
    """struct vfio_iommu_type1_info_cap_iova_range, without the ranges behind it."""

    _fields_ = (("header", CapabilityHeader), ("nr_iovas", _U32), ("reserved", _U32))


class IovaRange(ctypes.Structure):
    """struct vfio_iova_range: `end` is the last address."""

    _fields_ = (("start", _U64), ("end", _U64))


class DmaMap(ctypes.Structure):
    """struct vfio_iommu_type1_dma_map."""

    _fields_ = (("argsz", _U32), ("flags", _U32), ("vaddr", _U64), ("iova", _U64), ("size", _U64))


class DmaUnmap(ctypes.Structure):
    """struct vfio_iommu_type1_dma_unmap, without the data that dirty pages would need."""

    _fields_ = (("argsz", _U32), ("flags", _U32), ("iova", _U64), ("size", _U64))


def call(descriptor: int, request: int, structure: Any) -> Any:
    """One ioctl on a structure, which the kernel changes; the same structure. OSError as ioctl(2)."""
    structure.argsz = ctypes.sizeof(structure)
    fcntl.ioctl(descriptor, request, structure)
    return structure


def iova_ranges(data: bytes) -> list[tuple[int, int]]:
    """Where a device's addresses may lie, first and last of each range, of an IommuInfo with what is behind it.

    Empty where the kernel does not say. The chain of capabilities is followed as linux/vfio.h tells.
    """
    info = IommuInfo.from_buffer_copy(data)
    at, found = info.cap_offset if info.flags & VFIO_IOMMU_INFO_CAPS else 0, []
    seen: set[int] = set()
    while at and at not in seen and at + ctypes.sizeof(CapabilityHeader) <= len(data):
        seen.add(at)
        header = CapabilityHeader.from_buffer_copy(data, at)
        if header.id == VFIO_IOMMU_TYPE1_INFO_CAP_IOVA_RANGE and at + ctypes.sizeof(IovaRanges) <= len(data):
            count = IovaRanges.from_buffer_copy(data, at).nr_iovas
            first = at + ctypes.sizeof(IovaRanges)
            for offset in range(first, first + count * ctypes.sizeof(IovaRange), ctypes.sizeof(IovaRange)):
                if offset + ctypes.sizeof(IovaRange) <= len(data):
                    each = IovaRange.from_buffer_copy(data, offset)
                    found.append((each.start, each.end))
        at = header.next
    return found
