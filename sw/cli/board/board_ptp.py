"""`framelane board ptp`: the board's clock follows a grandmaster, until Ctrl-C."""

import time

from rich.console import Console

from framelane.base.progress import say
from framelane.base.stopping import Stop, stop_on_signals
from framelane.driver import Board, PtpFollower, PtpSettings

_LOOKS_S = 0.002
"""The unit keeps seven messages: of a busy master, those of 18 ms."""


def run(board: Board, settings: PtpSettings, transport: str, frames: str | None, console: Console) -> None:
    """Follow the best grandmaster of the domain until a signal comes; a line for each change.

    BoardError where the board has no clock, or was not configured.
    """
    with stop_on_signals() as stop:
        follower = board.follow_time(settings, transport=transport, frames=frames)
        try:
            follow(follower, stop, console)
        finally:
            follower.release()
    say(console, "ended: the clock runs free")


def follow(follower: PtpFollower, stop: Stop, console: Console) -> None:
    """Until it is to `stop`."""
    before: tuple[object, ...] = ()
    while not stop.wanted:
        after = follower.turn()
        status = follower.status
        now = status.state, status.grandmaster, status.fault, status.warning
        if now != before:
            before = now
            say(console, f"{status.state.value}: {follower.state.lines()[0]}")
            for sentence in filter(None, (status.fault, status.warning)):
                say(console, sentence, style="red")
        time.sleep(min(after, _LOOKS_S))
