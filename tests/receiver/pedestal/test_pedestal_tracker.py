"""The receiver's tracking of the pedestal: the model's bits, its figures at a chip's size, and the record of drift."""

import json
import logging
import threading
from collections.abc import Iterator
from dataclasses import astuple, fields, replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from framelane.base.errors import ConfigError, InputError
from framelane.models.jungfrau.jf_calibration import Calibration
from framelane.models.jungfrau.jf_correct import correct_int16
from framelane.models.jungfrau.jf_fixed import quantize
from framelane.models.pedestal.dark_frames import DarkClock
from framelane.models.pedestal.jf_pedestal import PedestalModel
from framelane.models.pedestal.jf_pedestal_settings import BLOCK, TrackerSettings
from framelane.models.pedestal.jf_pedestal_state import Chip, TrackerState
from framelane.receiver.pedestal.drift import DriftLimits, DriftRecord, DriftRow
from framelane.receiver.pedestal.live_pedestal import LivePedestal
from framelane.receiver.pedestal.pedestal_tracker import PedestalTracker
from pedestal_frames import copied, wild

INTERVAL_NS = 5_000_000
"""Every tenth of 2,000 frames a second."""

CHIP_SHAPE = (256, 256)


@pytest.mark.parametrize("high_gain", [False, True])
@pytest.mark.parametrize(("shape", "seed"), [((300, 520), 1), ((1, 1), 2), ((256, 256), 3), ((70, 300), 4)])
def test_every_bit_equals_the_model_however_frames_are_batched(
    shape: tuple[int, int], seed: int, high_gain: bool
) -> None:
    settings = TrackerSettings(window=256, restart_blocks=2, rate_spread_adu_per_s=5, most_limit_adu=1023)
    start, frames, times = wild(shape, 260, seed)
    model, clock = PedestalModel(copied(start), settings, high_gain), DarkClock(settings.dark_interval_ns)
    tracker = PedestalTracker(start, settings, high_gain=high_gain, threads=2)
    tick = 0
    for raw, time in zip(frames, times, strict=True):
        tick = clock.tick(time)
        model.take(raw, tick)
    rng = np.random.default_rng(seed)
    first = 0
    while first < len(frames):
        n = int(rng.integers(1, 70))
        tracker.take(frames[first : first + n], times[first : first + n])
        first += n
    for each in fields(TrackerState):
        assert np.array_equal(getattr(tracker.state, each.name), getattr(model.state, each.name)), each.name
    plane = np.empty(shape, np.uint16)
    tracker.write_quarters(plane)
    fastest = max(1, int(np.abs(model.state.chips[:, Chip.RATE]).max()))
    ahead = tick + min((1 << 28) // fastest, 477)  # half of 1/8 ADU, half a second at most
    assert np.array_equal(plane, model.state.pedestal(2, ahead).clip(0, 0xFFFF))
    assert np.array_equal(tracker.pedestal_adu, (model.state.pedestal(16, tick) / 65536).astype(np.float32))
    if shape == (300, 520):
        totals = model.state.chips.sum(0)
        assert min(totals[[Chip.BLOCKS, Chip.REFUSED, Chip.OUTLIERS, Chip.RESTARTS]]) > 0


class Chips:
    """Dark frames of pixels that drift by 1 ADU/s, each by its own `spread` more or less; noise is of 24 ADU rms.

    The noise comes from one long row of numbers, from another place for each frame: quick, and as good as fresh.
    """

    def __init__(self, shape: tuple[int, int], spread: float, seed: int = 1) -> None:
        self.rng = np.random.default_rng(seed)
        self.start = (2450 + 225 * self.rng.standard_normal(shape)).astype(np.float32)
        self.rate = (1 + spread * self.rng.standard_normal(shape)).astype(np.float32)
        self._noise = 24 * self.rng.standard_normal(1 << 22, np.float32)
        self.dark_run = self.start + self.noise() / np.float32(1000**0.5)

    def truth(self, seconds: float) -> NDArray[np.float32]:
        return self.start + self.rate * np.float32(seconds)

    def frames(self, n: int, per_batch: int = 16) -> Iterator[tuple[NDArray[np.uint16], list[int]]]:
        for first in range(0, n, per_batch):
            times = [(first + k) * INTERVAL_NS for k in range(min(per_batch, n - first))]
            yield (
                np.stack([np.rint(self.truth(time * 1e-9) + self.noise()) for time in times]).astype(np.uint16),
                [time + 10**18 for time in times],
            )

    def noise(self) -> NDArray[np.float32]:
        first = int(self.rng.integers(0, self._noise.size - self.start.size))
        return self._noise[first : first + self.start.size].reshape(self.start.shape)


def rms(error: NDArray[np.floating[Any]]) -> float:
    return float((error.astype(np.float64) ** 2).mean() ** 0.5)


@pytest.mark.parametrize("spread", [0.05, 0.2])
def test_drift_of_1_adu_per_s_is_followed_to_0_3_adu_rms_once_the_window_has_filled(spread: float) -> None:
    """200 dark frames/s for 200 s. One in 40 has Bragg spots, one in 200 is not a dark frame at all."""
    chips = Chips((128, 256), spread)
    tracker = PedestalTracker(TrackerState.start(chips.dark_run))
    rng = np.random.default_rng(5)
    spotted = np.zeros(chips.start.shape, np.bool_)
    plane = np.empty(chips.start.shape, np.uint16)
    errors, spot_errors = [], []
    for frames, times in chips.frames(40_000):
        for raw in frames:
            if rng.random() < 1 / 40:
                row, column = rng.integers(0, 124, 2)
                raw[row : row + 3, column : column + 3] += np.uint16(508 * rng.integers(1, 10))
                raw[row + 1, column + 1] = rng.choice([0x7000, 0xF700])
                spotted[row : row + 3, column : column + 3] = True
            if rng.random() < 1 / 200:
                raw += (508 * rng.poisson(0.2, raw.shape)).astype(np.uint16)
        if tracker.take(frames, times):
            tracker.write_quarters(plane)
            if times[-1] - 10**18 > 180 * 10**9:
                error = plane / 4 - chips.truth((times[-1] - 10**18) * 1e-9)
                errors.append(rms(error))
                spot_errors.append(rms(error[spotted]))
    assert len(errors) > 100
    assert max(errors) < 0.3
    assert spotted.sum() > 5000
    assert max(spot_errors) < 0.31
    assert tracker.record.rows[-1].refused > 100
    assert rms(chips.truth(200) - chips.dark_run) > 190


def test_pedestals_are_due_when_they_have_drifted_even_between_updates() -> None:
    """With 20 dark frames/s an update comes every 1.6 s only."""
    chips = Chips((64, 256), 0.0)
    tracker = PedestalTracker(TrackerState.start(chips.start))
    plane = np.empty(chips.start.shape, np.uint16)
    errors, writings = [], 0
    for index in range(500):
        seconds = index / 20
        truth = chips.truth(seconds)
        raw = np.rint(truth + chips.noise()).astype(np.uint16)
        if tracker.take(raw[None], [10**18 + index * 50_000_000]):
            tracker.write_quarters(plane)
            writings += 1
        if seconds > 15:
            errors.append(float((plane / 4 - truth).mean()))
    assert max(map(abs, errors)) < 0.25
    assert writings > 80


def test_without_a_chips_common_drift_a_window_would_lag() -> None:
    """What the two filters are for: the usual window of 128 frames errs by its noise and its lag."""
    chips = Chips((64, 256), 0.05)
    total = 128 * chips.dark_run
    error = 0.0
    for frames, times in chips.frames(2000):
        for raw, time in zip(frames, times, strict=True):
            total += raw - total / 128
            error = rms(total / 128 - chips.truth((time - 10**18) * 1e-9))
    assert 1.5 < error < 2.0


def module_row(**changes: Any) -> DriftRow:
    row = DriftRow(0, 1000, 1.0, 0.0, 0.0, 0.0, 200, 0, 0, 0)
    return replace(row, **changes)


def test_the_record_says_how_far_each_module_has_drifted_how_fast_and_how_unevenly() -> None:
    chips = Chips((1024, 256), 0.2)
    chips.rate[512:] *= -2
    tracker = PedestalTracker(TrackerState.start(chips.start), limits=DriftLimits(rate_adu_per_s=5), record_s=2.0)
    for frames, times in chips.frames(1600):
        tracker.take(frames, times)
    rows = tracker.record.rows
    assert [row.module for row in rows] == [0, 1] * 3
    assert [row.elapsed_s for row in rows[::2]] == pytest.approx([2, 4, 6], abs=0.1)
    assert rows[-1].timestamp_ns == pytest.approx(10**18 + 6 * 10**9, abs=10**8)
    for row, rate in zip(rows[-2:], (1.0, -2.0), strict=True):
        assert row.drift_adu == pytest.approx(rate * row.elapsed_s, abs=0.2)
        assert row.rate_adu_per_s == pytest.approx(rate, abs=0.15)
        assert row.frames > 1100
        assert row.spread_adu < 2.5
    assert tracker.record.warnings == []


def test_a_module_that_drifts_too_far_or_too_fast_is_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    record = DriftRecord(DriftLimits(drift_adu=10, rate_adu_per_s=2))
    with caplog.at_level(logging.WARNING):
        for drift, rate in ((9, 0), (11, 0), (9, 0), (12, 0), (5, 0), (-12, -3), (5, 0), (10.5, 0)):
            record.add(module_row(module=3, drift_adu=float(drift), rate_adu_per_s=float(rate)))
    texts = [warning.text for warning in record.warnings]
    assert [text.split(",")[0] for text in texts] == [
        "module 3 has drifted by 11.0 ADU since the start",
        "module 3 has drifted by -12.0 ADU since the start",
        "module 3 drifts by -3.00 ADU/s",
        "module 3 has drifted by 10.5 ADU since the start",
    ]
    assert caplog.messages == texts
    assert all(text.count("\n") == 0 for text in texts)


def test_dark_frames_that_are_none_are_warned_of() -> None:
    chips = Chips((64, 256), 0.0)
    tracker = PedestalTracker(TrackerState.start(chips.start), record_s=1.0)
    rng = np.random.default_rng(1)
    for frames, times in chips.frames(640):
        tracker.take(frames + (508 * rng.poisson(1.3, frames.shape)).astype(np.uint16), times)
    plane = np.empty(chips.start.shape, np.uint16)
    tracker.write_quarters(plane)
    assert np.abs(plane / 4 - chips.start).max() < 0.13, "what the dark run said"
    assert len(tracker.record.warnings) == 1
    assert "of 208 dark frames" in tracker.record.warnings[0].text
    assert "check which frames are dark" in tracker.record.warnings[0].text


def test_a_few_refused_frames_are_no_share_yet() -> None:
    record = DriftRecord()
    for frames, refused in ((10, 8), (60, 50), (90, 80)):
        record.add(module_row(frames=frames, refused=refused))
    assert record.warnings == []
    record.add(module_row(frames=190, refused=170))
    assert "refused 162 of 180 dark frames since" in record.warnings[0].text


def test_the_record_goes_into_json_and_tables() -> None:
    record = DriftRecord()
    record.add(module_row(drift_adu=30.5))
    document = json.loads(json.dumps(record.document()))
    assert document["rows"][0]["drift_adu"] == 30.5
    assert document["warnings"][0]["module"] == 0
    table = record.table()
    assert table.dtype.names == tuple(each.name for each in fields(DriftRow))
    assert table[0].tolist() == astuple(record.rows[0])


@pytest.mark.parametrize(
    "changes", [{"drift_adu": 0.0}, {"rate_adu_per_s": -1.0}, {"refused": 0.0}, {"rate_adu_per_s": float("nan")}]
)
def test_limits_that_cannot_be_are_refused(changes: dict[str, float]) -> None:
    with pytest.raises(ConfigError):
        DriftLimits(**changes)


@pytest.mark.parametrize(
    "frames",
    [
        np.zeros((2, 64, 256), np.uint16),
        np.zeros((1, 64, 255), np.uint16),
        np.zeros((1, 64, 256), np.int16),
        np.zeros((1, 64, 512), np.uint16)[:, :, ::2],
    ],
)
def test_frames_that_do_not_fit_are_refused(frames: NDArray[Any]) -> None:
    tracker = PedestalTracker(TrackerState.start(np.full((64, 256), 2000.0)))
    with pytest.raises(InputError, match="the dark frames are"):
        tracker.take(frames, [0])


@pytest.mark.parametrize("seconds", [0.0, float("nan"), float("inf")])
def test_a_record_without_an_interval_is_refused(seconds: float) -> None:
    with pytest.raises(ConfigError, match=f"every {seconds} s cannot be"):
        PedestalTracker(TrackerState.start(np.full((64, 256), 2000.0)), record_s=seconds)


def test_modules_that_are_no_whole_chips_are_refused() -> None:
    with pytest.raises(ConfigError, match="no whole modules of 500 rows"):
        PedestalTracker(TrackerState.start(np.full((1000, 8), 2000.0)), module_rows=500)


def test_tracked_pedestals_correct_the_next_frame(make_calibration: Any) -> None:
    calibration: Calibration = make_calibration((64, 256))
    fixed = quantize(calibration, fraction_bits=4)
    tracker = PedestalTracker(TrackerState.start(calibration.pedestal[0]))
    live = LivePedestal(fixed.pedestal[0])
    rng = np.random.default_rng(1)

    def dark() -> NDArray[np.uint16]:
        return np.rint(2400 + 100 + 24 * rng.standard_normal((1, 64, 256))).astype(np.uint16)

    for index in range(2 * BLOCK):
        if tracker.take(dark(), [1 + index * INTERVAL_NS]):
            live.publish(tracker.write_quarters)
    with live.use() as plane:
        tracked = replace(fixed, pedestal=np.stack([plane, *fixed.pedestal[1:]]))
    assert correct_int16(dark()[0], fixed).mean() > 3, "100 ADU are 3.1 sixteenths of a photon"
    assert abs(correct_int16(dark()[0], tracked).mean()) < 0.05
    assert live.updates >= 2


def test_an_update_is_never_seen_half_and_memory_is_used_again() -> None:
    live = LivePedestal(np.zeros((256, 512), np.uint16))
    torn, planes, done = [], set(), threading.Event()

    def correct() -> None:
        while not done.is_set():
            with live.use() as plane:
                planes.add(plane.ctypes.data)
                before = plane.copy()
                if before.min() != before.max() or not np.array_equal(before, plane):
                    torn.append(before)

    threads = [threading.Thread(target=correct) for _ in range(2)]
    for thread in threads:
        thread.start()

    for value in range(300):

        def write(plane: NDArray[np.uint16], value: int = value) -> None:
            for row in plane:
                row[:] = value

        live.publish(write)
    done.set()
    for thread in threads:
        thread.join()
    assert torn == []
    assert len(planes) <= 4
    with live.use() as plane:
        assert np.all(plane == 299)
