"""Telling what a command does while it works: live on a terminal, plain lines elsewhere."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn


def say(console: Console, text: str, style: str | None = None) -> None:
    """Print a line as it is."""
    console.print(text, style=style, highlight=False, markup=False, soft_wrap=True)


class Stages:
    """The steps of one run, shown on `console` within a `with` block."""

    def __init__(self, console: Console) -> None:
        self._console = console
        spinner, done = ("line", "ok") if console.options.ascii_only else ("dots", "✓")
        columns = (
            SpinnerColumn(spinner, finished_text=f"[green]{done}[/]"),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
        )
        self._live = Progress(*columns, console=console, disable=not console.is_terminal)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._live.stop()

    @contextlib.contextmanager
    def stage(self, what: str) -> Iterator[None]:
        """A step whose length is not known."""
        task = self._begin(what, None)
        yield
        self._live.update(task, total=1, completed=1)

    def track(self, what: str, items: Sequence[Any]) -> Iterator[Any]:
        """A step for each of `items`, which are yielded."""
        task = self._begin(what, len(items))
        for item in items:
            yield item
            self._live.advance(task)

    def say(self, text: str) -> None:
        """A line that stays."""
        say(self._console, text)

    def _begin(self, what: str, total: int | None) -> Any:
        if not self._console.is_terminal:
            self.say(what)
        return self._live.add_task(what, total=total)
