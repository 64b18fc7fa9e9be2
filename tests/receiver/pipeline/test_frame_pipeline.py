"""The streaming pipeline on the CPU: the contract of `frame_pipeline_cases`, and what is its own."""

import contextlib
import types
from functools import partial

import numpy as np
import pytest
from numpy.typing import NDArray

from frame_pipeline_cases import (
    CASES,
    SPARSE_THRESHOLD,
    SPOTS,
    THRESHOLD,
    Case,
    MakeSession,
    Run,
    Scene,
    calibration,
    place,
    run_case,
    run_in_order,
    run_of,
    words,
)
from frame_pipeline_reference import Expected
from framelane.base.errors import ConfigError
from framelane.receiver.pedestal.tracked_pipeline import TrackedPipeline
from framelane.receiver.pipeline.cpu_frame_pipeline import CpuFramePipeline
from framelane.receiver.pipeline.judging import Judging
from framelane.receiver.pipeline.make_frame_pipeline import make_frame_pipeline
from framelane.receiver.pipeline.pipeline import Pipeline
from framelane.receiver.pipeline.result import Result
from framelane.receiver.pipeline.veto import Reason, Veto
from framelane.receiver.ring.receiver import ReceivedFrame
from framelane.receiver.ring.ring import Ring

SHAPE = (16, 100)


@pytest.mark.parametrize("images", [True, False])
@pytest.mark.parametrize("sparse_threshold", [None, SPARSE_THRESHOLD])
def test_every_frame_comes_out_in_its_order_with_the_models_bits(
    make_session: MakeSession, images: bool, sparse_threshold: int | None
) -> None:
    ring = Ring(make_session(n_slots=8))
    run_in_order(partial(make_frame_pipeline, np), ring, SHAPE, sparse_threshold, images)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_whatever_is_asked_for_comes_out_as_the_models_say(make_session: MakeSession, case: Case) -> None:
    ring = Ring(make_session(n_slots=8, rows=case.shape[0], columns=case.shape[1]))
    run_case(partial(make_frame_pipeline, np), ring, case)


def test_a_slot_is_used_again_when_its_frame_was_taken_and_released(make_session: MakeSession) -> None:
    ring, fixed, veto = Ring(make_session()), calibration(SHAPE), Veto(THRESHOLD)
    with make_frame_pipeline(np, ring, fixed, Judging(veto=veto)) as pipeline:
        for number in range(0, 20, 2):
            ring.window.close(number + 2, [number, number + 1])
            raws = [words(SHAPE, each) for each in (number, number + 1)]
            for at, raw in enumerate(raws):
                pipeline.put(place(ring, number + at, raw))
            for raw in raws:
                (done,) = pipeline.take(0)
                Expected(raw, fixed, veto).check(done.result, None)
                assert ring.release(done.frame.number)
        assert ring.window_end == 24


def test_a_frame_that_cannot_be_processed_comes_back_with_the_reason_and_the_next_ones_do_not(
    make_session: MakeSession,
) -> None:
    ring, fixed, veto = Ring(make_session()), calibration(SHAPE), Veto(THRESHOLD)
    with make_frame_pipeline(np, ring, fixed, Judging(veto=veto)) as pipeline:
        small = ReceivedFrame(0, 0, np.zeros((3, 3), np.uint16), 0, ())
        pipeline.put(small)
        pipeline.put(place(ring, 1, words(SHAPE, 1)))
        (first,), (second,) = pipeline.take(0), pipeline.take(0)
        assert first.frame is small
        assert first.result is None
        assert "(3, 3)" in str(first.fault)
        Expected(words(SHAPE, 1), fixed, veto).check(second.result, None)


def test_a_frame_is_kept_from_being_rejected_only_where_that_is_asked_for(make_session: MakeSession) -> None:
    ring = Ring(make_session())
    ring.window.close(2, [0, 1])
    with make_frame_pipeline(np, ring, calibration(SHAPE), Judging(veto=Veto(THRESHOLD, 1 << 20))) as pipeline:
        frames = [place(ring, number, words(SHAPE, number)) for number in (0, 1)]
        pipeline.put(frames[0])
        pipeline.put(frames[1], keep=True)
        done = [*pipeline.take(0), *pipeline.take(0)]
    reasons = [each.result.verdict.reason for each in done if each.result]
    assert reasons == [Reason.TOO_FEW_PEAKS, Reason.KEPT_AT_RANDOM]


def test_an_interrupted_frame_is_processed_by_the_next_call() -> None:
    calls = 0
    whole = Pipeline(calibration(SHAPE), Judging(veto=Veto(THRESHOLD)))

    def interrupted(raw: NDArray[np.uint16], /, keep: bool = False) -> Result:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise KeyboardInterrupt
        return whole(raw, keep)

    with CpuFramePipeline(interrupted) as pipeline:
        pipeline.put(ReceivedFrame(0, 0, words(SHAPE, 0), 0, ()))
        with pytest.raises(KeyboardInterrupt):
            pipeline.take(0)
        assert pipeline.pending == 1
        assert [each.frame.number for each in pipeline.take(0)] == [0]


def test_an_interrupted_dark_frame_is_learned_from_once(make_session: MakeSession) -> None:
    run = Run(Case("dark", frames=40, dark_every=2))
    ring, tracker = Ring(make_session(n_slots=64)), run.tracker
    assert tracker is not None
    calls = 0

    class Interrupted(TrackedPipeline):
        def __call__(self, raw: NDArray[np.uint16], /, keep: bool = False) -> Result:
            nonlocal calls
            calls += 1
            if calls % 3 == 0:
                raise KeyboardInterrupt
            return super().__call__(raw, keep)

    process = Interrupted(run.fixed, run.judging, tracker)
    with CpuFramePipeline(process, take_dark=process.take_dark) as pipeline:
        for number in range(40):
            run.put(pipeline, ring, number)
        while pipeline.pending:
            with contextlib.suppress(KeyboardInterrupt):
                run.check(pipeline.take(0)[0])
    assert calls > 40
    run.pedestal.check(tracker)


def test_a_dark_frame_is_refused_where_there_is_no_tracker(make_session: MakeSession) -> None:
    ring = Ring(make_session())
    with make_frame_pipeline(np, ring, calibration(SHAPE), Judging()) as pipeline:
        with pytest.raises(ConfigError, match="frame 1 cannot be learned from as a dark frame: give the pipeline a"):
            pipeline.put(place(ring, 1, words(SHAPE, 1)), dark=True)
        assert not pipeline.pending


def test_the_cases_have_all_that_is_to_be_shown() -> None:
    runs = {case.name: run_of(case) for case in CASES}
    for name in ("veto with keep", "bragg", "dark", "all"):
        verdicts = {_reason(scene, runs[name].veto) for scene in runs[name].scenes}
        assert {Reason.ENOUGH_PEAKS, Reason.TOO_FEW_PEAKS, Reason.KEPT_AT_RANDOM} <= verdicts
    assert {_reason(scene, runs["all"].veto) for scene in runs["all"].scenes} == set(Reason)
    found = [int(scene.expected.bragg.found[0]) for scene in runs["bragg"].scenes if scene.expected.bragg]
    assert min(found) == 0
    assert max(found) > SPOTS.limit
    assert runs["dark"].pedestal.publications > 10
    assert runs["darkchips"].pedestal.publications > 1


def _reason(scene: Scene, veto: Veto) -> Reason:
    counts, bragg = scene.expected.counts, scene.expected.bragg
    return veto.judge(int(bragg.found[0]) if bragg else counts.peaks, counts.holes, scene.keep).reason


def test_nothing_pending_is_nothing_to_wait_for() -> None:
    with CpuFramePipeline(Pipeline(calibration(SHAPE), Judging())) as pipeline:
        assert pipeline.take(60.0) == []


def test_there_is_no_pipeline_on_other_libraries(make_session: MakeSession) -> None:
    with pytest.raises(ConfigError, match="on torch: choose numpy or cupy"):
        make_frame_pipeline(types.ModuleType("torch"), Ring(make_session()), calibration(SHAPE), Judging())
