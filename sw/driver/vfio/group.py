"""The IOMMU group of a PCI device: where its file is, and what is in the way (the kernel's driver-api/vfio.rst)."""

from dataclasses import dataclass
from pathlib import Path

from framelane.base.errors import BoardError

ROOT = Path("/")


@dataclass(frozen=True, slots=True)
class Group:
    """Group `number` of the device at PCI address `address`, with the other devices that share it."""

    address: str
    number: int
    others: tuple[str, ...]

    @property
    def path(self) -> Path:
        """Its file, below the root of the system."""
        return Path("dev/vfio") / str(self.number)


def find_group(address: str, root: Path = ROOT) -> Group:
    """The group of the PCI device at `address` ("0000:03:00.0"), bound to vfio-pci.

    BoardError, with what to do, where there is no such device, no IOMMU, or another driver has the device.
    """
    devices = root / "sys/bus/pci/devices"
    device = devices / address
    if not device.is_dir():
        there = sorted(path.name for path in devices.iterdir()) if devices.is_dir() else []
        listed = f"there are {', '.join(there[:8])}{', ...' if there[8:] else ''}" if there else "there is none"
        raise BoardError(f"there is no PCI device {address}: {listed}; see `lspci -D`")
    group = device / "iommu_group"
    if not group.exists():
        raise BoardError(
            f"PCI device {address} is behind no IOMMU: switch it on in the firmware (VT-d, AMD-Vi) and for the kernel "
            "(intel_iommu=on, or nothing on AMD), then reboot"
        )
    driver = device / "driver"
    bound = driver.resolve().name if driver.exists() else ""
    if bound != "vfio-pci":
        state = f"is bound to {bound}" if bound else "has no driver"
        raise BoardError(
            f"PCI device {address} {state}, VFIO needs vfio-pci: as root `modprobe vfio-pci && "
            f"driverctl set-override {address} vfio-pci`"
        )
    number = group.resolve().name
    members = group / "devices"
    others = tuple(sorted(each.name for each in members.iterdir() if each.name != address)) if members.is_dir() else ()
    return Group(address, int(number), others)


def not_viable(group: Group) -> str:
    """Why a group cannot be used whose devices are not all free."""
    return (
        f"IOMMU group {group.number} of PCI device {group.address} is in use by other drivers: its other devices "
        f"{', '.join(group.others) or '(none that are listed)'} must be bound to vfio-pci too, or to nothing; or put "
        "the card into a slot with ACS, see `framelane doctor --pcie`"
    )
