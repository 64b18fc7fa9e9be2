"""The streaming pipeline on the CPU: the contract of `frame_pipeline_cases`, and what is its own."""

import types

import numpy as np
import pytest
from numpy.typing import NDArray

from frame_pipeline_cases import SPARSE_THRESHOLD, THRESHOLD, Expected, MakeSession, all_of, calibration, place, words
from framelane.models.errors import ConfigError
from framelane.receiver.cpu_frame_pipeline import CpuFramePipeline
from framelane.receiver.frame_pipeline import Processed, make_frame_pipeline
from framelane.receiver.pipeline import Pipeline
from framelane.receiver.receiver import ReceivedFrame
from framelane.receiver.result import Result
from framelane.receiver.ring import Ring
from framelane.receiver.veto import Veto

SHAPE = (16, 100)
KINDS = ("photons", "faint", "holes", "anything")


@pytest.mark.parametrize("images", [True, False])
@pytest.mark.parametrize("sparse_threshold", [None, SPARSE_THRESHOLD])
def test_every_frame_comes_out_in_its_order_with_the_models_bits(
    make_session: MakeSession, images: bool, sparse_threshold: int | None
) -> None:
    ring, fixed, veto = Ring(make_session(n_slots=8)), calibration(SHAPE), Veto(THRESHOLD, 50)
    raws = [words(SHAPE, number, KINDS[number % 4]) for number in range(8)]
    with make_frame_pipeline(np, ring, fixed, veto, sparse_threshold, images) as pipeline:
        for number, raw in enumerate(raws):
            pipeline.put(place(ring, number, raw), keep=number == 1)
        assert pipeline.pending == 8

        def check(done: Processed) -> None:
            raw = raws[done.frame.number]
            assert done.fault is None
            Expected(raw, fixed, veto).check(done.result, sparse_threshold, images, done.frame.number == 1)

        assert all_of(pipeline, check) == list(range(8))
        assert pipeline.fault is None


def test_a_slot_is_used_again_when_its_frame_was_taken_and_released(make_session: MakeSession) -> None:
    ring, fixed, veto = Ring(make_session()), calibration(SHAPE), Veto(THRESHOLD)
    with make_frame_pipeline(np, ring, fixed, veto) as pipeline:
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
    with make_frame_pipeline(np, ring, fixed, veto) as pipeline:
        small = ReceivedFrame(0, 0, np.zeros((3, 3), np.uint16), 0, ())
        pipeline.put(small)
        pipeline.put(place(ring, 1, words(SHAPE, 1)))
        (first,), (second,) = pipeline.take(0), pipeline.take(0)
        assert first.frame is small
        assert first.result is None
        assert "(3, 3)" in str(first.fault)
        Expected(words(SHAPE, 1), fixed, veto).check(second.result, None)


def test_an_interrupted_frame_is_processed_by_the_next_call() -> None:
    calls = 0
    whole = Pipeline(calibration(SHAPE), Veto(THRESHOLD))

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


def test_nothing_pending_is_nothing_to_wait_for() -> None:
    with CpuFramePipeline(Pipeline(calibration(SHAPE), Veto(1))) as pipeline:
        assert pipeline.take(60.0) == []


def test_there_is_no_pipeline_on_other_libraries(make_session: MakeSession) -> None:
    with pytest.raises(ConfigError, match="on torch: choose numpy or cupy"):
        make_frame_pipeline(types.ModuleType("torch"), Ring(make_session()), calibration(SHAPE), Veto(1))
