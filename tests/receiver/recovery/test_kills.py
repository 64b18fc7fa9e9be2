"""Receivers killed at random moments: whatever file they leave opens, and has every frame older than two seconds.

`make kills` runs 200 of them and writes docs/measured/kills.md; here it is one of each kind.
"""

import json
import os
from dataclasses import asdict
from pathlib import Path

import pytest

from kill_runs import KINDS
from mpi_run import needs_mpi

KILLS = int(os.environ.get("FRAMELANE_KILLS", "1"))
"""Kills of each kind."""
LOG = os.environ.get("FRAMELANE_KILLS_LOG")
"""A file to which each kill adds a line, if wanted."""


@pytest.mark.timeout(120)
@pytest.mark.parametrize("seed", range(KILLS))
@pytest.mark.parametrize("kind", ["recv", "record", pytest.param("rank", marks=needs_mpi)])
def test_a_killed_run_leaves_files_that_open_with_every_old_frame(tmp_path: Path, kind: str, seed: int) -> None:
    killed = KINDS[kind](tmp_path, seed)
    if LOG:
        with Path(LOG).open("a") as log:
            log.write(json.dumps(asdict(killed)) + "\n")
    assert killed.lost == []
    assert killed.frames >= killed.old > 0
