"""To stop on a signal with everything kept."""

import contextlib
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType


@dataclass(slots=True)
class Stop:
    """Whether the user wants the run to end."""

    wanted: bool = False


@contextlib.contextmanager
def stop_on_signals() -> Iterator[Stop]:
    """Within this block the first SIGINT or SIGTERM sets `wanted`; a second one ends the run as it does elsewhere."""
    stop = Stop()

    def note(number: int, frame: FrameType | None) -> None:
        stop.wanted = True
        restore()

    def restore() -> None:
        for number, handler in previous.items():
            signal.signal(number, handler)

    previous = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in previous:
        signal.signal(number, note)
    try:
        yield stop
    finally:
        restore()
