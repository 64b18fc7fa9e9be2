"""The streaming pipeline on a GPU: the contract of `frame_pipeline_cases`, its lanes, and how it ends."""

import itertools
import random
import subprocess
import sys
import textwrap
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from frame_pipeline_cases import SPARSE_THRESHOLD, THRESHOLD, Expected, MakeSession, all_of, calibration, place, words
from framelane.models.errors import ConfigError
from framelane.models.session import Session
from framelane.models.slots import HOLE_WORD
from framelane.receiver.frame_pipeline import Processed, make_frame_pipeline
from framelane.receiver.gpu._device import cupy
from framelane.receiver.gpu.frame_pipeline import GpuFramePipeline
from framelane.receiver.gpu.gpu_lanes import Way
from framelane.receiver.ring import Ring
from framelane.receiver.veto import Veto

KINDS = ("photons", "faint", "holes", "anything")
RINGS = ("host", "pinned", "gpu")
SHAPES = [(16, 100), (7, 333), (64, 1024)]
VETO = Veto(THRESHOLD, 50)


@pytest.fixture
def xp() -> ModuleType:
    """CuPy, where there is a GPU."""
    try:
        module: ModuleType = cupy()
    except ConfigError as error:
        pytest.skip(str(error))
    return module


def make_ring(session: Session, kind: str) -> Ring:
    from framelane.receiver.gpu.memory import gpu_memory, pinned_memory

    size = session.layout.ring_bytes
    return Ring(session, None if kind == "host" else pinned_memory(size) if kind == "pinned" else gpu_memory(size))


@pytest.fixture(params=list(itertools.product(Way, RINGS)), ids="-".join)
def case(request: pytest.FixtureRequest) -> tuple[Way, str]:
    """Each way with each kind of ring."""
    way, kind = request.param
    return Way(way), str(kind)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("images", [True, False])
@pytest.mark.parametrize("sparse_threshold", [None, SPARSE_THRESHOLD])
def test_every_frame_comes_out_in_its_order_with_the_models_bits(
    xp: ModuleType,
    make_session: MakeSession,
    case: tuple[Way, str],
    shape: tuple[int, int],
    images: bool,
    sparse_threshold: int | None,
) -> None:
    way, kind = case
    ring, fixed = make_ring(make_session(n_slots=8, rows=shape[0], columns=shape[1]), kind), calibration(shape)
    raws = [words(shape, number, KINDS[number % 4]) for number in range(8)]
    with make_frame_pipeline(xp, ring, fixed, VETO, sparse_threshold, images, way=way) as pipeline:
        for number, raw in enumerate(raws):
            pipeline.put(place(ring, number, raw), keep=number == 1)

        def check(done: Processed) -> None:
            raw = raws[done.frame.number]
            assert done.fault is None
            Expected(raw, fixed, VETO).check(done.result, sparse_threshold, images, done.frame.number == 1)

        assert all_of(pipeline, check) == list(range(8))
        assert pipeline.fault is None


def test_with_frames_that_never_come_and_slots_used_again_all_that_came_is_right(
    xp: ModuleType, make_session: MakeSession, case: tuple[Way, str]
) -> None:
    way, kind = case
    shape = (16, 100)
    ring, fixed, rng = make_ring(make_session(n_slots=4), kind), calibration(shape), random.Random(5)
    number = 0
    seen: list[int] = []
    put: list[int] = []
    with GpuFramePipeline(ring, fixed, VETO, SPARSE_THRESHOLD, way=way, lanes=3) as pipeline:
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


def test_while_a_sink_takes_nothing_all_frames_of_a_ring_wait_and_none_is_lost(
    xp: ModuleType, make_session: MakeSession, case: tuple[Way, str]
) -> None:
    way, kind = case
    ring, fixed = make_ring(make_session(n_slots=32), kind), calibration((16, 100))
    with GpuFramePipeline(ring, fixed, VETO, way=way, lanes=2) as pipeline:
        for number in range(32):
            pipeline.put(place(ring, number, words((16, 100), number)))
        assert pipeline.pending == 32

        def check(done: Processed) -> None:
            Expected(words((16, 100), done.frame.number), fixed, VETO).check(done.result)

        assert all_of(pipeline, check) == list(range(32))


def test_nothing_is_allocated_for_a_frame(xp: Any, make_session: MakeSession, case: tuple[Way, str]) -> None:
    way, kind = case
    ring, fixed = make_ring(make_session(), kind), calibration((16, 100))
    frame = place(ring, 0, words((16, 100), 0))
    with GpuFramePipeline(ring, fixed, VETO, SPARSE_THRESHOLD, way=way) as pipeline:

        def run() -> tuple[Any, ...]:
            for _ in range(50):
                pipeline.put(frame)
                assert pipeline.take(60)
            pool = xp.get_default_memory_pool()
            return pool.total_bytes(), pool.used_bytes(), xp.cuda.runtime.memGetInfo()

        assert run() == run()


def test_memory_of_the_gpu_is_a_ring_like_any_other(xp: ModuleType, make_session: MakeSession) -> None:
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


def test_pinned_memory_is_filled_with_holes_by_the_gpu_and_with_all_else_by_the_host(xp: ModuleType) -> None:
    from framelane.receiver.gpu.memory import pinned_memory

    memory = pinned_memory((20 << 20) + 4096)
    view = memory.view("<u2")
    view[1:-1].fill(HOLE_WORD)
    assert (np.asarray(view)[1:-1] == HOLE_WORD).all()
    assert view[0] == view[-1] == 0
    view.fill(7)
    assert (np.asarray(view) == 7).all()


def subprocess_says(script: str) -> str:
    """What a program says that begins with `BEGIN`; it must end by itself."""
    code = textwrap.dedent(BEGIN) + textwrap.dedent(script)
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    return f"{run.stdout}{run.stderr}"


BEGIN = """
    import sys, time
    import numpy as np
    from frame_pipeline_cases import Expected, calibration, place, words
    from framelane.models.session import Session
    from framelane.receiver.gpu._device import cupy
    from framelane.receiver.gpu.frame_pipeline import GpuFramePipeline
    from framelane.receiver.gpu.memory import gpu_memory
    from framelane.receiver.receiver import ReceivedFrame
    from framelane.receiver.ring import Ring
    from framelane.receiver.veto import Veto

    session = Session.model_validate_json(SESSION)
    ring = Ring(session, gpu_memory(session.layout.ring_bytes))
    shape, fixed, veto = (16, 100), calibration((16, 100)), Veto(10, 50)
    def put(number):
        pipeline.put(place(ring, number, words(shape, number)))
"""


@pytest.fixture
def begin(xp: ModuleType, make_session: MakeSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs find the cases, and have a session."""
    session = make_session(n_slots=8).model_dump_json()
    monkeypatch.setenv("PYTHONPATH", ":".join(path for path in sys.path if path))
    monkeypatch.setitem(globals(), "BEGIN", BEGIN.replace("SESSION", repr(session)))


@pytest.mark.usefixtures("begin")
@pytest.mark.parametrize("way", ["launches", "waits"])
def test_after_a_kernel_has_failed_what_was_accepted_is_delivered_and_the_rest_has_the_reason(way: str) -> None:
    said = subprocess_says(f"""
        crash = cupy().RawKernel('extern "C" __global__ void crash(int *p) {{ *p = 1; }}', "crash")
        crash((1,), (1,), (cupy().zeros(1, np.int32),))
        pipeline = GpuFramePipeline(ring, fixed, veto, 3, way="{way}", lanes=4)
        for number in range(2):
            put(number)
        time.sleep(0.5)
        with cupy().cuda.Stream(non_blocking=True):
            crash((1,), (1,), (np.uintp(0x10),))
        time.sleep(0.5)
        for number in (2, 3):  # where they lie on the host: the GPU cannot be written to any more
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
    """)
    assert "good 0\ngood 1\n" in said, said
    assert "CUDA_ERROR_ILLEGAL_ADDRESS" in said
    assert "faults [2, 3]" in said
    assert "closed True" in said


SPIN = """
    spin = cupy().RawKernel(r'''
    extern "C" __global__ void spin(volatile int *stop) { while (!*stop) __nanosleep(1000); }
    ''', "spin")
    stop = cupy().cuda.alloc_pinned_memory(4)
    word = np.frombuffer(stop, np.int32, 1)
    word[0] = 0
    pipeline = GpuFramePipeline(ring, fixed, veto, way="launches", lanes=2, patience_s=0.5)
    with cupy().cuda.ExternalStream(int(pipeline.lanes.lanes[1].stream)):
        spin((1,), (1,), (np.uintp(stop.ptr),))
"""


@pytest.mark.usefixtures("begin")
def test_a_frame_that_never_ends_is_a_fault_and_the_pipeline_closes_all_the_same() -> None:
    said = subprocess_says(
        textwrap.dedent(SPIN)
        + textwrap.dedent("""
        put(0), put(1), put(2)
        seen = []
        while pipeline.pending:
            seen += [(done.frame.number, done.fault is None) for done in pipeline.take(5.0)]
        print(seen)
        print(pipeline.fault)
        start = time.monotonic()
        pipeline.close()
        print("closed", time.monotonic() - start < 5)
        word[0] = 1
        """)
    )
    assert "[(0, True), (1, False), (2, " in said, said
    assert "has not ended frame 1 within 0.5 s" in said
    assert "closed True" in said


@pytest.mark.usefixtures("begin")
@pytest.mark.parametrize("way", list(Way))
def test_an_interrupt_while_lanes_wait_ends_the_program(way: str) -> None:
    said = subprocess_says(f"""
        pipeline = GpuFramePipeline(ring, fixed, veto, way="{way}")
        put(0)
        time.sleep(0.2)
        raise KeyboardInterrupt
    """)
    assert said.endswith("KeyboardInterrupt\n"), said


def test_a_pipeline_that_is_closed_while_lanes_wait_leaves_the_gpu_to_others(
    xp: Any, make_session: MakeSession, case: tuple[Way, str]
) -> None:
    way, kind = case
    ring, fixed = make_ring(make_session(), kind), calibration((16, 100))
    pipeline = GpuFramePipeline(ring, fixed, VETO, way=way)
    pipeline.put(place(ring, 0, words((16, 100), 0)))
    pipeline.close()
    pipeline.close()
    xp.cuda.Device().synchronize()
    pipeline.put(place(ring, 1, words((16, 100), 1)))
    assert [(done.frame.number, done.fault) for done in pipeline.take(1.0)] == [(1, "the pipeline was closed")]


@pytest.mark.parametrize(("way", "kind"), list(itertools.product(["launches", "graphs"], ["pinned", "gpu"])))
def test_a_slot_that_was_filled_behind_its_frame_is_not_filled_again_and_has_no_pixel_left(
    xp: ModuleType, make_session: MakeSession, way: str, kind: str
) -> None:
    ring, fixed, raw = make_ring(make_session(), kind), calibration((16, 100)), words((16, 100), 0)
    with GpuFramePipeline(ring, fixed, VETO, SPARSE_THRESHOLD, way=way, refill=True) as pipeline:
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
    xp: ModuleType, make_session: MakeSession
) -> None:
    session = make_session()
    ring, fixed, raw = make_ring(session, "pinned"), calibration((16, 100)), words((16, 100), 0)
    with GpuFramePipeline(ring, fixed, VETO, refill=True) as pipeline:
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


def test_slots_are_not_refilled_by_work_that_waits_ahead(xp: ModuleType, make_session: MakeSession) -> None:
    with pytest.raises(ConfigError, match="choose launches or graphs"):
        GpuFramePipeline(Ring(make_session()), calibration((16, 100)), VETO, way="waits", refill=True)


def test_a_program_that_waits_for_the_whole_gpu_is_not_stopped_by_lanes_that_wait(
    xp: Any, make_session: MakeSession
) -> None:
    ring, fixed = make_ring(make_session(n_slots=8), "gpu"), calibration((16, 100))
    with GpuFramePipeline(ring, fixed, VETO, SPARSE_THRESHOLD, way=Way.WAITS) as pipeline:
        for number in range(20):
            if number in (3, 11):
                xp.cuda.Device().synchronize()
            raw = words((16, 100), number)
            pipeline.put(place(ring, number, raw))
            (done,) = pipeline.take(60)
            Expected(raw, fixed, VETO).check(done.result, SPARSE_THRESHOLD)
        assert pipeline.fault is None


def test_a_calibration_of_another_shape_is_refused(xp: ModuleType, make_session: MakeSession) -> None:
    with pytest.raises(Exception, match=r"is for images \(16, 99\), those of the ring are \(16, 100\)"):
        make_frame_pipeline(xp, Ring(make_session()), calibration((16, 99)), VETO)
