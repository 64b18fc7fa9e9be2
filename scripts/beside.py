"""Runs make's targets beside one another: one whose output is shown as it comes, and others one by one in the meantime.

    scripts/beside.py pytest formal-check synth-check lint-python     the first is shown, the others follow each other

Those behind have less of the cores (nice). What they print is kept in `build/beside/` and shown when all have ended,
whole where they failed. Exit status 1 when any failed, was killed, or took longer than `--deadline`. Nothing is left
running, whatever ends this program.
"""

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

LOGS = Path(__file__).resolve().parents[1] / "build" / "beside"
NICE = 5
GRACE_S = 10


@dataclass(frozen=True)
class Ended:
    """How a target ended: `status` is None where it took too long."""

    target: str
    status: int | None
    seconds: float

    @property
    def good(self) -> bool:
        """Whether all is well."""
        return self.status == 0

    def __str__(self) -> str:
        """A line of the summary."""
        how = "took too long" if self.status is None else "ok" if self.good else f"FAILED, status {self.status}"
        return f"{self.target:16} {self.seconds:6.0f} s  {how}"


class Runs:
    """Processes of this program, each with all that it starts in a group of its own."""

    def __init__(self, make: str, deadline_s: float) -> None:
        self._make, self._deadline_s = make, deadline_s
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._over = False

    def run(self, target: str, log: Path | None) -> Ended:
        """Run one target to its end, its output in `log` or shown."""
        start = time.monotonic()
        with contextlib.ExitStack() as stack:
            output = stack.enter_context(log.open("wb")) if log else None
            command = ["nice", "-n", str(NICE), self._make, target] if log else [self._make, target]
            with self._lock:
                if self._over:
                    return Ended(target, -signal.SIGTERM, 0)
                process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output and subprocess.STDOUT,
                    process_group=0,
                )
                self._running.add(process)
            status: int | None = None
            with contextlib.suppress(subprocess.TimeoutExpired):
                status = process.wait(self._deadline_s)
            self._end(process)
        return Ended(target, status, time.monotonic() - start)

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        """End what is left of a group: first by SIGTERM, so that it can clean up."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(GRACE_S)
        with self._lock:
            self._running.discard(process)

    def end(self) -> None:
        """End all that runs, and begin nothing more."""
        with self._lock:
            self._over, running = True, list(self._running)
        for process in running:
            self._end(process)


def main() -> int:
    """Run them, and say how they ended."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shown", help="the target whose output is shown as it comes")
    parser.add_argument("beside", nargs="*", help="targets that run in the meantime, in this order")
    parser.add_argument("--make", default=os.environ.get("MAKE", "make"), help="the program that knows the targets")
    parser.add_argument("--deadline", type=float, default=5400, help="seconds that a target may take")
    options = parser.parse_args()
    LOGS.mkdir(parents=True, exist_ok=True)
    runs = Runs(options.make, options.deadline)
    ended: list[Ended] = []

    def follow() -> None:
        ended.extend(runs.run(target, LOGS / f"{target}.log") for target in options.beside)

    def stop(number: int, frame: FrameType | None) -> None:
        runs.end()
        sys.exit(128 + number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, stop)
    behind = threading.Thread(target=follow, daemon=True)
    behind.start()
    try:
        shown = runs.run(options.shown, None)
        while behind.is_alive():
            behind.join(0.2)
    finally:
        runs.end()
    failed = [each for each in (shown, *ended) if not each.good]
    for each in ended:
        print(f"\n== {each}", flush=True)
        lines = (LOGS / f"{each.target}.log").read_text(errors="replace").splitlines()
        print("\n".join(lines if not each.good else lines[-3:]), flush=True)
    print("\n" + "\n".join(map(str, (shown, *ended))), flush=True)
    return int(bool(failed) or len(ended) < len(options.beside))


if __name__ == "__main__":
    sys.exit(main())
