"""The tracking of the G0 pedestal: what it follows, and what must not mislead it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from framelane.base.errors import ConfigError, InputError
from framelane.models.jungfrau.jf_detector import Detector, DetectorConfig
from framelane.models.pedestal.dark_frames import TICK_NS, DarkClock, DarkRule
from framelane.models.pedestal.jf_pedestal import PedestalModel
from framelane.models.pedestal.jf_pedestal_settings import ALPHA_BITS, BETA_BITS, BLOCK, GAINS, TrackerSettings, gains
from framelane.models.pedestal.jf_pedestal_state import LEVEL_BITS, MAX_PAUSE, Chip, TrackerState

SHAPE = (32, 64)
INTERVAL_NS = 5_000_000
SPOT = (5, 7)


class Darks:
    """Dark frames of one small chip, and their tracking; equal seeds give equal frames."""

    def __init__(self, noise: float | NDArray[np.floating[Any]] = 24.0, high_gain: bool = False, **state: Any) -> None:
        self.rng = np.random.default_rng(1)
        self.truth = 2450 + 225 * self.rng.standard_normal(SHAPE)
        self.noise = np.broadcast_to(noise, SHAPE)
        self.model = PedestalModel(TrackerState.start(self.truth, **state), TrackerSettings(), high_gain)
        self.state = self.model.state
        self.clock = DarkClock(INTERVAL_NS)
        self.now = self.tick = 0

    def frame(self) -> NDArray[np.uint16]:
        """Return a frame of what the pixels show now."""
        adc = self.truth + self.noise * self.rng.standard_normal(SHAPE)
        return np.rint(adc).clip(0, 0x3FFF).astype(np.uint16)

    def take(self, n: int = 1, change: Callable[[NDArray[np.uint16]], None] | None = None, rate: float = 0.0) -> None:
        """Take `n` frames after `change` has altered each; the pixels drift at `rate` ADU/s."""
        for _ in range(n):
            raw = self.frame()
            if change:
                change(raw)
            self.now += INTERVAL_NS
            self.tick = self.clock.tick(self.now)
            self.model.take(raw, self.tick)
            self.truth += rate * INTERVAL_NS * 1e-9

    @property
    def error(self) -> NDArray[np.float64]:
        """Return what the tracked pedestal is wrong by, ADU."""
        return self.state.pedestal(LEVEL_BITS, self.tick) * 2.0**-LEVEL_BITS - self.truth

    def counted(self, column: Chip) -> int:
        return int(self.state.chips[0, column])


def adding(adu: float, where: Any = SPOT) -> Callable[[NDArray[np.uint16]], None]:
    def change(raw: NDArray[np.uint16]) -> None:
        raw[where] = (raw[where] + adu).clip(0, 0x3FFF)

    return change


def setting(word: int, where: Any = SPOT) -> Callable[[NDArray[np.uint16]], None]:
    def change(raw: NDArray[np.uint16]) -> None:
        raw[where] = word

    return change


def illuminated(photons: float) -> Callable[[NDArray[np.uint16]], None]:
    rng = np.random.default_rng(2)

    def change(raw: NDArray[np.uint16]) -> None:
        raw += (508 * rng.poisson(photons, raw.shape)).astype(np.uint16)

    return change


@pytest.mark.parametrize("rate", [1.0, -1.0, 20.0])
def test_what_all_pixels_drift_together_is_followed_without_lag(rate: float) -> None:
    darks = Darks()
    darks.take(1600, rate=rate)
    assert abs(darks.error.mean()) < 0.15
    assert darks.error.std() < 1.0
    assert darks.counted(Chip.REFUSED) == 0


def test_a_drift_is_known_from_the_second_block_on() -> None:
    darks = Darks()
    darks.take(3 * BLOCK, rate=15.0)
    assert abs(darks.error.mean()) < 0.6


def test_an_offset_since_the_dark_run_is_taken_over_at_once() -> None:
    darks = Darks()
    darks.truth += 300
    darks.take(BLOCK)
    assert abs(darks.error.mean()) < 0.5
    assert darks.counted(Chip.RATE) == 0, "which is not a drift of now"


def test_each_pixel_is_followed_on_its_own_line_without_lag() -> None:
    darks = Darks()
    rates = 0.3 * np.random.default_rng(4).standard_normal(SHAPE)
    for _ in range(12_000):
        darks.take()
        darks.truth += rates * INTERVAL_NS * 1e-9
    assert darks.error.std() < 0.5
    assert np.corrcoef(darks.state.rate.ravel(), rates.ravel())[0, 1] > 0.99


@pytest.mark.parametrize("change", [adding(508), adding(5 * 508), adding(20 * 508), setting(0x7000), setting(0xF700)])
@pytest.mark.parametrize("frames", [1, 100])
def test_a_bragg_spot_in_dark_frames_does_not_poison_its_pixel(
    change: Callable[[NDArray[np.uint16]], None], frames: int
) -> None:
    """The spots are of 1, 5, 20 photons in G0, some 100 in G1, and 10,000 in G2."""
    darks, calm = Darks(), Darks()
    for each, altered in ((darks, change), (calm, None)):
        each.take(60)
        each.take(frames, altered)
        each.take(60)
    assert abs(darks.error[SPOT] - calm.error[SPOT]) < (0.1 if frames == 1 else 1.5)
    others = np.abs(darks.error - calm.error)
    others[SPOT] = 0
    assert others.max() < 0.05
    assert darks.counted(Chip.OUTLIERS) - calm.counted(Chip.OUTLIERS) == frames
    assert darks.counted(Chip.RESTARTS) == 0


@pytest.mark.parametrize("photons", [0.1, 1.3, 5.0])
def test_an_exposed_frame_among_the_dark_ones_is_refused_and_leaves_no_trace(photons: float) -> None:
    darks = Darks()
    darks.take(40)
    before = {name: getattr(darks.state, name).copy() for name in ("level", "total", "missed", "lost", "lost_total")}
    darks.take(1, illuminated(photons))
    assert darks.counted(Chip.REFUSED) == 1
    for name, array in before.items():
        assert np.array_equal(array, getattr(darks.state, name)), name


def test_exposed_frames_that_all_pass_for_dark_never_become_the_pedestal() -> None:
    darks = Darks()
    before = darks.state.level.copy()
    darks.take(500, illuminated(1.3))
    assert darks.counted(Chip.REFUSED) == 500
    assert np.array_equal(before, darks.state.level)


@pytest.mark.parametrize("word", [0x8000, 0xFFFF, 0x4000, 0x9123])
def test_lost_packets_and_errors_are_neither_pedestals_nor_outliers(word: int) -> None:
    darks = Darks()
    darks.take(320, setting(word, np.s_[8:]), rate=1)
    assert darks.counted(Chip.BLOCKS) == 10
    assert darks.counted(Chip.OUTLIERS) == 0
    assert darks.counted(Chip.RESTARTS) == 0
    assert np.abs(darks.error[:8]).max() < 5
    assert abs(darks.error[8:].mean()) < 0.5, "they drift with their chip"


@pytest.mark.parametrize("word", [0x8000, 0x7000, 0xC000])
def test_a_frame_without_any_word_of_g0_is_left_out(word: int) -> None:
    darks = Darks()
    darks.take(3, setting(word, np.s_[:]))
    assert darks.counted(Chip.BLANK) == 3
    assert darks.counted(Chip.FRAMES) == 0


@pytest.mark.parametrize("step", [50.0, -90.0, 200.0, 5000.0, -2000.0])
def test_a_pixel_that_steps_is_not_locked_out(step: float) -> None:
    darks = Darks()
    darks.take(320)
    darks.truth[SPOT] += step
    darks.take(8 * BLOCK)
    assert darks.counted(Chip.RESTARTS) == 1
    assert abs(darks.error[SPOT]) < 10
    darks.take(1600)
    assert abs(darks.error[SPOT]) < 3


def test_a_pixel_that_starts_anew_has_forgotten_how_it_drifted() -> None:
    darks = Darks()
    for _ in range(6000):
        darks.take()
        darks.truth[SPOT] += 0.005
    learnt = darks.state.rate[SPOT]
    darks.truth[SPOT] += 400
    while not darks.counted(Chip.RESTARTS):
        darks.take()
    assert learnt * 2.0**-32 * 1e9 / TICK_NS == pytest.approx(1.0, abs=0.2)
    assert darks.state.rate[SPOT] == 0
    assert darks.state.weight[SPOT] == 0


@pytest.mark.parametrize("step", [-100.0, 150.0, 3000.0])
def test_a_chip_that_steps_as_a_whole_is_followed_within_a_second(step: float) -> None:
    darks = Darks()
    darks.take(320)
    darks.truth += step
    darks.take(6 * BLOCK)
    assert darks.counted(Chip.REFUSED) == 0
    assert darks.counted(Chip.RESTARTS) == 0
    assert abs(darks.error.mean()) < 0.5


def test_a_pixel_far_noisier_than_its_dark_run_says_stays_near_its_mean_and_harms_no_other() -> None:
    noise = np.full(SHAPE, 24.0)
    noise[SPOT] = 200.0
    darks, calm = Darks(noise), Darks()
    for each in (darks, calm):
        each.take(3200)
    others = np.abs(darks.error - calm.error)
    others[SPOT] = 0
    assert abs(darks.error[SPOT]) < 30
    assert others.max() < 0.05


def test_a_noisy_pixel_is_given_room_by_its_dark_run_but_never_for_a_photon() -> None:
    noise = np.full(SHAPE, np.nan)
    noise[0, :4] = 1.0, 20.0, 40.0, 500.0
    limit = Darks(noise_adu=noise).state.limit
    assert limit[0, :5].tolist() == [40, 100, 200, 250, 120]


def test_dark_frames_that_go_missing_do_not_bend_the_drift() -> None:
    """A third of the frames arrive, at random, so that time must come from the timestamps."""
    darks = Darks()
    kept = np.random.default_rng(3).random(6000) < 0.33
    for keep in kept:
        if keep:
            darks.take(rate=2.0)
        else:
            darks.now += INTERVAL_NS
            darks.truth += 2.0 * INTERVAL_NS * 1e-9
    per_s = darks.counted(Chip.RATE) * 2.0**-32 * 1e9 / TICK_NS
    assert per_s == pytest.approx(2.0, abs=0.3)
    assert abs(darks.error.mean()) < 0.5


@pytest.mark.parametrize("seconds", [20, 3600])
def test_after_a_pause_the_pedestal_is_back_within_a_second(seconds: int) -> None:
    darks = Darks()
    darks.take(1600, rate=1.0)
    darks.now += seconds * 10**9
    darks.truth += 40.0
    darks.take(6 * BLOCK, rate=1.0)
    assert abs(darks.error.mean()) < 0.5
    assert (darks.state.weight.max() < 30) == (seconds > MAX_PAUSE * TICK_NS // 10**9)


@pytest.mark.parametrize("back_s", [1, 10_000])
def test_timestamps_that_go_back_do_not_stop_the_tracking(back_s: int) -> None:
    darks = Darks()
    darks.take(800, rate=1.0)
    darks.now -= back_s * 10**9
    darks.take(800, rate=1.0)
    assert darks.clock.faults == 1
    assert abs(darks.error.mean()) < 0.4


def test_masked_pixels_count_for_nothing_however_wrong_they_are() -> None:
    masked = np.zeros(SHAPE, np.bool_)
    masked[::2] = True
    darks = Darks(masked=masked)
    darks.take(320, setting(0x3000, np.s_[::2]))
    assert darks.counted(Chip.OUTLIERS) < 5
    assert darks.counted(Chip.BLOCKS) == 10
    assert not darks.state.missed.any()
    assert np.abs(darks.error[1::2]).max() < 5


def test_the_last_word_of_hg0_is_saturated_and_no_pedestal() -> None:
    normal, high = Darks(), Darks(high_gain=True)
    for darks in (normal, high):
        darks.take(10 * BLOCK, setting(0x3FFF))
    assert high.counted(Chip.RESTARTS) == 0
    assert abs(high.error[SPOT]) < 5
    assert normal.counted(Chip.RESTARTS) == 1


@pytest.mark.parametrize("settings", [TrackerSettings(), TrackerSettings(window=2048, rate_spread_adu_per_s=0.2)])
def test_the_gains_are_those_of_a_line_through_everything_seen_until_the_window_has_filled(
    settings: TrackerSettings,
) -> None:
    """Least squares over level and rate at the newest block, a prior for each as one more measurement."""
    alpha, beta = (table * 2.0**-bits for table, bits in zip(gains(settings), (ALPHA_BITS, BETA_BITS), strict=True))
    sigma = settings.noise_adu / BLOCK**0.5
    spread = settings.rate_spread_adu_per_s * BLOCK * settings.dark_interval_ns * 1e-9
    for n in (0, 1, 10, 40):
        ages = np.arange(n + 1)  # blocks since each measurement, the newest first
        rows = np.array([*((1.0, -float(age)) for age in ages), (1.0, -n - 1.0), (0.0, sigma / spread)])
        gain = np.linalg.inv(rows.T @ rows) @ rows[0]
        assert alpha[n] == pytest.approx(gain[0], rel=1e-4)
        assert beta[n] == pytest.approx(gain[1], abs=1e-8)
    assert alpha[-1] == pytest.approx(BLOCK / settings.window)
    assert beta[-1] == pytest.approx(alpha[-1] ** 2 / 2, rel=1e-4)
    assert len(alpha) == GAINS


def test_what_a_dark_run_knows_counts_by_its_frames() -> None:
    frames = np.array([[0, 10, 64, 320, 10**9]])
    state = TrackerState.start(np.full((1, 5), 2000.0), frames=frames, settings=TrackerSettings(dark_run_frames=1000))
    assert state.weight.tolist() == [[31, 0, 2, 10, 64]]


def test_the_drift_of_the_simulated_detector_is_followed() -> None:
    config = DetectorConfig(rows=64, columns=64, stuck_in_g1=9, drift_adu_per_s=10.0, drift_spread=0.1, dark_period=2)
    detector = Detector(config)
    plane = detector.calibration.pedestal[0]
    state = TrackerState.start(plane, ~detector.calibration.usable[0])
    model, clock, rule = PedestalModel(state, TrackerSettings()), DarkClock(2 * config.period_ns), DarkRule(2, 1)
    for number in range(1280):
        frame = detector.frame(number)
        assert frame.dark == rule.is_dark(number)
        if frame.dark:
            tick = clock.tick(frame.timestamp_ns)
            model.take(frame.raw, tick)
    usable = detector.calibration.usable[0]
    error = (state.pedestal(2, tick) / 4 - detector.pedestal_g0(1279))[usable]
    drifted = (detector.pedestal_g0(1279) - plane)[usable]
    assert drifted.mean() == pytest.approx(6.4, abs=0.1)
    assert abs(error.mean()) < 0.5
    assert error.std() < 1.0


def test_a_clock_counts_on_where_timestamps_are_missing_and_never_goes_back() -> None:
    clock = DarkClock(10 * TICK_NS)
    times = [None, 5000, 5020, 0, None, 5055, 5030, 5040, 10**9, 6000]
    ticks = [clock.tick(time and time * TICK_NS) for time in times]
    assert ticks[:8] == [0, 10, 30, 40, 50, 65, 75, 85]
    assert ticks[8] == 85 + (1 << 20)
    assert ticks[9] == ticks[8] + 10
    assert clock.faults == 2


@pytest.mark.parametrize(("period", "phase"), [(0, 0), (10, 10), (10, -1), (-3, 0)])
def test_a_rule_that_cannot_be_is_refused(period: int, phase: int) -> None:
    with pytest.raises(ConfigError, match=f"frames {phase} of every {period}"):
        DarkRule(period, phase)


@pytest.mark.parametrize(
    "changes",
    [
        {"window": 10},
        {"most_limit_adu": 1024},
        {"least_limit_adu": 100, "most_limit_adu": 50},
        {"restart_blocks": 0},
        {"most_outliers": 0.0},
        {"noise_adu": 0.0},
        {"noise_adu": float("nan")},
        {"noise_adu": float("inf")},
        {"outlier_sigmas": float("nan")},
        {"rate_spread_adu_per_s": -1.0},
    ],
)
def test_settings_that_cannot_be_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        TrackerSettings(**changes)


@pytest.mark.parametrize("value", [np.nan, np.inf, -1.0, 16384.0])
def test_a_dark_run_with_impossible_pedestals_is_refused_unless_they_are_masked(value: float) -> None:
    pedestal = np.full((4, 5), 2000.0)
    pedestal[2, 3] = value
    with pytest.raises(InputError, match="at row 2 column 3"):
        TrackerState.start(pedestal)
    TrackerState.start(pedestal, masked=pedestal != 2000.0)


def test_a_dark_run_of_another_detector_is_refused() -> None:
    with pytest.raises(InputError, match=r"pedestals \(4, 5\), mask \(4, 6\)"):
        TrackerState.start(np.zeros((4, 5)), np.zeros((4, 6), np.bool_))


def test_a_frame_of_another_detector_is_refused() -> None:
    with pytest.raises(InputError, match=r"the frame is uint16 \(3, 3\)"):
        Darks().model.take(np.zeros((3, 3), np.uint16), 0)
