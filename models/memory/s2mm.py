"""Writing a stream into memory: the AXI4 bursts of one packet (AMBA IHI 0022, A3.4.1)."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from framelane.models.cells import axis
from framelane.models.cells.axis import Beat
from framelane.models.memory import mm2s


@dataclass(frozen=True, slots=True)
class Burst:
    """One write burst: the address of its first beat, and its beats, `keep` being WSTRB and `last` WLAST."""

    address: int
    beats: tuple[Beat, ...]


def bursts(address: int, packet: bytes, width: int, max_beats: int = mm2s.MAX_BEATS) -> Iterator[Burst]:
    """Yield the bursts that write `packet` (at least 1 byte) from `address` on, over a bus of `width` bits.

    The packet begins with a whole beat: the bits of the address below the bus width count for nothing. Bursts are cut
    like those of a read.
    """
    beats = axis.beats(packet, width)
    for start, count in mm2s.bursts(address - address % (width // 8), len(packet), width, max_beats):
        yield Burst(start, tuple(replace(next(beats), last=n == count - 1) for n in range(count)))
