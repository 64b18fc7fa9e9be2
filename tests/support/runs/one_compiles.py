"""The first of several workers imports the tests alone where none have run yet; the others take what it compiles.

pytest rewrites the assertions of each test module, and keeps its bytecode. Workers that begin together would all do the
same for half a minute.
"""

import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from longest_first import DURATIONS

PATIENCE_S = 120.0
"""How long the others wait for the first: then they do it themselves."""
FIRST = "gw0"


def mark(run: str) -> Path:
    """The file that says that the first worker of a run has its tests."""
    return Path(tempfile.gettempdir(), f"framelane-collected-{run}")


def wait(path: Path, patience_s: float) -> None:
    """Until the file is there."""
    end = time.monotonic() + patience_s
    while not path.exists() and time.monotonic() < end:
        time.sleep(0.05)


class OneCompiles:
    """The plugin of one worker."""

    def __init__(self, worker: str, run: str) -> None:
        self._is_first, self._mark = worker == FIRST, mark(run)

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self) -> Iterator[None]:
        """Wait, or say that nobody needs to."""
        if not self._is_first:
            wait(self._mark, PATIENCE_S)
        try:
            yield
        finally:
            if self._is_first:
                self._mark.touch()

    def pytest_unconfigure(self) -> None:
        if self._is_first:
            self._mark.unlink(missing_ok=True)


def pytest_configure(config: pytest.Config) -> None:
    """For workers that keep what they compile, where no test has run yet."""
    worker = getattr(config, "workerinput", None)
    if worker and not DURATIONS.exists() and not sys.dont_write_bytecode:
        config.pluginmanager.register(OneCompiles(worker["workerid"], worker["testrunuid"]), "one compiles")
