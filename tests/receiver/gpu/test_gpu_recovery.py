"""The end of a pipeline on a GPU, and what goes wrong on the real one: nothing that was accepted is lost."""

import signal
import subprocess
import sys
import textwrap
import threading
from functools import partial
from types import ModuleType
from typing import Any

import pytest

from frame_pipeline_cases import (
    SPARSE_THRESHOLD,
    THRESHOLD,
    Case,
    MakeSession,
    Run,
    all_of,
    calibration,
    make_ring,
    place,
    words,
)
from frame_pipeline_reference import Expected, PedestalReference, start_of
from framelane.receiver.gpu.pipeline.frame_pipeline import LANES, GpuFramePipeline
from framelane.receiver.gpu.pipeline.gpu_lanes import Way
from framelane.receiver.pipeline.frame_pipeline import Processed
from framelane.receiver.pipeline.judging import Judging
from framelane.receiver.pipeline.make_frame_pipeline import make_frame_pipeline
from framelane.receiver.pipeline.veto import Veto

VETO = Veto(THRESHOLD, 50)
JUDGING, WITH_ROWS = Judging(veto=VETO), Judging(veto=VETO, sparse=SPARSE_THRESHOLD)


BEGIN = """
    import sys, time
    import numpy as np
    from frame_pipeline_cases import calibration, place, words
    from frame_pipeline_reference import Expected, start_of
    from framelane.session.session import Session
    from framelane.receiver.gpu._device import cupy
    from framelane.receiver.gpu.pipeline.frame_pipeline import GpuFramePipeline
    from framelane.receiver.gpu.launches import Launch
    from framelane.receiver.gpu.memory import gpu_memory
    from framelane.receiver.pedestal.pedestal_tracker import PedestalTracker
    from framelane.receiver.ring.receiver import ReceivedFrame
    from framelane.receiver.ring.ring import Ring
    from framelane.receiver.pipeline.judging import Judging
    from framelane.receiver.pipeline.veto import Veto

    session = Session.model_validate_json(SESSION)
    ring = Ring(session, gpu_memory(session.layout.ring_bytes))
    shape, fixed, veto = (16, 100), calibration((16, 100)), Veto(10, 50)
    with_rows = Judging(veto=veto, sparse=3)
    def put(number):
        pipeline.put(place(ring, number, words(shape, number)))
"""


def subprocess_says(script: str) -> str:
    """What a program says that begins with `BEGIN`; it must end by itself."""
    code = textwrap.dedent(BEGIN) + textwrap.dedent(script)
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    return f"{run.stdout}{run.stderr}"


def interrupted(script: str) -> tuple[int, str]:
    """How a program ends, and what it says, that gets SIGINT when it has said "ready"."""
    code = textwrap.dedent(BEGIN) + textwrap.dedent(script)
    command = [sys.executable, "-u", "-c", code]
    said: list[str] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as program:
        too_long = threading.Timer(60, program.kill)
        too_long.start()
        assert program.stdout is not None
        for line in program.stdout:
            if line == "ready\n" and line not in said:
                program.send_signal(signal.SIGINT)
            said.append(line)
        status = program.wait()
        too_long.cancel()
    return status, "".join(said)


@pytest.fixture
def begin(cp: ModuleType, make_session: MakeSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs find the cases, and have a session."""
    session = make_session(n_slots=8).model_dump_json()
    monkeypatch.setenv("PYTHONPATH", ":".join(path for path in sys.path if path))
    monkeypatch.setitem(globals(), "BEGIN", BEGIN.replace("SESSION", repr(session)))


@pytest.mark.usefixtures("begin")
@pytest.mark.parametrize("way", list(Way))
def test_after_a_kernel_has_failed_what_was_accepted_is_delivered_and_the_rest_has_the_reason(way: str) -> None:
    said = subprocess_says(f"""
        crash = cupy().RawKernel('extern "C" __global__ void crash(int *p) {{ *p = 1; }}', "crash")
        crash((1,), (1,), (cupy().zeros(1, np.int32),))
        tracker = PedestalTracker(start_of(fixed), record_s=0.005)
        pipeline = GpuFramePipeline(ring, fixed, with_rows, tracker=tracker, way="{way}", lanes=4)
        for number in range(2):
            pipeline.put(place(ring, number, words(shape, number), 10**18 + number * 10**7), dark=True)
        while pipeline.pending:
            pipeline.take(5.0)
        for number in (2, 3):
            put(number)
        time.sleep(0.5)
        with cupy().cuda.Stream(non_blocking=True):
            crash((1,), (1,), (np.uintp(0x10),))
        time.sleep(0.5)
        for number in (4, 5):  # where they lie on the host: the GPU cannot be written to any more
            pipeline.put(ReceivedFrame(number, number, None, 0, ()))
        faults = []
        while pipeline.pending:
            for done in pipeline.take(5.0):
                if done.fault:
                    faults.append(done.frame.number)
                else:
                    Expected(words(shape, done.frame.number), fixed, veto).check(done.result, 3)
                    print("good", done.frame.number)
        print("faults", faults)
        print(pipeline.fault)
        start = time.monotonic()
        pipeline.close()
        print("closed", time.monotonic() - start < 5)
        rows = [row.frames for row in tracker.record.rows]
        tracker.note()
        print("rows", rows, len(tracker.record.rows))
    """)
    assert "good 2\ngood 3\n" in said, said
    assert "CUDA_ERROR_ILLEGAL_ADDRESS" in said
    assert "faults [4, 5]" in said
    assert "closed True" in said
    assert "rows [2] 1" in said


@pytest.mark.usefixtures("begin")
@pytest.mark.parametrize("way", list(Way))
def test_a_frame_that_never_ends_is_a_fault_and_the_pipeline_closes_all_the_same(way: str) -> None:
    said = subprocess_says(f"""
        spin = cupy().RawKernel(r'''
        extern "C" __global__ void spin(volatile int *stop) {{ while (!*stop) __nanosleep(1000); }}
        ''', "spin")
        stop = cupy().cuda.alloc_pinned_memory(4)
        word = np.frombuffer(stop, np.int32, 1)
        word[0] = 1
        spin((1,), (1,), (np.uintp(stop.ptr),))  # it is loaded
        cupy().cuda.Device().synchronize()
        word[0] = 0
        pipeline = GpuFramePipeline(ring, fixed, with_rows, way="{way}", lanes=2, patience_s=0.5)
        hang = Launch(spin, 1, 1, (np.uintp(stop.ptr),))
        hang(pipeline.lanes.lanes[1].stream)  # behind what lane 1 has been given
        for number in range(6):
            put(number)
        good, bad = [], []
        while pipeline.pending:
            for done in pipeline.take(5.0):
                if done.fault:
                    assert "has not ended frame" in done.fault
                    bad.append(done.frame.number)
                else:
                    Expected(words(shape, done.frame.number), fixed, veto).check(done.result, 3)
                    good.append(done.frame.number)
        print(good, bad)
        print(pipeline.fault)
        start = time.monotonic()
        pipeline.close()
        print("closed", time.monotonic() - start < 5)
        word[0] = 1
    """)
    hangs, results = (3, "[0, 1, 2, 4] [3, 5]") if way == "waits" else (1, "[0, 2] [1, 3, 4, 5]")
    assert f"{results}\n" in said, said
    assert f"has not ended frame {hangs} within 0.5 s" in said
    assert "closed True" in said


@pytest.mark.usefixtures("begin")
@pytest.mark.parametrize("way", list(Way))
def test_ctrl_c_while_frames_are_pending_ends_the_program_at_once(way: str) -> None:
    status, said = interrupted(f"""
        with GpuFramePipeline(ring, fixed, Judging(veto=veto), way="{way}", lanes=2) as pipeline:
            for number in range(8):
                put(number)
            print("ready")
            while True:
                if pipeline.pending > 4:
                    pipeline.take(0.01)
                time.sleep(0.001)
    """)
    assert said.endswith("KeyboardInterrupt\n"), said
    assert status == -signal.SIGINT


@pytest.mark.usefixtures("begin")
@pytest.mark.parametrize("way", list(Way))
def test_after_ctrl_c_a_program_that_goes_on_gets_every_frame_that_it_has_put(way: str) -> None:
    status, said = interrupted(f"""
        from framelane.base.stopping import stop_on_signals
        with stop_on_signals() as stop, GpuFramePipeline(ring, fixed, with_rows, way="{way}") as pipeline:
            number, seen = 0, []
            while not stop.wanted or pipeline.pending:
                if not stop.wanted and pipeline.pending < 8:
                    ring.window.close(number + 1, [number])
                    put(number)
                    number += 1
                for done in pipeline.take(0.0) if pipeline.pending == 8 or stop.wanted else ():
                    Expected(words(shape, done.frame.number), fixed, veto).check(done.result, 3)
                    ring.release(done.frame.number)
                    seen.append(done.frame.number)
                if number == 20 and not stop.wanted:
                    print("ready")
            print("all", seen == list(range(number)) and number >= 20)
    """)
    assert "all True" in said, said
    assert status == 0


def test_a_pipeline_that_is_closed_while_lanes_wait_leaves_the_gpu_to_others(
    cp: Any, make_session: MakeSession, way_and_ring: tuple[Way, str]
) -> None:
    way, kind = way_and_ring
    ring, fixed = make_ring(make_session(), kind), calibration((16, 100))
    pipeline = GpuFramePipeline(ring, fixed, JUDGING, way=way)
    pipeline.put(place(ring, 0, words((16, 100), 0)))
    pipeline.close()
    pipeline.close()
    cp.cuda.Device().synchronize()
    pipeline.put(place(ring, 1, words((16, 100), 1)))
    assert [(done.frame.number, done.fault) for done in pipeline.take(1.0)] == [(1, "the pipeline was closed")]


def test_closing_while_dark_frames_are_pending_leaves_the_tracker_with_those_that_were_begun(
    cp: ModuleType, make_session: MakeSession, way_and_ring: tuple[Way, str]
) -> None:
    way, kind = way_and_ring
    wanted = Run(Case("dark", frames=8, dark_every=1))
    ring, tracker = make_ring(make_session(n_slots=8), kind), wanted.tracker
    assert tracker is not None
    pipeline = wanted.pipeline(partial(make_frame_pipeline, cp, way=way), ring, tracker)
    for number in range(8):
        wanted.put(pipeline, ring, number)
    pipeline.close()
    begun = tracker.progress.frames
    assert begun == (0 if way is Way.WAITS else LANES)
    expected = PedestalReference(wanted.fixed, start_of(wanted.fixed))
    for scene in wanted.scenes[:begun]:
        expected.learn(scene.raw, scene.timestamp_ns)
    if begun:
        expected.check(tracker)
    else:
        assert not tracker.record.rows


def test_while_a_sink_takes_nothing_all_frames_of_a_ring_wait_and_none_is_lost(
    cp: ModuleType, make_session: MakeSession, way_and_ring: tuple[Way, str]
) -> None:
    way, kind = way_and_ring
    ring, fixed = make_ring(make_session(n_slots=32), kind), calibration((16, 100))
    with GpuFramePipeline(ring, fixed, JUDGING, way=way, lanes=2) as pipeline:
        for number in range(32):
            pipeline.put(place(ring, number, words((16, 100), number)))
        assert pipeline.pending == 32

        def check(done: Processed) -> None:
            Expected(words((16, 100), done.frame.number), fixed, VETO).check(done.result)

        assert all_of(pipeline, check) == list(range(32))


def test_a_program_that_waits_for_the_whole_gpu_is_not_stopped_by_lanes_that_wait(
    cp: Any, make_session: MakeSession
) -> None:
    ring, fixed = make_ring(make_session(n_slots=8), "gpu"), calibration((16, 100))
    with GpuFramePipeline(ring, fixed, WITH_ROWS, way=Way.WAITS) as pipeline:
        for number in range(20):
            if number in (3, 11):
                cp.cuda.Device().synchronize()
            raw = words((16, 100), number)
            pipeline.put(place(ring, number, raw))
            (done,) = pipeline.take(60)
            Expected(raw, fixed, VETO).check(done.result, SPARSE_THRESHOLD)
        assert pipeline.fault is None


def test_a_result_that_somebody_has_kept_can_still_be_looked_at_when_the_pipeline_was_closed(
    cp: ModuleType, make_session: MakeSession
) -> None:
    ring, fixed = make_ring(make_session(rows=512, columns=512), "pinned"), calibration((512, 512))
    raw = words((512, 512), 0)
    kept: list[Processed] = []
    with make_frame_pipeline(cp, ring, fixed, WITH_ROWS) as pipeline:
        pipeline.put(place(ring, 0, raw))
        all_of(pipeline, kept.append)
    Expected(raw, fixed, VETO).check(kept[0].result, SPARSE_THRESHOLD)
