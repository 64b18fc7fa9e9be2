"""The streaming pipeline on a GPU: the contract of `frame_pipeline_cases`, its lanes, and how it ends."""

import itertools
import random
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from frame_pipeline_cases import (
    CASES,
    LADDER,
    SPARSE_THRESHOLD,
    SPOTS,
    THRESHOLD,
    Case,
    MakeSession,
    Run,
    all_of,
    calibration,
    make_ring,
    place,
    run_case,
    run_in_order,
    words,
)
from frame_pipeline_reference import Expected, PedestalReference, start_of
from framelane.base.errors import ConfigError, InputError
from framelane.models.placement.slots import HOLE_WORD
from framelane.receiver.gpu.pipeline.frame_pipeline import GpuFramePipeline
from framelane.receiver.gpu.pipeline.gpu_lanes import Way
from framelane.receiver.pedestal.pedestal_tracker import PedestalTracker
from framelane.receiver.pipeline.frame_pipeline import Processed
from framelane.receiver.pipeline.judging import Judging
from framelane.receiver.pipeline.make_frame_pipeline import make_frame_pipeline
from framelane.receiver.pipeline.veto import Veto
from framelane.receiver.ring.ring import Ring

KINDS = ("photons", "faint", "holes", "anything")
SHAPES = [(16, 100), (7, 333), (64, 1024)]
VETO = Veto(THRESHOLD, 50)
JUDGING, WITH_ROWS = Judging(veto=VETO), Judging(veto=VETO, sparse=SPARSE_THRESHOLD)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("images", [True, False])
@pytest.mark.parametrize("sparse_threshold", [None, SPARSE_THRESHOLD])
def test_every_frame_comes_out_in_its_order_with_the_models_bits(
    cp: ModuleType,
    make_session: MakeSession,
    way_and_ring: tuple[Way, str],
    shape: tuple[int, int],
    images: bool,
    sparse_threshold: int | None,
) -> None:
    way, kind = way_and_ring
    ring = make_ring(make_session(n_slots=8, rows=shape[0], columns=shape[1]), kind)
    run_in_order(partial(make_frame_pipeline, cp, way=way), ring, shape, sparse_threshold, images)


def test_with_frames_that_never_come_and_slots_used_again_all_that_came_is_right(
    cp: ModuleType, make_session: MakeSession, way_and_ring: tuple[Way, str]
) -> None:
    way, kind = way_and_ring
    shape = (16, 100)
    ring, fixed, rng = make_ring(make_session(n_slots=4), kind), calibration(shape), random.Random(5)
    number = 0
    seen: list[int] = []
    put: list[int] = []
    with GpuFramePipeline(ring, fixed, WITH_ROWS, way=way, lanes=3) as pipeline:
        while len(seen) < 60:
            while rng.random() < 0.7 and (not pipeline.pending or number < put[len(seen)] + 4):  # as by credit
                put.append(number)
                ring.window.close(number + 1, [number])
                pipeline.put(place(ring, number, words(shape, number, KINDS[number % 4])))
                number += 1 if rng.random() < 0.7 else rng.randint(1, 9)
            for done in pipeline.take(0.0):
                n = done.frame.number
                Expected(words(shape, n, KINDS[n % 4]), fixed, VETO).check(done.result, SPARSE_THRESHOLD)
                ring.release(n)
                assert ring.holes(n) == 1600
                seen.append(n)
        assert seen == put[: len(seen)]


@pytest.mark.parametrize("wanted", CASES, ids=str)
def test_whatever_is_asked_for_comes_out_as_the_models_say(
    cp: ModuleType, make_session: MakeSession, way_and_ring: tuple[Way, str], wanted: Case
) -> None:
    way, kind = way_and_ring
    ring = make_ring(make_session(n_slots=8, rows=wanted.shape[0], columns=wanted.shape[1]), kind)
    run_case(partial(make_frame_pipeline, cp, way=way), ring, wanted)


def test_nothing_is_allocated_for_a_frame(cp: Any, make_session: MakeSession, way_and_ring: tuple[Way, str]) -> None:
    way, kind = way_and_ring
    wanted = Run(Case("all", rungs=LADDER, bragg=SPOTS, dark_every=2))
    ring, tracker = make_ring(make_session(), kind), wanted.tracker
    pool = cp.get_default_memory_pool()
    with wanted.pipeline(partial(make_frame_pipeline, cp, way=way), ring, tracker) as pipeline:
        before = (pool.total_bytes(), pool.used_bytes(), cp.cuda.runtime.memGetInfo())
        for number in range(len(wanted.scenes)):
            wanted.put(pipeline, ring, number)
            assert all_of(pipeline, wanted.check) == [number]
        assert (pool.total_bytes(), pool.used_bytes(), cp.cuda.runtime.memGetInfo()) == before


def test_memory_of_the_gpu_is_a_ring_like_any_other(cp: ModuleType, make_session: MakeSession) -> None:
    session = make_session()
    ring, host = make_ring(session, "gpu"), Ring(session)
    assert ring.holes(0) == 1600
    assert ring.trailer_at(0, 0) is None
    ring.window.close(1, [0])
    host.window.close(1, [0])
    for each in (ring, host):
        place(each, 0, words((16, 100), 0, "holes"))
        assert each.holes(0) == 100
        assert not each.blank(0)
        assert each.release(0)
    memory: Any = ring.memory
    assert (memory.get() == host.memory).all()


def test_pinned_memory_is_filled_with_holes_by_the_gpu_and_with_all_else_by_the_host(cp: ModuleType) -> None:
    from framelane.receiver.gpu.memory import pinned_memory

    memory = pinned_memory((20 << 20) + 4096)
    view = memory.view("<u2")
    view[1:-1].fill(HOLE_WORD)
    assert (np.asarray(view)[1:-1] == HOLE_WORD).all()
    assert view[0] == view[-1] == 0
    view.fill(7)
    assert (np.asarray(view) == 7).all()


@pytest.mark.parametrize(("way", "kind"), list(itertools.product(["launches", "graphs"], ["pinned", "gpu"])))
def test_a_slot_that_was_filled_behind_its_frame_is_not_filled_again_and_has_no_pixel_left(
    cp: ModuleType, make_session: MakeSession, way: str, kind: str
) -> None:
    ring, fixed, raw = make_ring(make_session(), kind), calibration((16, 100)), words((16, 100), 0)
    with GpuFramePipeline(ring, fixed, WITH_ROWS, way=way, refill=True) as pipeline:
        for number in range(8):
            ring.window.close(number + 1, [number])
            pipeline.put(place(ring, number, raw))
            (done,) = pipeline.take(60)
            Expected(raw, fixed, VETO).check(done.result, SPARSE_THRESHOLD)
            assert ring.holes(number) == 1600
            place(ring, number, raw)  # it would take one that is filled by the release with it
            ring.release(number)
            assert ring.holes(number) == 0
            place(ring, number, np.full((16, 100), HOLE_WORD, np.uint16))


def test_a_new_ring_in_memory_that_a_pipeline_has_filled_is_all_holes(
    cp: ModuleType, make_session: MakeSession
) -> None:
    session = make_session()
    ring, fixed, raw = make_ring(session, "pinned"), calibration((16, 100)), words((16, 100), 0)
    with GpuFramePipeline(ring, fixed, JUDGING, refill=True) as pipeline:
        for number in range(4):
            pipeline.put(place(ring, number, raw))
        while pipeline.pending:
            pipeline.take(60)
    for number in range(4):
        place(ring, number, raw)
    again = Ring(session, ring.memory)
    assert [again.holes(number) for number in range(4)] == [1600] * 4
    place(again, 1, raw)
    again.window.close(2, [0, 1])
    again.release(1)
    assert again.holes(1) == 1600


@pytest.mark.parametrize("way", list(Way))
def test_a_tracker_goes_on_where_the_last_pipeline_has_ended(
    cp: ModuleType, make_session: MakeSession, way: Way
) -> None:
    wanted = Run(Case("dark", frames=120, dark_every=2))
    tracker = wanted.tracker
    fixed = PedestalReference(wanted.fixed, start_of(wanted.fixed))
    for first, module in ((0, cp), (50, np), (80, cp)):
        ring = make_ring(make_session(n_slots=128), "pinned")
        with make_frame_pipeline(
            module, ring, fixed.fixed, Judging(veto=wanted.veto), tracker=tracker, way=way
        ) as pipeline:
            for number in range(first, {0: 50, 50: 80, 80: 120}[first]):
                wanted.put(pipeline, ring, number)
                if wanted.scenes[number].dark:
                    fixed.learn(wanted.scenes[number].raw, wanted.scenes[number].timestamp_ns)

            def check(done: Processed) -> None:
                wanted.scenes[done.frame.number].expected.check(done.result, keep=wanted.scenes[done.frame.number].keep)

            all_of(pipeline, check)
    assert tracker is not None
    wanted.pedestal.check(tracker)


@pytest.mark.parametrize("way", ["launches", "graphs"])
def test_a_dark_frame_is_learned_from_before_its_slot_is_filled(
    cp: ModuleType, make_session: MakeSession, way: str
) -> None:
    wanted = Run(Case("dark", frames=60, dark_every=2))
    ring = make_ring(make_session(n_slots=64), "pinned")
    tracker = wanted.tracker
    with wanted.pipeline(partial(make_frame_pipeline, cp, way=way, refill=True), ring, tracker) as pipeline:
        for number in range(60):
            wanted.put(pipeline, ring, number)
        assert all_of(pipeline, wanted.check) == list(range(60))
    assert tracker is not None
    wanted.pedestal.check(tracker)


def test_a_dark_frame_without_a_tracker_and_a_tracker_of_another_detector_are_refused(
    cp: ModuleType, make_session: MakeSession
) -> None:
    ring, fixed = Ring(make_session()), calibration((16, 100))
    with (
        make_frame_pipeline(cp, ring, fixed, JUDGING) as pipeline,
        pytest.raises(ConfigError, match="frame 0 cannot be learned from as a dark frame"),
    ):
        pipeline.put(place(ring, 0, words((16, 100), 0)), dark=True)
    tracker = PedestalTracker(start_of(calibration((16, 99))))
    with pytest.raises(InputError, match=r"the tracker is for images \(16, 99\), those of the ring are \(16, 100\)"):
        make_frame_pipeline(cp, ring, fixed, JUDGING, tracker=tracker)


def test_slots_are_not_refilled_by_work_that_waits_ahead(cp: ModuleType, make_session: MakeSession) -> None:
    with pytest.raises(ConfigError, match="choose launches or graphs"):
        GpuFramePipeline(Ring(make_session()), calibration((16, 100)), JUDGING, way="waits", refill=True)


def test_a_calibration_of_another_shape_is_refused(cp: ModuleType, make_session: MakeSession) -> None:
    with pytest.raises(Exception, match=r"is for images \(16, 99\), those of the ring are \(16, 100\)"):
        make_frame_pipeline(cp, Ring(make_session()), calibration((16, 99)), JUDGING)
