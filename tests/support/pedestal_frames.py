"""Dark frames of a detector with which everything happens that can, for whatever tracks pedestals."""

from dataclasses import fields, replace

import numpy as np
from numpy.typing import NDArray

from framelane.models.pedestal.jf_pedestal_state import TrackerState


def wild(shape: tuple[int, int], n: int, seed: int) -> tuple[TrackerState, NDArray[np.uint16], list[int]]:
    """Return a beginning, frames and times in which everything happens that can."""
    rng = np.random.default_rng(seed)
    truth = rng.choice([0.0, 16383.0, 2450.0], shape, p=[0.01, 0.01, 0.98]) + rng.uniform(0, 200, shape)
    state = TrackerState.start(truth.clip(0, 16383), rng.random(shape) < 0.02, rng.uniform(5, 300, shape))
    frames = np.empty((n, *shape), np.uint16)
    times, now = [], 0
    steps, rates = rng.random(shape) < 0.01, rng.normal(0.05, 0.05, shape)
    for index, raw in enumerate(frames):
        adc = truth + rates * index + rng.uniform(-3, 3) + 24 * rng.standard_normal(shape)
        adc += 600 * steps * (index > n // 3) + 130 * (index > n // 2)
        raw[:] = np.rint(adc).clip(0, 0x3FFF)
        stray = rng.random(shape) < rng.choice([0.0, 0.01, 0.1])
        raw[stray] = rng.integers(0, 1 << 16, int(stray.sum()))
        raw[rng.integers(0, shape[0]) :][: rng.choice([0, 4, 60])] = 0x8000
        raw[0, 1:3] = 0x8000 if index % 2 else 0x3000  # of half a block nothing is seen, and of the other half too much
        now += int(rng.integers(-3, 10)) * 1_000_000 + (100 * 10**9 if index == n // 2 else 0)
        times.append(now)
    return state, frames, times


def copied(state: TrackerState) -> TrackerState:
    return replace(state, **{each.name: getattr(state, each.name).copy() for each in fields(state)})
