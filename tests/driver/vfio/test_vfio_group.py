"""What is said where VFIO cannot be had, on a made-up /sys and /dev, and on this machine as it is."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from framelane.base.errors import BoardError, ConfigError
from framelane.driver.pcie.page_plan import PagePlan
from framelane.driver.vfio.container import Container
from framelane.driver.vfio.group import Group, find_group, not_viable
from framelane.driver.vfio.vfio_endpoint import open_vfio
from framelane.models.placement.slots import SlotLayout

CARD, GPU = "0000:03:00.0", "0000:03:00.1"
Make = Callable[..., Path]


@pytest.fixture
def system(tmp_path: Path) -> Make:
    """Make a system with a card of group 7."""

    def make(driver: str | None = "vfio-pci", iommu: bool = True, also: tuple[str, ...] = ()) -> Path:
        device = tmp_path / "sys/bus/pci/devices" / CARD
        device.mkdir(parents=True)
        if driver:
            (tmp_path / "sys/bus/pci/drivers" / driver).mkdir(parents=True)
            (device / "driver").symlink_to(tmp_path / "sys/bus/pci/drivers" / driver)
        group = tmp_path / "sys/kernel/iommu_groups/7"
        for name in (CARD, *also):
            (group / "devices" / name).mkdir(parents=True)
        if iommu:
            (device / "iommu_group").symlink_to(group)
        return tmp_path

    return make


def test_a_card_that_is_ready_is_found_with_those_that_share_its_group(system: Make) -> None:
    group = find_group(CARD, system(also=(GPU,)))
    assert group == Group(CARD, 7, (GPU,))
    assert group.path == Path("dev/vfio/7")
    assert GPU in not_viable(group)


@pytest.mark.parametrize(
    ("made", "sentence"),
    [
        ({"driver": "xdma"}, r"is bound to xdma, VFIO needs vfio-pci: .*driverctl set-override 0000:03:00.0 vfio-pci"),
        ({"driver": None}, r"has no driver, VFIO needs vfio-pci"),
        ({"iommu": False}, r"is behind no IOMMU: switch it on in the firmware .*then reboot"),
    ],
)
def test_what_is_in_the_way_is_told_with_what_to_do(system: Make, made: dict[str, str], sentence: str) -> None:
    with pytest.raises(BoardError, match=sentence):
        find_group(CARD, system(**made))


def test_another_card_is_told_those_there_are(system: Make) -> None:
    with pytest.raises(BoardError, match=f"there is no PCI device 0000:09:00.0: there are {CARD}; see"):
        find_group("0000:09:00.0", system())


def test_without_vfio_in_the_kernel_the_module_is_named(system: Make) -> None:
    root = system()
    with pytest.raises(
        BoardError, match="dev/vfio/vfio: No such file or directory: this kernel has no VFIO: `modprobe"
    ):
        Container(find_group(CARD, root), root)


def test_a_file_that_is_not_vfio_is_refused_and_none_stays_open(system: Make) -> None:
    root = system()
    (root / "dev/vfio").mkdir(parents=True)
    (root / "dev/vfio/vfio").touch()
    before = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(BoardError, match="IOMMU group 7 cannot be used: Inappropriate ioctl for device"):
        Container(find_group(CARD, root), root)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_on_this_machine_every_card_is_told_what_it_wants() -> None:
    devices = Path("/sys/bus/pci/devices")
    names = sorted(path.name for path in devices.iterdir()) if devices.is_dir() else []
    if not names:
        pytest.skip("this machine has no PCI devices")
    if (devices / names[0] / "driver").resolve().name == "vfio-pci":
        pytest.skip("this machine's first PCI device is used by VFIO")
    plan = PagePlan(4096, 1, 12)
    with pytest.raises(BoardError, match=names[0]), open_vfio(names[0], plan, np.zeros(plan.total_bytes, np.uint8)):
        raise AssertionError("it cannot be opened")


def test_memory_must_be_the_plans() -> None:
    with (
        pytest.raises(ConfigError, match="memory of 5 bytes is not the plan's 8192"),
        open_vfio(CARD, PagePlan(4096, 1, 12), np.zeros(5, np.uint8)),
    ):
        raise AssertionError("it cannot be opened")


@pytest.mark.parametrize(
    ("ring", "log2", "page_log2", "offset", "pages"),
    [(4096, 1, 12, 4096, 2), (4097, 7, 12, 8192, 4), (1 << 21, 16, 21, 4 << 20, 4), ((1 << 21) + 1, 2, 21, 4 << 20, 3)],
)
def test_the_queue_lies_behind_the_ring_at_a_multiple_of_its_length(
    ring: int, log2: int, page_log2: int, offset: int, pages: int
) -> None:
    plan = PagePlan(ring, log2, page_log2)
    assert (plan.event_offset, plan.pages) == (offset, pages)
    assert plan.event_offset % plan.queue_bytes == 0
    assert plan.total_bytes >= plan.event_offset + plan.queue_bytes


def test_a_plan_has_an_event_of_every_source_in_each_slot() -> None:
    assert PagePlan.of(SlotLayout(5, 4096, 64, 3), 12).event_log2 == 4
    with pytest.raises(ConfigError, match="4096 slots of 32 sources are 131072 events, a queue has at most 65536"):
        PagePlan.of(SlotLayout(4096, 4096, 64, 32), 12)
    for wrong, sentence in (((1, 1, 11), "2\\^11 bytes"), ((1, 0, 12), "2\\^0 entries"), ((0, 1, 12), "ring of 0")):
        with pytest.raises(ConfigError, match=sentence):
            PagePlan(*wrong)
