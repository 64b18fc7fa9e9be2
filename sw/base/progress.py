"""Telling what a command does while it works: live on a terminal, plain lines elsewhere."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn


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
        self._shown, self._task = "", TaskID(0)
        """The step that goes on by `show`, if any."""
        self._live = Progress(*columns, console=console, disable=not console.is_terminal)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, kind: object, *error: object) -> None:
        if kind is None:
            self._finish()
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

    def show(self, what: str, done: int, total: int) -> None:
        """A `Progress` (framelane.base.telling): a step goes on, or the next one begins, which ends the one before."""
        if what != self._shown:
            self._finish()
            self._shown, self._task = what, self._begin(what, total or None)
        self._live.update(self._task, completed=done)

    def _finish(self) -> None:
        """The step that `show` has begun is done."""
        for task in self._live.tasks if self._shown else ():
            if task.id == self._task:
                total = task.total or 1
                self._live.update(task.id, total=total, completed=total)
        self._shown = ""

    def say(self, text: str) -> None:
        """A line that stays."""
        say(self._console, text)

    def _begin(self, what: str, total: int | None) -> Any:
        if not self._console.is_terminal:
            self.say(what)
        return self._live.add_task(what, total=total)
