"""What VFIO's ioctls take is as the kernel's own header has it: a program in C says so."""

import ctypes
import shutil
import subprocess
from pathlib import Path

import pytest

from framelane.driver.vfio import _abi

HEADER = Path("/usr/include/linux/vfio.h")
STRUCTURES = {
    "GroupStatus": "vfio_group_status",
    "DeviceInfo": "vfio_device_info",
    "RegionInfo": "vfio_region_info",
    "IrqInfo": "vfio_irq_info",
    "CapabilityHeader": "vfio_info_cap_header",
    "IovaRanges": "vfio_iommu_type1_info_cap_iova_range",
    "IovaRange": "vfio_iova_range",
    "DmaMap": "vfio_iommu_type1_dma_map",
    "DmaUnmap": "vfio_iommu_type1_dma_unmap",
    "IommuInfo": "vfio_iommu_type1_info",
    "IrqSet": "vfio_irq_set",
}
"""Ours, and the kernel's."""
OWN = {("IrqSet", "fd"), ("IommuInfo", "pad")}
"""Fields that the kernel's do not have: data behind the structure; a name for what fills it up."""
CAPABILITIES = """
  unsigned char data[256] = {0};
  struct vfio_iommu_type1_info *info = (void *)data;
  info->argsz = sizeof data;
  info->flags = VFIO_IOMMU_INFO_PGSIZES | VFIO_IOMMU_INFO_CAPS;
  info->iova_pgsizes = 0x201000;
  info->cap_offset = 64;
  struct vfio_info_cap_header *other = (void *)(data + 64);
  other->id = VFIO_IOMMU_TYPE1_INFO_DMA_AVAIL;
  other->version = 1;
  other->next = 96;
  struct vfio_iommu_type1_info_cap_iova_range *ranges = (void *)(data + 96);
  ranges->header.id = VFIO_IOMMU_TYPE1_INFO_CAP_IOVA_RANGE;
  ranges->header.version = 1;
  ranges->nr_iovas = 2;
  ranges->iova_ranges[0].start = 0;
  ranges->iova_ranges[0].end = 0xfedfffff;
  ranges->iova_ranges[1].start = 0xfef00000;
  ranges->iova_ranges[1].end = 0x7fffffffff;
  for (unsigned k = 0; k < sizeof data; k++) printf("%02x", data[k]);
"""


def constants() -> dict[str, int]:
    return {name: value for name, value in vars(_abi).items() if name.startswith("VFIO_")}


@pytest.fixture(scope="module")
def header(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What the program says: a number for each name of a constant, of a structure, of a field; and the capabilities."""
    if not HEADER.exists() or not shutil.which("cc"):
        pytest.skip("no kernel header to compare with: apt-get install linux-libc-dev gcc")
    lines = [f'printf("{name} %lld\\n", (long long){name});' for name in constants()]
    for ours, theirs in STRUCTURES.items():
        if ours not in ("IrqSet", "IommuInfo"):
            lines.append(f'printf("{ours} %zu\\n", sizeof(struct {theirs}));')
        for name, *_ in getattr(_abi, ours)._fields_:
            if (ours, name) not in OWN:
                lines.append(f'printf("{ours}.{name} %zu\\n", offsetof(struct {theirs}, {name}));')
    folder = tmp_path_factory.mktemp("vfio")
    source = "#include <linux/vfio.h>\n#include <stddef.h>\n#include <stdio.h>\nint main(void) {\n"
    (folder / "vfio.c").write_text(
        source + "\n".join(lines) + '\nprintf("capabilities ");\n' + CAPABILITIES + 'printf("\\n");\nreturn 0; }\n'
    )
    subprocess.run(["cc", "-o", folder / "vfio", folder / "vfio.c"], check=True)
    said = subprocess.run([folder / "vfio"], check=True, capture_output=True, text=True).stdout
    return dict(line.split(" ") for line in said.splitlines())


def test_every_constant_is_the_kernels(header: dict[str, str]) -> None:
    assert {name: int(header[name]) for name in constants()} == constants()
    assert len(constants()) > 25


def test_every_structure_is_laid_out_as_the_kernels(header: dict[str, str]) -> None:
    for ours in STRUCTURES:
        kind = getattr(_abi, ours)
        if ours in header:
            assert ctypes.sizeof(kind) == int(header[ours]), ours
        for name, *_ in kind._fields_:
            if (ours, name) not in OWN:
                assert getattr(kind, name).offset == int(header[f"{ours}.{name}"]), f"{ours}.{name}"


def test_the_ranges_of_addresses_are_found_behind_other_capabilities(header: dict[str, str]) -> None:
    ranges = _abi.iova_ranges(bytes.fromhex(header["capabilities"]))
    assert ranges == [(0, 0xFEDFFFFF), (0xFEF00000, 0x7FFFFFFFFF)]


@pytest.mark.parametrize(("size", "whole"), [(24, 0), (70, 0), (100, 0), (120, 0), (130, 1), (144, 2)])
def test_of_capabilities_that_are_cut_off_what_is_whole_counts(header: dict[str, str], size: int, whole: int) -> None:
    data = bytes.fromhex(header["capabilities"])
    assert _abi.iova_ranges(data[:size]) == _abi.iova_ranges(data)[:whole]


def test_a_chain_of_capabilities_that_goes_round_ends(header: dict[str, str]) -> None:
    data = bytearray.fromhex(header["capabilities"])
    _abi.CapabilityHeader.from_buffer(data, 96).next = 64
    assert len(_abi.iova_ranges(bytes(data))) == 2
