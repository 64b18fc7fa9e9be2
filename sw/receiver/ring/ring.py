"""The ring: the memory registered for RDMA, as slots of images and trailers whose unwritten pixels are known."""

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import ConfigError
from framelane.models.placement import trailer
from framelane.models.placement.slots import HOLE_WORD
from framelane.models.placement.trailer import TRAILER_BYTES, Trailer
from framelane.receiver.ring.memory import host_memory
from framelane.receiver.ring.window import Window
from framelane.session.session import Session


class Ring:
    """The ring that `session` describes, in page-aligned host memory, filled with holes.

    `memory` is its bytes (uint8, C-contiguous): those given, as many as it needs, else some of its own. They are filled
    when it is made: nothing may be placed before. A frame's slot is filled with holes again before its credit is
    returned. A free-running session (`window_end` all ones) gives credit for ever: there a slot may be overwritten
    while it is read, and `sound` tells whether it can have been. ConfigError where there is not so much memory.

    With `fills_itself` whoever writes to it fills with holes what it leaves of a frame, before the trailer: then a slot
    keeps the pixels of its last frame, and only its trailers are erased.
    """

    def __init__(
        self, session: Session, memory: NDArray[np.uint8] | None = None, *, fills_itself: bool = False
    ) -> None:
        self.layout = session.layout
        self.window = Window(self.layout.n_slots, session.window_end)
        self.share_bytes = session.image_bytes // session.sources
        """Bytes of an image that each source sends."""
        self._shape = (session.rows, session.columns)
        self.memory = host_memory(self.layout.ring_bytes) if memory is None else memory
        if self.memory.nbytes != self.layout.ring_bytes:
            raise ConfigError(f"a ring of {self.layout.ring_bytes} bytes does not fit memory of {self.memory.nbytes}")
        self._slots: NDArray[np.uint16] = self.memory.view("<u2").reshape(self.layout.n_slots, -1)
        self._slots.fill(HOLE_WORD)
        self._erased = self.layout.image_bytes // 2 if fills_itself else 0
        """The first word of a slot that is filled with holes when it is given back."""
        first = self.window.next
        self._clean_for = {self.layout.slot(n): n for n in range(first, first + self.layout.n_slots)}

    @property
    def window_end(self) -> int:
        """The credit: a source may send frame n only if n < `window_end`. Only ever grows."""
        return self.window.end

    def image(self, frame: int) -> NDArray[np.uint16]:
        """The raw image in a frame's slot, (rows, columns) uint16: a view, valid until the frame is released."""
        words = self._slots[self.layout.slot(frame), : self.layout.image_bytes // 2]
        return words.reshape(self._shape)

    def trailer(self, frame: int, source: int) -> Trailer | None:
        """The trailer of this frame and of a share of its image from this source; None where it was not written."""
        found = self.trailer_at(frame, source)
        return found if found and (found.frame_number, found.payload_bytes) == (frame, self.share_bytes) else None

    def trailer_at(self, frame: int, source: int) -> Trailer | None:
        """A source's trailer in the slot of `frame`, of whichever frame of that slot and whatever size."""
        slot = self.layout.slot(frame)
        start = self.layout.trailer_place(frame, source)
        found = trailer.unpack(self.memory[start : start + TRAILER_BYTES].tobytes())
        fits = found and (found.source, found.slot) == (source, slot) and self.layout.slot(found.frame_number) == slot
        return found if fits else None

    def holes(self, frame: int) -> int:
        """Number of pixels never written."""
        return int(np.count_nonzero(self.image(frame) == HOLE_WORD))

    def hole_mask(self, frame: int) -> NDArray[np.bool_]:
        """Which pixels were never written, (rows, columns) bool: a copy."""
        mask: NDArray[np.bool_] = self.image(frame) == HOLE_WORD
        return mask

    def blank(self, frame: int) -> bool:
        """Whether nothing in the slot is this frame's: pixels beside the trailer of another one are that one's."""
        sources = range(self.layout.sources)
        if any(self.trailer(frame, source) for source in sources):
            return False
        if self._erased or any(self.trailer_at(frame, source) for source in sources):
            return True
        return self.holes(frame) == self.image(frame).size

    def overwritten(self, frame: int) -> bool:
        """Whether a later frame may have begun in the frame's slot.

        A source writes frame after frame, so in free-running mode that may be as soon as the trailer of the frame
        before is there. With credit it takes a source that ignores the credit.
        """
        newest = max(self.window.newest, self._newest_at(frame), self._newest_at(frame - 1))
        return newest >= frame + self.layout.n_slots - self.window.free_running

    def sound(self, frame: int) -> bool:
        """Whether the slot holds this frame's words only: it was clean before, and is not overwritten."""
        clean = not self.window.free_running or self._clean_for[self.layout.slot(frame)] == frame
        return clean and not self.overwritten(frame)

    def release(self, frame: int) -> bool:
        """Fill the frame's slot with holes, then return its credit. False if it may have been overwritten before.

        A free-running slot that a later frame is being written to is left alone.
        """
        intact = not self.overwritten(frame)
        slot = self.layout.slot(frame)
        if intact or not self.window.free_running:
            self._slots[slot, self._erased :].fill(HOLE_WORD)
            self._clean_for[slot] = frame + self.layout.n_slots
        self.window.release(frame)
        return intact

    def _newest_at(self, frame: int) -> int:
        """The highest frame number that a trailer in the slot of `frame` names; -1 where there is none."""
        trailers = (self.trailer_at(frame, source) for source in range(self.layout.sources))
        return max((t.frame_number for t in trailers if t), default=-1)
