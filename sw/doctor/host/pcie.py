"""A host into which a board writes over PCIe: the slot, the IOMMU, huge pages, and the way to a GPU."""

from collections.abc import Iterator

from framelane.base.errors import ConfigError
from framelane.doctor.host import memory, pcie_gpu
from framelane.doctor.host.finding import HostFinding, fault, good, note, warning
from framelane.doctor.host.pcie_device import DEVICES, Link, PciDevice, all_devices
from framelane.doctor.host.system import System
from framelane.session.session import Session

_BOARD_MPS = 512
"""Largest payload that the engine sends."""


def examine(name: str, session: Session | None = None, system: System | None = None) -> Iterator[HostFinding]:
    """Check this host as the receiver of the board at PCI address `name` ("0000:03:00.0"), for `session` if given.

    ConfigError for what is not an address of a device.
    """
    system = system or System()
    board = PciDevice(system, name.lower() if name.count(":") == 2 else f"0000:{name.lower()}")
    if "/" in name or name in ("", ".", ".."):
        raise ConfigError(f"{name!r} is not a PCI address: give one as 0000:03:00.0, see `lspci -D`")
    if not board.exists:
        there = ", ".join(system.names(DEVICES)[:8]) or "none"
        advice = (
            "is the card in its slot, has it power, is its design loaded? Then rescan: `echo 1 > /sys/bus/pci/rescan`"
        )
        yield fault("device", f"there is no PCI device {board.name}; there are {there}", advice)
        return
    yield good("device", f"{board.name} is there, {board.text('vendor')[2:]}:{board.text('device')[2:]}")
    yield _check_link(board)
    yield from _check_payload(board)
    yield from _check_iommu(board)
    yield _check_driver(board)
    yield from _check_memory(system, session)
    yield from pcie_gpu.check(board, all_devices(system), session)


def _check_link(board: PciDevice) -> HostFinding:
    now, most = board.link("current"), board.link("max")
    slot = next((found for bridge in board.above() if (found := bridge.link("max"))), None)
    if now is None or most is None:
        advice = "look at the card, its power and its design; the slot may be switched off in the firmware"
        return fault("link", f"{board.name} has no link", advice)
    payload = _payload(board)
    text = f"{now}, of {most} that the card can: {now.rate(payload):.1f} GB/s in writes of {payload} bytes"
    if now == most:
        return good("link", text)
    if slot is not None and (slot.gt_s < most.gt_s or slot.lanes < most.lanes):
        text += f"; its slot can {slot}"
        if (now.gt_s, now.lanes) >= (min(slot.gt_s, most.gt_s), min(slot.lanes, most.lanes)):
            return warning("link", text, "a slot with more lanes, or of a newer generation, if that rate is too low")
    advice = (
        "seat the card anew; look at risers, at lanes shared with other slots (firmware), and at `lspci -vv` for errors"
    )
    return warning("link", text, advice)


def _payload(board: PciDevice) -> int:
    express = board.config().express()
    return min(express.mps, _BOARD_MPS) if express else 256


def _check_payload(board: PciDevice) -> Iterator[HostFinding]:
    """Max_Payload_Size and Max_Read_Request_Size, which must fit every bridge on the way."""
    express = board.config().express()
    if express is None:
        if board.config().cut_off:
            yield note("mps", f"Max_Payload_Size of {board.name} is unknown: only root may read it", "run it as root")
        else:
            advice = "give the address of the card: `lspci -D` lists all"
            yield fault("mps", f"{board.name} has no PCI Express capability: it is not a PCIe card", advice)
        return
    path = [found for bridge in board.above() if (found := bridge.config().express())]
    most = min([express.mps_supported, _BOARD_MPS, *(bridge.mps_supported for bridge in path)])
    text = f"Max_Payload_Size {express.mps}, all on the way can {most}"
    link = board.link("current") or Link(0, 0)
    if any(bridge.mps < express.mps for bridge in path):
        smallest = min(bridge.mps for bridge in path)
        advice = "boot with pci=pcie_bus_safe, which sets all alike"
        yield fault("mps", f"{text}, but a bridge takes {smallest} only: its TLPs are malformed there", advice)
    elif express.mps < most:
        gain = f"{link.rate(express.mps):.1f} GB/s now, {link.rate(most):.1f} then"
        yield warning("mps", text, f"boot with pci=pcie_bus_perf, or set it in the firmware: {gain}")
    else:
        yield good("mps", text)
    yield good(
        "mrrs", f"Max_Read_Request_Size {express.mrrs}: the engine reads nothing but one doubleword behind a fence"
    )


def _check_iommu(board: PciDevice) -> Iterator[HostFinding]:
    if not board.group:
        advice = "switch it on in the firmware (VT-d, AMD-Vi), boot Intel with intel_iommu=on: VFIO needs it"
        yield fault("iommu", f"{board.name} is behind no IOMMU", advice)
        return
    yield good("iommu", f"{board.name} is in IOMMU group {board.group}")
    taken = [each for each in board.neighbours() if not each.is_bridge() and each.driver not in ("", "vfio-pci")]
    if taken:
        named = ", ".join(f"{each.name} ({each.driver})" for each in taken)
        advice = "put the card into a slot of its own group, or bind these to vfio-pci too; their driver loses them"
        yield fault("group", f"IOMMU group {board.group} has devices that other drivers use: {named}", advice)
    else:
        yield good("group", f"nothing else of IOMMU group {board.group} is in use")


def _check_driver(board: PciDevice) -> HostFinding:
    system = board.system
    if board.driver != "vfio-pci":
        state = f"is bound to {board.driver}" if board.driver else "has no driver"
        advice = f"as root `modprobe vfio-pci && driverctl set-override {board.name} vfio-pci`"
        return fault("driver", f"{board.name} {state}, not to vfio-pci", advice)
    if board.group not in system.names("dev/vfio"):
        return fault("driver", f"there is no /dev/vfio/{board.group}", "`modprobe vfio-pci`, and look at `dmesg`")
    return good("driver", f"{board.name} is bound to vfio-pci, /dev/vfio/{board.group} is there")


def _check_memory(system: System, session: Session | None) -> Iterator[HostFinding]:
    """Huge pages, and whether they may be locked: an IOMMU that translates pages of 4 KiB loses up to a fifth."""
    if session is not None:
        ring = session.layout.ring_bytes
        yield memory.check_lock(system, ring, verbs=True)
        yield memory.check_huge_pages(system.fields("proc/meminfo"), ring)
        return
    fields = system.fields("proc/meminfo")
    free, size = (fields.get(name, "0").split()[0] for name in ("HugePages_Free", "Hugepagesize"))
    text = f"{free} huge pages of {size} KiB are free"
    if free == "0":
        advice = "a ring should lie in huge pages: `sysctl vm.nr_hugepages=N`; --session says how many it takes"
        yield warning("hugepages", text, advice)
    else:
        yield good("hugepages", text)
