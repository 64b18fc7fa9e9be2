"""The contract of all frame pipelines, as cases: frames in a ring, and what must come out of them by the models."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frame_pipeline_reference import RECORD_S, Expected, PeakSearch, PedestalReference, start_of
from framelane.models.jungfrau.jf_fixed import FixedCalibration
from framelane.models.peaks.peak_settings import Panel, PeakSettings
from framelane.models.placement.slots import HOLE_WORD
from framelane.models.placement.trailer import Trailer
from framelane.receiver.gpu._device import cupy
from framelane.receiver.pedestal.pedestal_tracker import PedestalTracker
from framelane.receiver.pipeline.frame_pipeline import FramePipeline, Processed
from framelane.receiver.pipeline.judging import Judging
from framelane.receiver.pipeline.veto import Veto
from framelane.receiver.ring.receiver import ReceivedFrame
from framelane.receiver.ring.ring import Ring
from framelane.session.session import Session

MakeSession = Callable[..., Session]

THRESHOLD, SPARSE_THRESHOLD = 10, 3
PATIENCE_S = 60.0
KINDS = ("photons", "faint", "holes", "anything", "spots")
DARK_NS = 106 << 20
"""From one dark frame to the next: 9 of them are the longest time for which a pedestal is used."""


def calibration(shape: tuple[int, int], seed: int = 1, high_gain: bool = False) -> FixedCalibration:
    """About a photon every 8 ADU in G0, every pedestal another, some pixels masked."""
    rng = np.random.default_rng(seed)
    pedestal = rng.integers(0, 1 << 12, (3, *shape), np.uint16)
    mantissa = rng.integers(1 << 14, 1 << 16, (3, *shape), np.uint16)
    mantissa[rng.random(mantissa.shape) < 0.05] = 0
    return FixedCalibration(pedestal, mantissa, (21, 20, 19), high_gain=high_gain)


def words(shape: tuple[int, int], seed: int, kind: str = "photons") -> NDArray[np.uint16]:
    """An image: "photons" with all stages and codes, "faint" with hardly any, "anything", or with "holes" in a row.

    "spots" of 3 x 3 pixels lie on a low background.
    """
    rng = np.random.default_rng(seed)
    if kind == "anything":
        return rng.integers(0, 1 << 16, shape, np.uint16)
    raw = rng.integers(0, 20 if kind == "faint" else 1200, shape, np.uint16)
    if kind == "faint":
        return raw
    if kind == "spots":
        raw = calibration(shape).pedestal[0] // 4 + rng.integers(0, 16, shape, np.uint16)
        for row, column in zip(rng.integers(0, shape[0], 9), rng.integers(0, shape[1], 9), strict=True):
            raw[row : row + 3, column : column + 3] += np.uint16(400)
    stage = rng.random(shape)
    raw[stage < 0.01] |= 0x4000
    raw[stage > 0.999] |= 0xC000
    for code in (0xFFFF, 0xC000, 0x4000):
        raw[rng.random(shape) < 0.001] = code
    if kind == "holes":
        raw[shape[0] // 2] = HOLE_WORD
    return raw


def make_ring(session: Session, kind: str) -> Ring:
    """On the "host", "pinned" there for a GPU, or on the "gpu"."""
    from framelane.receiver.gpu.memory import gpu_memory, pinned_memory

    size = session.layout.ring_bytes
    return Ring(session, None if kind == "host" else pinned_memory(size) if kind == "pinned" else gpu_memory(size))


def place(ring: Ring, number: int, raw: NDArray[np.uint16], timestamp_ns: int | None = None) -> ReceivedFrame:
    """The frame, as a receiver hands it out, after a source has written its pixels."""
    image: Any = ring.image(number)
    if isinstance(image, np.ndarray):
        image[:] = raw
    else:
        image.set(raw)
        cupy().cuda.get_current_stream().synchronize()
    slot = ring.layout.slot(number)
    trailers = () if timestamp_ns is None else (Trailer(0, slot, number, timestamp_ns, 0, raw.nbytes, 1, 0),)
    return ReceivedFrame(number, slot, image, None, trailers)


def all_of(pipeline: FramePipeline, check: Callable[[Processed], Any]) -> list[int]:
    """Take until nothing is pending; the frames' numbers, each looked at while its result is valid."""
    numbers = []
    while pipeline.pending:
        done = pipeline.take(PATIENCE_S)
        assert done
        for each in done:
            check(each)
            numbers.append(each.frame.number)
    return numbers


@dataclass(frozen=True)
class Case:
    """What a pipeline is asked to do, by the arguments of `make_frame_pipeline`."""

    name: str
    shape: tuple[int, int] = (16, 100)
    frames: int = 40
    minimum: int = 50
    sparse: int | None = SPARSE_THRESHOLD
    images: bool = True
    rungs: tuple[int, ...] = ()
    bragg: PeakSettings | None = None
    panels: tuple[Panel, ...] | None = None
    masked: float = 0.0
    """Share of the pixels in which no peak is looked for."""
    dark_every: int = 0
    """One of so many frames is dark."""
    drift: float = 0.2
    """ADU from one dark frame to the next."""
    high_gain: bool = False

    def __str__(self) -> str:
        return self.name


SPOTS = PeakSettings(snr=4.0, minimum=5, min_pixels=2, max_pixels=40, outer=4, inner=2, min_ring=10, limit=5)
LADDER = (1, 2, 5, 10, 100, 32700)
CASES = (
    Case("veto with keep"),
    Case("ladder", rungs=LADDER),
    Case("longladder", (7, 333), rungs=tuple(range(1, 38, 2)), images=False, sparse=None),
    Case("bragg", bragg=SPOTS, minimum=8, panels=Panel.grid((16, 100), 8, 50), masked=0.05),
    Case("bragg without images", (33, 64), bragg=SPOTS, minimum=8, images=False),
    Case("dark", frames=170, dark_every=2, drift=-0.2),
    Case("high gain", frames=150, dark_every=2, high_gain=True),
    Case("darkchips", (260, 270), frames=90, dark_every=2, images=False, sparse=None),
    Case("all", frames=150, dark_every=3, rungs=LADDER, bragg=SPOTS, minimum=8, masked=0.02),
)


@dataclass(frozen=True, eq=False)
class Scene:
    """One frame that a source sends, and what must come out."""

    raw: NDArray[np.uint16]
    keep: bool
    dark: bool
    timestamp_ns: int | None
    expected: Expected


class Run:
    """All frames of a case, with what the models make of them one after the other."""

    def __init__(self, case: Case, seed: int = 1) -> None:
        self.case = case
        self.fixed = calibration(case.shape, high_gain=case.high_gain)
        self.veto = Veto(THRESHOLD, case.minimum)
        rng = np.random.default_rng(seed)
        self.usable = rng.random(case.shape) >= case.masked if case.masked else None
        search = PeakSearch(case.bragg, case.panels, self.usable) if case.bragg else None
        self.pedestal = PedestalReference(self.fixed, start_of(self.fixed))
        self.scenes: list[Scene] = []
        darks = 0
        for number in range(case.frames):
            dark = bool(case.dark_every) and number % case.dark_every == 0
            time = None
            if dark:
                raw, darks = _dark(self.fixed, darks, case.drift, rng), darks + 1
                time = None if darks % 7 == 0 else 10**18 + darks * DARK_NS
                self.pedestal.learn(raw, time)
            else:
                raw = words(case.shape, number, KINDS[number % len(KINDS)])
            expected = Expected(raw, self.pedestal.fixed, self.veto, case.rungs, search)
            self.scenes.append(Scene(raw, number % 11 == 1, dark, time, expected))

    @property
    def judging(self) -> Judging:
        """What the pipeline is asked to judge and to record."""
        case = self.case
        return Judging(
            veto=self.veto,
            sparse=case.sparse,
            rungs=case.rungs,
            bragg=case.bragg,
            panels=case.panels,
            usable=self.usable,
        )

    @property
    def tracker(self) -> PedestalTracker | None:
        """A new one, as the models' was at the beginning."""
        if not self.case.dark_every:
            return None
        return PedestalTracker(start_of(self.fixed), high_gain=self.case.high_gain, record_s=RECORD_S)

    def pipeline(
        self, make: Callable[..., FramePipeline], ring: Ring, tracker: PedestalTracker | None, **options: Any
    ) -> FramePipeline:
        """What `make` makes of the arguments of `make_frame_pipeline`."""
        case = self.case
        return make(ring, self.fixed, self.judging, tracker=tracker, images=case.images, **options)

    def put(self, pipeline: FramePipeline, ring: Ring, number: int) -> ReceivedFrame:
        """Place a frame and put it."""
        scene = self.scenes[number]
        frame = place(ring, number, scene.raw, scene.timestamp_ns)
        pipeline.put(frame, scene.keep, scene.dark)
        return frame

    def check(self, done: Processed) -> None:
        """Compare every bit of a result."""
        scene = self.scenes[done.frame.number]
        assert done.fault is None
        scene.expected.check(done.result, self.case.sparse, self.case.images, scene.keep)
        assert done.frame.known_holes == scene.expected.counts.holes

    def go(self, pipeline: FramePipeline, ring: Ring, seed: int = 1) -> None:
        """Put all frames as the ring has room for them, take and release them; the ring goes round many times."""
        rng, number = random.Random(seed), 0
        seen: list[int] = []
        while len(seen) < len(self.scenes):
            while number < len(self.scenes) and number < ring.window_end and rng.random() < 0.7:
                ring.window.close(number + 1, [number])
                self.put(pipeline, ring, number)
                number += 1
            for done in pipeline.take(0.0):
                self.check(done)
                assert ring.release(done.frame.number)
                seen.append(done.frame.number)
        assert seen == list(range(len(self.scenes)))


@cache
def run_of(case: Case) -> Run:
    """What the models make of a case, found once."""
    return Run(case)


def run_case(make: Callable[..., FramePipeline], ring: Ring, case: Case, **options: Any) -> None:
    """All frames of a case go through what `make` makes, and come out as the models say."""
    run = run_of(case)
    tracker = run.tracker
    with run.pipeline(make, ring, tracker, **options) as pipeline:
        run.go(pipeline, ring)
        assert pipeline.fault is None
        assert not pipeline.pending
    if tracker is not None:
        run.pedestal.check(tracker)


def run_in_order(
    make: Callable[..., FramePipeline],
    ring: Ring,
    shape: tuple[int, int],
    sparse_threshold: int | None,
    images: bool,
) -> None:
    """Eight frames of every kind go through what `make` makes: they come out in order, with the models' bits."""
    fixed, veto = calibration(shape), Veto(THRESHOLD, 50)
    raws = [words(shape, number, KINDS[number % len(KINDS)]) for number in range(8)]
    with make(ring, fixed, Judging(veto=veto, sparse=sparse_threshold), images=images) as pipeline:
        for number, raw in enumerate(raws):
            pipeline.put(place(ring, number, raw), keep=number == 1)
        assert pipeline.pending == 8

        def check(done: Processed) -> None:
            assert done.fault is None
            expected = Expected(raws[done.frame.number], fixed, veto)
            expected.check(done.result, sparse_threshold, images, done.frame.number == 1)

        assert all_of(pipeline, check) == list(range(8))
        assert pipeline.fault is None


def _dark(fixed: FixedCalibration, number: int, drift: float, rng: np.random.Generator) -> NDArray[np.uint16]:
    """A dark frame that has drifted with its number; now and then bright ones, holes, and a word of another stage."""
    shape = fixed.pedestal.shape[1:]
    adc = fixed.pedestal[0] / 4 + 3 + drift * number + 5 * rng.standard_normal(shape)
    raw: NDArray[np.uint16] = np.rint(adc).clip(0, 0x3FFF).astype(np.uint16)
    if number % 13 == 5:
        raw += np.uint16(900) * (rng.random(shape) < 0.5)
    if number % 5 == 2:
        raw[shape[0] // 2] = HOLE_WORD
    raw[rng.random(shape) < 0.002] = 0x4321
    return raw
