"""The configuration space of a PCI device, as sysfs shows it: its PCI Express capability, and ACS.

PCI Express Base Specification 5.0, 7.5.3 (PCI Express capability) and 7.7.8 (Access Control Services).
"""

from dataclasses import dataclass

_CAPABILITIES, _HEADER_BYTES = 0x34, 64
_EXPRESS, _ACS = 0x10, 0x000D
_EXTENDED = 0x100


@dataclass(frozen=True, slots=True)
class Express:
    """A device's PCI Express capability, in bytes: largest payload it can have, and has; largest read request."""

    mps_supported: int
    mps: int
    mrrs: int


@dataclass(frozen=True, slots=True)
class ConfigSpace:
    """`data` is what could be read: 64 bytes without privilege, 256 or 4096 with it."""

    data: bytes

    @property
    def cut_off(self) -> bool:
        """Whether only the header could be read, as for any user but root."""
        return len(self.data) <= _HEADER_BYTES

    def express(self) -> Express | None:
        """What the PCI Express capability says; None where there is none, or it could not be read."""
        at = self._number(_CAPABILITIES, 1) & ~3
        seen: set[int] = set()
        while at >= _HEADER_BYTES and at not in seen and at + 12 <= len(self.data):
            seen.add(at)
            if self.data[at] == _EXPRESS:
                control = self._number(at + 8, 2)
                return Express(
                    mps_supported=128 << (self._number(at + 4, 4) & 7),
                    mps=128 << (control >> 5 & 7),
                    mrrs=128 << (control >> 12 & 7),
                )
            at = self.data[at + 1] & ~3
        return None

    def redirects_peers(self) -> bool | None:
        """Whether ACS sends requests from below to the root, not straight to a peer; None where it is unknown."""
        at = _EXTENDED
        seen: set[int] = set()
        if len(self.data) <= _EXTENDED:
            return None
        while at >= _EXTENDED and at not in seen and at + 8 <= len(self.data):
            seen.add(at)
            header = self._number(at, 4)
            if header & 0xFFFF == _ACS:
                return bool(self._number(at + 6, 2) & 1 << 2)
            at = header >> 20
        return False

    def _number(self, at: int, size: int) -> int:
        return int.from_bytes(self.data[at : at + size], "little")
