"""The contract of all frame pipelines, as cases: frames in a ring, and what must come out of them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from framelane.models.jf_correct import PixelCode, correct_int16
from framelane.models.jf_fixed import FixedCalibration
from framelane.models.session import Session
from framelane.models.slots import HOLE_WORD
from framelane.receiver.frame_pipeline import FramePipeline, Processed
from framelane.receiver.gpu._device import cupy
from framelane.receiver.receiver import ReceivedFrame
from framelane.receiver.result import Counts, Result
from framelane.receiver.ring import Ring
from framelane.receiver.veto import Veto

MakeSession = Callable[..., Session]

THRESHOLD, SPARSE_THRESHOLD = 10, 3
PATIENCE_S = 60.0


def calibration(shape: tuple[int, int], seed: int = 1) -> FixedCalibration:
    """About a photon every 8 ADU in G0, every pedestal another, some pixels masked."""
    rng = np.random.default_rng(seed)
    pedestal = rng.integers(0, 1 << 12, (3, *shape), np.uint16)
    mantissa = rng.integers(1 << 14, 1 << 16, (3, *shape), np.uint16)
    mantissa[rng.random(mantissa.shape) < 0.05] = 0
    return FixedCalibration(pedestal, mantissa, (21, 20, 19))


def words(shape: tuple[int, int], seed: int, kind: str = "photons") -> NDArray[np.uint16]:
    """An image: "photons" with all stages and codes, "faint" with hardly any, "anything", or with "holes" in a row."""
    rng = np.random.default_rng(seed)
    if kind == "anything":
        return rng.integers(0, 1 << 16, shape, np.uint16)
    raw = rng.integers(0, 20 if kind == "faint" else 1200, shape, np.uint16)
    if kind == "faint":
        return raw
    stage = rng.random(shape)
    raw[stage < 0.01] |= 0x4000
    raw[stage > 0.999] |= 0xC000
    for code in (0xFFFF, 0xC000, 0x4000):
        raw[rng.random(shape) < 0.001] = code
    if kind == "holes":
        raw[shape[0] // 2] = HOLE_WORD
    return raw


def place(ring: Ring, number: int, raw: NDArray[np.uint16]) -> ReceivedFrame:
    """The frame, as a receiver hands it out, after a source has written its pixels."""
    image: Any = ring.image(number)
    if isinstance(image, np.ndarray):
        image[:] = raw
    else:
        image.set(raw)
        cupy().cuda.get_current_stream().synchronize()
    return ReceivedFrame(number, ring.layout.slot(number), image, int((raw == HOLE_WORD).sum()), ())


@dataclass(frozen=True)
class Expected:
    """What the golden model makes of one image."""

    raw: NDArray[np.uint16]
    fixed: FixedCalibration
    veto: Veto

    @property
    def image(self) -> NDArray[np.int16]:
        """All values and codes."""
        return correct_int16(self.raw, self.fixed)

    @property
    def counts(self) -> Counts:
        """By plain comparisons."""
        image = self.image
        codes = (PixelCode.HOLE, PixelCode.SATURATED, PixelCode.INVALID, PixelCode.MASKED)
        holes, saturated, invalid, masked = (int((image == code).sum()) for code in codes)
        peaks = int(((image >= self.veto.threshold) & (image != PixelCode.SATURATED)).sum())
        return Counts(holes, saturated, invalid, masked, peaks)

    def check(
        self, result: Result | None, sparse_threshold: int | None = None, images: bool = True, keep: bool = False
    ) -> None:
        """Compare every bit."""
        assert result is not None
        image, counts = self.image, self.counts
        assert result.counts == counts
        assert result.verdict == self.veto.judge(counts.peaks, counts.holes, keep)
        accepted = result.verdict.accepted
        wanted = image if images and accepted else image[:0]
        assert result.image.dtype == np.int16
        assert np.array_equal(result.image, wanted)
        if sparse_threshold is None or not accepted:
            assert result.sparse is None
            return
        found = (image >= sparse_threshold) & (image != PixelCode.SATURATED)
        rows = result.sparse
        assert rows is not None
        assert [each.dtype for each in (rows.pointers, rows.columns, rows.values)] == ["int64", "int32", "int16"]
        assert np.array_equal(rows.pointers, np.concatenate([[0], np.cumsum(found.sum(1))]))
        assert np.array_equal(rows.columns, np.nonzero(found)[1])
        assert np.array_equal(rows.values, image[found])


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
