"""Pedestals from dark runs: the truth within the noise, exactly the bad pixels masked, and a wrong run refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dark_runs import NOISE_ADU, dark_frames, write_frames
from framelane.base.errors import ConfigError, InputError
from framelane.calibration import dark, raw_frames
from framelane.calibration.dark import DarkLimits, DarkResult, measure
from framelane.calibration.raw_frames import RawFrames
from framelane.calibration.stage_pedestal import Reason, Stage
from framelane.models.jungfrau.jf_detector import Detector, DetectorConfig

ROWS, COLUMNS, FRAMES = 40, 96, 200
STAGES = list(Stage)


@pytest.fixture(scope="module")
def pedestals() -> dict[Stage, NDArray[np.floating[Any]]]:
    """The true pedestals of a simulated detector; those of HG0 are 200 ADU above those of G0."""
    g0, g1, g2 = Detector(DetectorConfig(rows=ROWS, columns=COLUMNS, stuck_in_g1=0)).calibration.pedestal
    return {Stage.G0: g0, Stage.G1: g1, Stage.G2: g2, Stage.HG0: g0 + 200}


def measured(
    path: Path, frames: NDArray[np.uint16], stage: Stage, unused: tuple[int, ...] = (), **limits: Any
) -> DarkResult:
    with RawFrames(write_frames(path / "dark.h5", frames)) as file:
        return measure(file, stage, DarkLimits(**limits), unused)


@pytest.mark.parametrize("stage", STAGES)
def test_means_and_noise_are_the_truth_within_their_statistics(
    tmp_path: Path, pedestals: dict[Stage, NDArray[Any]], stage: Stage
) -> None:
    result = measured(tmp_path, dark_frames(stage, pedestals[stage], FRAMES), stage)
    sigma = np.hypot(NOISE_ADU[stage], 12**-0.5)  # rounding to a whole ADU adds 1/12
    assert np.abs(result.pedestal.mean - pedestals[stage]).max() < 5.5 * sigma / FRAMES**0.5
    assert np.abs(result.pedestal.rms / sigma - 1).max() < 5.5 / (2 * FRAMES) ** 0.5
    assert (result.pedestal.count == FRAMES).all()
    assert not result.pedestal.reasons.any()
    assert (result.frames, result.used) == (FRAMES, FRAMES)


def test_the_statistics_are_those_of_the_words(tmp_path: Path, pedestals: dict[Stage, NDArray[Any]]) -> None:
    frames = dark_frames(Stage.G1, pedestals[Stage.G1], 20)
    result = measured(tmp_path, frames, Stage.G1)
    adc = (frames & 0x3FFF).astype(np.float64)
    assert np.allclose(result.pedestal.mean, adc.mean(axis=0), rtol=0, atol=1e-3)
    assert np.allclose(result.pedestal.rms, adc.std(axis=0, ddof=1), rtol=1e-6)


@pytest.mark.parametrize("stage", STAGES)
def test_exactly_the_bad_pixels_are_masked_each_for_its_reason(
    tmp_path: Path, pedestals: dict[Stage, NDArray[Any]], stage: Stage
) -> None:
    frames = dark_frames(stage, pedestals[stage], FRAMES)
    step = -3000 if stage.code else 3000
    other = 0x0123 if stage.code else 0x7123
    frames[:, 1, 1] = frames[0, 1, 1]
    frames[::2, 2, 2] += 400
    frames[:, 3, 3] += np.int16(step).astype(np.uint16)
    frames[::50, 4, 4] = other  # 2 % of the words
    frames[7, 5, 5] = other  # 0.5 %
    frames[:, 6, 6] = other
    frames[::40, 7, 7] = 0xFFFF
    frames[:-9, 8, 8] = 0x8000  # 9 words are left
    frames[3:30, 9, 9] = 0x8000  # holes alone are not fault
    reasons = measured(tmp_path, frames, stage).pedestal.reasons
    planted = {
        (1, 1): Reason.DEAD,
        (2, 2): Reason.NOISY,
        (3, 3): Reason.OUT_OF_RANGE,
        (4, 4): Reason.WRONG_STAGE,
        (6, 6): Reason.WRONG_STAGE | Reason.FEW_FRAMES,
        (7, 7): Reason.WRONG_STAGE,
        (8, 8): Reason.FEW_FRAMES,
    }
    assert {tuple(map(int, at)): Reason(int(reasons[tuple(at)])) for at in np.argwhere(reasons)} == planted


@pytest.mark.parametrize(
    ("stage", "word"), [(Stage.G1, 0x4000), (Stage.G2, 0xC000), (Stage.G2, 0xFFFF), (Stage.G0, 0xFFFF)]
)
def test_an_error_word_is_wrong_even_with_the_right_gain_code(
    tmp_path: Path, pedestals: dict[Stage, NDArray[Any]], stage: Stage, word: int
) -> None:
    frames = dark_frames(stage, pedestals[stage], 100)
    frames[::50, 2, 3] = word
    pedestal = measured(tmp_path, frames, stage).pedestal
    assert (int(pedestal.reasons[2, 3]), int(pedestal.count[2, 3])) == (Reason.WRONG_STAGE, 98)
    assert abs(pedestal.mean[2, 3] - pedestals[stage][2, 3]) < 6 * NOISE_ADU[stage] / 98**0.5


@pytest.mark.parametrize(("stage", "masked"), [(Stage.HG0, True), (Stage.G0, False)])
def test_the_end_of_the_adc_is_an_error_word_in_hg0_only(
    tmp_path: Path, pedestals: dict[Stage, NDArray[Any]], stage: Stage, masked: bool
) -> None:
    frames = dark_frames(stage, pedestals[stage], 400)
    frames[::80, 2, 3] = 0x3FFF
    result = measured(tmp_path, frames, stage, max_noise=100.0)
    assert (result.pedestal.reasons[2, 3] == Reason.WRONG_STAGE) == masked
    assert result.pedestal.count[2, 3] == (395 if masked else 400)


@pytest.mark.parametrize(("wrong", "masked"), [(9, False), (10, False), (11, True)])
def test_the_share_of_wrong_words_is_of_all_words_of_the_pixel_and_may_be_as_large_as_the_limit(
    tmp_path: Path, pedestals: dict[Stage, NDArray[Any]], wrong: int, masked: bool
) -> None:
    frames = dark_frames(Stage.G1, pedestals[Stage.G1], 44)
    frames[:wrong, 2, 3] = 0x4000
    frames[40:, 2, 3] = 0x8000  # holes are not words
    reasons = measured(tmp_path, frames, Stage.G1, max_wrong=0.25).pedestal.reasons
    assert reasons[2, 3] == (Reason.WRONG_STAGE if masked else 0)


def test_frames_from_before_the_stage_was_forced_do_not_count(
    tmp_path: Path, pedestals: dict[Stage, NDArray[Any]]
) -> None:
    frames = dark_frames(Stage.G2, pedestals[Stage.G2], 30)
    early = np.concatenate([dark_frames(Stage.G0, pedestals[Stage.G0], 20), np.full_like(frames[:5], 0x8000), frames])
    alone, late = measured(tmp_path, frames, Stage.G2), measured(tmp_path, early, Stage.G2)
    assert (late.frames, late.used) == (55, 30)
    assert np.array_equal(late.pedestal.mean, alone.pedestal.mean)
    assert not late.pedestal.reasons.any()


def test_one_run_may_hold_all_stages(tmp_path: Path, pedestals: dict[Stage, NDArray[Any]]) -> None:
    run = np.concatenate([dark_frames(stage, pedestals[stage], 20) for stage in (Stage.G0, Stage.G1, Stage.G2)])
    for stage in (Stage.G0, Stage.G1, Stage.G2):
        result = measured(tmp_path, run, stage)
        assert result.used == 20
        assert np.abs(result.pedestal.mean - pedestals[stage]).max() < 6 * NOISE_ADU[stage] / 20**0.5


def test_each_module_counts_its_own_frames(tmp_path: Path) -> None:
    frames = dark_frames(Stage.G1, np.full((1024, 1024), 13600.0), 24)
    frames[:10, 512:] &= 0x3FFF  # module 1 is late
    result = measured(tmp_path, frames, Stage.G1)
    assert result.used == 14
    assert (result.pedestal.count[:512] == 24).all()
    assert (result.pedestal.count[512:] == 14).all()
    assert not result.pedestal.reasons.any()


@pytest.mark.parametrize(("given", "taken"), [(a, b) for a in STAGES for b in STAGES if a.code != b.code])
def test_a_run_of_another_stage_is_refused_in_one_sentence(
    tmp_path: Path, pedestals: dict[Stage, NDArray[Any]], given: Stage, taken: Stage
) -> None:
    frames = dark_frames(taken, pedestals[taken], 12)
    of = "G0" if taken is Stage.HG0 else taken
    with pytest.raises(
        InputError, match=rf"dark.h5 is not a dark run of {given}: .* none is in {given} \(12 in {of}\)"
    ):
        measured(tmp_path, frames, given)


def test_a_module_in_another_stage_is_named_unless_it_is_not_used(tmp_path: Path) -> None:
    frames = dark_frames(Stage.G1, np.full((1024, 1024), 13600.0), 12)
    frames[:, 512:] |= 0xC000
    with pytest.raises(InputError, match=r"of its 12 frames of module 1 none is in G1 \(12 in G2\): give a run"):
        measured(tmp_path, frames, Stage.G1)
    result = measured(tmp_path, frames, Stage.G1, unused=(1,))
    assert result.used == 12
    assert not result.pedestal.reasons[:512].any()
    assert (result.pedestal.reasons[512:] & Reason.GIVEN).all()


@pytest.mark.parametrize(("stage", "high_gain"), [(Stage.G0, True), (Stage.HG0, False)])
def test_g0_and_hg0_are_told_apart_where_the_file_says_the_mode(
    tmp_path: Path, pedestals: dict[Stage, NDArray[Any]], stage: Stage, high_gain: bool
) -> None:
    frames = dark_frames(stage, pedestals[stage], 12)
    for mode in (high_gain, not high_gain):
        words = np.full((12, 1), 0x1000 + mode, np.int64)
        path = write_frames(tmp_path / "run.h5", frames, "data/JF01T01V01/data", daq_rec=words)
        with RawFrames(path) as file:
            if mode is high_gain:
                other = "HG0" if mode else "G0"
                with pytest.raises(
                    InputError, match=f"run.h5 is not a dark run of {stage}: .* give it as one of {other}$"
                ):
                    measure(file, stage, DarkLimits())
            else:
                assert measure(file, stage, DarkLimits()).used == 12


def test_g0_and_hg0_of_one_run_come_out_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raw_frames, "BATCH_BYTES", 7 * 2 * ROWS * COLUMNS)
    level = {Stage.G0: 2400.0, Stage.HG0: 3100.0}
    frames = np.concatenate([dark_frames(stage, np.full((ROWS, COLUMNS), adu), 20) for stage, adu in level.items()])
    words = np.where(np.arange(40) < 20, 0x1000, 0x1001).reshape(40, 1)
    path = write_frames(tmp_path / "run.h5", frames, "data/JF01T01V01/data", daq_rec=words)
    for stage, adu in level.items():
        with RawFrames(path) as file:
            result = measure(file, stage, DarkLimits())
        assert (result.used, result.by_mode) == (20, True)
        assert np.abs(result.pedestal.mean - adu).max() < 6 * NOISE_ADU[stage] / 20**0.5


def test_a_recording_gives_each_module_the_frames_of_its_own_gain_mode(tmp_path: Path) -> None:
    frames = dark_frames(Stage.G0, np.full((1024, 1024), 2400.0), 24)
    frames[:10, 512:] += 700
    high = np.zeros((24, 2), np.bool_)
    high[:10, 1] = True
    beside: dict[str, Any] = {
        "packets": np.full((24, 2), 128, np.uint16),
        "storage_cell": np.full((24, 2), 15, np.uint8),
    }
    path = write_frames(tmp_path / "run.h5", frames, high_gain=high, **beside)
    with RawFrames(path) as file:
        pedestal = measure(file, Stage.G0, DarkLimits()).pedestal
        with pytest.raises(InputError, match=r"of its 24 frames of module 0 none is in HG0 \(24 in G0\)"):
            measure(file, Stage.HG0, DarkLimits())
    assert np.abs(pedestal.mean - 2400).max() < 60
    assert (pedestal.count[512:] == 14).all()


def test_gain_modes_of_another_number_of_modules_are_refused(tmp_path: Path) -> None:
    frames = dark_frames(Stage.G0, np.full((1024, 1024), 2400.0), 12)
    beside: dict[str, Any] = {
        "packets": np.full((12, 3), 128, np.uint16),
        "storage_cell": np.full((12, 3), 15, np.uint8),
    }
    path = write_frames(tmp_path / "run.h5", frames, high_gain=np.zeros((12, 3), np.bool_), **beside)
    with RawFrames(path) as file, pytest.raises(InputError, match="gain mode of 3 modules, its frames have 2 of 512"):
        measure(file, Stage.G0, DarkLimits())


def test_storage_cells_are_not_mixed(tmp_path: Path, pedestals: dict[Stage, NDArray[Any]]) -> None:
    words = np.where(np.arange(12) < 6, 0x0F00, 0x0300)
    frames = dark_frames(Stage.G0, pedestals[Stage.G0], 12)
    path = write_frames(tmp_path / "run.h5", frames, "data/JF01T01V01/data", daq_rec=words)
    with (
        RawFrames(path) as file,
        pytest.raises(InputError, match=r"run.h5 has .* storage cells 3, 15, each"),
    ):
        measure(file, Stage.G0, DarkLimits())


def test_too_few_frames_are_refused(tmp_path: Path, pedestals: dict[Stage, NDArray[Any]]) -> None:
    frames = dark_frames(Stage.G0, pedestals[Stage.G0], 12)
    frames[9:] |= 0x4000
    with pytest.raises(InputError, match=r"9 frames in G0 \(9 in G0, 3 in G1\), needed are 10: give a longer dark run"):
        measured(tmp_path, frames, Stage.G0)
    assert measured(tmp_path, frames, Stage.G0, min_frames=9).used == 9


def scattered(frames: NDArray[np.uint16]) -> NDArray[np.uint16]:
    """Light: most words of each frame are in G0, a quarter is not."""
    return np.where(np.random.default_rng(5).random(frames.shape) < 0.25, frames | 0x4000, frames).astype(np.uint16)


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda frames: frames[:1].repeat(12, 0), r"3840 of 3840 pixels .* \(3840 dead\)"),
        (scattered, r"pixels of module 0 are bad in G0 \([0-9]* wrong stage"),
        (lambda frames: np.full_like(frames, 0x8000), "only holes"),
        (lambda frames: np.full_like(frames, 0xFFFF), "12 in G2"),
        (lambda frames: frames + np.uint16(9000), "the pedestals of G0 have a median of 11[0-9]* ADU"),
    ],
)
def test_what_is_no_dark_run_is_refused(
    tmp_path: Path, pedestals: dict[Stage, NDArray[Any]], spoil: Any, why: str
) -> None:
    frames = spoil(dark_frames(Stage.G0, pedestals[Stage.G0], 12))
    with pytest.raises(InputError, match=why) as caught:
        measured(tmp_path, frames, Stage.G0)
    assert "dark.h5" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_all_modules_given_as_bad_leave_nothing(tmp_path: Path, pedestals: dict[Stage, NDArray[Any]]) -> None:
    with pytest.raises(InputError, match="has 1 modules, all given as bad"):
        measured(tmp_path, dark_frames(Stage.G0, pedestals[Stage.G0], 12), Stage.G0, unused=(0,))


def test_more_frames_than_can_be_summed_exactly_are_refused(
    tmp_path: Path, pedestals: dict[Stage, NDArray[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dark, "MOST_FRAMES", 11)
    with pytest.raises(InputError, match="has 12 frames: at most 11 are averaged"):
        measured(tmp_path, dark_frames(Stage.G0, pedestals[Stage.G0], 12), Stage.G0)


def test_the_sums_of_the_longest_run_of_the_wildest_pixel_fit() -> None:
    n, square = dark.MOST_FRAMES, dark.MIDDLE**2
    assert n * n * square < 2**63


def test_a_run_is_read_in_batches_of_bounded_size(
    tmp_path: Path, pedestals: dict[Stage, NDArray[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    frames = dark_frames(Stage.G0, pedestals[Stage.G0], 25)
    whole = measured(tmp_path, frames, Stage.G0)
    monkeypatch.setattr(raw_frames, "BATCH_BYTES", 7 * frames[0].nbytes)
    with RawFrames(tmp_path / "dark.h5") as file:
        assert [len(batch.words) for batch in file.batches()] == [7, 7, 7, 4]
    assert np.array_equal(measured(tmp_path, frames, Stage.G0).pedestal.rms, whole.pedestal.rms)


@pytest.mark.parametrize(
    "limits",
    [{"min_frames": 1}, {"max_wrong": 1.0}, {"max_wrong": -0.1}, {"max_noise": 1.0}, {"max_offset_adu": float("nan")}],
)
def test_limits_that_no_pixel_or_every_pixel_passes_are_refused(limits: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="give"):
        DarkLimits(**limits)
