"""What several processes of a test run need is made by the first of them."""

import contextlib
import fcntl
import os
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path

_RUN = os.environ.get("PYTEST_XDIST_TESTRUNUID") or uuid.uuid4().hex
"""The same in all processes of one run of pytest, of which pytest-xdist makes several."""


@contextlib.contextmanager
def once(folder: Path, keep: tuple[str, ...] = ()) -> Iterator[bool]:
    """Whether `folder` is for this process to fill: it is empty then, but for what to `keep`. The others wait for it.

    What raises leaves it for the next one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    mark = folder / ".run"
    with folder.with_name(f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        first = not mark.is_file() or mark.read_text() != _RUN
        if first:
            for path in folder.iterdir():
                if path.name not in keep:
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
        yield first
        mark.write_text(_RUN)
