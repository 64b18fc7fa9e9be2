"""Impairments on the way to a wire: what the user wants of it, and what it has done."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from framelane.base.errors import OptionError
from framelane.models.roce_tx.packet_batch import Batch
from framelane.source.impairments.impairments import Impairment, parse


@dataclass(frozen=True, slots=True, kw_only=True)
class ImpairOptions:
    """The faults of `text` (docs/howto/fault_injection.md), None: none; their random numbers from `seed`.

    ConfigError for what cannot be.
    """

    text: str | None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.seed < 0:
            raise OptionError("{impair_seed} {0} is negative: give 0 or more", self.seed)
        self.make(1)

    def make(self, sources: int) -> Impairment | None:
        """The faults, for a session of so many sources."""
        return None if self.text is None else parse(self.text, self.seed, sources=sources)


class Outlet(Protocol):
    """Takes packets that leave."""

    def send(self, frames: Sequence[bytes]) -> None:
        """Send packets, given as Ethernet frames without FCS."""

    def send_batch(self, batch: Batch) -> None:
        """The same for many of them."""


class Line:
    """Passes packets to `outlet`, through `impairment` if there is one."""

    def __init__(self, outlet: Outlet, impairment: Impairment | None) -> None:
        self._outlet = outlet
        self._impairment = impairment

    def send(self, batch: Batch, frame: int) -> None:
        """Send packets of the frame numbered `frame`, which only grows."""
        if self._impairment is None or self._impairment.spares(len(batch)):
            self._outlet.send_batch(batch)
        elif packets := self._impairment.feed(list(batch), frame):
            self._outlet.send(packets)

    def end(self) -> None:
        """Send what was held back."""
        if self._impairment is not None and (packets := self._impairment.flush()):
            self._outlet.send(packets)


def describe(impairment: Impairment | None) -> list[str]:
    """What was done to the packets, for people."""
    if impairment is None:
        return []
    counts = impairment.counts
    return ["faults made: " + (", ".join(f"{counts[kind]} {kind}" for kind in sorted(counts)) or "none")]


def document(impairment: Impairment | None) -> dict[str, Any]:
    """The same, and each fault by itself: see `Impairment.record`."""
    if impairment is None:
        return {}
    return {"faults_made": dict(impairment.counts), "deeds": [asdict(deed) for deed in impairment.record]}
