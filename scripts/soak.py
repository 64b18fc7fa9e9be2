"""A soak of the receiver: emulated frames over veth, as fast as they arrive whole, with random faults, for minutes.

    python scripts/soak.py [--minutes 10]          (as root; or make soak)

`framelane emulate` sends by AF_PACKET, waiting for credit; `framelane recv` takes, corrects and judges the frames.
Three runs of a third of the time: one ends by SIGINT to the receiver, one by SIGTERM to it, one by SIGTERM to the
source, so that it tells its end. Checked: exit status, the loss identity and, of the last run, that it counts exactly
what the source offered; that every frame that arrived is in the file; that no frame is incomplete that nothing happened
to; that memory stays flat. Writes build/bench/soak.json; exit status 1 where something is not so.
"""

import argparse
import json
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from framelane.bench.own_network import own_network

_READY_S = 60
"""For a receiver that begins."""
_FRAMELANE = [sys.executable, "-c", "from framelane.cli import main; main()"]
_FAULTS = "drop=0.0001,duplicate=0.0001,reorder:3=0.0001,corrupt:payload=0.0001,truncate=0.00005,foreign=0.0001"
_ENDS = (("recv", signal.SIGINT), ("recv", signal.SIGTERM), ("emulate", signal.SIGTERM))
_SAMPLE_S = 2.0
_FLAT = 1.05
"""How much more memory the last quarter of a run may take than its second."""
_IDENTITY = re.compile(
    r"loss identity: (\d+) sent = (\d+) complete \+ (\d+) incomplete \+ (\d+) dropped at source "
    r"\+ (\d+) dropped by host \+ (\d+) missing"
)
_PLAN = """rows = 512
columns = 1024
n_slots = 32
source = { mac = "02:00:00:00:00:01", ip = "127.0.0.2" }
receiver = { mac = "02:00:00:00:00:02", ip = "127.0.0.1" }
"""


def resident_kb(process: subprocess.Popen[str]) -> int:
    """Memory of a process that is in RAM, without what is shared with files (proc(5))."""
    text = Path(f"/proc/{process.pid}/status").read_text()
    return int(re.findall(r"RssAnon:\s+(\d+)", text)[0])


def one_run(folder: Path, seconds: float, who: str, number: signal.Signals) -> dict[str, Any]:
    """Run sender and receiver for so long, end one of them, and gather what both said."""
    veth = {"emulate": "veth0", "recv": "veth1"}
    output, report = folder / "frames.h5", folder / "emulate.json"
    arguments = {
        "recv": f"--transport packet --plan {folder}/plan.toml --publish {folder}/session.json "
        f"--output {output} --force --calibration {folder}/demo/calibration.h5 --minimum-peaks 1000000",
        "emulate": f"--to 127.0.0.1 --transport packet --impair {_FAULTS} --report {report} --force",
    }
    (folder / "session.json").unlink(missing_ok=True)
    processes: dict[str, subprocess.Popen[str]] = {}
    for name in ("recv", "emulate"):
        command = [*_FRAMELANE, name, *arguments[name].split(), "--interface", veth[name]]
        processes[name] = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        end = time.monotonic() + _READY_S
        while name == "recv" and not (folder / "session.json").exists() and time.monotonic() < end:
            time.sleep(0.05)
    samples: list[dict[str, int]] = []
    end = time.monotonic() + seconds
    while time.monotonic() < end and all(process.poll() is None for process in processes.values()):
        time.sleep(_SAMPLE_S)
        samples.append({name: resident_kb(process) for name, process in processes.items()})
    processes[who].send_signal(number)
    out = {name: " ".join(process.communicate(timeout=60)[0].split()) for name, process in processes.items()}
    identity = _IDENTITY.search(out["recv"])
    with h5py.File(output) as file:
        numbers, whole = (np.asarray(file[f"entry/data/{name}"]) for name in ("frame_number", "complete"))
    return {
        "ended": f"{number.name} to {who}",
        "status": {name: process.returncode for name, process in processes.items()},
        "said": out,
        "identity": [int(n) for n in identity.groups()] if identity else None,
        "frames": len(numbers),
        "incomplete": numbers[~whole.astype(bool)].tolist(),
        "source": json.loads(report.read_text()),
        "memory_kb": samples,
    }


def faults(run: dict[str, Any]) -> list[str]:
    """What is not as it should be."""
    found = []
    if run["identity"] is None:
        return [f"no loss identity: {run['said']}"]
    sent, complete, incomplete, at_source, by_host, missing = run["identity"]
    if run["status"]["recv"] != 0:
        found.append(f"recv ended with status {run['status']['recv']}: {run['said']['recv']}")
    if sent != complete + incomplete + at_source + by_host + missing:
        found.append("the loss identity does not hold")
    if run["frames"] != complete + incomplete:
        found.append(f"{run['frames']} frames in the file, {complete + incomplete} arrived")
    if run["ended"].endswith("emulate") and sent != run["source"]["offered"]:
        found.append(f"the source offered {run['source']['offered']} frames, the receiver counts {sent}")
    if at_source or by_host:
        found.append(f"{at_source} frames dropped at source, {by_host} by the host: credit was not waited for")
    struck = {deed["frame"] for deed in run["source"]["deeds"]}
    if unhurt := sorted(set(run["incomplete"]) - struck):
        found.append(f"frames are incomplete that nothing happened to: {unhurt[:10]}")
    samples = run["memory_kb"]
    quarter = len(samples) // 4
    for name in ("recv", "emulate") if quarter > 4 else ():
        early, late = (
            np.median([s[name] for s in part]) for part in (samples[quarter : 2 * quarter], samples[-quarter:])
        )
        if late > _FLAT * early:
            found.append(f"{name} grew from {early:.0f} to {late:.0f} kB")
    return found


def main() -> int:
    """Soak; 0 if all is well."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10)
    minutes = parser.parse_args().minutes
    with tempfile.TemporaryDirectory() as name, own_network():
        folder = Path(name)
        (folder / "plan.toml").write_text(_PLAN)
        subprocess.run(
            [*_FRAMELANE, "demo", "--modules", "1", "--frames", "1", "--output", folder / "demo"], check=True
        )
        runs = [one_run(folder, 60 * minutes / len(_ENDS), *end) for end in _ENDS]
    bad = False
    for run in runs:
        wrong = faults(run)
        bad |= bool(wrong)
        source = run["source"]
        print(f"{run['ended']}: {source['sent'] / source['seconds']:.0f} frames/s, {run['said']['recv']}")
        print("\n".join(f"    {line}" for line in wrong) or "    as it should be")
        run["faults"] = wrong
        run["source"].pop("deeds")
        run["incomplete"] = len(run["incomplete"])
    path = Path("build/bench/soak.json")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"minutes": minutes, "runs": runs}, indent=1) + "\n")
    return bad


if __name__ == "__main__":
    sys.exit(main())
