"""What viewers cost a service: full pictures of a 4M detector at 10 Hz to five of them, beside the same without."""

import os
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from framelane.bench.page_template import page_parts
from framelane.bench.runner import Measurement, Target
from framelane.bench.serve import lossless
from framelane.bench.serve.browser import CHROMIUM
from framelane.bench.serve.service_process import Running, running, wait
from framelane.bench.serve.viewers import Viewers, pages, programs

SHAPE = (4096, 1024)
RATE_HZ = 10.0
VIEWERS = 5
WARM_S = 12.0
"""Browsers that start on the same cores take all of them for some seconds, for which nobody measures."""
TRIAL_S = 10.0
ROUNDS = 3
LIMIT_MS, LIMIT_CORES = 200.0, 0.2
STALL_CORES = 0.05
_PARTS = page_parts("serve")
Looking = Callable[[int, int, Path], AbstractContextManager[Viewers]]


def measure() -> Measurement:
    """Rows: nobody, programs, and pages where there is a browser, by turns; the page docs/measured/serve.md."""
    kinds: dict[str, tuple[Looking, int]] = {"nobody": (programs, 0), "programs": (programs, VIEWERS)}
    if CHROMIUM is not None:
        kinds["pages in Chromium"] = pages, VIEWERS
    rounds: dict[str, list[dict[str, float]]] = {kind: [] for kind in kinds}
    with tempfile.TemporaryDirectory(prefix="framelane-browsers-") as name, running(SHAPE, RATE_HZ) as service:
        for _ in range(ROUNDS):
            for kind, (looking, viewers) in kinds.items():
                folder = Path(tempfile.mkdtemp(dir=name))
                rounds[kind].append(_trial(service, looking, viewers, folder))
    looked = [_row(kind, kinds[kind][1], found) for kind, found in rounds.items()]
    rate, beside = lossless.measure(SHAPE)
    targets = [*_targets(looked), *_lossless_targets(beside)]
    names = dict.fromkeys(key for row in [*looked, *beside] for key in row)
    rows = [{name: row.get(name) for name in names} for row in [*looked, *beside]]
    return Measurement(rows, targets, page=_page(looked, rate, beside, targets))


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


def _lossless_targets(rows: list[dict[str, Any]]) -> list[Target]:
    nobody, stalls = rows[0], lossless.stalled(rows)
    lost = max(row["lost"] for row in rows) - nobody["lost"]
    cores = stalls["cores"] - nobody["cores"]
    return [
        Target(
            what="frames lost because of viewers or streams, at the highest rate",
            value=max(0, lost),
            unit="",
            limit=0,
            better="lower",
        ),
        Target(what="cores that a consumer that stalls takes", value=cores, unit="", limit=STALL_CORES, better="lower"),
    ]


def _page(looked: list[dict[str, Any]], rate: float, beside: list[dict[str, Any]], targets: list[Target]) -> str:
    head = _PARTS["head"].format(
        rows=SHAPE[0], columns=SHAPE[1], rate=RATE_HZ, rounds=ROUNDS, seconds=TRIAL_S, cores=os.cpu_count()
    )
    lines = [
        f"| {row['who looks']} | {row['viewers']} | {row['frames']} | {row['lost']} | {_spread(row, 'cores', 2)} "
        f"| {_spread(row, 'pictures_per_s', 1)} | {_spread(row, 'age_ms', 0)} | {_spread(row, 'age_95_ms', 0)} |\n"
        for row in looked
    ]
    about = _PARTS["lossless"].format(
        rate=rate,
        rounds=lossless.ROUNDS,
        seconds=lossless.TRIAL_S,
        rates=", ".join(f"{each:g}" for each in lossless.RATES_HZ),
    )
    others = [
        f"| {row['who looks']} | {row['frames']} | {row['lost']} | {_range(row, 'cores', 2)} "
        f"| {_range(row, 'streamed_per_s', 1)} |\n"
        for row in beside
    ]
    return "".join([head, *lines, "\n", about, *others, "\n", *(f"- {target}\n" for target in targets)])


def _spread(row: dict[str, Any], key: str, digits: int) -> str:
    if not row["viewers"] and key != "cores":
        return ""
    return _range(row, key, digits)


def _range(row: dict[str, Any], key: str, digits: int) -> str:
    return f"{row[key]:.{digits}f} ({row[f'{key}_least']:.{digits}f} to {row[f'{key}_most']:.{digits}f})"


def _trial(service: Running, looking: Looking, viewers: int, folder: Path) -> dict[str, float]:
    with looking(service.port, viewers, folder) as seen:
        wait(lambda: all(len(ages) >= 2 for ages in seen.ages_ms), "a viewer sees nothing")
        time.sleep(WARM_S if viewers else 0.0)
        before, spent_s, begun = service.loss(), service.spent_s(), time.monotonic()
        first = [len(ages) for ages in seen.ages_ms]
        time.sleep(TRIAL_S)
        seconds, cores_s, after = time.monotonic() - begun, service.spent_s() - spent_s, service.loss()
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
