"""Who is told of a live run: the user alone, or the other ranks too."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from rich.console import Console

from framelane.base.progress import say
from framelane.base.stopping import Stop


class Progress(Protocol):
    """Takes how it goes."""

    def update(self, status: str) -> None:
        """A line, now and then while the run lasts."""


class RunWatch(Protocol):
    """Is told when a run begins, how it goes, and what came of it."""

    def running(self, sentence: str, stop: Stop) -> AbstractContextManager[Progress]:
        """The receiver is ready, as `sentence` says; the run lasts as long as the block. It may want the end, too."""

    def say(self, lines: Sequence[str]) -> None:
        """What came of it."""


class OnConsole:
    """Shows it to the user."""

    def __init__(self, console: Console) -> None:
        self._console = console

    @contextmanager
    def running(self, sentence: str, stop: Stop) -> Iterator[Progress]:
        """See `RunWatch`."""
        with self._console.status("nothing has come yet") as status:
            say(self._console, sentence)
            yield status

    def say(self, lines: Sequence[str]) -> None:
        """See `RunWatch`."""
        say(self._console, "\n".join(lines))
