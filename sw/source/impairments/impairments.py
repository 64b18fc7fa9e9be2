"""Impairments of a stream of packets: lost, repeated, reordered, corrupted, delayed, mixed with others', cut off.

Pure and seeded: the same packets, text and seed give the same packets again, from a capture or on the way to a socket.
The notation is in `docs/howto/fault_injection.md`.
"""

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from framelane.source.impairments._impairment_step import Deed, Passing, Step
from framelane.source.impairments._impairment_text import plan
from framelane.source.impairments.packet_fields import is_trailer

__all__ = ["Deed", "Impairment", "parse"]

_MOST_KEPT = 100_000
_PIECE = 32
"""Packets that are looked at one by one where one of them is hit."""


class Impairment:
    """A bad line: what goes in comes out of its steps, one after the other, and what they did is told.

    `counts` says how often each kind of fault was made; `record` holds the first 100,000 deeds, unless `note` takes
    them all. Packets are Ethernet frames without FCS.
    """

    def __init__(
        self, steps: Sequence[Step], *, sources: int = 1, note: Callable[[Deed], object] | None = None
    ) -> None:
        self.counts: Counter[str] = Counter()
        self.record: list[Deed] = []
        self._steps = steps
        self._sources = sources
        self._tell = note or self._keep
        self._index = 0

    def spares(self, count: int) -> bool:
        """Whether nothing happens to the next `count` packets, nor comes between: then they have gone by, unseen.

        For a sender of many: what is spared need not be fed.
        """
        spared = all(step.spares(self._index, count) for step in self._steps)
        if spared:
            self._index += count
            for step in self._steps:
                step.skip(count)
        return spared

    def feed(self, packets: Sequence[bytes], frame: int) -> Sequence[bytes]:
        """Packets of the frame numbered `frame`, which only grows: what comes out of the line now."""
        if self.spares(len(packets)):
            return packets
        out: list[bytes] = []
        for at in range(0, len(packets), _PIECE):
            piece = packets[at : at + _PIECE]
            if self.spares(len(piece)):
                out += piece
                continue
            start = self._index
            self._index += len(piece)
            out += self._through(self._steps, [Passing(start + n, frame, bytes(p)) for n, p in enumerate(piece)])
        return out

    def flush(self) -> list[bytes]:
        """What is held back at the end of the stream."""
        steps = self._steps
        return [p for n, step in enumerate(steps) for p in self._through(steps[n + 1 :], step.flush())]

    def __call__(self, packets: Iterable[bytes]) -> Iterator[bytes]:
        """The whole stream; a frame ends with the trailers of all its sources."""
        trailers = 0
        for packet in packets:
            yield from self.feed([packet], trailers // self._sources)
            trailers += is_trailer(packet)
        yield from self.flush()

    def _through(self, steps: Sequence[Step], passing: Iterable[Passing]) -> list[bytes]:
        """Each packet, and what comes of it, through all the steps before the next one."""
        out: list[bytes] = []
        for each in passing:
            wave = [each]
            for step in steps:
                wave = list(itertools.chain.from_iterable(map(step.take, wave)))
                for deed in step.deeds:
                    self.counts[deed.kind] += 1
                    self._tell(deed)
                step.deeds.clear()
            out += [left.packet for left in wave]
        return out

    def _keep(self, deed: Deed) -> None:
        if len(self.record) < _MOST_KEPT:
            self.record.append(deed)


def parse(text: str, seed: int = 0, *, sources: int = 1, note: Callable[[Deed], object] | None = None) -> Impairment:
    """The line that `text` describes, such as "drop=0.01,corrupt:bth.psn=0.001"; a session of so many `sources`.

    Each fault has a random stream of its own, made of `seed` and its place in the text. Raises ConfigError, in a
    sentence that names the choices, where the text is no such description.
    """
    steps = [make(np.random.default_rng([seed, n])) for n, make in enumerate(plan(text))]
    return Impairment(steps, sources=sources, note=note)
