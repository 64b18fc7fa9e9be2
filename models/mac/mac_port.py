"""What `mac_port` sends and passes on: packets whole, or not at all (IEEE 802.3, 3.2.8: the least frame)."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from framelane.models.cells import axis

MIN_BYTES = 60
"""Shortest Ethernet frame, without its FCS."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MacPort:
    """Widths in bits of the core's bus and the MAC's, size of the largest packet and of the least one in bytes."""

    width: int
    mac_width: int
    max_bytes: int = 4200
    min_bytes: int = MIN_BYTES

    @property
    def wide(self) -> int:
        """Width in which packets wait, bits."""
        return max(self.width, self.mac_width)

    @property
    def depth(self) -> int:
        """Beats of `wide` bits that wait, at most: a power of two, two of the largest packets or more."""
        needed: int = 2 * axis.n_beats(self.max_bytes, self.wide) + 2
        return 1 << (needed - 1).bit_length()

    def fits(self, packet: bytes) -> bool:
        """Whether it can wait whole: one beat more is in the register of the memory's output."""
        return axis.n_beats(len(packet), self.wide) <= self.depth + 1

    def sent(self, packets: Iterable[bytes]) -> Iterator[bytes]:
        """Yield what the MAC gets of the core's packets, without a threshold: what fits, filled up with zeros."""
        for packet in packets:
            if self.fits(packet):
                yield packet.ljust(self.min_bytes, b"\0")

    def received(self, packets: Iterable[tuple[bytes, bool]]) -> Iterator[bytes]:
        """Yield what the core gets of the MAC's packets, each with whether it is marked as wrong, if there is room."""
        for packet, wrong in packets:
            if not wrong and axis.n_beats(len(packet), self.wide) <= self.depth:
                yield packet


def gaps(valid: Sequence[bool], last: Sequence[bool], taken: Sequence[bool]) -> int:
    """Count the cycles without `valid` inside a packet: behind a beat that was `taken` and is not the `last` one."""
    inside, found = False, 0
    for is_valid, is_last, is_taken in zip(valid, last, taken, strict=True):
        found += inside and not is_valid
        if is_taken:
            inside = not is_last
    return found
