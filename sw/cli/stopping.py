"""To stop on a signal with everything kept."""

import contextlib
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType

_SIGNALS = signal.SIGINT, signal.SIGTERM, signal.SIGHUP


@dataclass(slots=True)
class Stop:
    """Whether the user wants the run to end."""

    wanted: bool = False


@contextlib.contextmanager
def stop_on_signals() -> Iterator[Stop]:
    """Within this block SIGINT, SIGTERM and SIGHUP set `wanted` and do nothing else, however often they come.

    SIGHUP stays ignored where it is: under nohup.
    """
    stop = Stop()

    def note(number: int, frame: FrameType | None) -> None:
        stop.wanted = True

    previous = {number: signal.getsignal(number) for number in _SIGNALS}
    if previous[signal.SIGHUP] is signal.SIG_IGN:
        del previous[signal.SIGHUP]
    for number in previous:
        signal.signal(number, note)
    try:
        yield stop
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
