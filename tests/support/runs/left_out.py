"""Says how many tests a run leaves out: pytest-xdist does not."""

from collections.abc import Sequence
from typing import Any

import pytest

import whole_run

LEFT = "left out"
"""What a worker of pytest-xdist tells at its end."""


class LeftOut:
    """The plugin that says how many are left out."""

    def __init__(self) -> None:
        self._count = 0

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Count them."""
        self._count += len(items)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Tell it, from a worker."""
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput[LEFT] = self._count

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Hear it of a worker: all have the same."""
        self._count = max(self._count, getattr(node, "workeroutput", {}).get(LEFT, 0))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say it."""
        if self._count:
            terminalreporter.write_line(
                f"{self._count} tests are left out, for other commits or because they are recorded: "
                "docs/explanation/testing.md (`make nightly` runs all)"
            )


def pytest_configure(config: pytest.Config) -> None:
    """In the main process where it leaves any out, and in its workers."""
    if hasattr(config, "workerinput") or whole_run.of_one_commit(config):
        config.pluginmanager.register(LeftOut(), LEFT)
