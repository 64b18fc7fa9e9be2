"""Runs pytest, and what failed once more, alone.

    scripts/again.py -n auto --dist loadscope tests sim

Tests of sockets, virtual machines and processes share a busy machine, and one of thousands may be unlucky. Up to
`MOST` failed tests are run again one by one when all others have ended. Those that pass then are named as unsteady,
with how they failed above, and the exit status is 0; one that fails again, or more of them, make it pytest's own.
`make nightly` runs pytest without this.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

MOST = 3
FAILED = 1
"""pytest's exit status where tests failed, and nothing else was wrong."""
RECORD = Path("build/cache/pytest/v/cache/lastfailed")
"""Where pytest keeps the names of what failed (`cache_dir` in pyproject.toml)."""


def pytest(arguments: Sequence[str]) -> int:
    """Its exit status."""
    return subprocess.run([sys.executable, "-m", "pytest", *arguments], check=False).returncode


def main(arguments: Sequence[str]) -> int:
    """Run, run again, say what was unsteady."""
    RECORD.unlink(missing_ok=True)
    status = pytest(arguments)
    if status != FAILED or not RECORD.is_file():
        return status
    failed = sorted(json.loads(RECORD.read_text()))
    if len(failed) > MOST:
        return status
    print(f"\n{len(failed)} failed: once more, alone", flush=True)
    if pytest(failed):
        return status
    print("\nunsteady, failed at first:\n  " + "\n  ".join(failed), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
