"""How long the kernels take on a GPU, beside what only moving their bytes would take."""

from collections.abc import Callable
from typing import Any

import numpy as np

from framelane.bench.gpu.bench_gpu_data import AS_REAL, MANY, SHAPE, Shares, calibration, raw_frames
from framelane.bench.gpu.bench_gpu_kernels import COUNT, FLOAT32, HOLES, INT16, MOVED, OVERLAPPED, SPARSE, Measured
from framelane.bench.gpu.bench_gpu_timing import Graph, medians, microseconds
from framelane.bench.gpu.gpu_page import page
from framelane.bench.runner import Measurement, Target
from framelane.models.pedestal.jf_pedestal_state import TrackerState
from framelane.receiver.gpu._device import cupy
from framelane.receiver.gpu.kernels import refill, refill_by_memset
from framelane.receiver.gpu.overlapped import can_overlap
from framelane.receiver.gpu.pipeline.tracker import GpuPedestalTracker

STREAMS = {1: 8, 10: 4, 40: 2}
"""Sizes of a batch, and on how many streams they are launched by turns, beside one."""

BATCHES = tuple(STREAMS)
POOL = 160
"""Different frames, 1.3 GB: many times the L2 cache; each launch takes others than the one before."""

_COPIED = 120
"""So many of them are copied to know the rate: a larger copy was slower by a third."""

BARS = {INT16: 1.10, FLOAT32: 1.15, COUNT: 1.10, SPARSE: 1.30}
"""Times the floor, at the largest batch."""

SINGLE_BAR, SPARSE_ALONE = 1.25, 1.6
"""The same of single frames; of sparse rows on one stream, where launches do not overlap."""
_DEVICE_TO_DEVICE = 3
_DARK_FRAMES = 32


def measure() -> Measurement:
    """Rows of kernels, of refilling and of the pedestal on the current GPU. ConfigError where there is none."""
    of = calibration()
    measured = Measured(of, raw_frames(POOL, of))
    rate = _copy_rate(measured)
    rows = _kernels(measured, rate, MANY)
    rows += _refilling(measured, rate)
    rows += _dark_frames(of.pedestal[0])
    measured.raw = raw_frames(POOL, of, shares=AS_REAL)
    rows += _kernels(measured, rate, AS_REAL, BATCHES[-1:])
    targets = _targets(rows)
    return Measurement(rows, targets, page=page(rows, targets, rate, POOL))


def _copy_rate(measured: Measured) -> float:
    """TB/s read and written by a copy of frames within the GPU's memory."""
    module, raw, to = cupy(), measured.raw[:_COPIED], measured.images[:_COPIED]

    def copy() -> None:
        stream = module.cuda.get_current_stream().ptr
        module.cuda.runtime.memcpyAsync(to.data.ptr, raw.data.ptr, raw.nbytes, _DEVICE_TO_DEVICE, stream)

    return float(2 * raw.nbytes / medians({0: Graph([copy])})[0] * 1e-6)


def _row(
    what: str,
    batch: int,
    us: float,
    floor: float | None = None,
    shares: Shares | None = None,
    frames: float | None = None,
    streams: int = 1,
    overlapped: bool = False,
) -> dict[str, Any]:
    """A row; times are of one image. `frames` is what the floor is without constants."""
    return {
        "kernel": what,
        "batch": batch,
        "streams": streams,
        "overlapped": overlapped,
        "percent_switched": None if shares is None else shares.percent,
        "us": us,
        "floor_us": floor,
        "times_floor": None if floor is None else us / floor,
        "times_frames": None if frames is None else us / frames,
    }


def _kernels(
    measured: Measured, rate: float, shares: Shares, batches: tuple[int, ...] = BATCHES
) -> list[dict[str, Any]]:
    rows = []
    for batch in batches:
        density = max(measured.check(what, batch) for what in MOVED)
        for streams, overlapped in ((1, False), (1, True), (STREAMS[batch], False)):
            if overlapped and not can_overlap():
                continue
            kinds = OVERLAPPED if overlapped else MOVED
            graphs = {what: _graph(measured, what, batch, streams, overlapped) for what in kinds}
            for what, us in medians(graphs).items():
                frames = MOVED[what].of_frames(batch, density) / rate * 1e-6 / batch
                floor = frames + MOVED[what].of_constants(batch, shares) / rate * 1e-6 / batch
                rows.append(_row(what, batch, us / batch, floor, shares, frames, streams, overlapped))
    return rows


def _graph(measured: Measured, what: str, batch: int, streams: int, overlapped: bool) -> Graph:
    calls = [measured.call(what, part, i % streams, overlapped) for i, part in enumerate(_parts(batch))]
    return Graph(calls, lanes=streams)


def _parts(batch: int) -> list[slice]:
    """All frames, so many at a time."""
    return [slice(first, first + batch) for first in range(0, POOL, batch)]


def _refilling(measured: Measured, rate: float) -> list[dict[str, Any]]:
    """Filling the slots with holes in three ways."""
    batch, backup = BATCHES[-1], measured.raw.copy()
    kernels, counts, raw = measured.kernels, measured.counts[0], measured.raw

    def restore() -> None:
        stream = cupy().cuda.get_current_stream().ptr
        cupy().cuda.runtime.memcpyAsync(raw.data.ptr, backup.data.ptr, raw.nbytes, _DEVICE_TO_DEVICE, stream)

    ways: dict[str, Callable[[slice], object]] = {
        "count, refilled in the same pass": lambda part: kernels.count(raw[part], counts, refill=True),
        f"{HOLES}, refilled in the same pass": lambda part: kernels.count_holes(raw[part], counts, refill=True),
        "refilled by a kernel": lambda part: refill(raw[part]),
        "refilled by the driver's memset": lambda part: refill_by_memset(raw[part]),
    }
    calls = {what: [_bound(way, part) for part in _parts(batch)] for what, way in ways.items()}
    times = medians({what: Graph(each, restore) for what, each in calls.items()})
    floors = [(4 if "pass" in what else 2) * SHAPE[0] * SHAPE[1] / rate * 1e-6 for what in ways]
    rows = [_row(what, batch, times[what] / batch, floor) for what, floor in zip(ways, floors, strict=True)]
    restore()
    cupy().cuda.Device().synchronize()
    return rows


def _bound(way: Callable[[slice], object], part: slice) -> Callable[[], object]:
    return lambda: way(part)


def _dark_frames(pedestal: Any) -> list[dict[str, Any]]:
    """A dark frame in the tracking of the pedestal, an update of all chips for every 32 of them included."""
    rng = np.random.default_rng(1)
    noise = 24 * rng.standard_normal((_DARK_FRAMES, *SHAPE), np.float32)
    frames = cupy().asarray(np.rint(pedestal + noise).clip(0, 0x3FFF).astype(np.uint16))
    tracker = GpuPedestalTracker(TrackerState.start(pedestal))
    us = microseconds(lambda: tracker.take(frames, [None] * _DARK_FRAMES))
    return [_row("pedestal, dark frames", _DARK_FRAMES, us / _DARK_FRAMES)]


def _targets(rows: list[dict[str, Any]]) -> list[Target]:
    bars = {(what, BATCHES[-1]): bar for what, bar in BARS.items()} | {(what, 1): SINGLE_BAR for what in BARS}
    return [
        Target(
            what=f"{row['kernel']}, batch {row['batch']}, {_on(row)}: times its floor",
            value=row["times_floor"],
            unit="",
            limit=SPARSE_ALONE if (what, batch, _on(row)) == (SPARSE, 1, "one stream") else bar,
            better="lower",
        )
        for (what, batch), bar in bars.items()
        for row in rows
        if (row["kernel"], row["batch"], row["percent_switched"]) == (what, batch, MANY.percent)
    ]


def _on(row: dict[str, Any]) -> str:
    streams = "one stream" if row["streams"] == 1 else f"{row['streams']} streams"
    return f"{streams}, overlapped" if row["overlapped"] else streams
