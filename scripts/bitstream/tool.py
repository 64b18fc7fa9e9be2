"""Runs a tool of the wheels, and says what it cost."""

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Cost:
    """What a tool took."""

    seconds: float
    """By the clock, whatever else the machine did."""
    mib: float
    """Memory at its peak; what started it counts, where that is more."""

    def __str__(self) -> str:
        return f"{self.seconds:.0f} s, {self.mib:,.0f} MiB"


def run(tool: str, *arguments: str, folder: Path, log: str) -> Cost:
    """Run a tool of the wheels in `folder`, what it says in `log`; SystemExit with its end where it fails."""
    command = [str(Path(sys.executable).with_name(f"yowasp-{tool}")), *arguments]
    start = time.monotonic()
    with (folder / log).open("wb") as output:
        process = subprocess.Popen(command, cwd=folder, stdout=output, stderr=subprocess.STDOUT)
        try:
            # The peak of this process alone: others may run beside it.
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            process.kill()
            process.wait()
            raise
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        end = (folder / log).read_text(errors="replace")[-3000:]
        raise SystemExit(f"{tool} failed with status {process.returncode}, all of it is in {folder / log}:\n{end}")
    return Cost(time.monotonic() - start, usage.ru_maxrss / 1024)
