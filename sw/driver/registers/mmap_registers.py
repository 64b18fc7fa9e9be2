"""Boards of this machine: registers mapped into memory, by UIO or as a PCI BAR through sysfs.

Sources: the kernel's Documentation/driver-api/uio-howto.rst (maps), Documentation/PCI/sysfs-pci.rst (resource files),
PCI Local Bus Specification 3.0, 6.2.2 (command register).
"""

import errno
import mmap
import os
import re
import sys
from pathlib import Path

from framelane.base.errors import BoardError
from framelane.driver.registers.registers import WORD, WORD_BYTES, check_access

ROOT = Path("/")
_COMMAND, _MEMORY_SPACE = 4, 2
"""Byte of the configuration space and bit in it: the device answers accesses to its memory BARs."""
_MEMORY_RESOURCE = 0x200
"""linux/ioport.h, IORESOURCE_MEM."""
_ADVICE = {
    errno.EACCES: "run as root, or give your user access to it (a udev rule for UIO)",
    errno.EPERM: "run as root; a kernel that is locked down (Secure Boot) forbids it altogether",
    errno.ENODEV: "the device has gone: bring it back, then try again",
    errno.EINVAL: "the kernel does not map it: is another driver bound to the device?",
}


class MappedRegisters:
    """The `size` bytes from `offset` on of a map of the device `name`, which is closed with them."""

    def __init__(self, mapped: mmap.mmap, name: str, size: int, offset: int = 0) -> None:
        self._name, self._size, self._map = name, size, mapped
        self._bytes = memoryview(self._map)
        # Its items are read and written by one access of 32 bits each.
        self._words = self._bytes[offset : offset + size].cast("I")

    def read(self, offset: int) -> int:
        """See `Registers`. Where the first word, which every board has, reads all ones too, the device is gone."""
        word = self._at(offset)
        value = self._words[word]
        if value == WORD == self._words[0]:
            raise BoardError(
                f"no device answers behind {self._name}, every read gives all ones: its link is down, it has no power, "
                "or its design was loaded anew: rescan the bus (remove it, then rescan, in /sys/bus/pci) or reboot"
            )
        return value

    def write(self, offset: int, value: int) -> None:
        """See `Registers`."""
        self._words[self._at(offset, value)] = value

    def _at(self, offset: int, value: int = 0) -> int:
        if self._map.closed:
            raise BoardError(f"the registers {self._name} are closed")
        check_access(offset, self._size, value)
        return offset // WORD_BYTES

    def close(self) -> None:
        """See `Registers`."""
        self._words.release()
        self._bytes.release()
        self._map.close()


class MmapRegisters(MappedRegisters):
    """The registers at byte `offset` of the file `path`, `size` bytes; see `open_uio` and `open_pci`."""

    def __init__(self, path: Path, size: int, offset: int = 0) -> None:
        if sys.byteorder != "little":
            raise BoardError(f"cannot open the registers {path}: they are little-endian, this machine is not")
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_SYNC | os.O_CLOEXEC)
            try:
                mapped = mmap.mmap(descriptor, offset + size)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise _failure(f"cannot open the registers {path}", error) from error
        except ValueError as error:
            raise BoardError(f"cannot map {offset + size} bytes of {path}: {error}") from error
        super().__init__(mapped, str(path), size, offset)


def open_uio(name: str, root: Path = ROOT) -> MmapRegisters:
    """Map 0 of the UIO device `name` ("uio0"). BoardError where that cannot be had."""
    folder = root / "sys/class/uio" / name / "maps/map0"
    if not folder.parent.parent.is_dir():
        raise BoardError(f"there is no UIO device {name}: {_listed(root / 'sys/class/uio', 'a driver must make one')}")
    offset = folder / "offset"  # of the registers in the first page of the map
    return MmapRegisters(root / "dev" / name, _number(folder / "size"), _number(offset) if offset.exists() else 0)


def open_pci(address: str, bar: int = 0, root: Path = ROOT) -> MmapRegisters:
    """BAR number `bar` of the PCI device at `address` ("0000:03:00.0"). BoardError where that cannot be had."""
    devices = root / "sys/bus/pci/devices"
    device = devices / address
    if not device.is_dir():
        raise BoardError(f"there is no PCI device {address}: {_listed(devices, 'see `lspci -D`')}")
    command = int.from_bytes(_contents(device / "config")[_COMMAND : _COMMAND + 2], "little")
    if command == 0xFFFF:
        raise BoardError(f"PCI device {address} does not answer: its link is down, or it has no power")
    if not command & _MEMORY_SPACE:
        raise BoardError(
            f"PCI device {address} does not answer accesses to its memory: enable it as root by "
            f"`echo 1 > /sys/bus/pci/devices/{address}/enable`"
        )
    usable = _memory_bars(device)
    if bar not in usable:
        known = f"it has {', '.join(map(str, usable))}" if usable else "it has none"
        raise BoardError(f"PCI device {address} has no memory BAR {bar}: {known}")
    return MmapRegisters(device / f"resource{bar}", usable[bar])


def _memory_bars(device: Path) -> dict[int, int]:
    """Sizes, in bytes, of the BARs that are memory. Each line of the file `resource`: first and last address, flags."""
    sizes = {}
    for bar, line in enumerate(_contents(device / "resource").decode("ascii").splitlines()[:6]):
        first, last, flags = (int(number, 16) for number in line.split())
        if flags & _MEMORY_RESOURCE:
            sizes[bar] = last - first + 1
    return sizes


def _listed(folder: Path, otherwise: str) -> str:
    found = sorted((entry.name for entry in folder.iterdir()), key=_natural) if folder.is_dir() else []
    return f"there are {', '.join(found[:8])}{', ...' if found[8:] else ''}" if found else f"there is none, {otherwise}"


def _natural(name: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.findall(r"\d+|\D+", name)]


def _number(path: Path) -> int:
    return int(_contents(path), 16)


def _contents(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise _failure(f"cannot read {path}", error) from error


def _failure(what: str, error: OSError) -> BoardError:
    advice = _ADVICE.get(error.errno or 0)
    return BoardError(f"{what}: {os.strerror(error.errno or 0)}" + (f": {advice}" if advice else ""))
