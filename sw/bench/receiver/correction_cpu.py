"""How long the correction of a 4M image takes the CPU, beside plain numba, numpy, and what only copying takes."""

import concurrent.futures
import math
import mmap
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from framelane.bench.receiver import plain_correction
from framelane.bench.runner import Target
from framelane.bench.tiled_frames import tiled_frames
from framelane.models.jungfrau.jf_calibration import Calibration
from framelane.models.jungfrau.jf_fixed import quantize
from framelane.receiver.pipeline import _correct_float32
from framelane.receiver.pipeline.correction import Correction

BATCH, SMALL_BATCH = 32, 8
"""Images at once, whose constants are read once: many leave two threads more of the memory, few are best for one."""

ROUNDS = 25
"""All variants by turns, so many times: what else the machine does meets all alike.

CPU times are medians, and so are their ratios; of the time on the clock, which others lengthen, the least counts.
"""

TIMES_PLAIN = {"float32": 3.4, "int16": 3.8}
TIMES_TWO_THREADS = 1.5

COPY, PLAIN, NUMBA, NUMPY = "copy of the result", "plain numba", "numba", "numpy"
FLAT = "plain numba, flat"


Key = tuple[str, str, int, int]
"""What is measured, its result, the threads, and the batch."""


@dataclass(frozen=True, slots=True)
class Variant:
    """Something to measure: `call` handles so many `images`."""

    what: str
    output: str
    threads: int
    call: Callable[[], object]
    images: int = BATCH

    @property
    def key(self) -> Key:
        """It among the others."""
        return self.what, self.output, self.threads, self.images


def on_the_cpu() -> tuple[list[dict[str, Any]], list[Target]]:
    """One row a variant: milliseconds of CPU and of time for an image, and how many times as fast as others it is."""
    images, calibration = tiled_frames(BATCH)
    raw = np.stack(images, out=_as_in_a_ring((len(images), *images[0].shape), np.uint16))
    variants = _to_float32(raw, calibration) + _to_int16(raw, calibration)
    times = _rounds(variants)
    rows = []
    for variant in variants:
        cpu, wall = times[variant.key]
        row = dict(zip(("what", "output", "threads", "batch"), variant.key, strict=True))
        row |= {"cpu_ms": statistics.median(cpu), "least_wall_ms": min(wall)}
        for other in (COPY, PLAIN):
            row[f"times_{other.split()[0]}"] = _times(times[other, variant.output, 1, BATCH][0], cpu)
        rows.append(row)
    targets = []
    for output, limit in TIMES_PLAIN.items():
        cpu, wall = times[NUMBA, output, 1, BATCH]
        plain = _times(times[PLAIN, output, 1, BATCH][0], cpu)
        targets.append(
            Target(
                what=f"{output}: times faster than plain numba, 1 thread",
                value=plain,
                unit="",
                limit=limit,
                better="higher",
            )
        )
        if len(os.sched_getaffinity(0)) > 1:
            two = min(wall) / min(times[NUMBA, output, 2, BATCH][1])
            what = f"{output}: times faster on 2 threads than on 1"
            targets.append(Target(what=what, value=two, unit="", limit=TIMES_TWO_THREADS, better="higher"))
    return rows, targets


def _as_in_a_ring(shape: tuple[int, ...], dtype: type[np.generic]) -> NDArray[Any]:
    """Memory for images, one after the other from the beginning of a page on, in large pages, all written once."""
    memory = mmap.mmap(-1, math.prod(shape) * np.dtype(dtype).itemsize)
    memory.madvise(mmap.MADV_HUGEPAGE)
    images = np.frombuffer(memory, dtype).reshape(shape)
    images.fill(0)
    return images


def _to_float32(raw: NDArray[np.uint16], calibration: Calibration) -> list[Variant]:
    result, copied = (_as_in_a_ring(raw.shape, np.float32) for _ in range(2))
    constants = plain_correction.constants(calibration)
    flat_constants = _correct_float32.arrange(calibration, "photons")[:3]
    one, two = (Correction(calibration, "float32", threads=threads) for threads in (1, 2))
    by_numpy = Correction(calibration, "float32", engine="numpy")

    def plain() -> None:
        for words, image in zip(raw, result, strict=True):
            plain_correction.float32(words, *constants, image)

    def flat() -> None:
        for words, image in zip(raw, result, strict=True):
            plain_correction.float32_flat(words.reshape(-1), *flat_constants, image.reshape(-1))

    return [
        Variant(COPY, "float32", 1, lambda: np.copyto(copied, result)),
        Variant(COPY, "float32", 2, _copied_by_two(copied, result)),
        Variant(PLAIN, "float32", 1, plain),
        Variant(FLAT, "float32", 1, flat),
        Variant(NUMBA, "float32", 1, lambda: one(raw, result)),
        Variant(NUMBA, "float32", 2, lambda: two(raw, result)),
        *_small_batch("float32", one, two, raw, result),
        Variant(NUMPY, "float32", 1, lambda: by_numpy(raw[:1], result[:1]), 1),
    ]


def _to_int16(raw: NDArray[np.uint16], calibration: Calibration) -> list[Variant]:
    result, copied = (_as_in_a_ring(raw.shape, np.int16) for _ in range(2))
    fixed = quantize(calibration)
    pedestal, mantissa = fixed.pedestal.reshape(3, -1), fixed.mantissa.reshape(3, -1)
    shift = np.array(fixed.shift)
    one, two = (Correction(fixed, threads=threads) for threads in (1, 2))
    by_numpy = Correction(fixed, engine="numpy")

    def plain() -> None:
        for words, image in zip(raw, result, strict=True):
            plain_correction.int16(words.reshape(-1), pedestal, mantissa, shift, image.reshape(-1))

    return [
        Variant(COPY, "int16", 1, lambda: np.copyto(copied, result)),
        Variant(COPY, "int16", 2, _copied_by_two(copied, result)),
        Variant(PLAIN, "int16", 1, plain),
        Variant(NUMBA, "int16", 1, lambda: one(raw, result)),
        Variant(NUMBA, "int16", 2, lambda: two(raw, result)),
        *_small_batch("int16", one, two, raw, result),
        Variant(NUMPY, "int16", 1, lambda: by_numpy(raw[:1], result[:1]), 1),
    ]


def _small_batch(
    output: str, one: Correction, two: Correction, raw: NDArray[np.uint16], result: NDArray[Any]
) -> list[Variant]:
    """The same with fewer images at once."""
    few, into = raw[:SMALL_BATCH], result[:SMALL_BATCH]
    return [
        Variant(NUMBA, output, 1, lambda: one(few, into), SMALL_BATCH),
        Variant(NUMBA, output, 2, lambda: two(few, into), SMALL_BATCH),
    ]


def _copied_by_two(copied: NDArray[Any], result: NDArray[Any]) -> Callable[[], object]:
    """Copy with two threads, half of the images each: what a second thread gains where only memory counts."""
    pool = concurrent.futures.ThreadPoolExecutor(2)
    halves = [(copied[part], result[part]) for part in (slice(BATCH // 2), slice(BATCH // 2, None))]
    return lambda: list(pool.map(lambda half: np.copyto(*half), halves))


def _rounds(variants: list[Variant]) -> dict[Key, tuple[list[float], list[float]]]:
    """For each variant the milliseconds of CPU and of time for an image, one of each a round."""
    times: dict[Key, tuple[list[float], list[float]]] = {}
    for variant in variants:
        variant.call()
        times[variant.key] = [], []
    for _ in range(ROUNDS):
        for variant in variants:
            start, start_cpu = time.perf_counter(), time.process_time()
            variant.call()
            cpu, wall = time.process_time() - start_cpu, time.perf_counter() - start
            both = times[variant.key]
            both[0].append(cpu / variant.images * 1e3)
            both[1].append(wall / variant.images * 1e3)
    return times


def _times(slow: list[float], fast: list[float]) -> float:
    """The median of the ratios, each of times from one round."""
    return statistics.median(a / b for a, b in zip(slow, fast, strict=True))
