"""What a command owes its terminal: to end in order when it is told to, and to print wherever it runs."""

import contextlib
import io
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from types import FrameType

from rich.console import Console

from framelane.base.stopping import handled

_ENDING = signal.SIGTERM, signal.SIGHUP


@contextlib.contextmanager
def orderly_end() -> Iterator[None]:
    """Within this block SIGTERM and SIGHUP raise SystemExit with status 128 + n, so that every `with` block cleans up.

    A signal that is ignored (nohup) stays ignored.
    """
    received: list[int] = []

    def end(number: int, frame: FrameType | None) -> None:
        for each in _ENDING:  # cleaning up is not interrupted
            signal.signal(each, signal.SIG_IGN)
        received.append(number)
        raise SystemExit(128 + number)

    try:
        with handled(end, *_ENDING):
            yield
    finally:
        if received:  # whatever a library has made of the exception
            raise SystemExit(128 + received[0])


def compiling(what: str) -> AbstractContextManager[object]:
    """Show on stderr, where that is a terminal, what goes on: stdout may be JSON."""
    console = Console(stderr=True)
    return console.status(what) if console.is_terminal else contextlib.nullcontext()


class Terminal(Console):
    """Stdout. Where its reader has gone (`| head -1`) the run goes on in silence: its results are in files."""

    def __init__(self) -> None:
        if isinstance(sys.stdout, io.TextIOWrapper):  # a file's name may hold what the encoding does not know
            sys.stdout.reconfigure(errors="backslashreplace")
        super().__init__()

    def on_broken_pipe(self) -> None:
        """See `rich.console.Console`, which would end the run."""
        self.quiet = True
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
