"""How long the CPU pipeline takes for a 4M image, beside what only copying it takes, and beside numpy."""

import itertools
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from framelane.bench.page_template import page_parts
from framelane.bench.runner import Measurement, Target
from framelane.bench.tiled_frames import tiled_frames
from framelane.models.jungfrau.jf_correct import correct_int16
from framelane.models.jungfrau.jf_fixed import quantize
from framelane.models.peaks.peak_settings import Panel, PeakSettings
from framelane.receiver.peaks import PeakFinder
from framelane.receiver.pipeline.judging import Judging
from framelane.receiver.pipeline.ladder import powers_of_two
from framelane.receiver.pipeline.pipeline import Pipeline

COPY = "copy of the raw words, 8.4 MB"
IMAGES = 4
"""Different images in turn, so that the caches hold none of them."""

_MODULE_ROWS = 512
REPEATS = 60
PATIENCE_S = 3.0
LIMIT_SPEEDUP = 90.0
LIMIT_MS = 5.9
"""CPU time of jungfrau_utils, the package in use today, for such an image on a two-core AMD EPYC server."""


def measure() -> Measurement:
    """One row a variant: median and fastest milliseconds of one image, one frame after the other; the page."""
    images, calibration = tiled_frames(IMAGES)
    fixed = quantize(calibration)
    cores = len(os.sched_getaffinity(0))
    raw_copy, floats = np.empty_like(images[0]), (np.empty(images[0].shape, np.float32), images[0].astype(np.float32))
    variants: dict[str, Callable[[NDArray[np.uint16]], object]] = {
        COPY: lambda raw: np.copyto(raw_copy, raw),
        "copy of a float32 image, 16.8 MB": lambda _: np.copyto(*floats),
        "numba, 1 thread": Pipeline(fixed, Judging(), threads=1),
        f"numba, {cores} threads": Pipeline(fixed, Judging(), threads=cores),
        "numba, 1 thread, sparse rows from 10 photons": Pipeline(fixed, Judging(sparse=10), threads=1),
        "numba, 1 thread, ladder of 15 thresholds": Pipeline(fixed, Judging(rungs=powers_of_two()), threads=1),
        "numpy (the golden model)": lambda raw: correct_int16(raw, fixed),
    }
    rows: list[dict[str, Any]] = [{"variant": what, **_time(call, images)} for what, call in variants.items()]
    photons = np.stack([correct_int16(raw, fixed) for raw in images])
    for threads in (1, cores):
        what = f"peak finder on photons, {threads} thread{'s' if threads > 1 else ''}"
        rows.append({"variant": what, **_time_peaks(photons, threads)})
    medians = {row["variant"]: row["median_ms"] for row in rows}
    one, numpy = medians["numba, 1 thread"], medians["numpy (the golden model)"]
    targets = [
        Target(
            what="correction, counts and verdict of a 4M image, 1 thread",
            value=one,
            unit="ms",
            limit=LIMIT_MS,
            better="lower",
        ),
        Target(what="times faster than numpy", value=numpy / one, unit="", limit=LIMIT_SPEEDUP, better="higher"),
    ]
    return Measurement(rows, targets, page=_page(rows, targets))


def _page(rows: list[dict[str, Any]], targets: list[Target]) -> str:
    """The page docs/measured/pipeline.md."""
    copy = next(row["median_ms"] for row in rows if row["variant"] == COPY)
    lines = [
        f"| {row['variant']} | {row['median_ms']:.2f} | {row['fastest_ms']:.2f} | {row['median_ms'] / copy:.1f} |\n"
        for row in rows
    ]
    return "".join([page_parts("pipeline")["head"], *lines, "\n", *(f"- {target}\n" for target in targets)])


def _time_peaks(photons: NDArray[np.int16], threads: int) -> dict[str, float]:
    shape = photons.shape[1], photons.shape[2]
    finder = PeakFinder(shape, PeakSettings(), Panel.grid(shape, _MODULE_ROWS, shape[1]), threads=threads)
    return _time(finder, [photons[n : n + 1] for n in range(len(photons))])


def _time(call: Callable[[NDArray[Any]], object], images: list[NDArray[Any]]) -> dict[str, float]:
    """Call with one image after the other: at least `REPEATS` times or for `PATIENCE_S`, whichever is first."""
    call(images[0])
    times: list[float] = []
    stop = time.perf_counter() + PATIENCE_S
    for image in itertools.islice(itertools.cycle(images), REPEATS):
        start = time.perf_counter()
        call(image)
        times.append(time.perf_counter() - start)
        if time.perf_counter() > stop:
            break
    return {"median_ms": statistics.median(times) * 1e3, "fastest_ms": min(times) * 1e3}
