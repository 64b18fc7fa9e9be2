"""What viewers cost a service: full pictures of a 4M detector at 10 Hz to five of them, beside the same without."""

import contextlib
import http.client
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from framelane.base.errors import SimulationError
from framelane.bench.page_template import page_parts
from framelane.bench.runner import Measurement, Target
from framelane.bench.serve.browser import CHROMIUM
from framelane.bench.serve.viewers import Viewers, pages, programs

SHAPE = (4096, 1024)
RATE_HZ = 10.0
VIEWERS = 5
WARM_S = 12.0
"""Browsers that start on the same cores take all of them for some seconds, for which nobody measures."""
TRIAL_S = 10.0
ROUNDS = 3
LIMIT_MS, LIMIT_CORES = 200.0, 0.2
_PATIENCE_S = 120.0
_STEP_S = 0.1
_COMMAND = [sys.executable, "-m", "framelane"]
_PARTS = page_parts("serve")
Looking = Callable[[int, int, Path], AbstractContextManager[Viewers]]


def measure() -> Measurement:
    """Rows: nobody, programs, and pages where there is a browser, by turns; the page docs/measured/serve.md."""
    kinds: dict[str, tuple[Looking, int]] = {"nobody": (programs, 0), "programs": (programs, VIEWERS)}
    if CHROMIUM is not None:
        kinds["pages in Chromium"] = pages, VIEWERS
    rounds: dict[str, list[dict[str, float]]] = {kind: [] for kind in kinds}
    with tempfile.TemporaryDirectory(prefix="framelane-serve-") as name, _running(Path(name)) as (process, port):
        for _ in range(ROUNDS):
            for kind, (looking, viewers) in kinds.items():
                folder = Path(tempfile.mkdtemp(dir=name))
                rounds[kind].append(_trial(process, port, looking, viewers, folder))
    rows = [_row(kind, kinds[kind][1], found) for kind, found in rounds.items()]
    targets = _targets(rows)
    return Measurement(rows, targets, page=_page(rows, targets))


def _row(kind: str, viewers: int, rounds: list[dict[str, float]]) -> dict[str, Any]:
    """Medians over the rounds, with the least and the most; frames are their sum."""
    row: dict[str, Any] = {"who looks": kind, "viewers": viewers}
    row |= {key: int(sum(found[key] for found in rounds)) for key in ("frames", "lost")}
    for key in ("cores", "pictures_per_s", "age_ms", "age_95_ms"):
        values = [found[key] for found in rounds]
        row |= {key: statistics.median(values), f"{key}_least": min(values), f"{key}_most": max(values)}
    return row


def _targets(rows: list[dict[str, Any]]) -> list[Target]:
    nobody, shown = rows[0], rows[-1]
    cores = max(row["cores"] for row in rows) - nobody["cores"]
    lost = max(row["lost"] for row in rows) - nobody["lost"]
    what = f"median age of a picture in {shown['who looks']}"
    return [
        Target(what=what, value=shown["age_ms"], unit="ms", limit=LIMIT_MS, better="lower"),
        Target(what=f"cores that {VIEWERS} viewers take", value=cores, unit="", limit=LIMIT_CORES, better="lower"),
        Target(what="frames lost because of viewers", value=max(0, lost), unit="", limit=0, better="lower"),
    ]


def _page(rows: list[dict[str, Any]], targets: list[Target]) -> str:
    head = _PARTS["head"].format(
        rows=SHAPE[0], columns=SHAPE[1], rate=RATE_HZ, rounds=ROUNDS, seconds=TRIAL_S, cores=os.cpu_count()
    )
    lines = [
        f"| {row['who looks']} | {row['viewers']} | {row['frames']} | {row['lost']} | {_spread(row, 'cores', 2)} "
        f"| {_spread(row, 'pictures_per_s', 1)} | {_spread(row, 'age_ms', 0)} | {_spread(row, 'age_95_ms', 0)} |\n"
        for row in rows
    ]
    return "".join([head, *lines, "\n", *(f"- {target}\n" for target in targets)])


def _spread(row: dict[str, Any], key: str, digits: int) -> str:
    if not row["viewers"] and key != "cores":
        return ""
    return f"{row[key]:.{digits}f} ({row[f'{key}_least']:.{digits}f} to {row[f'{key}_most']:.{digits}f})"


def _trial(process: int, port: int, looking: Looking, viewers: int, folder: Path) -> dict[str, float]:
    with looking(port, viewers, folder) as seen:
        _wait(lambda: all(len(ages) >= 2 for ages in seen.ages_ms), "a viewer sees nothing")
        time.sleep(WARM_S if viewers else 0.0)
        before, spent_s, begun = _loss(port), _spent_s(process), time.monotonic()
        first = [len(ages) for ages in seen.ages_ms]
        time.sleep(TRIAL_S)
        seconds, cores_s, after = time.monotonic() - begun, _spent_s(process) - spent_s, _loss(port)
        ages = [age for found, skipped in zip(seen.ages_ms, first, strict=True) for age in found[skipped:]]
    lost = {when: loss["sent"] - loss["complete"] for when, loss in (("before", before), ("after", after))}
    return {
        "frames": after["sent"] - before["sent"],
        "lost": lost["after"] - lost["before"],
        "cores": cores_s / seconds,
        "pictures_per_s": len(ages) / viewers / seconds if viewers else 0.0,
        "age_ms": statistics.median(ages) if ages else 0.0,
        "age_95_ms": statistics.quantiles(ages, n=20)[18] if len(ages) > 1 else 0.0,
    }


@contextlib.contextmanager
def _running(folder: Path) -> Iterator[tuple[int, int]]:
    """A service whose run goes on, and a source: the service's process, and its port."""
    ends = {"source": "127.0.0.2", "receiver": "127.0.0.1"}
    nodes = "".join(f'{end} = {{ mac = "02:00:00:00:00:01", ip = "{ip}" }}\n' for end, ip in ends.items())
    plan = f'rows = {SHAPE[0]}\ncolumns = {SHAPE[1]}\nn_slots = 32\npixels = "corrected"\n{nodes}'
    (folder / "plan.toml").write_text(plan)
    command = [*_COMMAND, "serve", str(folder / "data"), "--plan", str(folder / "plan.toml"), "--port", "0"]
    nowhere = subprocess.DEVNULL
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=nowhere, text=True) as service:
        try:
            assert service.stdout is not None
            line = next((line for line in service.stdout if "serving" in line), "")
            if not line:
                raise SimulationError("the service has ended before it served: run framelane serve to see why")
            port = int(line.split("127.0.0.1:")[1].split("/")[0])
            send = [*_COMMAND, "emulate", "--to", "127.0.0.1", "--rate", str(RATE_HZ)]
            with subprocess.Popen(send, stdout=nowhere, stderr=nowhere) as source:
                try:
                    _wait(lambda: _loss(port)["complete"] >= RATE_HZ, "no frame comes")
                    yield service.pid, port
                finally:
                    source.terminate()
        finally:
            service.terminate()


def _loss(port: int) -> dict[str, int]:
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
        connection.request("GET", "/api/status")
        found: dict[str, int] = json.loads(connection.getresponse().read())["loss"]
    return found


def _spent_s(process: int) -> float:
    """Processor time of a process, in seconds (proc(5), stat)."""
    words = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / float(os.sysconf("SC_CLK_TCK"))


def _wait(true: Callable[[], bool], otherwise: str) -> None:
    end = time.monotonic() + _PATIENCE_S
    while not true():
        if time.monotonic() > end:
            raise SimulationError(f"{otherwise} for {_PATIENCE_S:g} s: run framelane serve to see why")
        time.sleep(_STEP_S)
