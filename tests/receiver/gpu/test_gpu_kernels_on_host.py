"""The kernels run by the host: in small blocks, with memory that launches share, and with faults that are seen."""

import contextlib
import itertools
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from cupy_on_host import in_the_place_of_cupy, libraries
from framelane.base.errors import InputError
from framelane.models.jungfrau.jf_correct import correct_int16
from framelane.models.jungfrau.jf_fixed import quantize
from framelane.models.placement.slots import HOLE_WORD
from framelane.receiver.gpu import _device, _plans, _source, buffers
from framelane.receiver.gpu._plans import Plan
from framelane.receiver.gpu.kernels import CountBuffers, GpuKernels, SparseBuffers, VerdictPlaces
from framelane.receiver.gpu.launches import PreparedKernels
from framelane.receiver.pipeline.judging import Judging
from framelane.receiver.pipeline.result import Counts
from framelane.receiver.pipeline.veto import Veto
from gpu_kernel_cases import (
    THRESHOLD,
    calibration,
    check,
    check_float32,
    check_read,
    check_rows,
    counts_of,
    words_of,
)

SMALL_SINGLE = {
    "correct_int16": Plan(threads=32),
    "correct_int16_counted": Plan(threads=64, load=3, per_part=3),
    "correct_float32": Plan(threads=64, resident=4),
    "count": Plan(threads=64, resident=8, ahead=4, together=4, per_part=3),
    "holes": Plan(threads=64, resident=4, ahead=2, together=2, per_part=3),
    "sparse": Plan(threads=32, together=2, units=3, kept=16, staged=100),
}
SMALL_BATCH = {
    "correct_int16": Plan(threads=32, ahead=4, together=2, per_part=3, load=3, store=1, keep_g1=1),
    "correct_int16_counted": Plan(threads=64, ahead=4, together=2, load=3, store=1, keep_g1=1),
    "correct_float32": Plan(threads=64, resident=5, ahead=6, together=3, per_part=7, load=3, store=1, keep_g1=1),
    "count": Plan(threads=64, ahead=4, together=4),
    "holes": Plan(threads=64, ahead=2, together=2),
    "sparse": Plan(threads=64, resident=3, together=4, units=7, kept=90, skew=30, staged=50),
}
ONE_WARP = Plan(threads=32, resident=5, together=1, units=1, kept=8)


@pytest.fixture(scope="module")
def cp(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """What stands for CuPy."""
    with in_the_place_of_cupy(libraries(tmp_path_factory)) as module:
        yield module


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let small images have many tiles, parts and jobs, and launches have the tickets of others soon."""
    for plans, small in ((_plans.SINGLE, SMALL_SINGLE), (_plans.BATCH, SMALL_BATCH)):
        for name, plan in small.items():
            monkeypatch.setitem(plans, name, plan)
    monkeypatch.setattr(buffers, "_TURNS", 3)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.usefixtures("small_blocks")
def test_any_image_in_small_blocks(cp: Any, seed: int) -> None:
    any_of = random.Random(seed)
    rows, columns = any_of.choice([(1, 9000), (700, 11), (24, 256), (17, 333), (64, 100), (5, 1500)])
    shape = (any_of.randint(1, rows), any_of.choice([columns, any_of.randint(1, columns)]))
    n = (1, 1, 2, 3, 7, 12, 20, 41)[seed % 8]
    gap, offset = any_of.choice([(0, 0), (8, 0), (24, 8), (3, 0), (0, 1), (7, 5)])
    pixels = shape[0] * shape[1]
    sources = any_of.choice([number for number in range(1, 40) if pixels % number == 0] + [0])
    high_gain = seed in (0, 2)
    of = calibration(seed, shape, high_gain)
    frames = words_of(seed, n, shape, switched=any_of.choice([0.0, 0.02, 0.3, 1.0]))
    hits = np.random.default_rng(seed).random(frames.shape) < any_of.choice([0.0, 0.01, 0.2, 1.0])
    frames[hits] = 2450 + 508 * 12
    check(cp, quantize(of), frames, gap, offset, sources)
    check_float32(cp, of, frames, gap, offset)


def test_a_tile_adds_up_what_more_groups_of_tiles_found_than_two_for_each_lane(
    cp: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for plans in (_plans.SINGLE, _plans.BATCH):
        monkeypatch.setitem(plans, "sparse", ONE_WARP)
    many_groups(cp)


def many_groups(cp: Any) -> None:
    """So many tiles, with plans of small blocks."""
    shape = (576, 1000)
    for n in (1, 2):
        fixed, frames = quantize(calibration(n, shape)), words_of(n, n, shape)
        gpu, raw, rows = (
            GpuKernels(fixed, threshold=THRESHOLD, sparse_threshold=THRESHOLD),
            cp.asarray(frames),
            SparseBuffers(n, shape, 1 << 17),
        )
        for _ in range(3):  # the third uses what the second has cleared
            check_rows(gpu, raw, images_of(frames, fixed), rows)


def images_of(frames: Any, fixed: Any) -> Any:
    return np.stack([correct_int16(raw, fixed) for raw in frames])


@pytest.mark.parametrize("small", [False, True])
def test_launches_of_any_number_of_frames_share_their_memory(
    cp: Any, small: bool, request: pytest.FixtureRequest
) -> None:
    if small:
        request.getfixturevalue("small_blocks")
    share_memory(cp)


def share_memory(cp: Any) -> None:
    """Launches of two shapes and any number of frames, with one CountBuffers, and a SparseBuffers for each shape."""
    counts = CountBuffers(13, 4)
    shapes = {shape: SparseBuffers(13, shape, 1 << 15) for shape in ((40, 556), (4, 1024))}
    for seed, n in enumerate((7, 1, 3, 1, 1, 13, 2, 1, 5, 12)):
        shape = list(shapes)[seed % 3 // 2]
        fixed, frames = quantize(calibration(seed, shape)), words_of(seed, n, shape)
        images = images_of(frames, fixed)
        gpu, raw = GpuKernels(fixed, threshold=THRESHOLD, sparse_threshold=THRESHOLD), cp.asarray(frames)
        check_rows(gpu, raw, images, shapes[shape])
        expected = [counts_of(image, THRESHOLD) for image in images]
        gpu.count(raw, counts)
        assert counts.read(n) == expected
        gpu.correct_int16(raw, cp.empty(frames.shape, np.int16), counts)
        assert counts.read(n) == expected
        gpu.count_holes(raw, counts)
        assert counts.holes[:n].get().sum(1).tolist() == [each.holes for each in expected]


@pytest.mark.usefixtures("small_blocks")
def test_sparse_rows_of_images_that_are_dense_in_parts(cp: Any) -> None:
    any_density(cp)


def everything(cp: Any) -> None:
    for n in (1, 10, 23):
        shape = (33, 1000)
        frames = words_of(n, n, shape, switched=0.03)
        frames[:, 5:8] = 2450 + 508 * 12
        check(cp, quantize(calibration(n, shape)), frames, sources=3)


def any_density(cp: Any) -> None:
    """Sparse rows of images with parts that are dense and parts that are not, with plans of small blocks."""
    for n, shape, share in ((1, (40, 556), 0.3), (6, (33, 1000), 0.01), (9, (24, 256), 0.1), (13, (40, 300), 0.6)):
        fixed, frames = quantize(calibration(n, shape)), words_of(n, n, shape, switched=0.01)
        hits = np.random.default_rng(n).random(frames.shape) < np.linspace(0, 2 * share, shape[0])[:, None]
        frames[hits] = 2450 + 508 * 12
        images = images_of(frames, fixed)
        most = int(((images >= THRESHOLD) & (images < 32767)).reshape(n, -1).sum(1).max())
        gpu, raw, rows = (
            GpuKernels(fixed, threshold=THRESHOLD, sparse_threshold=THRESHOLD),
            cp.asarray(frames),
            SparseBuffers(n, shape, most),
        )
        for _ in range(2):
            check_rows(gpu, raw, images, rows)


def test_launches_overlap_where_they_may_and_keep_their_pixels_apart(cp: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    shape, apart = (24, 256), -3
    overlapped: list[tuple[Any, ...]] = []

    def launch(function: Any, blocks: int, threads: int, arguments: tuple[Any, ...]) -> None:
        overlapped.append(arguments)
        function((blocks,), (threads,), arguments)

    monkeypatch.setattr("framelane.receiver.gpu.kernels.can_overlap", lambda: True)
    monkeypatch.setattr("framelane.receiver.gpu.kernels.launch_overlapped", launch)
    fixed, frames = quantize(calibration(1, shape)), words_of(1, 8, shape)
    gpu, raw, rows = (
        GpuKernels(fixed, threshold=THRESHOLD, sparse_threshold=THRESHOLD),
        cp.asarray(frames),
        SparseBuffers(8, shape, 1 << 13),
    )
    for n in (8, 1, 3, 1, 1, 8, 2, 8):
        gpu.sparse(raw[:n], rows, overlapped=True)
    assert len({int(arguments[-2]) for arguments in overlapped}) == 8  # a ticket each
    first, second, third, again, other = (int(arguments[apart]) for arguments in overlapped if int(arguments[apart]))
    assert (again, other) == (first, second)
    all_kept = _plans.plan("sparse", 8)
    size = 4 * all_kept.blocks(24 * 256, 8, 1) * all_kept.threads // 32 * all_kept.kept
    assert np.diff(sorted((first, second, third))).tolist() == [size, size]
    gpu.set_pedestal(fixed.pedestal[0])
    gpu.sparse(raw, rows, overlapped=True)  # it has to wait for the pedestal
    gpu.sparse(raw, rows)
    assert len(overlapped) == 8
    gpu.sparse(raw, rows, overlapped=True)
    assert len(overlapped) == 9


class AtOnce:
    """A launch that is not only prepared."""

    def __init__(
        self, function: Any, blocks: int, threads: int, arguments: tuple[Any, ...], *, early: bool = False
    ) -> None:
        function((blocks,), (threads,), arguments)


SEQUENCE, GIVEN = 0, 1
JUDGED, DONE, FOUND = 5, 6, 7
"""Words of kernels/reports.cuh."""


def judged(cp: Any) -> None:
    """Verdicts by the kernels that count single frames, and what comes after them only where a frame is given."""
    shape, frames = (24, 256), words_of(1, 6, (24, 256))
    frames[:4][frames[:4] == HOLE_WORD] = 2450
    fixed = quantize(calibration(1, shape))
    images = images_of(frames, fixed)
    expected = [counts_of(image, THRESHOLD) for image in images]
    minimum = sorted(each.peaks for each in expected[:4])[2]
    gpu = PreparedKernels(fixed, Judging(veto=Veto(THRESHOLD, minimum), sparse=THRESHOLD))
    state, report, wanted = (cp.zeros(8, np.uint32) for _ in range(3))
    at_state, at_report, at_wanted = (np.uintp(each.data.ptr) for each in (state, report, wanted))
    verdict = VerdictPlaces(np.uint32(minimum), at_state, at_report, at_wanted, np.uint32(1))
    counts, rows, image = CountBuffers(1, 3), SparseBuffers(1, shape, 1 << 13), cp.empty((1, *shape), np.int16)
    raw, accepted = cp.asarray(frames), 0
    for number, (n, with_image, kept) in enumerate(itertools.product(range(6), (False, True), (False, True)), 1):
        frame = raw[n : n + 1]
        wanted[0] = number if kept else number - 1
        image.fill(7)
        rows.pointers.fill(7)
        with gpu.judging(verdict):
            if with_image:
                gpu.correct_int16(frame, image, counts)
            else:
                gpu.count(frame, counts)
                gpu.correct_int16(frame, image)
            gpu.sparse(frame, rows)
        given = kept or expected[n].peaks >= minimum or expected[n].holes > 0
        accepted += given
        assert Counts(*report[:JUDGED].tolist()) == expected[n]
        assert (report[JUDGED], report[FOUND]) == (number, expected[n].peaks)
        assert (report[DONE] == number) == (not given)
        assert (state[SEQUENCE], state[GIVEN]) == (number, given)
        if given:
            check_read(rows, images[n : n + 1])
        else:
            assert (rows.pointers == 7).all()
        np.testing.assert_array_equal(image[0].get(), images[n] if given or with_image else np.full(shape, 7))
    assert 12 < accepted < 24


@pytest.mark.usefixtures("small_blocks", "at_once")
def test_the_kernels_that_count_judge_single_frames(cp: Any) -> None:
    several(judged, cp)


@pytest.mark.parametrize("reset", ["if (lane == 0) verdict.state[COMPLETE] = 0;", ""])
@pytest.mark.usefixtures("small_blocks", "at_once")
def test_blocks_that_each_complete_some_counts_judge_once(cp: Any, monkeypatch: pytest.MonkeyPatch, reset: str) -> None:
    right, pause = "if (lane == 0) verdict.state[COMPLETE] = 0;", "const u64 sum = atomicAdd("
    at_once = "if (who != (1u << REPORTED) - 1) {"
    texts = _source._text
    assert right in texts("verdict.cuh")
    assert at_once in texts("verdict.cuh")
    assert pause in texts("counts.cuh")

    def text(of: str) -> str:
        return (
            texts(of).replace(right, reset).replace(at_once, "if (true) {").replace(pause, f"__nanosleep(1); {pause}")
        )

    monkeypatch.setattr(_source, "_text", text)
    _device._kernel.cache_clear()
    try:
        with contextlib.nullcontext() if reset else pytest.raises(AssertionError):
            several(judged, cp)
    finally:
        _device._kernel.cache_clear()


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prepared launches run at once."""
    monkeypatch.setattr("framelane.receiver.gpu.launches.Launch", AtOnce)


def floats(cp: Any) -> None:
    for n in (1, 30):
        check_float32(cp, calibration(n, (8, 1024)), words_of(n, n, (8, 1024)))


def several(run: Callable[[Any], None], cp: Any) -> None:
    for _ in range(4):  # each in another order
        run(cp)


@pytest.mark.parametrize(
    ("file", "right", "wrong", "run"),
    [
        ("found.cuh", "        __syncwarp();\n        u32 item", "        u32 item", any_density),
        ("found.cuh", "        to += each * 0x01010100;\n", "", any_density),
        ("found.cuh", "if (all > MOST_AT_ONCE) {", "if (all > QUEUE) {", any_density),
        ("found.cuh", "number + 1 < end", "number + 2 < end", any_density),
        ("found.cuh", "unit.tile != tile", "false", any_density),
        ("job.cuh", "number * each + min(number, all % of.jobs)", "number * each", any_density),
        (
            "rows.cuh",
            "n && !(n & NOT_KEPT) && at > MOST_KEPT",
            "n && !(n & NOT_KEPT) && at > MOST_KEPT + 1",
            any_density,
        ),
        ("correct_int16.cu", "wait_for_copies<AHEAD / TOGETHER - 1>();\n    if", "if", everything),
        ("correct_int16.cu", "    wait_for_copies<0>();\n", "", everything),
        ("rows.cuh", "placed.bases[frame] - first;", "placed.bases[0] - first;", everything),
        ("rows.cuh", " + placed.before[item] ", " ", everything),
        ("rows.cuh", "if (end == of.count) {", "if (end == of.count - 1) {", everything),
        ("look_back.cuh", "min(from + each, words)", "min(from + each / 2, words)", share_memory),
        ("look_back.cuh", "work[ENDED] = work[TICKETS + turn] = 0;", "work[ENDED] = 0;", share_memory),
        ("look_back.cuh", "work[EPOCH]++;", "", share_memory),
        ("look_back.cuh", "sum += whole(look.next_group, groups + lane + LANES);", "", many_groups),
        ("look_back.cuh", "i = lane + 2 * LANES", "i = lane + 3 * LANES", many_groups),
        ("look_back.cuh", "? now(of_frame + other) : READY", "? READY : READY", everything),
        (
            "sparse.cu",
            "        if (finder.tail != finder.head) finder",
            "        if (finder.tail == 0) finder",
            everything,
        ),
        (
            "sparse.cu",
            "            __syncthreads();\n            writer.stage",
            "            writer.stage",
            any_density,
        ),
        ("sparse.cu", "        if (rest) writer.write_rest(constants);\n", "", any_density),
        ("sparse.cu", "        if (rest || !one_each) __syncthreads();\n", "", any_density),
        ("count.cu", "    if (pending) take_picked(shared.list, part, pending, take);\n", "", everything),
        ("counts.cuh", "counts[HOLES_HERE] = 0;", "", everything),
        ("verdict.cuh", "|| *kept == sequence", "", judged),
        ("correct_int16.cu", "if (!COUNTED && state != nullptr && now(state + GIVEN) == 0) return;", "", judged),
        ("sparse.cu", "if (now(state + GIVEN) == 0) return;", "", judged),
        ("correct_float32.cu", "            __syncwarp();  // and are not needed any more\n", "", floats),
        ("correct_float32.cu", "    __syncwarp();  // the words of other lanes are there too\n", "", floats),
    ],
)
def test_a_fault_in_a_kernel_is_seen(
    cp: Any,
    file: str,
    right: str,
    wrong: str,
    run: Callable[[Any], None],
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts = _source._text
    assert right in texts(file), "the fault's place is not there any more"

    def text(of: str) -> str:
        return texts(of).replace(right, wrong) if of == file else texts(of)

    if run in (share_memory, any_density, judged):
        request.getfixturevalue("small_blocks")
    if run is judged:
        request.getfixturevalue("at_once")
    if run is many_groups:
        for plans in (_plans.SINGLE, _plans.BATCH):
            monkeypatch.setitem(plans, "sparse", ONE_WARP)
    monkeypatch.setattr(_source, "_text", text)
    monkeypatch.setattr("cuda_on_host.PATIENCE_S", 2)
    _device._kernel.cache_clear()
    try:
        with pytest.raises((AssertionError, InputError)):
            several(run, cp)
    finally:
        _device._kernel.cache_clear()
