"""A ring of 4M frames for the bench of the GPU pipeline, and a thread that fills it as fast as slots are free."""

import queue
import threading
from ipaddress import IPv4Address
from typing import Any, Self

import numpy as np

from framelane.bench.gpu.bench_gpu_data import SHAPE, calibration, raw_frames
from framelane.models.jungfrau.jf_correct import ADC_MASK, ERROR_WORD
from framelane.models.jungfrau.jf_fixed import FixedCalibration, quantize
from framelane.receiver.pipeline.veto import Veto
from framelane.receiver.ring.receiver import ReceivedFrame
from framelane.receiver.ring.ring import Ring
from framelane.session.session import Session
from framelane.session.session_plan import Node, SessionPlan

N_SLOTS = 40
"""336 MB: more than any cache holds."""
THRESHOLD, SPARSE_THRESHOLD = 15, 10
"""Photons: sparse rows hold about 1 % of the pixels."""
ONE_IN = 10
"""One frame in so many has many more peaks."""
DARK_AT = 5
"""Which of `ONE_IN` frames is dark, in a ring of frames with dark ones."""
MARKED_ROW, BRIGHT_ROWS = 0, slice(1, 5)
_BRIGHT_WORD = 0x3000
DARK_NOISE_ADU = 24.0
_MOST_MARKED = 97


class FrameRing:
    """Random frames in the slots of `ring`, in `memory` or in pinned memory of the host; some `dark`, if so."""

    def __init__(self, memory: Any = None, seed: int = 1, dark: bool = False) -> None:
        from framelane.receiver.gpu.memory import pinned_memory

        node = Node(mac="02:00:00:00:00:01", ip=IPv4Address("127.0.0.1"))
        plan = SessionPlan(source=node, receiver=node, n_slots=N_SLOTS, rows=SHAPE[0], columns=SHAPE[1])
        session = Session.random(plan, window_end=N_SLOTS)
        size = session.layout.ring_bytes
        self.ring = Ring(session, pinned_memory(size) if memory is None else memory(size))
        of = self.calibration = calibration(seed)
        self.fixed: FixedCalibration = quantize(of)
        rng = np.random.default_rng(seed)
        for slot, frame in enumerate(raw_frames(N_SLOTS, of, seed + 1)):
            if dark and is_dark(slot):
                adc = of.pedestal[0] + DARK_NOISE_ADU * rng.standard_normal(SHAPE, np.float32)
                frame.set(np.rint(adc).clip(0, ADC_MASK).astype(np.uint16))
            frame[MARKED_ROW : BRIGHT_ROWS.stop] = 0
            image: Any = self.ring.image(slot)
            if isinstance(image, np.ndarray):
                frame.get(out=image.view(np.ndarray))
            else:
                image[:] = frame

    def frame(self, number: int) -> ReceivedFrame:
        """The frame in its slot."""
        return ReceivedFrame(number, self.ring.layout.slot(number), self.ring.image(number), 0, ())

    def mark(self, number: int) -> None:
        """Make the frame in its slot another one: what `invalid` counts is `marked`, and one in `ONE_IN` is bright."""
        image = self.ring.image(number)
        image[MARKED_ROW, :_MOST_MARKED] = 0
        image[MARKED_ROW, : marked(number)] = ERROR_WORD
        image[BRIGHT_ROWS] = _BRIGHT_WORD * bright(number)


def marked(number: int) -> int:
    """Invalid pixels that a frame has for its number."""
    return number % _MOST_MARKED


def bright(number: int) -> bool:
    """Whether a frame is to be accepted."""
    return number % ONE_IN == 0


def is_dark(number: int) -> bool:
    """Whether a frame is dark, in a ring that has such."""
    return number % ONE_IN == DARK_AT


def veto_between(peaks: list[int]) -> Veto:
    """One that accepts frames with bright rows, those without having so many peaks."""
    return Veto(THRESHOLD, max(peaks) + SHAPE[1] * 2)


class Filler:
    """A thread that marks `count` frames as fast as slots are given back: what it has filled comes from `get`."""

    def __init__(self, ring: FrameRing, count: int) -> None:
        self._ring, self._count = ring, count
        self._free = threading.Semaphore(N_SLOTS)
        self._filled: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def get(self, wait: bool) -> list[ReceivedFrame]:
        """All frames that were filled; with `wait` one at least."""
        numbers = [self._filled.get(timeout=10)] if wait else []
        while not self._filled.empty():
            numbers.append(self._filled.get())
        return [self._ring.frame(number) for number in numbers]

    def give_back(self) -> None:
        """A slot may be filled again."""
        self._free.release()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._thread.join(10)

    def _run(self) -> None:
        for number in range(self._count):
            if not self._free.acquire(timeout=10):
                return
            self._ring.mark(number)
            self._filled.put(number)
