"""What benches measure, for `make bench BENCH=pcie`: one JSON object a line, in the file that FRAMELANE_ROWS names."""

import json
import os
from pathlib import Path


def note(case: str, **row: float | str) -> None:
    """Write a row down; nothing where nobody asks for it."""
    if path := os.environ.get("FRAMELANE_ROWS"):
        with Path(path).open("a") as rows:
            rows.write(json.dumps({"case": case} | row) + "\n")
