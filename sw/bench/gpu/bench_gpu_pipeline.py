"""The streaming pipeline on a GPU: its rate beside that of PCIe, its latency beside that of a bare kernel."""

import time
from dataclasses import replace
from typing import Any

import numpy as np

from framelane.bench.gpu import gpu_pipeline_latency, gpu_pipeline_rate
from framelane.bench.gpu.bench_gpu_data import SHAPE
from framelane.bench.gpu.gpu_pipeline_frames import ONE_IN, SPARSE_THRESHOLD, THRESHOLD, FrameRing, veto_between
from framelane.bench.gpu.gpu_pipeline_page import page
from framelane.bench.runner import Measurement, Target
from framelane.models.peaks.peak_settings import Panel, PeakSettings
from framelane.models.pedestal.jf_pedestal_state import TrackerState
from framelane.models.placement.slots import HOLE_WORD
from framelane.receiver.gpu.memory import gpu_memory
from framelane.receiver.gpu.pipeline.frame_pipeline import LANES
from framelane.receiver.gpu.pipeline.gpu_lanes import Way
from framelane.receiver.pedestal.pedestal_tracker import PedestalTracker
from framelane.receiver.pipeline.judging import Judging
from framelane.receiver.pipeline.ladder import powers_of_two
from framelane.receiver.pipeline.veto import Veto

LEAST_SHARE = 0.95
MOST_LATENCY_US, MOST_OWN_US = 16.0, 10.0
"""From a frame that is there to its verdict, with a ring on the GPU, and of that the kernels' own."""
MODULE = (512, 1024)
_FILLS = 50
_NEVER = 1 << 31
"""So many peaks no frame has."""
ACCEPTING = Judging(veto=Veto(THRESHOLD), sparse=SPARSE_THRESHOLD)
LADDER: dict[str, Any] = {"rungs": powers_of_two()}
BRAGG: dict[str, Any] = {"bragg": PeakSettings(), "panels": Panel.grid(SHAPE, *MODULE)}
"""What else can be asked for, as fields of `Judging`."""

Row = dict[str, Any]


def measure() -> Measurement:
    """Rows of rates, overlap and latencies on the current GPU. ConfigError where there is none."""
    rate_rows, rate_targets = rates()
    latency_rows, latency_targets = latencies()
    sizes = {"frames": gpu_pipeline_rate.FRAMES, "single": gpu_pipeline_latency.FRAMES, "lanes": LANES}
    rows, targets = rate_rows + latency_rows, rate_targets + latency_targets
    return Measurement(rows, targets, page=page(rows, targets, sizes))


def _row(what: str, way: str, median: float, unit: str, p99: float | str = "") -> Row:
    return {"what": what, "way": way, "median": median, "p99": p99, "unit": unit}


def rates() -> tuple[list[Row], list[Target]]:
    """From a pinned ring, which another thread fills."""
    ring = FrameRing()
    judging = replace(ACCEPTING, veto=veto_between(gpu_pipeline_rate.peaks_without_bright_rows(ring)))
    bar = gpu_pipeline_rate.copy_rate(ring)
    rows = [_row("copy to the GPU alone", "", bar, "GB/s")]
    best, allocated = 0.0, 0
    for way in Way:
        run = gpu_pipeline_rate.run(ring, judging, way, images=True)
        what = f"correction, veto, sparse rows; images and rows of 1 frame in {ONE_IN} handed back"
        rows.append(_row(what, way, run.gb_per_s, "GB/s"))
        best, allocated = max(best, run.gb_per_s), max(allocated, run.allocated)
    for what, images in (("rows of all", False), ("images and rows of all", True)):
        run = gpu_pipeline_rate.run(ring, ACCEPTING, Way.GRAPHS, images=images)
        rows.append(_row(f"so, {what} frames handed back", Way.GRAPHS, run.gb_per_s, "GB/s"))
    run = gpu_pipeline_rate.run(ring, judging, Way.WAITS, images=True, copies=False)
    rows.append(_row(f"so, 1 in {ONE_IN}, kernels read the host's memory in place", Way.WAITS, run.gb_per_s, "GB/s"))
    share = gpu_pipeline_rate.overlap(ring, judging)
    rows.append(_row("kernels' time during which another frame is copied", Way.LAUNCHES, share, ""))
    rows += _more(ring)
    run = gpu_pipeline_rate.run(ring, judging, Way.GRAPHS, images=False, refill=True)
    rows.append(_row("so, rows handed back, slots filled with holes by the GPU", Way.GRAPHS, run.gb_per_s, "GB/s"))
    rows += _fills(ring)
    rows.append(_row("memory of the GPU allocated while frames come", "", float(allocated), "bytes"))
    return rows, [
        Target(
            what="pipeline from a pinned ring over the copy rate, the best way",
            value=best / bar,
            unit="",
            limit=LEAST_SHARE,
            better="higher",
        ),
        Target(
            what="memory of the GPU allocated while frames come",
            value=float(allocated),
            unit="bytes",
            limit=0.0,
            better="lower",
        ),
    ]


def _more(ring: FrameRing) -> list[Row]:
    """What else a pipeline can be asked for: a ladder, Bragg peaks, a pedestal that follows dark frames, all three."""
    rejecting = replace(ACCEPTING, veto=Veto(THRESHOLD, _NEVER))
    dark = FrameRing(dark=True)
    asked: list[tuple[str, FrameRing, Judging, PedestalTracker | None]] = [
        (f"a ladder of {len(LADDER['rungs'])} thresholds", ring, replace(rejecting, **LADDER), None),
        ("Bragg peaks", ring, replace(rejecting, **BRAGG), None),
        (f"a pedestal tracked by 1 dark frame in {ONE_IN}", dark, rejecting, tracker_of(dark)),
        ("all three", dark, replace(rejecting, **LADDER, **BRAGG), tracker_of(dark)),
    ]
    rows = []
    for what, frames, judging, tracker in asked:
        run = gpu_pipeline_rate.run(frames, judging, Way.GRAPHS, images=True, keep=True, tracker=tracker)
        rows.append(_row(f"so, 1 in {ONE_IN}, with {what}", Way.GRAPHS, run.gb_per_s, "GB/s"))
    return rows


def tracker_of(ring: FrameRing) -> PedestalTracker:
    """One that begins with the ring's calibration."""
    of = ring.calibration
    return PedestalTracker(TrackerState.start(of.pedestal[0], ~of.usable[0]))


def _fills(ring: FrameRing) -> list[Row]:
    """What it takes to fill a slot of the host with holes."""
    slot = ring.ring.memory.view("<u2").reshape(len(ring.ring.memory) // ring.ring.layout.slot_bytes, -1)
    times = []
    slot.fill(HOLE_WORD)
    for slots in (slot.view(np.ndarray), slot):
        begin = time.perf_counter()
        for n in range(_FILLS):
            slots[n % len(slots)].fill(HOLE_WORD)
        times.append((time.perf_counter() - begin) / _FILLS * 1e6)
    both = gpu_pipeline_rate.copy_rate(ring, both=True)
    return [
        _row("a slot filled with holes by a core of the host", "", times[0], "us"),
        _row("a slot filled with holes by the GPU's copy engine", "", times[1], "us"),
        _row("copy to the host alone", "", gpu_pipeline_rate.copy_rate(ring, to_gpu=False), "GB/s"),
        _row("copy to the GPU while as much is copied to the host", "", both, "GB/s"),
    ]


def latencies() -> tuple[list[Row], list[Target]]:
    """Latencies of frames in a ring on the GPU, and in a pinned one."""
    rows = []
    launched, released = gpu_pipeline_latency.bare(False), gpu_pipeline_latency.bare(True)
    rows.append(_row("a bare kernel to a word on the host", Way.LAUNCHES, launched.median, "us", launched.p99))
    rows.append(_row("a bare kernel to a word on the host", Way.WAITS, released.median, "us", released.p99))
    rejecting = replace(ACCEPTING, veto=Veto(THRESHOLD, SHAPE[0] * SHAPE[1]))
    on_gpu = FrameRing(gpu_memory)
    own = gpu_pipeline_latency.kernels_us(on_gpu, rejecting)
    rows.append(_row("the kernels' own time to a verdict", "", own, "us"))
    corrected = gpu_pipeline_latency.kernels_us(on_gpu, replace(rejecting, **LADDER))
    rows.append(_row("the kernels' own time to a verdict, with an image of every frame", "", corrected, "us"))
    for what, judge in (("rejected", rejecting), ("accepted", ACCEPTING)):
        whole_us = gpu_pipeline_latency.kernels_us(on_gpu, judge, to_verdict=False)
        rows.append(_row(f"the kernels' own time for {what} frames, image and rows handed back", "", whole_us, "us"))
    rows += _own_times(on_gpu, rejecting)
    best = float("inf")
    for where, ring, copies in (("a ring on the GPU", on_gpu, False), ("a pinned ring", FrameRing(), True)):
        for way in Way:
            judged, whole = gpu_pipeline_latency.verdicts(ring, rejecting, way, copies)
            rows.append(_row(f"{where}: frame to verdict", way, judged.median, "us", judged.p99))
            rows.append(_row(f"{where}: rejected frame to its result", way, whole.median, "us", whole.p99))
            if not copies:
                best = min(best, judged.median)
    promises = [
        ("frame to verdict, the best way, ring on the GPU", best, MOST_LATENCY_US),
        ("the kernels' own time to a verdict", own, MOST_OWN_US),
    ]
    return rows, [
        Target(what=what, value=value, unit="us", limit=limit, better="lower") for what, value, limit in promises
    ]


def _own_times(ring: FrameRing, judging: Judging) -> list[Row]:
    """Times of the kernels for what else can be asked for."""
    plain = gpu_pipeline_latency.kernels_us(ring, judging, to_verdict=False)
    ladder = gpu_pipeline_latency.kernels_us(ring, replace(judging, **LADDER), to_verdict=False) - plain
    bragg = gpu_pipeline_latency.kernels_us(ring, replace(judging, **BRAGG), to_verdict=False) - plain
    dark = FrameRing(gpu_memory, dark=True)
    learned = gpu_pipeline_latency.learning_us(dark, tracker_of(dark))
    return [
        _row("the kernels' own time more for a ladder", "", ladder, "us"),
        _row("the kernels' own time more for Bragg peaks", "", bragg, "us"),
        _row("the kernels' own time more for a dark frame", "", learned, "us"),
    ]
