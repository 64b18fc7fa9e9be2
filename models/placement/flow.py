"""What the transmitter is told: which frames and which part of them go where, and the frames themselves."""

from dataclasses import dataclass
from enum import IntEnum

from framelane.base.errors import ConfigError

MAX_LENGTH = 1 << 31
"""Longest descriptor, in bytes: the longest message of RDMA (InfiniBand vol. 1, 9.4.3)."""


def _check(what: str, record: object, limits: dict[str, tuple[int, int]]) -> None:
    for name, (low, high) in limits.items():
        value = getattr(record, name)
        if not low <= value <= high:
            raise ConfigError(f"{what} field {name} = {value} is outside its range: give {low}..{high}")


def _bits(low: int = 0, **widths: int) -> dict[str, tuple[int, int]]:
    return {name: (low, (1 << width) - 1) for name, width in widths.items()}


class Refusal(IntEnum):
    """Why a frame that a flow had selected is not sent, beside want of credit."""

    BAD_FLOW = 1
    """A size, period, burst, bunch, number of destinations or max_length of 0, or lines that overlap."""
    BAD_DESTINATION = 2
    """Outside the table, not enabled, or without slots."""
    BACKWARDS = 3
    """Its number is not above that of the frame before."""
    OUTSIDE = 4
    """The rectangle or the trailer does not fit the slot."""


@dataclass(frozen=True, slots=True)
class FrameEvent:
    """A frame that lies complete in the source's memory at `address`.

    `number` is the detector's, `kind` (0..7) what the detector's plan calls it (exposed, dark, ...), and `kind_index`
    counts the frames of this kind before it. `time_flags` are those of the trailer.
    """

    number: int
    timestamp_ns: int
    bunch_id: int
    address: int
    kind: int = 0
    kind_index: int = 0
    time_flags: int = 0


@dataclass(frozen=True, slots=True)
class Destination:
    """One receiver's ring: index of its QP, virtual address of slot 0, place of this source's trailer in a slot.

    Lengths and offsets in bytes.
    """

    qp: int
    base: int
    slot_bytes: int
    n_slots: int
    trailer_offset: int

    def __post_init__(self) -> None:
        _check("destination", self, _bits(qp=8, base=64, trailer_offset=32) | _bits(1, slot_bytes=32, n_slots=32))


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """Which frames, which rectangle of them, and to which destinations.

    Frame n is taken if n >= `first`, (n - first) % `period` < `burst`, and fewer than `count` were before it (0: no
    limit); with a `kind`, only frames of that kind are, and n counts them among themselves. `bunch` frames in a row go
    to each of `destinations` destinations in turn, from `first_destination` on in their table.

    The rectangle of `width` x `height` pixels at (`x0`, `y0`) of the frame goes to (`x1`, `y1`) of the destination's
    image. Pixels are of 2 bytes, `wide` ones of 4; pitches (bytes from line to line), `source_offset` (of the image,
    behind the frame's address) and `max_length` (of one descriptor) in bytes. `source` is the id of this source.
    """

    source: int
    first_destination: int
    destinations: int = 1
    bunch: int = 1
    first: int = 0
    period: int = 1
    burst: int = 1
    count: int = 0
    kind: int | None = None
    x0: int = 0
    y0: int = 0
    width: int
    height: int
    source_pitch: int
    source_offset: int = 0
    wide: bool = False
    x1: int = 0
    y1: int = 0
    destination_pitch: int
    max_length: int = MAX_LENGTH

    def __post_init__(self) -> None:
        limits = _bits(source=8, first_destination=8, first=64, count=64, x0=16, y0=16, x1=16, y1=16)
        limits |= _bits(source_pitch=32, source_offset=32, destination_pitch=32)
        limits |= _bits(1, destinations=8, bunch=32, period=32, burst=32, width=16, height=16)
        _check("flow", self, limits | {"max_length": (1, MAX_LENGTH)})
        if self.kind is not None and not 0 <= self.kind < 8:
            raise ConfigError(f"flow field kind = {self.kind} is outside its range: give 0..7, or none")
        if self.burst > self.period:
            raise ConfigError(f"flow field burst = {self.burst} exceeds its period of {self.period} frames")
        if self.height > 1 and self.destination_pitch < self.row_bytes:
            raise ConfigError(
                f"flow field destination_pitch = {self.destination_pitch} is below a line of {self.row_bytes} bytes: "
                "lines would overlap"
            )

    @property
    def pixel_bytes(self) -> int:
        """Bytes of a pixel."""
        return 4 if self.wide else 2

    @property
    def row_bytes(self) -> int:
        """Bytes of one line of the rectangle."""
        return self.width * self.pixel_bytes

    @property
    def runs(self) -> tuple[int, int]:
        """How many runs of how many bytes the rectangle is: one where its lines are contiguous on both sides."""
        if self.height == 1 or self.row_bytes == self.source_pitch == self.destination_pitch:
            return 1, self.payload_bytes
        return self.height, self.row_bytes

    @property
    def descriptors(self) -> int:
        """Descriptors of a frame, its trailer included; 65535 also for more."""
        runs, size = self.runs
        return min(runs * -(-size // self.max_length) + 1, (1 << 16) - 1)

    @property
    def payload_bytes(self) -> int:
        """Bytes of the rectangle."""
        return self.row_bytes * self.height
