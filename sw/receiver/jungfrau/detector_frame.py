"""A frame of a JUNGFRAU put together from packets, and what became of all of them."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from framelane.models.jungfrau.jf_packet import MODULE_ROWS, TICK_NS, JfHeader
from framelane.receiver.detector.detector_transport import MOST_NS
from framelane.receiver.detector.packet_fate import Fate
from framelane.receiver.jungfrau.packet_units import UNIT_ROWS, UNIT_WORDS


@dataclass(frozen=True, eq=False, slots=True)
class DetectorFrame:
    """The words of one frame of all modules. `image` is a view: it is valid until the next frame is asked for."""

    number: int
    image: NDArray[np.uint16]
    """uint16 (modules * 512, 1024), holes (0x8000) where a packet did not come."""
    packets: NDArray[np.uint16]
    """Packets of each module that came, of 128, or of 256 where they are of two rows; uint16 (modules)."""
    headers: tuple[JfHeader | None, ...]
    """The first packet's header from each module; None where nothing came."""
    guarded: int
    """Words of gain code 10, which a detector never sends; they became error words (0xFFFF)."""
    units: NDArray[np.uint16] | None = None
    """Pairs of rows of each module that came, of 256; uint16 (modules). None: two for each packet."""

    @property
    def complete(self) -> bool:
        """Whether every packet came."""
        return self.holes == 0

    @property
    def holes(self) -> int:
        """Pixels that did not come."""
        came = 2 * int(self.packets.sum()) if self.units is None else int(self.units.sum())
        return (MODULE_ROWS // UNIT_ROWS * self.packets.size - came) * UNIT_WORDS

    @property
    def header(self) -> JfHeader:
        """The header of the first module that sent anything: it has the frame's bunch id and times."""
        return next(header for header in self.headers if header is not None)

    @property
    def timestamp_ns(self) -> int:
        """Nanoseconds since the measurement began; 2^64 - 1 where they are more, so that uint64 holds them."""
        return min(self.header.timestamp * TICK_NS, MOST_NS)


@dataclass(slots=True)
class FrameCounts:
    """What became of packets and frames: every packet has one fate, `complete + incomplete` frames were handed out."""

    fates: dict[Fate, int] = field(default_factory=dict)
    complete: int = 0
    incomplete: int = 0
    missing: int = 0
    """Frames between two others of which nothing came."""
    restarts: int = 0
    """How often the frame numbers began anew."""
    holes: int = 0
    """Pixels that did not come, of the frames that were handed out."""
    guarded: int = 0
    """See `DetectorFrame`."""
