"""Pedestals from the files of jungfrau_utils, and from an older calibration."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from framelane.base.errors import InputError
from framelane.calibration.calibration_file import write_calibration, write_sets
from framelane.calibration.calibration_set import combine
from framelane.calibration.gain_maps import Gains
from framelane.calibration.pedestal_file import read_pedestals
from framelane.calibration.provenance import Provenance
from framelane.calibration.stage_pedestal import Reason, Stage, StagePedestal

SHAPE = (4, 6)
ADU = {Stage.G0: 2400.0, Stage.G1: 13600.0, Stage.G2: 14100.0, Stage.HG0: 2600.0}

Make = Callable[..., Path]


@pytest.fixture
def make_file(tmp_path: Path) -> Make:
    """Write a file as jungfrau_utils does, with datasets replaced, or left out where they are None."""

    def make(**changes: Any) -> Path:
        planes = np.multiply.outer(list(ADU.values()), np.ones(SHAPE))
        data = {"gains": planes, "gainsRMS": planes / 100, "pixel_mask": np.zeros(SHAPE, np.int64)} | changes
        with h5py.File(tmp_path / "pedestal.JF01T01V01.res.h5", "w") as file:
            for name, value in data.items():
                if value is not None:
                    file[name] = value
        return tmp_path / "pedestal.JF01T01V01.res.h5"

    return make


def test_the_planes_are_g0_g1_g2_hg0(make_file: Make) -> None:
    found = read_pedestals(make_file())
    assert {stage: float(pedestal.mean[3, 5]) for stage, pedestal in found.items()} == ADU
    assert found[Stage.HG0].rms[0, 0] == 26
    assert not any(pedestal.reasons.any() or pedestal.count.any() for pedestal in found.values())


@pytest.mark.parametrize(
    ("bit", "stages"),
    [(0, {"G0"}), (1, {"G1"}), (3, {"G2"}), (4, {"HG0"}), (2, {*ADU}), (7, {*ADU})],
)
def test_a_bit_of_the_pixel_mask_masks_its_stage_and_an_unknown_one_all(
    make_file: Make, bit: int, stages: set[str]
) -> None:
    mask = np.zeros(SHAPE, np.int64)
    mask[2, 1] = 1 << bit
    found = read_pedestals(make_file(pixel_mask=mask))
    assert {stage for stage, pedestal in found.items() if pedestal.reasons.any()} == stages
    assert all(int(found[Stage(stage)].reasons[2, 1]) == Reason.GIVEN for stage in stages)


def test_a_stage_of_zeros_was_not_measured(make_file: Make) -> None:
    planes = np.multiply.outer([*list(ADU.values())[:3], 0.0], np.ones(SHAPE))
    assert list(read_pedestals(make_file(gains=planes))) == [Stage.G0, Stage.G1, Stage.G2]
    assert list(read_pedestals(make_file(gains=planes[:3], gainsRMS=None, pixel_mask=None))) == list(ADU)[:3]
    with pytest.raises(InputError, match="the pedestals in gains are 0 in every stage"):
        read_pedestals(make_file(gains=0 * planes))


def test_an_rms_that_repeats_the_pedestals_is_not_known(make_file: Make) -> None:
    with h5py.File(make_file()) as file:
        planes = file["gains"][()]
    assert np.isnan(read_pedestals(make_file(gainsRMS=planes))[Stage.G0].rms).all()
    assert np.isnan(read_pedestals(make_file(gainsRMS=None))[Stage.G0].rms).all()


def test_a_pedestal_that_is_not_finite_is_masked(make_file: Make) -> None:
    planes = np.multiply.outer(list(ADU.values()), np.ones(SHAPE))
    planes[1, 2, 3] = np.nan
    found = read_pedestals(make_file(gains=planes))
    assert np.argwhere(found[Stage.G1].reasons).tolist() == [[2, 3]]
    assert not found[Stage.G0].reasons.any()


@pytest.mark.parametrize(
    ("order", "stage", "adu"), [((1, 0, 2, 3), "G0", 13600), ((0, 3, 2, 1), "G1", 2600), ((0, 1, 2, 2), "HG0", 14100)]
)
def test_pedestals_of_another_stage_are_refused(make_file: Make, order: tuple[int, ...], stage: str, adu: int) -> None:
    planes = np.multiply.outer(np.array(list(ADU.values()))[list(order)], np.ones(SHAPE))
    with pytest.raises(
        InputError, match=rf"res.h5: the pedestals of {stage} have a median of {adu} ADU, as in another stage"
    ):
        read_pedestals(make_file(gains=planes))


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"gains": None}, "has no dataset gains: needed is gains, as jungfrau_utils writes it, or pedestal_adu"),
        ({"gains": np.ones((2, *SHAPE))}, r"gains has the shape \(2, 4, 6\), needed is \(3, 4, 6\)"),
        ({"gains": np.ones((5, *SHAPE))}, r"gains has the shape \(5, 4, 6\)"),
        ({"gains": np.ones(SHAPE)}, r"gains has the shape \(4, 6\)"),
        ({"gains": np.ones((4, *SHAPE), np.int64)}, "gains has the dtype int64"),
        ({"gainsRMS": np.ones((3, *SHAPE))}, r"gainsRMS has the shape \(3, 4, 6\), needed is \(4, 4, 6\)"),
        ({"pixel_mask": np.zeros((6, 4), np.int64)}, r"pixel_mask has the shape \(6, 4\)"),
        ({"pixel_mask": np.zeros(SHAPE)}, "pixel_mask has the dtype float64, needed is integers"),
        ({"pixel_mask": np.full(SHAPE, 2)}, "every pixel is masked in G1"),
    ],
)
def test_a_wrong_file_is_refused_with_the_name_of_what_is_wrong(
    make_file: Make, changes: dict[str, Any], sentence: str
) -> None:
    path = make_file(**changes)
    with pytest.raises(InputError, match=sentence) as caught:
        read_pedestals(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_truncated_file_is_refused(make_file: Make) -> None:
    path = make_file()
    path.write_bytes(path.read_bytes()[:2000])
    with pytest.raises(InputError, match="damaged or not an HDF5 file"):
        read_pedestals(path)


def plane(stage: Stage, reasons: dict[tuple[int, int], Reason]) -> StagePedestal:
    bits = np.zeros(SHAPE, np.uint32)
    for at, reason in reasons.items():
        bits[at] = reason.value
    return StagePedestal(
        stage,
        np.full(SHAPE, ADU[stage], np.float32),
        np.full(SHAPE, 3, np.float32),
        np.full(SHAPE, 99, np.uint32),
        bits,
    )


def test_an_older_calibration_gives_its_pedestals_with_what_dark_runs_said_of_them(tmp_path: Path) -> None:
    pedestals = {stage: plane(stage, {}) for stage in ADU}
    pedestals[Stage.G0] = plane(Stage.G0, {(0, 1): Reason.DEAD})
    pedestals[Stage.G2] = plane(Stage.G2, {(1, 2): Reason.NOISY})
    values = np.multiply.outer([41, -1.44, -0.1145], np.ones(SHAPE)).astype(np.float32)
    gains = Gains(values, np.zeros(values.shape, np.bool_))
    gains.bad[1, 3, 3] = True
    sets = [combine(pedestals, gains, 12.4, high_gain) for high_gain in (False, True)]
    write_sets(tmp_path / "old.h5", sets, Provenance.now("framelane", ()))
    with h5py.File(tmp_path / "old.h5", "r+") as file:
        file["high_gain/pedestal_adu"][1] = 13000  # G1 and G2 are those of the normal gain
    found = read_pedestals(tmp_path / "old.h5")
    assert list(found) == [Stage.G0, Stage.G1, Stage.G2, Stage.HG0]
    for stage, pedestal in found.items():
        assert (pedestal.mean == ADU[stage]).all()
        assert (pedestal.count == 99).all()
        assert np.array_equal(pedestal.reasons, pedestals[stage].reasons)


def test_a_calibration_without_statistics_gives_its_pedestals_and_mask(
    tmp_path: Path, make_calibration: Callable[..., Any]
) -> None:
    mask = np.zeros(SHAPE, np.bool_)
    mask[2, 2] = True
    write_calibration(tmp_path / "old.h5", make_calibration(SHAPE, mask=mask))
    found = read_pedestals(tmp_path / "old.h5", unused_modules=())
    assert list(found) == [Stage.G0, Stage.G1, Stage.G2]
    assert np.isnan(found[Stage.G1].rms).all()
    assert all(np.argwhere(pedestal.reasons).tolist() == [[2, 2]] for pedestal in found.values())


def test_a_calibration_with_numbers_that_cannot_be_is_refused(
    tmp_path: Path, make_calibration: Callable[..., Any]
) -> None:
    path = tmp_path / "old.h5"
    write_calibration(path, make_calibration(SHAPE))
    with h5py.File(path, "r+") as file:
        file["pedestal_adu"][0, 1, 2] = np.nan
    with pytest.raises(InputError, match=r"old.h5: the pedestal is not a finite number at 1 pixels"):
        read_pedestals(path)


def test_modules_that_are_not_used_are_masked(make_file: Make) -> None:
    planes = np.multiply.outer(list(ADU.values()), np.ones((1024, 4)))
    planes[0, 512:] = 14000
    path = make_file(gains=planes, gainsRMS=None, pixel_mask=None)
    found = read_pedestals(path, unused_modules=(1,))
    assert (found[Stage.G0].reasons[512:] == Reason.GIVEN).all()
    assert not found[Stage.G0].reasons[:512].any()
