"""The settings of the judgement: what cannot be is refused, and Bragg peaks are looked for where they say."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from framelane.base.errors import ConfigError, FramelaneError
from framelane.models.peaks.peak_settings import Panel, PeakSettings
from framelane.receiver.pipeline.corrected import CorrectedImages
from framelane.receiver.pipeline.judging import Judging
from framelane.receiver.pipeline.veto import Reason, Veto

SHAPE = (32, 48)
BRAGG = Judging(veto=Veto(20, 2), bragg=PeakSettings(minimum=20, min_ring=5))


def spots(fraction_bits: int = 0) -> Any:
    """Words of an image with two spots of 3 pixels, of 50 photons each."""
    image = np.zeros(SHAPE, np.int16)
    for row, column in ((10, 10), (20, 30)):
        image[row, column : column + 3] = 50 << fraction_bits
    return image.view(np.uint16)


def test_by_default_pixels_of_20_photons_are_counted_and_nothing_is_rejected() -> None:
    words = spots()
    words[0, :2] = 19, 20
    result = CorrectedImages(SHAPE, Judging())(words)
    assert result.counts.peaks == 7
    assert result.verdict.accepted
    assert (result.sparse, result.ladder, result.bragg) == (None, None, None)


def test_a_small_image_is_judged_by_the_thread_that_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    pools: list[int] = []

    class Pool(ThreadPoolExecutor):
        def submit(self, *args: Any, **kwargs: Any) -> Any:
            pools.append(1)
            return super().submit(*args, **kwargs)

    monkeypatch.setattr("concurrent.futures.ThreadPoolExecutor", Pool)
    CorrectedImages(SHAPE, Judging(rungs=(1, 5)), threads=8)(spots())
    assert not pools, "another thread is not worth its start"


@pytest.mark.parametrize("sparse", [0, -1, 32701])
def test_sparse_rows_of_no_pixel_or_of_every_one_are_refused(sparse: int) -> None:
    with pytest.raises(ConfigError, match=rf"at least {sparse} photons or keV cannot be: give 1 to 32700"):
        Judging(sparse=sparse)


@pytest.mark.parametrize("rungs", [(0,), (5, 5), (10, 5), (32701,)])
def test_thresholds_that_are_no_ladder_are_refused_before_there_is_a_pipeline(rungs: tuple[int, ...]) -> None:
    with pytest.raises(ConfigError, match="are not a ladder: give whole numbers that rise, from 1 to 32700"):
        Judging(rungs=rungs)


@pytest.mark.parametrize(
    ("judging", "why"),
    [
        (Judging(veto=Veto(2044)), "threshold of 2044: with 4 fraction bits"),
        (Judging(sparse=2044), "threshold of 2044: with 4 fraction bits"),
        (Judging(rungs=(1, 2044)), "1,2044 are not a ladder: give whole numbers that rise, from 1 to 2043"),
        (Judging(bragg=PeakSettings(minimum=2044)), "2044 photons: with 4 fraction bits"),
        (replace(BRAGG, panels=[Panel(0, 0, 33, 48)]), "not inside an image of 32 x 48"),
        (replace(BRAGG, usable=np.ones((32, 47), np.bool_)), r"bool \(32, 47\), needed is bool \(32, 48\)"),
    ],
)
def test_what_images_of_a_source_cannot_have_is_refused_when_the_pipeline_is_made(judging: Judging, why: str) -> None:
    with pytest.raises(FramelaneError, match=why):
        CorrectedImages(SHAPE, judging, fraction_bits=4)


@pytest.mark.parametrize("fraction_bits", [0, 4])
def test_the_veto_counts_bragg_peaks_where_their_settings_are_given(fraction_bits: int) -> None:
    result = CorrectedImages(SHAPE, BRAGG, fraction_bits=fraction_bits)(spots(fraction_bits))
    assert (result.verdict.peaks, result.counts.peaks) == (2, 6)
    assert result.verdict.reason is Reason.ENOUGH_PEAKS
    assert result.bragg is not None
    assert result.bragg.found.tolist() == [2]


def test_bragg_peaks_are_looked_for_in_usable_pixels_of_the_panels_alone() -> None:
    usable = np.ones(SHAPE, np.bool_)
    usable[10, 10:13] = False
    for judging in (replace(BRAGG, usable=usable), replace(BRAGG, panels=[Panel(0, 24, 32, 24)])):
        verdict = CorrectedImages(SHAPE, judging)(spots()).verdict
        assert (verdict.peaks, verdict.reason) == (1, Reason.TOO_FEW_PEAKS)
