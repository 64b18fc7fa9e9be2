"""The receiver's loop with golden transmitters before it, and a cable that loses what a test says."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from cable import Cable
from framelane.models.placement.flow import FrameEvent
from framelane.models.placement.slots import HOLE_WORD
from framelane.models.tx import Tx
from framelane.receiver.ring.receiver import ReceivedFrame, Receiver
from framelane.receiver.ring.ring import Ring
from framelane.receiver.transport.softnic import SoftNic
from framelane.session.session import Session

MakeSession = Callable[..., Session]
MakeImages = Callable[..., list[NDArray[np.uint16]]]
TRAILER = 4
"""Index of a frame's trailer among its five packets."""


class Chain:
    """Golden transmitters, one a source, a cable, and a receiver."""

    def __init__(self, session: Session, images: list[NDArray[np.uint16]], nic: type[SoftNic] = SoftNic) -> None:
        self.images = images
        self.session = session
        self.cable = Cable()
        self.ring = Ring(session)
        self.receiver = Receiver(self.ring, nic(self.cable, self.ring.memory, session))
        memory = b"".join(image.tobytes() for image in images)
        self._part = session.image_bytes // session.sources
        self._image_bytes = session.image_bytes
        self._sources = [
            Tx(session.tx_config(source), lambda address, length: memory[address : address + length])
            for source in range(session.sources)
        ]

    def offer(self, number: int, source: int = 0, window_end: int | None = None) -> list[bytes]:
        """Offer a frame to a source; its packets, none without credit: the ring's, if no other is given."""
        address = number % len(self.images) * self._image_bytes + source * self._part
        event = FrameEvent(number, timestamp_ns=1000 * number, bunch_id=number + 500, address=address)
        self._sources[source].bd_gen.window_ends[0] = self.ring.window_end if window_end is None else window_end
        return self._sources[source].frame(event)

    def rearm(self) -> None:
        """The sources begin anew with any number; their QPs go on."""
        for number, source in enumerate(self._sources):
            source.bd_gen = Tx(self.session.tx_config(number), lambda address, length: b"").bd_gen

    def send(self, number: int, lost: frozenset[int] | set[int] = frozenset(), source: int = 0) -> None:
        """Put a frame on the cable, without the packets at the indices `lost`."""
        self.cable.waiting.extend(p for n, p in enumerate(self.offer(number, source)) if n not in lost)

    def take(self) -> list[ReceivedFrame]:
        """Finished frames until the cable is empty; none is released."""
        frames = self.receiver.poll(0)
        while self.cable.waiting:
            frames += self.receiver.poll(0)
        return frames

    def read(self) -> list[int]:
        """Take and release; the numbers, with what is not a hole compared to what was sent."""
        return [self.check(frame) for frame in self.take()]

    def check(self, frame: ReceivedFrame) -> int:
        found = frame.image != HOLE_WORD
        assert frame.holes == found.size - np.count_nonzero(found)
        assert np.array_equal(frame.image[found], self.images[frame.number % len(self.images)][found])
        assert self.receiver.release(frame)
        return frame.number


MakeChain = Callable[..., Chain]


@pytest.fixture
def make_chain(make_session: MakeSession, make_images: MakeImages) -> Callable[..., Chain]:
    def make(**changes: int) -> Chain:
        session = make_session(**changes)
        return Chain(session, make_images(session, 8))

    return make
