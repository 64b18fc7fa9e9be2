"""A PCI device of this host, with the bridges above it, as /sys shows them (the kernel's ABI/testing/sysfs-bus-pci)."""

import re
from dataclasses import dataclass
from pathlib import Path

from framelane.doctor.host.pcie_config import ConfigSpace
from framelane.doctor.host.system import System

DEVICES = "sys/bus/pci/devices"
_NAME = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_OVERHEAD = 24
"""Bytes of a TLP with a 64-bit address beside its payload: header, sequence number, LCRC, framing."""
_MEMORY = 0x200
"""linux/ioport.h, IORESOURCE_MEM."""


@dataclass(frozen=True, slots=True)
class Link:
    """A link: billions of transfers a second and lane, and lanes."""

    gt_s: float
    lanes: int

    @property
    def gb_s(self) -> float:
        """Bytes in 1e9 a second that it carries in all: 8 of 10 bits up to 5 GT/s, 128 of 130 above."""
        return self.gt_s * self.lanes / 8 * (0.8 if self.gt_s <= 5 else 128 / 130)

    def rate(self, mps: int) -> float:
        """Payload of memory writes of `mps` bytes, in 1e9 bytes a second."""
        return self.gb_s * mps / (mps + _OVERHEAD)

    def __str__(self) -> str:
        return f"{self.gt_s:g} GT/s x{self.lanes}"


@dataclass(frozen=True, slots=True)
class PciDevice:
    """The device `name` of `system`."""

    system: System
    name: str

    @property
    def folder(self) -> str:
        """Its folder, below the system's root."""
        return f"{DEVICES}/{self.name}"

    @property
    def exists(self) -> bool:
        """Whether it is there."""
        return (self.system.root / self.folder).is_dir()

    def text(self, file: str) -> str:
        """One of its files."""
        return self.system.text(f"{self.folder}/{file}")

    def link(self, which: str) -> Link | None:
        """Its `current` or `max` link; None where it has none, as inside a processor, or where it is down."""
        speed = self.text(f"{which}_link_speed").split(" ")[0]
        lanes = self.text(f"{which}_link_width")
        if not re.fullmatch(r"\d+(\.\d+)?", speed) or not lanes.isdigit() or not int(lanes):
            return None
        return Link(float(speed), int(lanes))

    def config(self) -> ConfigSpace:
        """Its configuration space, as far as this user may read it."""
        try:
            return ConfigSpace((self.system.root / self.folder / "config").read_bytes())
        except OSError:
            return ConfigSpace(b"")

    def above(self) -> list["PciDevice"]:
        """The bridges from it to the root, the nearest first."""
        try:
            parts = (self.system.root / self.folder).resolve().parts
        except OSError:
            return []
        names = [part for part in parts if _NAME.fullmatch(part)]
        return [PciDevice(self.system, name) for name in reversed(names[:-1])]

    @property
    def driver(self) -> str:
        """The driver it is bound to; empty where there is none."""
        return self._linked("driver")

    @property
    def group(self) -> str:
        """Its IOMMU group; empty where no IOMMU is above it."""
        return self._linked("iommu_group")

    @property
    def translated(self) -> bool:
        """Whether the IOMMU gives it addresses of its own, also for the kernel's drivers."""
        return self.system.text(f"sys/kernel/iommu_groups/{self.group}/type").startswith("DMA")

    def neighbours(self) -> list["PciDevice"]:
        """The other devices of its IOMMU group."""
        names = self.system.names(f"sys/kernel/iommu_groups/{self.group}/devices") if self.group else []
        return [PciDevice(self.system, name) for name in names if name != self.name]

    def memory_bars(self) -> list[tuple[int, int]]:
        """Number and bytes of each BAR that is memory. One of 64 bits takes two numbers, and has the first."""
        found = []
        for bar, line in enumerate(self.text("resource").splitlines()[:6]):
            numbers = [int(number, 16) for number in line.split()]
            if len(numbers) == 3 and numbers[2] & _MEMORY:
                found.append((bar, numbers[1] - numbers[0] + 1))
        return found

    def is_bridge(self) -> bool:
        """Whether it is a bridge or a port of a switch."""
        return self.text("class").startswith("0x0604")

    def _linked(self, name: str) -> str:
        path: Path = self.system.root / self.folder / name
        return path.resolve().name if path.exists() else ""


def all_devices(system: System) -> list[PciDevice]:
    """All PCI devices of the host."""
    return [PciDevice(system, name) for name in system.names(DEVICES)]
