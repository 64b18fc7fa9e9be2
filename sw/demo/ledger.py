"""What a demo proves of every frame, and the frame it shows."""

import numpy as np
from numpy.typing import NDArray

from framelane.demo.losses import Loss
from framelane.demo.report import Exhibit
from framelane.demo.sources import SourceFrame
from framelane.models.jungfrau.jf_calibration import Calibration
from framelane.models.jungfrau.jf_correct import MAX_VALUE, correct_int16, error_bound
from framelane.models.jungfrau.jf_fixed import FixedCalibration
from framelane.models.placement.slots import HOLE_WORD
from framelane.receiver.pipeline.result import Result
from framelane.receiver.ring.receiver import ReceivedFrame

REFERENCE_TOLERANCE = 5e-4
"""Photons by which a reference in float32 may itself be off."""


class Ledger:
    """Compares every frame with what was sent and with what was lost on the way, and sums up.

    Where the source has `corrected` the frames, their photons have to be those of `jf_correct.correct_int16`.
    `unexplained` are frames whose holes or trailers are not exactly those of the lost packets. Of the pixels that
    `arrived`, `wrong_words` are not what was sent, and `compared` have a reference and a value; `max_error` is the
    largest difference, `max_bound` the largest allowed one, in photons, None where nothing was compared; `beyond` of
    them are further off than their own bound.
    """

    def __init__(self, calibration: Calibration, fixed: FixedCalibration, corrected: bool = False) -> None:
        self._calibration = calibration
        self._fixed = fixed
        self._corrected = corrected
        self._shown_for = (False, -1)
        self._fates: dict[int, str] = {}
        self.exhibit: Exhibit | None = None
        self.incomplete: list[int] = []
        self.unexplained: list[int] = []
        self.guarded = self.holes = self.saturated = self.masked = self.accepted = 0
        self.arrived = self.wrong_words = self.compared = self.beyond = 0
        self.max_error: float | None = None
        self.max_bound: float | None = None

    def add(self, sent: SourceFrame, loss: Loss, frame: ReceivedFrame, result: Result) -> None:
        """Take one frame: what was sent, what was lost of it, what was received, what was made of it."""
        counts = result.counts
        whole = "complete" if frame.complete else f"incomplete, {counts.holes:,} holes"
        self._fates[frame.number] = f"{whole}, {counts.peaks:,} pixels of {result.verdict.threshold} photons or more"
        if not frame.complete:
            self.incomplete.append(frame.number)
        holes = frame.image == HOLE_WORD
        if not np.array_equal(holes, loss.pixels) or (None in frame.trailers) != loss.trailer:
            self.unexplained.append(frame.number)
        self.guarded += sent.guarded
        self.holes += counts.holes
        self.saturated += counts.saturated
        self.masked += counts.masked
        self.accepted += result.verdict.accepted
        self._compare(sent, ~holes, frame, result)
        worth = (counts.holes > 0, counts.peaks)
        if worth > self._shown_for:
            self._shown_for = worth
            raw = np.where(holes, np.uint16(HOLE_WORD), sent.raw) if self._corrected else frame.image.copy()
            self.exhibit = Exhibit(frame.number, raw, result.image.copy(), result.verdict.threshold)

    def miss(self, number: int, loss: Loss) -> None:
        """Take a frame of which nothing was received."""
        if loss.placed:
            self.unexplained.append(number)

    def fate(self, number: int) -> str:
        """What became of a frame that was sent, in words."""
        return self._fates.get(number, "nothing arrived")

    def _compare(self, sent: SourceFrame, arrived: NDArray[np.bool_], frame: ReceivedFrame, result: Result) -> None:
        self.arrived += int(arrived.sum())
        same = result.image == correct_int16(sent.raw, self._fixed) if self._corrected else frame.image == sent.raw
        self.wrong_words += int((arrived & ~same).sum())
        bound = error_bound(sent.raw, self._calibration, self._fixed) + REFERENCE_TOLERANCE
        known = arrived & np.isfinite(bound)
        self.beyond += int((known & np.isinf(sent.reference)).sum())
        compared = known & np.isfinite(sent.reference)
        if compared.any():
            # A value that is clipped is bounded with respect to the clipped reference.
            reference = sent.reference[compared].clip(-MAX_VALUE, MAX_VALUE)
            error, allowed = np.abs(result.image[compared] - reference), bound[compared]
            self.compared += error.size
            self.beyond += int((error > allowed).sum())
            self.max_error = max(self.max_error or 0.0, float(error.max()))
            self.max_bound = max(self.max_bound or 0.0, float(allowed.max()))
