"""Images that the source has corrected: judged as the host's own, bit for bit, and never corrected again."""

import numpy as np
import pytest
from numpy.typing import NDArray

from framelane.base.errors import ConfigError, InputError
from framelane.models.jungfrau.jf_correct import PixelCode, correct_int16
from framelane.models.jungfrau.jf_fixed import FixedCalibration
from framelane.receiver.pipeline._bands import BAND_PIXELS
from framelane.receiver.pipeline.corrected import CorrectedImages
from framelane.receiver.pipeline.judging import Judging
from framelane.receiver.pipeline.pipeline import Pipeline
from framelane.receiver.pipeline.result import Counts
from framelane.receiver.pipeline.veto import Reason, Veto


def raw_and_constants(shape: tuple[int, int], seed: int) -> tuple[NDArray[np.uint16], FixedCalibration]:
    """Words of every kind, holes among them, and constants of which a tenth are masked."""
    rng = np.random.default_rng(seed)
    raw = rng.integers(0, 1 << 16, shape, np.uint16)
    raw[rng.random(shape) < 0.1] = 0x8000
    raw[rng.random(shape) < 0.05] = 0xC000
    pedestal, mantissa = rng.integers(0, 1 << 16, (2, 3, *shape), np.uint16)
    mantissa[rng.random(mantissa.shape) < 0.1] = 0
    return raw, FixedCalibration(pedestal, mantissa, (26, 22, 18))


@pytest.mark.parametrize("shape", [(1, 1), (3, 341), (7, 1023), (64, 1024), (3 * BAND_PIXELS // 1024 + 1, 1024)])
@pytest.mark.parametrize("threshold", [1, 40])
def test_the_judgement_is_that_of_the_host_correction(shape: tuple[int, int], threshold: int) -> None:
    raw, fixed = raw_and_constants(shape, shape[0])
    judging = Judging(veto=Veto(threshold, 2000), sparse=5)
    host = Pipeline(fixed, judging)(raw)
    words = correct_int16(raw, fixed).view(np.uint16)
    result = CorrectedImages(shape, judging)(words)
    assert np.array_equal(result.image, host.image)
    assert (result.counts, result.verdict) == (host.counts, host.verdict)
    assert (result.sparse is None) == (host.sparse is None)
    if result.sparse and host.sparse:
        assert np.array_equal(result.sparse.dense(shape[1]), host.sparse.dense(shape[1]))


@pytest.mark.parametrize("fraction_bits", [1, 4])
def test_thresholds_are_in_photons_also_where_values_have_fractions(fraction_bits: int) -> None:
    values = np.arange(4096, dtype=np.int16).reshape(64, 64)
    images = CorrectedImages((64, 64), Judging(sparse=100), fraction_bits=fraction_bits)
    result = images(values.view(np.uint16))
    assert result.counts.peaks == 4096 - 20 * 2**fraction_bits
    assert result.verdict.threshold == 20
    assert result.sparse is not None
    assert result.sparse.values.min() == 100 * 2**fraction_bits


@pytest.mark.parametrize(("threshold", "sparse"), [(2044, None), (1, 2044)])
def test_a_threshold_that_no_value_reaches_is_refused(threshold: int, sparse: int | None) -> None:
    CorrectedImages((2, 2), Judging(veto=Veto(2043), sparse=2043), fraction_bits=4)
    with pytest.raises(ConfigError, match=r"threshold of 2044: with 4 fraction bits values end at 2043\.75"):
        CorrectedImages((2, 2), Judging(veto=Veto(threshold), sparse=sparse), fraction_bits=4)


def test_every_word_is_what_it_says() -> None:
    """0x8000 is a hole; words that are none of a detector, and 0xC000 or 0xFFFF, are photons here."""
    words = np.arange(1 << 16, dtype=np.uint16).reshape(256, 256)
    result = CorrectedImages((256, 256), Judging(veto=Veto(32700)))(words)
    assert result.counts == Counts(holes=1, saturated=1, invalid=1, masked=1, peaks=32767 - 32700)
    assert result.image[0x80, 0] == PixelCode.HOLE
    assert result.image.dtype == np.int16
    assert np.array_equal(result.image.view(np.uint16), words)


def test_lost_pixels_keep_a_frame_that_would_be_rejected() -> None:
    judge = CorrectedImages((4, 256), Judging(veto=Veto(10, minimum=1)))
    words = np.zeros((4, 256), np.uint16)
    assert judge(words).verdict.reason is Reason.TOO_FEW_PEAKS
    words[2, :100] = 0x8000
    result = judge(words)
    assert (result.counts.holes, result.verdict.reason) == (100, Reason.HAS_HOLES)
    words[3, 3] = 10
    assert judge(words).verdict.reason is Reason.ENOUGH_PEAKS


@pytest.mark.parametrize(
    "words",
    [np.zeros((4, 8), np.int16), np.zeros((8, 4), np.uint16), np.zeros((4, 16), np.uint16)[:, ::2]],
    ids=["signed", "another shape", "gaps"],
)
def test_an_image_that_is_not_of_the_ring_is_refused(words: NDArray[np.uint16]) -> None:
    with pytest.raises(InputError, match=r"needed is uint16 \(4, 8\) without gaps"):
        CorrectedImages((4, 8), Judging(veto=Veto(1)))(words)
