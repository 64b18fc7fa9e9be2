"""Stop on a signal, and keep everything."""

import contextlib
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType

_SIGNALS = signal.SIGINT, signal.SIGTERM, signal.SIGHUP


@dataclass(slots=True)
class Stop:
    """Whether somebody wants the run to end: set `wanted` from any thread. `who` wants it, in words."""

    wanted: bool = False
    who: str = "the caller"


@contextlib.contextmanager
def handled(handler: Callable[[int, FrameType | None], object], *numbers: signal.Signals) -> Iterator[None]:
    """Within this block these signals call `handler`; one that is ignored (nohup) stays ignored. Main thread only."""
    wanted = [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]
    previous = {number: signal.signal(number, handler) for number in wanted}
    try:
        yield
    finally:
        for number, before in previous.items():
            signal.signal(number, before)


@contextlib.contextmanager
def stop_on_signals(stop: Stop | None = None) -> Iterator[Stop]:
    """Within this block SIGINT, SIGTERM and SIGHUP set `wanted` and do nothing else, however often they come.

    In the main thread only. SIGHUP stays ignored where it is: under nohup.
    """
    stop = stop or Stop()
    stop.who = "a signal"

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
