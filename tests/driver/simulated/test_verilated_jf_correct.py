"""The gateware's correction over all words and many calibrations: the same bits as the model, a beat a clock."""

import itertools

import numpy as np
import pytest

from framelane.base.errors import InputError
from framelane.driver.simulated.verilated_jf_correct import JfCorrectSimulator
from framelane.models.jungfrau.jf_calibration import Calibration
from framelane.models.jungfrau.jf_correct import correct_int16
from framelane.models.jungfrau.jf_fixed import FixedCalibration, quantize
from framelane.receiver.jungfrau.jungfrau_file import JungfrauFile

ALL_WORDS = np.arange(0x10000, dtype=np.uint16).reshape(256, 256)
EXTREMES = list(itertools.product((0, 1, 9601, 0x8000, 0xFFFF), (0, 1, 0x7FFF, 0x8000, 0xFFFF), (0, 1, 15, 17, 31)))
LATENCY = 7


@pytest.fixture(scope="module")
def simulator() -> JfCorrectSimulator:
    return JfCorrectSimulator(512)


def test_every_word_with_constants_at_their_ends(simulator: JfCorrectSimulator) -> None:
    for pedestal, mantissa, shift in EXTREMES:
        planes = (3, *ALL_WORDS.shape)
        fixed = FixedCalibration(
            np.full(planes, pedestal, np.uint16), np.full(planes, mantissa, np.uint16), (shift, shift, shift)
        )
        found = simulator.correct(ALL_WORDS, fixed).images
        np.testing.assert_array_equal(found, correct_int16(ALL_WORDS, fixed), f"{pedestal} {mantissa} {shift}")


@pytest.mark.parametrize("high_gain", [False, True])
def test_every_word_with_random_constants(simulator: JfCorrectSimulator, high_gain: bool) -> None:
    rng = np.random.default_rng(high_gain)
    for _ in range(60):
        shift = tuple(map(int, rng.integers(0, 32, 3)))
        words = rng.integers(0, 0x10000, (2, 3, *ALL_WORDS.shape), np.uint16)
        words[1, rng.random(words[1].shape) < 0.05] = 0
        fixed = FixedCalibration(words[0], words[1], (shift[0], shift[1], shift[2]), high_gain=high_gain)
        frames = np.stack([ALL_WORDS, rng.permuted(ALL_WORDS, axis=1)])
        np.testing.assert_array_equal(simulator.correct(frames, fixed).images, correct_int16(frames, fixed))


def test_real_frames_pass_at_a_beat_a_clock(simulator: JfCorrectSimulator, real_file: JungfrauFile) -> None:
    fixed = quantize(real_file.calibration, 2)
    frames = np.stack([real_file.image(n) for n in range(2)])
    found = simulator.correct(frames, fixed)
    np.testing.assert_array_equal(found.images, correct_int16(frames, fixed))
    assert (found.cycles, found.latency) == (found.beats, LATENCY)
    assert found.beats == frames.size // 32


def test_frames_that_are_no_whole_beats_or_of_another_size_are_refused(simulator: JfCorrectSimulator) -> None:
    planes = np.zeros((3, 3, 11), np.uint16)
    fixed = FixedCalibration(planes, planes, (0, 0, 0))
    with pytest.raises(InputError, match="frames of 33 pixels are no whole beats of 32"):
        simulator.correct(np.zeros((3, 11), np.uint16), fixed)
    with pytest.raises(InputError, match=r"uint16 \(3, 12\), the calibration is for \(3, 11\)"):
        simulator.correct(np.zeros((3, 12), np.uint16), fixed)


def test_the_calibration_of_a_detector_gives_the_same_photons(simulator: JfCorrectSimulator) -> None:
    rng = np.random.default_rng(3)
    gain = np.array([41.0, -1.44, -0.1145]).reshape(3, 1, 1) * 2 ** rng.uniform(-1.9, 1.9, (3, *ALL_WORDS.shape))
    calibration = Calibration(rng.uniform(0, 16383, (3, *ALL_WORDS.shape)), gain, 12.4, rng.random((256, 256)) < 0.1)
    for bits in (0, 4):
        fixed = quantize(calibration, bits)
        np.testing.assert_array_equal(simulator.correct(ALL_WORDS, fixed).images, correct_int16(ALL_WORDS, fixed))
