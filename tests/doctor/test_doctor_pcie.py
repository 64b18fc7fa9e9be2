"""The doctor's checks of a host that a board writes into over PCIe, on a made-up /sys, one fault at a time.

The tree is that of a server: two root ports, below the first a switch with the board and a GPU, as Linux shows it.
"""

import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from doctor_cases import make
from framelane.base.errors import ConfigError
from framelane.doctor.host.finding import HostFinding, Level
from framelane.doctor.host.pcie import examine
from framelane.doctor.host.pcie_device import Link
from framelane.doctor.host.system import System
from framelane.session.session import Session

BOARD, GPU, ROOT, UP, DOWN, DOWN_GPU = (
    f"0000:{rest}" for rest in ("03:00.0", "04:00.0", "00:01.0", "01:00.0", "02:00.0", "02:01.0")
)
BUS = "devices/pci0000:00"
PATHS = {
    ROOT: f"{BUS}/{ROOT}",
    UP: f"{BUS}/{ROOT}/{UP}",
    DOWN: f"{BUS}/{ROOT}/{UP}/{DOWN}",
    DOWN_GPU: f"{BUS}/{ROOT}/{UP}/{DOWN_GPU}",
    BOARD: f"{BUS}/{ROOT}/{UP}/{DOWN}/{BOARD}",
    GPU: f"{BUS}/{ROOT}/{UP}/{DOWN_GPU}/{GPU}",
}
NOTHING = "0x0000000000000000 0x0000000000000000 0x0000000000000000\n"
H200_RESOURCE = (
    f"0x0000104002000000 0x0000104002ffffff 0x000000000014220c\n{NOTHING}"
    f"0x0000100000000000 0x0000103fffffffff 0x000000000014220c\n{NOTHING}"
    f"0x0000104000000000 0x0000104001ffffff 0x000000000014220c\n{NOTHING}{NOTHING}"
)
"""As Linux 6.18 says it of an NVIDIA H200: its BAR1 of 256 GiB is the second of memory, and the third by number."""
SMALL_RESOURCE = "0xde000000 0xdeffffff 0x40200\n0xc0000000 0xcfffffff 0x14220c\n" + NOTHING
"""A GPU whose registers have 32 bits of address, and 256 MiB of memory on the bus."""
BRIDGE, ENDPOINT, DISPLAY = "0x060400", "0x058000", "0x030200"
Tree = dict[str, str | bytes | None]


def config(mps: int = 512, supported: int = 512, mrrs: int = 512, redirect: bool = False) -> bytes:
    """4096 bytes as root sees them: PCI Express behind a power management capability, ACS behind AER."""
    data = bytearray(4096)
    data[0x34] = 0x40
    data[0x40:0x42] = bytes((0x01, 0x60))
    data[0x60:0x62] = bytes((0x10, 0x00))
    codes = {128 << code: code for code in range(6)}
    struct.pack_into("<IH", data, 0x64, codes[supported], codes[mps] << 5 | codes[mrrs] << 12)
    struct.pack_into("<I", data, 0x100, 0x140 << 20 | 2 << 16 | 0x0001)
    struct.pack_into("<IHH", data, 0x140, 1 << 16 | 0x000D, 0x1F, 0x1D if redirect else 0x19)
    return bytes(data)


def device(kind: str, ids: tuple[str, str], link: str = "16.0 GT/s PCIe", lanes: int = 8) -> Tree:
    """Files of a device that is all right, by their names in its folder."""
    speed: Tree = {f"{which}_link_speed": link for which in ("current", "max")}
    width: Tree = {f"{which}_link_width": str(lanes) for which in ("current", "max")}
    return {"class": kind, "vendor": ids[0], "device": ids[1], "config": config(), **speed, **width}


def healthy() -> Tree:
    """A host on which all is well; files by their paths below /sys, and what is elsewhere."""
    devices = {
        **{name: device(BRIDGE, ("0x10b5", "0x8749"), lanes=16) for name in (ROOT, UP, DOWN, DOWN_GPU)},
        BOARD: device(ENDPOINT, ("0x1e4a", "0x0001")),
        GPU: device(DISPLAY, ("0x10de", "0x2330"), lanes=16),
    }
    files = {f"sys/{PATHS[name]}/{file}": text for name, each in devices.items() for file, text in each.items()}
    return files | {
        f"sys/{PATHS[GPU]}/resource": H200_RESOURCE,
        "sys/kernel/iommu_groups/7/type": "DMA-FQ\n",
        "sys/kernel/iommu_groups/8/type": "identity\n",
        "dev/vfio/7": "",
        "proc/meminfo": "MemAvailable:   8000000 kB\nHugePages_Free:  64\nHugepagesize:  2048 kB\n",
        "proc/thread-self/limits": "Max locked memory         unlimited  unlimited  bytes\n",
        "proc/thread-self/status": "CapEff:\t0000000000000000\n",
    }


Check = Callable[..., dict[str, HostFinding]]


@pytest.fixture
def check(tmp_path: Path) -> Check:
    """Examine a healthy host with other files (None: without) and drivers; the worst finding of each check."""

    def run(
        changes: Tree | None = None,
        drivers: dict[str, str] | None = None,
        groups: dict[str, str] | None = None,
        session: Session | None = None,
        board: str = BOARD,
    ) -> dict[str, HostFinding]:
        for path, text in (healthy() | (changes or {})).items():
            if text is not None:
                (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
                (tmp_path / path).write_bytes(text if isinstance(text, bytes) else text.encode())
        listed = tmp_path / "sys/bus/pci/devices"
        listed.mkdir(parents=True)
        for name, path in PATHS.items():
            (listed / name).symlink_to(tmp_path / "sys" / path)
        for name, driver in ({BOARD: "vfio-pci", GPU: "nvidia"} | (drivers or {})).items():
            (tmp_path / "sys/bus/pci/drivers" / driver).mkdir(parents=True, exist_ok=True)
            if driver:
                (listed / name / "driver").symlink_to(tmp_path / "sys/bus/pci/drivers" / driver)
        for name, number in ({BOARD: "7", GPU: "8"} | (groups or {})).items():
            if number:
                members = tmp_path / "sys/kernel/iommu_groups" / number / "devices"
                members.mkdir(parents=True, exist_ok=True)
                (members / name).symlink_to(listed / name)
                (listed / name / "iommu_group").symlink_to(members.parent)
        found: dict[str, HostFinding] = {}
        order = list(Level)
        for finding in examine(board, session, System(tmp_path)):
            old = found.get(finding.check)
            if old is None or order.index(finding.level) > order.index(old.level):
                found[finding.check] = finding
        return found

    return run


def test_a_healthy_host_gets_nothing_but_ok_and_what_nvidia_does_not_do(check: Check) -> None:
    found = check()
    assert {name for name, f in found.items() if f.level is not Level.OK} == {"gpu export"}
    assert "issues/1324" in found["gpu export"].advice
    assert found["link"].text == (
        "16 GT/s x8, of 16 GT/s x8 that the card can: 15.0 GB/s in writes of 512 bytes"
    )  # fmt: skip
    assert found["gpu bar"].text == f"BAR 2 of the GPU {GPU} has 262144 MiB"
    assert found["mps"].text == "Max_Payload_Size 512, all on the way can 512"
    assert found["mrrs"].text.startswith("Max_Read_Request_Size 512: ")
    assert len(found) == 11


def test_payload_is_not_small_where_a_bridge_can_no_more(check: Check) -> None:
    of_all = {f"sys/{PATHS[name]}/config": config(mps=256) for name in (BOARD, ROOT, UP)}
    found = check(of_all | {f"{SLOT}/config": config(mps=256, supported=256)})
    assert (found["mps"].level, found["mps"].text) == (Level.OK, "Max_Payload_Size 256, all on the way can 256")


def test_acs_of_one_bridge_of_two_sends_writes_round_by_the_root(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PATHS, GPU, f"{BUS}/{ROOT}/{GPU}")
    found = check({f"{SLOT}/config": config(redirect=True)})
    assert (found["gpu acs"].level, f"ACS of {DOWN} sends" in found["gpu acs"].text) == (Level.WARNING, True)


def test_without_translation_nvidias_addresses_pass(check: Check) -> None:
    assert check({"sys/kernel/iommu_groups/7/type": "identity"})["gpu export"].level is Level.OK


SLOT = f"sys/{PATHS[DOWN]}"
CARD = f"sys/{PATHS[BOARD]}"
FAULTS: list[tuple[str, Tree, str, Level, str, str]] = [
    ("fewer lanes", {f"{CARD}/current_link_width": "4"}, "link", Level.WARNING, "16 GT/s x4, of 16 GT/s x8", "seat"),
    (
        "a slow slot",
        {
            f"{CARD}/current_link_speed": "8.0 GT/s PCIe",
            f"{SLOT}/max_link_speed": "8.0 GT/s PCIe",
        },
        "link",
        Level.WARNING,
        "7.5 GB/s in writes of 512 bytes; its slot can 8 GT/s x16",
        "newer generation",
    ),
    ("no link", {f"{CARD}/current_link_width": "0"}, "link", Level.FAULT, "has no link", "power"),
    ("no link speed", {f"{CARD}/current_link_speed": "Unknown"}, "link", Level.FAULT, "has no link", "power"),
    (
        "small payload",
        {f"{CARD}/config": config(mps=128), f"{SLOT}/config": config(mps=128)},
        "mps",
        Level.WARNING,
        "Max_Payload_Size 128, all on the way can 512",
        "13.3 GB/s now, 15.0 then",
    ),
    (
        "a bridge takes less",
        {f"{SLOT}/config": config(mps=256)},
        "mps",
        Level.FAULT,
        "a bridge takes 256 only",
        "pci=pcie_bus_safe",
    ),
    ("not root", {f"{CARD}/config": config()[:64]}, "mps", Level.NOTE, "only root may read it", "as root"),
    ("no PCIe", {f"{CARD}/config": bytes(256)}, "mps", Level.FAULT, "no PCI Express capability", "lspci"),
    ("no file", {"dev/vfio/7": None}, "driver", Level.FAULT, "there is no /dev/vfio/7", "modprobe"),
    (
        "ACS",
        {f"{SLOT}/config": config(redirect=True)},
        "gpu acs",
        Level.WARNING,
        f"ACS of {DOWN} sends their writes round",
        f"setpci -s {DOWN} ECAP_ACS+6.w=0:4",
    ),
    ("ACS unread", {f"{SLOT}/config": config()[:64]}, "gpu acs", Level.NOTE, "only root may read", "as root"),
    (
        "small BAR",
        {f"sys/{PATHS[GPU]}/resource": SMALL_RESOURCE},
        "gpu bar",
        Level.WARNING,
        f"BAR 1 of the GPU {GPU} has 256 MiB",
        "Resizable BAR",
    ),
    (
        "no huge pages",
        {"proc/meminfo": "HugePages_Free: 0\nHugepagesize: 2048 kB\n"},
        "hugepages",
        Level.WARNING,
        "0 huge pages of 2048 KiB",
        "sysctl vm.nr_hugepages",
    ),
]


@pytest.mark.parametrize(("name", "changes", "where", "level", "text", "advice"), FAULTS, ids=[f[0] for f in FAULTS])
def test_each_fault_is_told_with_what_to_do(
    check: Check, name: str, changes: Tree, where: str, level: Level, text: str, advice: str
) -> None:
    found = check(changes)
    assert (found[where].level, text in found[where].text) == (level, True), found[where]
    assert advice in found[where].advice
    others = {check for check, f in found.items() if f.level not in (Level.OK, Level.NOTE)} - {where, "gpu export"}
    assert not others, f"{name}: only one thing is wrong"


def test_a_driver_in_the_way_and_a_shared_group_are_named(check: Check) -> None:
    found = check(drivers={BOARD: "xdma"}, groups={GPU: "7"})
    assert found["driver"].text == f"{BOARD} is bound to xdma, not to vfio-pci"
    assert f"driverctl set-override {BOARD} vfio-pci" in found["driver"].advice
    assert (found["group"].level, f"{GPU} (nvidia)" in found["group"].text) == (Level.FAULT, True)


def test_without_an_iommu_vfio_cannot_be_had(check: Check) -> None:
    found = check(groups={BOARD: ""}, drivers={BOARD: ""})
    assert (found["iommu"].level, found["driver"].level) == (Level.FAULT, Level.FAULT)
    assert "intel_iommu=on" in found["iommu"].advice
    assert "has no driver" in found["driver"].text


def test_a_gpu_below_another_root_port_is_reached_through_the_root(
    check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PATHS, GPU, f"{BUS}/0000:00:02.0/{GPU}")
    assert "pass the root complex" in check()["gpu way"].text


def test_with_a_session_its_ring_must_fit(check: Check) -> None:
    session = make(n_slots=64, slot_bytes=8 << 20)
    small: Tree = {
        "proc/thread-self/limits": "Max locked memory         65536  65536  bytes\n",
        f"sys/{PATHS[GPU]}/resource": SMALL_RESOURCE,
    }
    found = check(small, session=session)
    assert found["memlock"].level is Level.FAULT
    assert found["hugepages"].advice == "if wanted for large rings: `sysctl vm.nr_hugepages=256`"
    assert (found["gpu bar"].level, "the ring has 512" in found["gpu bar"].text) == (Level.FAULT, True)


@pytest.mark.parametrize("name", ["03:00.0", "0000:03:00.0"])
def test_an_address_is_taken_with_and_without_its_domain(check: Check, name: str) -> None:
    assert check(board=name)["device"].level is Level.OK


def test_a_board_that_is_not_there_is_told_with_those_that_are(check: Check) -> None:
    found = check(board="0000:09:00.0")
    assert list(found) == ["device"]
    assert (found["device"].level, ROOT in found["device"].text) == (Level.FAULT, True)
    with pytest.raises(ConfigError, match=r"'../x' is not a PCI address"):
        list(examine("../x"))


def test_rates_are_those_of_the_specification() -> None:
    assert Link(8, 16).rate(256) == pytest.approx(14.40, abs=0.005)
    assert Link(5, 8).rate(128) == pytest.approx(3.37, abs=0.005)
    assert Link(16, 8).gb_s == pytest.approx(15.754, abs=0.001)


def test_the_command_checks_this_machine(run_cli: Callable[..., tuple[int, str, str]]) -> None:
    status, out, err = run_cli("doctor", "--pcie", "ffff:ff:1f.7")
    assert (status, err) == (1, "")
    assert "fault: device: there is no PCI device ffff:ff:1f.7" in out
    status, _, err = run_cli("doctor", "--pcie", "0000:03:00.0", "--interface", "lo")
    assert (status, "--pcie checks this host alone" in err) == (2, True)
