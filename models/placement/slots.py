"""Where a frame lies in a receiver's memory: a ring of equal slots, in each the image and then one trailer a source."""

from dataclasses import dataclass

from framelane.base.errors import ConfigError
from framelane.models.placement import trailer

HOLE_WORD = 0x8000
"""A raw word that no source sends (gain code 10): in a slot it means "never written"."""

SLOT_ALIGN = 4096
"""Slots are whole pages."""

FREE_RUNNING = (1 << 64) - 1
"""The `window_end` of a receiver that gives credit for ever: a slot may be overwritten while it is read."""


@dataclass(frozen=True, slots=True)
class SlotLayout:
    """`n_slots` slots of `slot_bytes`, each for one image of `image_bytes` from `sources` sources."""

    n_slots: int
    slot_bytes: int
    image_bytes: int
    sources: int = 1

    def __post_init__(self) -> None:
        if self.n_slots < 1 or self.sources < 1 or self.sources > 256 or self.image_bytes < 1:
            raise ConfigError(
                f"a ring of {self.n_slots} slots, {self.sources} sources, {self.image_bytes} image bytes cannot be: "
                "need at least 1 slot, 1 to 256 sources, 1 byte"
            )
        if self.slot_bytes % SLOT_ALIGN or self.slot_bytes < self.needed(self.image_bytes, self.sources):
            raise ConfigError(
                f"ring too small: a slot of {self.slot_bytes} bytes does not hold an image of {self.image_bytes} bytes "
                f"and {self.sources} trailer(s) of {trailer.TRAILER_BYTES} in whole pages of {SLOT_ALIGN}: "
                f"give at least {self.needed(self.image_bytes, self.sources)}"
            )

    @staticmethod
    def needed(image_bytes: int, sources: int = 1) -> int:
        """The smallest slot, in bytes, for such an image."""
        return -(-(image_bytes + sources * trailer.TRAILER_BYTES) // SLOT_ALIGN) * SLOT_ALIGN

    @property
    def ring_bytes(self) -> int:
        """Size of the registered region."""
        return self.n_slots * self.slot_bytes

    def slot(self, frame_number: int) -> int:
        """The slot of a frame: always its number modulo the number of slots."""
        return frame_number % self.n_slots

    def slot_offset(self, frame_number: int) -> int:
        """Offset of a frame's slot in the ring, in bytes."""
        return self.slot(frame_number) * self.slot_bytes

    def trailer_offset(self, source: int) -> int:
        """Offset of a source's trailer in its slot, in bytes: the trailers end with the slot."""
        return self.slot_bytes - (self.sources - source) * trailer.TRAILER_BYTES

    def trailer_place(self, frame_number: int, source: int) -> int:
        """Offset of a source's trailer of a frame in the ring, in bytes."""
        return self.slot_offset(frame_number) + self.trailer_offset(source)

    def ends_frame(self, imm: int, data: bytes, end: int) -> bool:
        """Whether a message WITH_IMM ends a frame: whether the trailer that `imm` names is at its place in the ring.

        `data` is the payload of the message's last packet, which ends at offset `end` of the ring.
        """
        found = trailer.unpack(data[-trailer.TRAILER_BYTES :]) if len(data) >= trailer.TRAILER_BYTES else None
        return (
            found is not None
            and found.source < self.sources
            and found.slot == self.slot(found.frame_number)
            and trailer.immediate(found.source, found.frame_number) == imm
            and end == self.trailer_place(found.frame_number, found.source) + trailer.TRAILER_BYTES
        )
