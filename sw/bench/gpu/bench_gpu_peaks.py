"""How long the peak finder takes on a GPU, beside the reading of its images, and beside the one on the CPU."""

import os
import statistics
import time
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from framelane.bench.gpu.bench_gpu_timing import Graph, medians
from framelane.bench.runner import Measurement, Target
from framelane.bench.tiled_frames import tiled_frames
from framelane.models.jungfrau.jf_correct import MAX_VALUE, correct_int16
from framelane.models.jungfrau.jf_fixed import quantize
from framelane.models.peaks.peak_finder import Peaks
from framelane.models.peaks.peak_settings import Panel, PeakSettings
from framelane.receiver.gpu._device import cupy
from framelane.receiver.gpu.gpu_error import GpuError
from framelane.receiver.gpu.peak_finder import GpuPeakFinder
from framelane.receiver.peaks import PeakFinder

BATCHES = (1, 10, 40)
POOL = 120
"""Different images, 1 GB: many times the L2 cache; each launch takes others than the one before."""

SHAPE = (4096, 1024)
PANELS = Panel.grid(SHAPE, 512, 1024)
SETTINGS = PeakSettings()
_FRACTION_BITS = 0
_MODULES = 6
_CPU_FRAMES = 8
_DEVICE_TO_DEVICE = 3
_GPU_CPU_TARGET = 120.0
"""One H200 beside 16 cores: 174 with the real frames, 188 to 221 with simulated ones."""


class Simulated(NamedTuple):
    """Images with so many photons a pixel, evenly, and Bragg spots on them."""

    name: str
    photons: float
    spots: int = 1500


SIMULATED = (
    Simulated("0.5 photons a pixel", 0.5),
    Simulated("1 photon a pixel", 1.0),
    Simulated("3 photons a pixel", 3.0),
    Simulated("10 photons a pixel", 10.0),
)


def measure() -> Measurement:
    """Rows of batches on the current GPU. ConfigError where there is none."""
    cupy()
    rate, rows = 0.0, []
    for name, images in _all_images():
        rate = rate or _copy_rate(images)
        rows += _rows(name, images, rate)
    first = {row["batch"]: row for row in rows[: len(BATCHES)]}
    most = BATCHES[-1]
    speedup = first[most]["cpu_us"] / first[most]["us"]
    return Measurement(
        rows,
        [
            Target(
                what=f"times faster than all cores, {rows[0]['images']}",
                value=speedup,
                unit="",
                limit=_GPU_CPU_TARGET,
                better="higher",
            )
        ],
    )


def _all_images() -> Iterator[tuple[str, Any]]:
    """Names of images, and so many of them on the GPU."""
    raw, calibration = tiled_frames(_MODULES)
    fixed = quantize(calibration)
    tiled = np.stack([correct_int16(each, fixed) for each in raw])
    yield "corrected frames, tiled", _spread(cupy().asarray(tiled))
    for kind in SIMULATED:
        yield kind.name, _simulated(kind)


def _spread(images: Any) -> Any:
    """`POOL` images, each of the modules of the given ones, in another order."""
    module = cupy()
    pool = module.empty((POOL, *SHAPE), np.int16)
    for n, image in enumerate(pool):
        image[:] = module.roll(images[n % len(images)], n // len(images) * PANELS[0].rows, 0)
    return pool


def _simulated(kind: Simulated, seed: int = 1) -> Any:
    module = cupy()
    rng = module.random.default_rng(seed)
    pool = module.empty((POOL, *SHAPE), np.int16)
    for image in pool:
        photons = rng.poisson(kind.photons, SHAPE).astype(np.float32)
        row, column = (rng.integers(2, size - 2, kind.spots) for size in SHAPE)
        bright = module.exp(3 + 5 * rng.random(kind.spots, np.float32))
        for down in (-1, 0, 1):
            for right in (-1, 0, 1):
                photons[row + down, column + right] += module.rint(bright * 0.4 ** (abs(down) + abs(right)))
        image[:] = photons.clip(0, 32700).astype(np.int16)
    module.cuda.Device().synchronize()
    return pool


def _copy_rate(images: Any) -> float:
    """TB/s read and written by a copy within the GPU's memory."""
    module, to = cupy(), cupy().empty_like(images)

    def copy() -> None:
        stream = module.cuda.get_current_stream().ptr
        module.cuda.runtime.memcpyAsync(to.data.ptr, images.data.ptr, images.nbytes, _DEVICE_TO_DEVICE, stream)

    return float(2 * images.nbytes / medians({0: Graph([copy])})[0] * 1e-6)


def _rows(name: str, images: Any, rate: float) -> list[dict[str, Any]]:
    host = images[:_CPU_FRAMES].get()
    expected, cpu_us = _on_cpu(host)
    share = float(((host >= SETTINGS.least_value(_FRACTION_BITS)) & (host <= MAX_VALUE)).mean())
    floor, rows = images[0].nbytes / rate * 1e-6, []
    for batch in BATCHES:
        us = _on_gpu(images, batch, expected)
        cupy().get_default_memory_pool().free_all_blocks()
        about = {"images": name, "peaks": float(expected.found.mean()), "percent_candidates": 100 * share}
        times = {"us": us, "floor_us": floor, "times_floor": us / floor, "cpu_us": cpu_us}
        rows.append({**about, "batch": batch, **times})
    return rows


def _on_gpu(images: Any, batch: int, expected: Peaks) -> float:
    """Microseconds of an image, of so many at once. GpuError where the first has other peaks than expected."""
    finder = GpuPeakFinder(SHAPE, SETTINGS, PANELS, frames=batch)
    finder.queue(images[:batch])
    first, same = finder.read().sums, expected.sums
    if not np.array_equal(first[first["frame"] == 0], same[same["frame"] == 0]):
        raise GpuError(f"the peaks of the first of {batch} frames are not those of the CPU: run the tests")
    parts = [images[at : at + batch] for at in range(0, POOL, batch)]
    return medians({0: Graph([partial(finder.queue, part) for part in parts])})[0] / batch


def _on_cpu(images: NDArray[np.int16]) -> tuple[Peaks, float]:
    """The peaks of all, and the median microseconds of one on all cores."""
    finder = PeakFinder(SHAPE, SETTINGS, PANELS, threads=len(os.sched_getaffinity(0)))
    expected, times = finder(images), []
    for image in images:
        begin = time.perf_counter()
        finder(image[None])
        times.append((time.perf_counter() - begin) * 1e6)
    return expected, statistics.median(times)
