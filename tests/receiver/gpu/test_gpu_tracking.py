"""The tracking of the pedestal on a GPU, beside the model; its arithmetic also compiled for the host."""

import ctypes
import shutil
import subprocess
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from framelane.models.pedestal.dark_frames import DarkClock
from framelane.models.pedestal.jf_pedestal import SHARE_BITS, PedestalModel
from framelane.models.pedestal.jf_pedestal_settings import TrackerSettings, gains
from framelane.models.pedestal.jf_pedestal_state import Chip, TrackerState
from framelane.receiver import gpu
from framelane.receiver.gpu.pipeline.tracker import GpuPedestalTracker
from pedestal_frames import copied, wild

KERNELS = Path(gpu.__path__[0], "kernels", "include")
SETTINGS = TrackerSettings(window=256, restart_blocks=2, rate_spread_adu_per_s=5, most_limit_adu=1023)

SOURCE = """
#include <algorithm>
#include <vector>
#include "tracking.cuh"
// One chip of rows x columns, without gaps, frame after frame: the steps of pedestal.cu one after the other.
extern "C" void take(const u16 *raw, const i64 *ticks, u32 frames, u32 rows, u32 columns, void **a, const i32 *alpha,
                     const i32 *beta, u32 top, i64 share, i32 restart_blocks) {
    const State s = {(i32 *)a[0], (i32 *)a[1], (u16 *)a[2], (u8 *)a[3], (i16 *)a[4], (i16 *)a[5],
                     (i16 *)a[6], (u8 *)a[7], (i32 *)a[8], (u8 *)a[9], (i64 *)a[10]};
    const u32 pixels = rows * columns;
    i64 *chip = s.chips;
    for (u32 frame = 0; frame < frames; frame++, raw += pixels) {
        std::vector<i32> sample;
        for (u32 i = 0; i < pixels; i++)
            if ((i / columns + i % columns) % 8 == 0 && s.limit[i] >= 0 && raw[i] < top)
                sample.push_back(raw[i] - s.reference[i]);
        if (sample.empty()) {
            chip[BLANK]++;
            continue;
        }
        std::sort(sample.begin(), sample.end());
        const i32 centre = sample[(sample.size() - 1) / 2];
        i64 outliers = 0, usable = 0;
        for (u32 i = 0; i < pixels; i++) {
            const Dark dark = judged(raw[i], s.reference[i], s.limit[i], centre, top);
            outliers += dark.usable && !dark.fits;
            usable += dark.usable;
        }
        if (outliers << SHARE_BITS > usable * share) {
            chip[REFUSED]++;
            continue;
        }
        for (u32 i = 0; i < pixels; i++) taken(s, i, judged(raw[i], s.reference[i], s.limit[i], centre, top));
        frame_taken(chip, ticks[frame], centre, outliers);
        if (chip[FRAMES] != BLOCK) continue;
        Update u = begin_update(chip);
        i64 misses = 0, all = 0;
        for (u32 i = 0; i < pixels; i++) {
            misses += miss_of(s, i, u);
            all += taken_of(s, i);
        }
        u.z = divided(misses, all);
        update_chip(chip, u);
        i64 restarts = 0;
        for (u32 i = 0; i < pixels; i++) restarts += update_pixel(s, i, chip, u, alpha, beta, restart_blocks);
        end_update(chip, u, restarts);
    }
}
"""


def by_the_model(
    start: TrackerState, frames: NDArray[np.uint16], times: list[int], high_gain: bool
) -> tuple[TrackerState, NDArray[np.int64]]:
    """Return the state after all frames, and their ticks."""
    model, clock = PedestalModel(copied(start), SETTINGS, high_gain), DarkClock(SETTINGS.dark_interval_ns)
    ticks = [clock.tick(time) for time in times]
    for raw, tick in zip(frames, ticks, strict=True):
        model.take(raw, tick)
    return model.state, np.array(ticks, np.int64)


def same(got: TrackerState, expected: TrackerState) -> None:
    for each in fields(TrackerState):
        np.testing.assert_array_equal(getattr(got, each.name), getattr(expected, each.name), each.name)


@pytest.mark.parametrize("high_gain", [False, True])
@pytest.mark.parametrize(("shape", "seed"), [((200, 250), 1), ((1, 1), 2), ((70, 30), 3)])
def test_the_arithmetic_of_a_chip_compiled_for_the_host_equals_the_model(
    tmp_path: Path, shape: tuple[int, int], seed: int, high_gain: bool
) -> None:
    (tmp_path / "tracking.cpp").write_text(SOURCE)
    options = ["-std=c++17", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", f"-I{KERNELS}"]
    subprocess.run([shutil.which("g++") or "g++", *options, "tracking.cpp", "-o", "t.so"], cwd=tmp_path, check=True)
    start, frames, times = wild(shape, 260, seed)
    expected, ticks = by_the_model(start, frames, times, high_gain)
    arrays = [getattr(start, each.name) for each in fields(start)]
    pointers = (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))
    alpha, beta = gains(SETTINGS)
    share = ctypes.c_int64(round(SETTINGS.most_outliers * (1 << SHARE_BITS)))
    sizes = (ctypes.c_uint32(n) for n in frames.shape)
    tables = (ctypes.c_void_p(table.ctypes.data) for table in (alpha, beta))
    library = ctypes.CDLL(str(tmp_path / "t.so"))
    inputs = (ctypes.c_void_p(array.ctypes.data) for array in (frames, ticks))
    library.take(*inputs, *sizes, pointers, *tables, 0x3FFF if high_gain else 0x4000, share, SETTINGS.restart_blocks)
    same(start, expected)
    if seed == 1:
        assert min(expected.chips[0][[Chip.BLOCKS, Chip.REFUSED, Chip.OUTLIERS, Chip.RESTARTS]]) > 0


@pytest.mark.parametrize("high_gain", [False, True])
@pytest.mark.parametrize(("shape", "seed"), [((300, 520), 1), ((1, 1), 2), ((256, 256), 3), ((70, 300), 4)])
def test_every_bit_equals_the_model_however_frames_are_batched(
    cp: Any, shape: tuple[int, int], seed: int, high_gain: bool
) -> None:
    start, frames, times = wild(shape, 260, seed)
    expected, ticks = by_the_model(start, frames, times, high_gain)
    tracker = GpuPedestalTracker(start, SETTINGS, high_gain=high_gain)
    rng = np.random.default_rng(seed)
    first = 0
    while first < len(frames):
        n = int(rng.integers(1, 70))
        tracker.take(cp.asarray(frames[first : first + n]), times[first : first + n])
        first += n
    same(tracker.state(), expected)
    assert tracker.tick == ticks[-1]
    plane = cp.empty(shape, np.uint16)
    for ahead in (0, 477, 10**6):
        tracker.write_quarters(plane, tracker.tick + ahead)
        now = expected.pedestal(2, tracker.tick + ahead).clip(0, 0xFFFF)
        np.testing.assert_array_equal(plane.get(), now)
