"""Builds the IP of the JUNGFRAU correction from `hw/hls/` with Vitis HLS, 2023.2 or later: `build/hls/jf_correct.zip`.

    scripts/hls/hls.py [--part PART] [--period-ns NS]

C simulation, synthesis, and a look at the report: a pipeline that does not take a beat a clock, or timing that is not
met, ends it with exit status 1 and without an IP. Where there is no Vitis on PATH it compiles and runs the C simulation
with g++, and says so.
"""

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

from framelane.base.errors import FramelaneError, SimulationError
from hls_build import BUILD, HLS, bench_program
from hls_report import violations
from hls_vectors import standard, write

PART = "xcu55c-fsvh2892-2L-e"
PERIOD_NS = 3.7
"""64 bytes a clock are then 17.3 GB/s: a 4M at 2 kHz needs 16.8."""

VITIS = (("vitis_hls", "-f"), ("vitis-run", "--mode", "hls", "--tcl"))
"""The command up to 2024.1, and after."""


def vitis() -> list[str] | None:
    """Return the command that runs a Tcl script of Vitis HLS; None where it is not on PATH."""
    return next((list(command) for command in VITIS if shutil.which(command[0])), None)


def simulate(vectors: Path) -> None:
    """Compile and run the C simulation with g++. SimulationError where it gives other bits than the model."""
    result = subprocess.run([bench_program(), vectors], capture_output=True, text=True, check=False)
    if result.returncode:
        raise SimulationError(f"the C simulation failed: {result.stderr.strip()}")


def script(command: list[str], name: str, folder: Path, environment: dict[str, str], result: Path) -> None:
    """Run a script of `hw/hls/` in `folder`/vitis. SimulationError where it fails or makes no `result`."""
    log = folder / f"{name}.log"
    with log.open("w") as output:
        done = subprocess.run(
            [*command, str(HLS / f"{name}.tcl")],
            cwd=folder / "vitis",
            env=os.environ | environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if done.returncode or not result.is_file():
        raise SimulationError(f"{command[0]} failed in {name}.tcl: see {log}")


def build_ip(command: list[str], folder: Path, environment: dict[str, str]) -> list[str]:
    """Simulate, synthesize, and export the IP if nothing is violated; return the violations."""
    ip, work = folder / "jf_correct.zip", folder / "vitis"
    ip.unlink(missing_ok=True)
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    report = work / "jf_correct" / "solution" / "syn" / "report" / "csynth.xml"
    script(command, "synthesize", folder, environment, report)
    found = violations(report.read_text())
    if not found:
        script(command, "export", folder, environment | {"FRAMELANE_HLS_IP": str(ip)}, ip)
    return found


def main(arguments: list[str] | None = None, folder: Path = BUILD) -> int:
    """Do what can be done here."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", default=PART, help="(default: %(default)s, an Alveo U55C)")
    parser.add_argument("--period-ns", type=float, default=PERIOD_NS, help="of the clock (default: %(default)s)")
    options = parser.parse_args(arguments)
    folder.mkdir(parents=True, exist_ok=True)
    vectors = folder / "vectors.bin"
    write(vectors, standard())
    command = vitis()
    if command is None:
        simulate(vectors)
        print("C simulation: all bits as in the model jf_correct; not synthesized: no vitis_hls or vitis-run on PATH")
        return 0
    environment = {
        "FRAMELANE_HLS_PART": options.part,
        "FRAMELANE_HLS_PERIOD_NS": str(options.period_ns),
        "FRAMELANE_HLS_VECTORS": str(vectors),
    }
    found = build_ip(command, folder, environment)
    for sentence in found:
        print(sentence, file=sys.stderr)
    if not found:
        print(
            f"C simulation: all bits as in the model jf_correct; a beat a clock; timing met by estimate; IP in {folder}"
        )
    return int(bool(found))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except FramelaneError as error:
        sys.exit(f"hls.py: {error}")
