"""What a frame pipeline must make of frames, by the golden models and by plain comparisons."""

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from framelane.models.jungfrau.jf_correct import PixelCode, correct_int16
from framelane.models.jungfrau.jf_fixed import FixedCalibration
from framelane.models.peaks.peak_finder import Peaks, find_peaks
from framelane.models.peaks.peak_settings import Panel, PeakSettings
from framelane.models.pedestal.dark_frames import DarkClock
from framelane.models.pedestal.jf_pedestal import PedestalModel
from framelane.models.pedestal.jf_pedestal_settings import TrackerSettings
from framelane.models.pedestal.jf_pedestal_state import Chip, TrackerState
from framelane.receiver.pedestal.pedestal_tracker import PedestalTracker
from framelane.receiver.pipeline.result import Counts, Result
from framelane.receiver.pipeline.veto import Veto

QUARTERS = 2
"""Fraction bits of a pedestal that is published."""
RATE_BITS = 32
HALF_DUE = 2 ** (RATE_BITS - 4)
"""Half of an eighth of an ADU."""
MOST_HALF = 477
"""Ticks of half a second."""
RECORD_S = 0.5
"""From one row of the record to the next at least: as many ticks."""


class PeakSearch(NamedTuple):
    """The arguments of `find_peaks`."""

    settings: PeakSettings
    panels: tuple[Panel, ...] | None
    usable: NDArray[np.bool_] | None


@dataclass(frozen=True)
class Expected:
    """What the golden model makes of one image."""

    raw: NDArray[np.uint16]
    fixed: FixedCalibration
    veto: Veto
    rungs: tuple[int, ...] = ()
    search: PeakSearch | None = None

    @cached_property
    def image(self) -> NDArray[np.int16]:
        """All values and codes."""
        return correct_int16(self.raw, self.fixed)

    @cached_property
    def counts(self) -> Counts:
        """By plain comparisons."""
        image = self.image
        codes = (PixelCode.HOLE, PixelCode.SATURATED, PixelCode.INVALID, PixelCode.MASKED)
        holes, saturated, invalid, masked = (int((image == code).sum()) for code in codes)
        return Counts(holes, saturated, invalid, masked, reaching(image, self.veto.threshold))

    @cached_property
    def bragg(self) -> Peaks | None:
        """The peaks, where they are looked for."""
        return find_peaks(self.image[None], *self.search) if self.search else None

    def check(
        self, result: Result | None, sparse_threshold: int | None = None, images: bool = True, keep: bool = False
    ) -> None:
        """Compare every bit."""
        assert result is not None
        image, counts, bragg = self.image, self.counts, self.bragg
        assert result.counts == counts
        peaks = int(bragg.found[0]) if bragg else counts.peaks
        assert result.verdict == self.veto.judge(peaks, counts.holes, keep)
        accepted = result.verdict.accepted
        wanted = image if images and accepted else image[:0]
        assert result.image.dtype == np.int16
        assert np.array_equal(result.image, wanted)
        self._check_more(result, bragg)
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

    def _check_more(self, result: Result, bragg: Peaks | None) -> None:
        """The ladder, and the table of peaks."""
        if self.rungs:
            assert result.ladder is not None
            assert result.ladder.dtype == np.int64
            assert result.ladder.tolist() == [reaching(self.image, rung) for rung in self.rungs]
        else:
            assert result.ladder is None
        if bragg is None:
            assert result.bragg is None
            return
        assert result.bragg is not None
        assert result.bragg.found.tolist() == bragg.found.tolist()
        assert result.bragg.sums.dtype == bragg.sums.dtype
        assert np.array_equal(result.bragg.sums, bragg.sums)


def reaching(image: NDArray[np.int16], threshold: int) -> int:
    """How many pixels have a value of so much or more."""
    return int(((image >= threshold) & (image != PixelCode.SATURATED)).sum())


def start_of(fixed: FixedCalibration) -> TrackerState:
    """A tracking that begins 2 ADU beside the calibration, so that the first pedestal that it publishes is another."""
    return TrackerState.start(fixed.pedestal[0] / 4 + 2.0, fixed.mantissa[0] == 0)


class Row(NamedTuple):
    """What a row of a detector of one module says."""

    frames: int
    timestamp_ns: int
    elapsed_s: float
    refused: int
    outliers: int
    restarts: int
    drift_adu: float


class PedestalReference:
    """The calibration as it follows dark frames: `models.jf_pedestal`, and the rule by which pedestals are renewed.

    They are where a chip has new ones, or when the fastest chip has drifted by 1/8 ADU, a second at most; then for the
    middle of that time. The record has a row every `RECORD_S`.
    """

    def __init__(self, fixed: FixedCalibration, start: TrackerState) -> None:
        settings = TrackerSettings()
        self.fixed = fixed
        self.publications = 0
        self._start = start.level.copy()
        self._model, self._clock = PedestalModel(start, settings, fixed.high_gain), DarkClock(settings.dark_interval_ns)
        self._written = self._blocks = self._frames = self._tick = self._recorded = self._timestamp_ns = 0
        self.rows: list[Row] = []

    def learn(self, raw: NDArray[np.uint16], timestamp_ns: int | None) -> None:
        """Take a dark frame."""
        self._tick, self._frames = self._clock.tick(timestamp_ns), self._frames + 1
        self._timestamp_ns = timestamp_ns or 0
        self._model.take(raw, self._tick)
        if self._tick - self._recorded >= MOST_HALF:
            self._recorded = self._tick
            self.rows.append(self._row())
        chips = self._model.state.chips
        blocks, fastest = int(chips[:, Chip.BLOCKS].sum()), max(1, *abs(chips[:, Chip.RATE]).tolist())
        half = min(HALF_DUE // fastest, MOST_HALF)
        if blocks != self._blocks or self._tick - self._written >= 2 * half:
            plane = self._model.state.pedestal(QUARTERS, self._tick + half).clip(0, 0xFFFF).astype(np.uint16)
            self.fixed = replace(self.fixed, pedestal=np.stack([plane, *self.fixed.pedestal[1:]]))
            self._written, self._blocks = self._tick, blocks
            self.publications += 1

    def check(self, tracker: PedestalTracker) -> None:
        """Compare what a tracker knows that has taken the same frames."""
        for each in fields(TrackerState):
            expected = getattr(self._model.state, each.name)
            np.testing.assert_array_equal(getattr(tracker.state, each.name), expected, each.name)
        tracker.note()
        rows = self.rows if self._recorded == self._tick else [*self.rows, self._row()]
        found = [Row(*(getattr(row, name) for name in Row._fields)) for row in tracker.record.rows]
        assert [row[:-1] for row in found] == [row[:-1] for row in rows]
        assert [row.drift_adu for row in found] == pytest.approx([row.drift_adu for row in rows], abs=1e-3)

    def _row(self) -> Row:
        state = self._model.state
        live, passed = state.limit >= 0, np.zeros(self._start.shape)
        for chip, window in zip(state.chips, state.windows, strict=True):
            passed[window] = chip[Chip.COMMON] + chip[Chip.RATE] * 2.0**-16 * max(0, self._tick - chip[Chip.MIDDLE])
        chips = state.chips
        return Row(
            frames=self._frames,
            timestamp_ns=self._timestamp_ns,
            elapsed_s=self._tick * 2**20 / 1e9,
            refused=int(chips[:, Chip.REFUSED].max()),
            outliers=int(chips[:, Chip.OUTLIERS].sum()),
            restarts=int(chips[:, Chip.RESTARTS].sum()),
            drift_adu=float((state.level - self._start + passed)[live].mean() / 2**16),
        )
