"""The tracking of the G0 pedestal: how far it is off while everything drifts, and what a dark frame costs."""

import os
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from framelane.bench.runner import Measurement, Target
from framelane.models.pedestal.jf_pedestal_settings import BLOCK
from framelane.models.pedestal.jf_pedestal_state import TrackerState
from framelane.receiver.pedestal.pedestal_tracker import PedestalTracker

CHIP = (256, 256)
IMAGE = (4096, 1024)
"""Eight modules."""

RATE_ADU_PER_S = 1.0
SPREADS = (0.0, 0.05, 0.2, 1.0)
"""By how much the pixels' drifts differ, as a share of the mean one."""

NOISE_ADU = 24.0
DARK_RUN = 1000
"""Frames of the dark run that the tracking begins with."""

INTERVAL_NS = 5_000_000
"""Every tenth of 2,000 frames a second."""

SECONDS = (10, 30, 60, 120, 180, 240)
FILLED_S = 180
"""From when on the window of 8,192 dark frames counts as filled: 4.4 times its length."""

BATCH = 8
LIMIT_ADU = 0.3


def measure() -> Measurement:
    """A row a spread of the drift: error at some times, ADU rms; a row a piece of work, milliseconds."""
    rows: list[dict[str, Any]] = []
    for spread in SPREADS:
        errors = drifting(spread)
        rows += [
            {"what": f"error, drifts differ by {spread:.0%}, after {second} s", "value": errors[second], "unit": "ADU"}
            for second in SECONDS
        ]
        rows.append({"what": f"the same, worst from {FILLED_S} s on", "value": errors[-1], "unit": "ADU"})
    worst = {spread: rows[n * (len(SECONDS) + 1) + len(SECONDS)]["value"] for n, spread in enumerate(SPREADS)}
    rows += [{"what": what, "value": value, "unit": "ms"} for what, value in times().items()]
    targets = [
        Target(
            what=f"error at {RATE_ADU_PER_S:g} ADU/s with drifts that differ by {spread:.0%}, window filled",
            value=worst[spread],
            unit="ADU rms",
            limit=LIMIT_ADU,
            better="lower",
        )
        for spread in SPREADS
        if spread < 1
    ]
    return Measurement(rows, targets)


def drifting(spread: float) -> dict[int, float]:
    """Track a chip whose pixels drift: rms of the written pedestal's error at SECONDS; -1: the worst since FILLED_S."""
    rng = np.random.default_rng(1)
    start = 2450 + 225 * rng.standard_normal(CHIP, np.float32)
    rate = RATE_ADU_PER_S * (1 + spread * rng.standard_normal(CHIP, np.float32))
    noise = np.float32(NOISE_ADU) * rng.standard_normal(1 << 22, np.float32)

    def drawn() -> NDArray[np.float32]:
        """Noise from another place of one long row for every frame: quick, and as good as fresh."""
        first = int(rng.integers(0, noise.size - start.size))
        return noise[first : first + start.size].reshape(CHIP)

    tracker = PedestalTracker(TrackerState.start(start + drawn() / np.float32(DARK_RUN**0.5)), threads=1)
    plane = np.empty(CHIP, np.uint16)
    tracker.write_quarters(plane)
    found = {-1: 0.0}
    for first in range(0, SECONDS[-1] * 10**9 // INTERVAL_NS + BATCH, BATCH):
        now = [(first + n) * INTERVAL_NS for n in range(BATCH)]
        truth = [start + rate * np.float32(time_ns * 1e-9) for time_ns in now]
        frames = np.stack([np.rint(each + drawn()) for each in truth]).astype(np.uint16)
        if tracker.take(frames, [10**18 + time_ns for time_ns in now]):
            tracker.write_quarters(plane)
        second = now[-1] * 1e-9
        error = float(((plane / 4 - truth[-1]) ** 2).mean() ** 0.5) if second > FILLED_S or not first % 200 else 0.0
        for each in SECONDS:
            if second >= each and each not in found and error:
                found[each] = error
        if second > FILLED_S:
            found[-1] = max(found[-1], error)
    return found


def times() -> dict[str, float]:
    """Milliseconds for a 4M image, median."""
    rng = np.random.default_rng(1)
    pedestal = 2450 + 225 * rng.standard_normal(IMAGE, np.float32)
    frames = np.empty((BATCH, *IMAGE), np.uint16)
    for frame in frames:
        np.rint(pedestal + np.float32(NOISE_ADU) * rng.standard_normal(IMAGE, np.float32), out=frame, casting="unsafe")
    found: dict[str, float] = {}
    for threads in sorted({1, len(os.sched_getaffinity(0))}):
        tracker = PedestalTracker(TrackerState.start(pedestal), threads=threads)
        of = f", 4M, {threads} thread" + "s" * (threads > 1)
        found |= {what + of: value for what, value in _work(tracker, frames).items()}
    return found


def _work(tracker: PedestalTracker, frames: NDArray[np.uint16]) -> dict[str, float]:
    """Milliseconds of each piece of work, in a block of dark frames that begins with the machine warm."""
    plane = np.empty(IMAGE, np.uint16)
    for _ in range(BLOCK // BATCH):
        tracker.take(frames, [None] * BATCH)
    alone = median(_ms(lambda raw=raw: tracker.take(raw[None], [None])) for raw in frames)  # type: ignore[misc]
    batch = [_ms(lambda: tracker.take(frames, [None] * BATCH)) for _ in range(BLOCK // BATCH - 1)]
    written = median(_ms(lambda: tracker.write_quarters(plane)) for _ in range(5))
    return {
        "a dark frame alone": alone,
        f"a dark frame in a batch of {BATCH}": median(batch[:-1]) / BATCH,
        f"an update, every {BLOCK} dark frames": batch[-1] - median(batch[:-1]),
        "writing the pedestals": written,
    }


def _ms(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1e3
