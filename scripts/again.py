"""Runs pytest, and what failed once more, alone.

    scripts/again.py -n auto --dist loadscope tests sim

Tests of sockets, virtual machines and processes share a busy machine, and one of thousands may be unlucky. Where no
more than `MOST` failed, they are run again, alone, when all others have ended. What passes then is unsteady: it is
printed at the very end with how it failed at first, kept in `UNSTEADY`, shown as a warning of GitHub's where that runs
it, and the exit status is 0. One that fails again, or more of them, make it pytest's own. `make nightly` runs pytest
without this.
"""

import datetime
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

MOST = 1
FAILED = 1
"""pytest's exit status where tests failed, and nothing else was wrong."""
RECORD = Path("build/cache/pytest/v/cache/lastfailed")
"""Where pytest keeps the names of what failed (`cache_dir` in pyproject.toml)."""


UNSTEADY = Path("build/unsteady.log")
"""What was unsteady in all runs since `build/` was made, with how it failed."""


def pytest(arguments: Sequence[str], report: Path | None = None) -> int:
    """Its exit status; `report` is an XML file for what failed, and how."""
    more = [f"--junit-xml={report}", "-o", "junit_logging=no"] if report else []
    return subprocess.run([sys.executable, "-m", "pytest", *arguments, *more], check=False).returncode


def failures(report: Path) -> str:
    """How tests failed, by a report of pytest in JUnit's format."""
    found = [each for kind in ("failure", "error") for each in ElementTree.parse(report).iter(kind)]
    return "\n\n".join(each.text or each.get("message") or "" for each in found)


def told(failed: Sequence[str], how: str) -> str:
    """What is printed and kept of unsteady tests."""
    when = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    lines = [f"UNSTEADY, {when}: failed at first, passed alone:", *(f"  {name}" for name in failed), how]
    return "\n".join(lines)


def main(arguments: Sequence[str]) -> int:
    """Run, run again, say what was unsteady."""
    RECORD.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        status = pytest(arguments, report)
        if status != FAILED or not RECORD.is_file():
            return status
        failed = sorted(json.loads(RECORD.read_text()))
        if len(failed) > MOST:
            return status
        print(f"\n{len(failed)} failed: once more, alone", flush=True)
        if pytest(failed):
            return status
        text = told(failed, failures(report))
    rule = "=" * 120
    print(f"\n{rule}\n{text}\n{rule}\nkept in {UNSTEADY}: mend the test, or what it tests", flush=True)
    UNSTEADY.parent.mkdir(exist_ok=True)
    with UNSTEADY.open("a") as kept:
        kept.write(f"{text}\n\n")
    if os.environ.get("GITHUB_ACTIONS") == "true":
        print("\n".join(f"::warning title=unsteady test::{name}" for name in failed), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
