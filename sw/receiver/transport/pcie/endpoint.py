"""The seam between the transport and a PCIe device: credit of the event queue, and what the device says of itself."""

from collections.abc import Mapping
from typing import Protocol


class Endpoint(Protocol):
    """A device that writes frames and events, open until `close`. FramelaneError where it does not answer."""

    def consumed(self, count: int) -> None:
        """So many events have been read since the beginning, modulo 2^32: their entries may be written again."""

    def wait(self, timeout_s: float) -> None:
        """Return once an event may have come, or after that time."""

    def faults(self) -> Mapping[str, str]:
        """What went wrong since it was asked last: by one word, each with what to do."""

    def failed(self) -> str:
        """Why nothing will come any more; empty while something can."""

    def close(self) -> None:
        """Let the device write to this memory no more, then free it. May be called twice."""
