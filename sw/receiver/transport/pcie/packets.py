"""Plain packets that a PCIe device puts into posted buffers, in sequence: of a source that knows no ring."""

import collections
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import ConfigError, TransportError
from framelane.models.pcie.tlp_split import Status
from framelane.models.placement.trailer import TRAILER_BYTES
from framelane.receiver.transport.pcie.endpoint import Endpoint
from framelane.receiver.transport.pcie.event_ring import Event, EventRing
from framelane.receiver.transport.pcie.transport import SENTENCES

_CHECK_S = 0.5
"""A device that says nothing is asked for its state so often."""
_WORD = 0xFFFF_FFFF
_SHARE = 4
"""Buffers are posted again at the latest when a quarter of them have been read."""


class PacketDevice(Endpoint, Protocol):
    """A device that puts packets into buffers, in turn, as they are posted."""

    def post(self, count: int) -> None:
        """So many buffers have been posted since the beginning, modulo 2^32."""


@dataclass(frozen=True, slots=True)
class Packet:
    """`data` (uint8, of the packet's length) is a view of its buffer: valid until the next packet is asked for.

    `number` counts packets that got a buffer, from 0; `dropped` those that got none, of all that came before, and maybe
    of some behind. `timestamp_ns` is the board's time at its last byte, 0 where the board has none.
    """

    number: int
    data: NDArray[np.uint8]
    timestamp_ns: int
    dropped: int


@dataclass(slots=True)
class PacketCounters:
    """Since the beginning: `packets` that were given out with their `data_bytes`; `dropped` had no buffer.

    `refused`, by word: packets that were not given out as not all of their bytes are there (`no_page`, ...), and errors
    of the device (`device: packet_unposted`, ...); `examples` has a sentence for each word.
    """

    packets: int = 0
    data_bytes: int = 0
    dropped: int = 0
    refused: collections.Counter[str] = field(default_factory=collections.Counter)
    examples: dict[str, str] = field(default_factory=dict)


class PacketReceiver:
    """Packets of `device` from its first on, which lie in `buffers` (uint8, a row each) and are told of in `queue`.

    `buffers` has 2^n rows of 2^m bytes, m from 7 to 16, of which the last 64 are not a packet's; `queue` is that of
    `EventRing`, zeros, with an entry for each buffer at least. All buffers are posted at once. ConfigError for memory
    of another shape.
    """

    def __init__(self, buffers: NDArray[np.uint8], queue: NDArray[np.uint8], device: PacketDevice) -> None:
        if buffers.ndim != 2 or any(size & (size - 1) for size in buffers.shape) or buffers.shape[1] <= TRAILER_BYTES:
            raise ConfigError(
                f"buffers of shape {buffers.shape} cannot be: give one row each, powers of 2, of 128 bytes or more"
            )
        self._events = EventRing(queue)
        if self._events.entries < len(buffers):
            raise ConfigError(
                f"an event queue of {self._events.entries} entries loses events of {len(buffers)} buffers: give as many"
            )
        self._buffers, self._device = buffers, device
        self._room = buffers.shape[1] - TRAILER_BYTES
        self._step = max(1, len(buffers) // _SHARE)
        self._read = self._posted = 0
        self._counters = PacketCounters()
        self._checked = time.monotonic()
        self._closed = False
        self._post()

    @property
    def counters(self) -> PacketCounters:
        """A copy of this moment."""
        now = self._counters
        return PacketCounters(
            now.packets, now.data_bytes, now.dropped, collections.Counter(now.refused), dict(now.examples)
        )

    def packets(self, timeout_s: float) -> Iterator[Packet]:
        """Packets in their order, each once, as they come; it ends when none has come for `timeout_s`.

        A packet's buffer is posted again once the next packet is asked for: copy what is needed longer. May be called
        again, and goes on where it ended, also where the loop was left early. TransportError, with its reason, once the
        device has failed and all that it wrote was given out, or its events are not those of packets alone.
        """
        while event := self._wait(timeout_s):
            packet = self._packet(event)
            try:
                if packet is not None:
                    yield packet
            finally:
                self._read += 1
                if self._read + len(self._buffers) - self._posted >= self._step:
                    self._post()

    def close(self) -> None:
        """Let the device write no more. May be called twice."""
        self._closed = True
        self._device.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _post(self) -> None:
        """All that have been read may be used again, and so may their events' entries."""
        posted = self._read + len(self._buffers)
        if posted == self._posted:
            return
        self._device.consumed(self._events.consumed & _WORD)
        self._device.post(posted & _WORD)
        self._posted = posted

    def _wait(self, timeout_s: float) -> Event | None:
        """The event that is next; None after that time."""
        if self._closed:
            raise TransportError("the receiver of packets on this PCIe device is closed: open another one")
        deadline = time.monotonic() + timeout_s
        while not (found := self._events.take(1)):
            self._post()
            self._check()
            if (left := deadline - time.monotonic()) <= 0:
                return None
            self._device.wait(min(left, _CHECK_S))
        return found[0]

    def _packet(self, event: Event) -> Packet | None:
        """The packet of an event; None where not all of its bytes are there."""
        said, number = event.trailer, self._read
        index = number % len(self._buffers)
        if (said.frame_number, said.slot) != (number & _WORD, index) or said.payload_bytes > self._room:
            raise TransportError(
                f"an event tells of number {said.frame_number} in buffer {said.slot}, packet {number & _WORD} in "
                f"buffer {index} is next: let this engine write packets alone, into buffers of {self._room} bytes"
            )
        self._counters.dropped = said.frames_dropped
        if event.status is not Status.OK:
            sentence = SENTENCES.get(event.status, "the device does not say why")
            self._refuse(event.status.name.lower(), f"packet {number}: {sentence}")
            return None
        self._counters.packets += 1
        self._counters.data_bytes += said.payload_bytes
        return Packet(number, self._buffers[index, : said.payload_bytes], said.timestamp_ns, said.frames_dropped)

    def _refuse(self, word: str, sentence: str) -> None:
        self._counters.refused[word] += 1
        self._counters.examples.setdefault(word, sentence)

    def _check(self) -> None:
        """Ask a device that has nothing to tell, now and then."""
        now = time.monotonic()
        if now - self._checked < _CHECK_S:
            return
        self._checked = now
        for word, sentence in self._device.faults().items():
            self._refuse(f"device: {word}", sentence)
        if reason := self._device.failed():
            raise TransportError(reason)
