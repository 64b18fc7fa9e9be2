"""Installs framelane as its users do: a wheel in an empty environment, which then receives a capture of the demo.

Its extra `sim` then runs the demo itself there, of the gateware that is in the wheel.

    scripts/wheel.py

Run with the Python of `.venv`, which has what the demo needs. Exit status 1 where the wheel lacks something.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PATIENCE_S = 900
FRAMES = 4
PROGRAM = """
import sys
from pathlib import Path
import framelane
from framelane.receiver import Capture, Processing, Recorder, receive

assert Path(framelane.__file__).is_relative_to(sys.prefix), framelane.__file__
photons = Processing(calibration="calibration.h5")
with receive(Capture("tx.pcap", "session.json"), photons) as run, Recorder(run, "received.h5") as recorder:
    for frame in run:
        assert frame.complete and frame.photons.any(), frame
        recorder.write(frame)
print(recorder.frames)
"""


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    """What the command printed. CalledProcessError where it fails."""
    done = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, text=True, check=True, timeout=PATIENCE_S)
    return done.stdout


def main() -> int:
    """Build, install, receive."""
    with tempfile.TemporaryDirectory(prefix="framelane-wheel-") as folder:
        work = Path(folder)
        run(sys.executable, "-m", "framelane", "demo", "--frames", str(FRAMES), "--output", work / "demo")
        run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", work, ROOT)
        (wheel,) = work.glob("*.whl")
        run(sys.executable, "-m", "venv", work / "empty")
        python = work / "empty" / "bin" / "python"
        run(python, "-m", "pip", "install", "-q", wheel)
        got = int(run(python, "-c", PROGRAM, cwd=work / "demo"))
        run(python, "-m", "pip", "install", "-q", f"{wheel}[sim]")
        run(python, "-m", "framelane", "demo", "--frames", "1", "--modules", "1", "--output", "again", cwd=work)
        assert (work / "again" / "report.png").is_file()
    print(f"{wheel.name}: the demo ran from it; {got} of {FRAMES} frames of a capture received by the API")
    return int(got != FRAMES)


if __name__ == "__main__":
    sys.exit(main())
