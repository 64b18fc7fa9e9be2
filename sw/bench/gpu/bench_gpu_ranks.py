"""Several GPUs of one host, a rank each under MPI: their frame rate together beside that of one."""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from framelane.base.errors import ConfigError
from framelane.bench.runner import Measurement, Target
from framelane.receiver.gpu._device import cupy

LEAST_SHARE = 0.95
"""The least share of what so many GPUs would do that do not disturb each other."""
_TIMEOUT_S = 300
_MODULE = "framelane.bench.gpu.ranked_gpu_rate"
_UNBOUND = {
    **dict.fromkeys(("OMPI_MCA_rmaps_base_oversubscribe", "OMPI_MCA_mpi_yield_when_idle"), "1"),
    **dict.fromkeys(("OMPI_MCA_hwloc_base_binding_policy", "PRTE_MCA_hwloc_default_binding_policy"), "none"),
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}
"""Open MPI would bind each rank to one core, which two threads would share."""

Row = dict[str, Any]


def measure() -> Measurement:
    """Rows for one rank, and for as many as there are GPUs. ConfigError without a GPU, or without MPI."""
    gpus = int(cupy().cuda.runtime.getDeviceCount())
    counts = sorted({1, min(2, gpus), gpus})
    rows: list[Row] = []
    rates: dict[tuple[str, int], float] = {}
    for ranks in counts:
        for what, row in _rows(run(ranks)).items():
            rows.append(row)
            rates[what, ranks] = row["frames_per_s"]
    targets = []
    for ranks in counts[1:]:
        for what in ("copies", "pipeline"):
            ratio = rates[what, ranks] / rates[what, 1]
            targets.append(
                Target(
                    what=f"{what}: {ranks} GPUs' frame rate over one's",
                    value=ratio,
                    unit="",
                    limit=LEAST_SHARE * ranks,
                    better="higher",
                )
            )
    return Measurement(rows, targets)


def run(ranks: int) -> list[dict[str, Any]]:
    """What each of so many ranks has measured. ConfigError where MPI is missing, or the run fails."""
    beside = str(Path(sys.executable).parent)
    mpiexec = shutil.which("mpiexec", path=os.pathsep.join((beside, os.environ.get("PATH", ""))))
    if mpiexec is None:
        raise ConfigError("there is no mpiexec: install framelane[mpi] and an MPI library, such as the package mpich")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ranks.json"
        command = [mpiexec, "-n", str(ranks), sys.executable, "-m", _MODULE, str(path)]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=_TIMEOUT_S, env=_UNBOUND | os.environ
        )
        if done.returncode or not path.is_file():
            raise ConfigError(f"{ranks} ranks have failed: {(done.stderr + done.stdout).strip() or done.returncode}")
        told: list[dict[str, Any]] = json.loads(path.read_text())
    if len({each["gpu"] for each in told}) != ranks:
        raise ConfigError(f"{ranks} ranks share GPUs: {[each['gpu'] for each in told]}")
    return told


def _rows(told: list[dict[str, Any]]) -> dict[str, Row]:
    """A row for each kind of run: rates of all ranks together, from the common start to the end of the last."""
    rows: dict[str, Row] = {}
    for what in told[0]["runs"]:
        together, alone = [], []
        for runs in zip(*(each["runs"][what] for each in told), strict=True):
            start, end = min(run[0] for run in runs), max(run[1] for run in runs)
            together.append(sum(run[2] for run in runs) / (end - start))
            alone.append([run[2] / (run[1] - run[0]) for run in runs])
        rate = statistics.median(together)
        rows[what] = {
            "ranks": len(told),
            "what": what,
            "frames_per_s": rate,
            "gb_per_s": rate * told[0]["image_bytes"] / 1e9,
            "slowest_rank": statistics.median(min(each) for each in alone),
            "fastest_rank": statistics.median(max(each) for each in alone),
            "cores_a_rank": min(each["cores"] for each in told),
        }
    return rows
