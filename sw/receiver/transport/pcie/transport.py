"""The transport of a session over PCIe: the device writes into the ring, and an event behind each frame."""

import collections
import time
from typing import Self

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import ConfigError, TransportError
from framelane.models.pcie.tlp_split import Status
from framelane.models.placement.slots import FREE_RUNNING
from framelane.models.placement.trailer import immediate
from framelane.receiver.transport.pcie.endpoint import Endpoint
from framelane.receiver.transport.pcie.event_ring import Event, EventRing
from framelane.receiver.transport.transport import Completion, Counters
from framelane.session.session import Session

_AT_ONCE = 256
"""Events that one poll takes at most."""
_CHECK_S = 0.5
"""A device that says nothing is asked for its state so often."""

SENTENCES = {
    Status.BAD_LENGTH: "a descriptor of no bytes was among its own",
    Status.OUTSIDE: "a descriptor reached behind the ring: the board's destination is not of this session",
    Status.NO_PAGE: "a page is not in the device's table, and what belongs there is missing",
    Status.BAD_PARITY: "an entry of the device's page table has a bit changed, and what belongs there is missing",
    Status.SHORT: "the board's memory gave less than was asked for",
    Status.LONG: "the board's memory gave more than was asked for",
    Status.BAD_PAYLOAD: "the board's memory gave bytes with errors, and what they were of is missing",
    Status.LINK_DOWN: "the link was down, or took nothing for too long",
    Status.FENCE_REFUSED: "the read behind it was refused: the IOMMU does not know the page",
    Status.UNANSWERED: "the read behind it had no answer in time: its last bytes may come later",
}
"""What is said of the first frame that ended so."""


class PcieTransport:
    """The transport of `session` on a device that writes events to `queue` (uint8, zeros, see `EventRing`).

    The device writes to the ring by itself: `endpoint` is only told how many events were read. A frame that the
    device could not write whole has its completion too, and is counted in `refused` by how it ended; its missing
    pixels are holes. ConfigError for a queue that is shorter than the session's events.
    """

    ended = False
    refuses_late = True
    """Writes of a device arrive in their order, and none twice."""

    def __init__(self, queue: NDArray[np.uint8], endpoint: Endpoint, session: Session) -> None:
        self._events = EventRing(queue)
        wanted = session.n_slots * session.sources
        if session.window_end != FREE_RUNNING and self._events.entries < wanted:
            raise ConfigError(
                f"an event queue of {self._events.entries} entries loses events of a ring of {session.n_slots} slots "
                f"and {session.sources} sources: give at least {wanted}"
            )
        self._endpoint = endpoint
        self._counters = Counters()
        self._checked = time.monotonic()
        self._closed = False

    @property
    def counters(self) -> Counters:
        """See `Transport`. TLPs are counted by the device alone; `refused` are frames, and errors of the device."""
        now = self._counters
        return Counters(
            completions=now.completions, refused=collections.Counter(now.refused), examples=dict(now.examples)
        )

    def poll(self, timeout_s: float) -> list[Completion]:
        """See `Transport`. TransportError, with its reason, once the device has failed and all it wrote was told."""
        if self._closed:
            raise TransportError("the transport on this PCIe device is closed: open another one")
        deadline = time.monotonic() + timeout_s
        while True:
            if found := self._events.take(_AT_ONCE):
                self._endpoint.consumed(self._events.consumed & 0xFFFFFFFF)
                return [self._completion(event) for event in found]
            self._check()
            if (left := deadline - time.monotonic()) <= 0:
                return []
            self._endpoint.wait(min(left, _CHECK_S))

    def close(self) -> None:
        """See `Transport`. From then on nothing is written."""
        self._closed = True
        self._endpoint.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _completion(self, event: Event) -> Completion:
        self._counters.completions += 1
        if event.status is not Status.OK:
            sentence = SENTENCES.get(event.status, "the device does not say why")
            self._refuse(event.status.name.lower(), f"frame {event.trailer.frame_number}: {sentence}")
        return Completion(immediate(event.trailer.source, event.trailer.frame_number))

    def _refuse(self, word: str, sentence: str) -> None:
        self._counters.refused[word] += 1
        self._counters.examples.setdefault(word, sentence)

    def _check(self) -> None:
        """Ask a device that has nothing to tell, now and then: each access to its registers takes a microsecond."""
        now = time.monotonic()
        if now - self._checked < _CHECK_S:
            return
        self._checked = now
        for word, sentence in self._endpoint.faults().items():
            self._refuse(f"device: {word}", sentence)
        if reason := self._endpoint.failed():
            raise TransportError(reason)
