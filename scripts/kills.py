"""Kills 200 receivers at random moments (tests/receiver/recovery/test_kills.py): docs/measured/kills.md.

scripts/kills.py [--kills 67]        of each kind; exit status 1 where one has lost an old frame
"""

import argparse
import datetime
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "measured" / "kills.md"
_WHAT = {
    "recv": "`framelane recv`, every second one in files of 60 frames",
    "record": "`framelane jungfrau record`, every second one compressed",
    "rank": "a rank of two under MPI",
}
_HEAD = ROOT / "scripts" / "templates" / "kills.md"


def main() -> int:
    """Run, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=67, help="of each kind")
    parser.add_argument("--page", type=Path, default=PAGE)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "kills"
        environment = {"FRAMELANE_KILLS": str(arguments.kills), "FRAMELANE_KILLS_LOG": str(log)}
        tests = "tests/receiver/recovery/test_kills.py"
        command = [sys.executable, "-m", "pytest", "-q", "--tb=short", tests]
        status = subprocess.run(command, cwd=ROOT, env=os.environ | environment, check=False).returncode
        runs = [json.loads(line) for line in log.read_text().splitlines()] if log.is_file() else []
    arguments.page.write_text(page(runs, 3 * arguments.kills))
    return status


def page(runs: list[dict[str, Any]], wanted: int) -> str:
    """The page; runs whose files did not open are missing in `runs`."""
    text = _HEAD.read_text().format(date=datetime.date.today(), kills=wanted)
    for kind, what in _WHAT.items():
        of = [run for run in runs if run["kind"] == kind]
        if of:
            opened = f"{len(of)} of {wanted // 3}"
            newer = median(run["frames"] - run["old"] + len(run["lost"]) for run in of)
            hidden = sum(run["hidden"] for run in of)
            files, old, lost = sum(r["files"] for r in of), sum(r["old"] for r in of), sum(len(r["lost"]) for r in of)
            text += f"| {what} | {wanted // 3} | {files} | {opened} | {old:,} | {lost} | {newer:.0f} | {hidden} |\n"
    return text


if __name__ == "__main__":
    sys.exit(main())
