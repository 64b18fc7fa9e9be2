"""The calibration file: statistics, reasons of the mask, both gain modes and provenance survive; others still read."""

import errno
import hashlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import framelane
from framelane.base.errors import InputError
from framelane.calibration.calibration_file import FORMAT, CalibrationFile, write_calibration, write_sets
from framelane.calibration.calibration_set import CalibrationSet, combine
from framelane.calibration.gain_maps import Gains
from framelane.calibration.provenance import Provenance, Source
from framelane.calibration.stage_pedestal import Reason, Stage, StagePedestal
from framelane.files.forgiving import ForgivingFile
from framelane.models.jungfrau.jf_calibration import Calibration

SHAPE = (4, 6)
ADU = {Stage.G0: 2400.0, Stage.G1: 13600.0, Stage.G2: 14100.0, Stage.HG0: 2600.0}
SOURCE = Source(
    "dark run of G0", "dark_g0.h5", "ab" * 32, 1234, "2026-01-02T03:04:05+00:00", "2026-01-02T03:00:00Z", 1000, 998
)
PROVENANCE = Provenance("framelane calibration make --energy 12.4", "0.1.0", "2026-01-02T03:04:06+00:00", (SOURCE,))


def pedestals_of(shape: tuple[int, int]) -> dict[Stage, StagePedestal]:
    return {
        stage: StagePedestal(
            stage,
            np.full(shape, adu, np.float32),
            np.full(shape, adu / 100, np.float32),
            np.full(shape, 1000, np.uint32),
            np.zeros(shape, np.uint32),
        )
        for stage, adu in ADU.items()
    }


def gains_of(shape: tuple[int, int]) -> Gains:
    values = np.multiply.outer([41, -1.44, -0.1145], np.ones(shape)).astype(np.float32)
    return Gains(values, np.zeros(values.shape, np.bool_))


@pytest.fixture
def pedestals() -> dict[Stage, StagePedestal]:
    """Make pedestals of 4 x 6 pixels, all good."""
    return pedestals_of(SHAPE)


@pytest.fixture
def gains() -> Gains:
    """Make nominal gains."""
    return gains_of(SHAPE)


@pytest.fixture
def both(pedestals: Mapping[Stage, StagePedestal], gains: Gains) -> list[CalibrationSet]:
    """Make the calibrations of both gain modes."""
    return [combine(pedestals, gains, 12.4, high_gain) for high_gain in (False, True)]


@pytest.mark.parametrize("room", [0, 20_000, 60_000])
def test_a_disk_that_is_full_anywhere_is_one_sentence_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    """HDF5 reads back what it took to be written, and fails in words of its own."""
    shape = (512, 1024)
    sets = [combine(pedestals_of(shape), gains_of(shape), 12.4, high_gain) for high_gain in (False, True)]
    put = ForgivingFile._put

    def write(file: ForgivingFile, view: memoryview, at: int) -> int:
        if at + len(view) > room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return put(file, view, at)

    monkeypatch.setattr(ForgivingFile, "_put", write)
    with pytest.raises(InputError, match=r"^cannot write .*c\.h5: No space left on device: make room there"):
        write_sets(tmp_path / "c.h5", sets, PROVENANCE)
    assert list(tmp_path.iterdir()) == []


def test_statistics_reasons_and_provenance_are_read_as_they_were_written(
    tmp_path: Path, pedestals: Mapping[Stage, StagePedestal], gains: Gains
) -> None:
    pedestals[Stage.G1].reasons[1, 2] = (Reason.NOISY | Reason.OUT_OF_RANGE).value
    made = combine(pedestals, gains, 12.4)
    write_sets(tmp_path / "c.h5", [made], PROVENANCE)
    with CalibrationFile(tmp_path / "c.h5") as file:
        assert np.array_equal(file.rms_adu, made.rms)
        assert np.array_equal(file.count, made.count)
        assert np.array_equal(file.mask_reasons, made.reasons)
        assert Reason(int(file.mask_reasons[1, 1, 2])) == Reason.NOISY | Reason.OUT_OF_RANGE
        assert file.provenance == PROVENANCE
        assert not file.has_high_gain
    with h5py.File(tmp_path / "c.h5") as plain:
        assert plain.attrs["format"] == FORMAT
        assert {name: int(bit) for name, bit in plain["mask_reasons"].attrs.items()} == {
            reason.words: reason.value for reason in Reason
        }


def test_both_gain_modes_are_read_each_as_what_it_is(tmp_path: Path, both: list[CalibrationSet]) -> None:
    write_sets(tmp_path / "c.h5", both, PROVENANCE)
    for wanted, expected in ((None, False), (False, False), (True, True)):
        with CalibrationFile(tmp_path / "c.h5", wanted) as file:
            assert file.calibration.high_gain is expected
            assert file.pedestal_adu[0, 0, 0] == (2600 if expected else 2400)
            assert file.rms_adu[0, 0, 0] == (26 if expected else 24)
            assert file.photon_energy_kev == 12.4


def test_a_file_of_the_high_gain_alone_is_no_calibration_of_the_normal_one(
    tmp_path: Path, both: list[CalibrationSet]
) -> None:
    write_sets(tmp_path / "c.h5", both[1:], PROVENANCE)
    for wanted in (None, True):
        with CalibrationFile(tmp_path / "c.h5", wanted) as file:
            assert file.calibration.high_gain
    with pytest.raises(
        InputError, match=r"c.h5 is a calibration of the high gain only: make one with a dark run of G0"
    ):
        CalibrationFile(tmp_path / "c.h5", high_gain=False)


def test_the_gain_mode_of_a_calibration_survives(tmp_path: Path, make_calibration: Callable[..., Calibration]) -> None:
    for high_gain in (False, True):
        path = tmp_path / f"{high_gain}.h5"
        write_calibration(path, make_calibration(SHAPE, high_gain=high_gain))
        with CalibrationFile(path) as file:
            assert file.calibration.high_gain is high_gain


def test_without_the_high_gain_the_sentence_says_how_to_get_it(tmp_path: Path, both: list[CalibrationSet]) -> None:
    write_sets(tmp_path / "c.h5", both[:1], PROVENANCE)
    with pytest.raises(InputError, match="has no calibration of the high gain: make one with a dark run of HG0"):
        CalibrationFile(tmp_path / "c.h5", high_gain=True)


def test_a_file_without_statistics_has_none_and_its_mask_counts_as_given(
    tmp_path: Path, make_calibration: Callable[..., Calibration]
) -> None:
    mask = np.zeros(SHAPE, np.bool_)
    mask[2, 3] = True
    write_calibration(tmp_path / "c.h5", make_calibration(SHAPE, mask=mask))
    with CalibrationFile(tmp_path / "c.h5") as file:
        assert np.isnan(file.rms_adu).all()
        assert not file.count.any()
        assert file.provenance is None
        assert [tuple(map(int, at)) for at in np.argwhere(file.mask_reasons)] == [(i, 2, 3) for i in range(3)]
        assert int(file.mask_reasons[0, 2, 3]) == Reason.GIVEN


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("pedestal_rms_adu", np.zeros(SHAPE), r"pedestal_rms_adu has the shape \(4, 6\), needed is \(3, 4, 6\)"),
        ("pedestal_count", np.zeros((3, *SHAPE)), "pedestal_count has the dtype float64"),
        ("mask_reasons", np.zeros((3, *SHAPE), np.int32), "mask_reasons has the dtype int32, needed is unsigned"),
        ("high_gain/pedestal_adu", None, "has no dataset high_gain/pedestal_adu"),
        ("high_gain/mask", np.zeros((6, 4), np.bool_), "high_gain/mask has the shape"),
        ("provenance/sources", None, "damaged or not an HDF5 file: cannot read provenance"),
        ("provenance/sources", np.zeros(3), "damaged or not an HDF5 file: cannot read provenance"),
        ("provenance", np.zeros(3), "damaged or not an HDF5 file: cannot read provenance"),
    ],
)
def test_a_damaged_part_is_one_sentence_when_it_is_read(
    tmp_path: Path, both: list[CalibrationSet], name: str, value: Any, sentence: str
) -> None:
    write_sets(tmp_path / "c.h5", both, PROVENANCE)
    with h5py.File(tmp_path / "c.h5", "r+") as file:
        del file[name]
        if value is not None:
            file[name] = value

    def read() -> None:
        for high_gain in (False, True):
            with CalibrationFile(tmp_path / "c.h5", high_gain) as calibration:
                _ = calibration.rms_adu, calibration.count, calibration.mask_reasons, calibration.provenance

    with pytest.raises(InputError, match=sentence) as caught:
        read()
    assert str(tmp_path / "c.h5") in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_pixel_has_a_reason_exactly_where_it_cannot_be_used(
    pedestals: Mapping[Stage, StagePedestal], gains: Gains
) -> None:
    pedestals[Stage.G0].reasons[0, 0] = Reason.DEAD.value
    pedestals[Stage.G2].reasons[0, 1] = Reason.NOISY.value
    pedestals[Stage.G1].mean[0, 2] = np.nan
    pedestals[Stage.G1].reasons[0, 2] = Reason.FEW_FRAMES.value
    gains.bad[0, 1, 0], gains.values[0, 1, 0] = True, np.nan
    gains.values[2, 1, 1] = -0.5  # more than 4 times the median
    made = combine(pedestals, gains, 12.4)
    assert np.array_equal(made.reasons == 0, made.calibration.usable)
    assert {tuple(map(int, at)): Reason(int(made.reasons[tuple(at)])) for at in np.argwhere(made.reasons)} == {
        (0, 0, 0): Reason.DEAD,
        (1, 0, 0): Reason.BAD_FIRST_STAGE,
        (2, 0, 0): Reason.BAD_FIRST_STAGE,
        (2, 0, 1): Reason.NOISY,
        (1, 0, 2): Reason.FEW_FRAMES,
        (0, 1, 0): Reason.BAD_GAIN,
        (2, 1, 1): Reason.UNUSABLE,
    }


def test_pedestals_and_gains_of_different_detectors_are_refused(
    pedestals: dict[Stage, StagePedestal], gains: Gains
) -> None:
    other = Gains(gains.values[:, :2], gains.bad[:, :2])
    with pytest.raises(InputError, match=r"the pedestals of G0 have \(4, 6\) pixels, the gain maps \(2, 6\)"):
        combine(pedestals, other, 12.4)


def test_a_source_is_known_by_its_bytes(tmp_path: Path) -> None:
    path = tmp_path / "dark.h5"
    path.write_bytes(b"frames")
    os.utime(path, (0, 86_400))
    source = Source.of(path, "dark run of G1", "today", 10, 9)
    digest = hashlib.sha256(b"frames").hexdigest()
    assert source == Source("dark run of G1", "dark.h5", digest, 6, "1970-01-02T00:00:00+00:00", "today", 10, 9)
    with pytest.raises(InputError, match=r"cannot read .*gone.h5: No such file"):
        Source.of(tmp_path / "gone.h5", "pedestals")


def test_what_is_made_now_says_so() -> None:
    made = Provenance.now("framelane", (SOURCE,))
    assert made.version == framelane.__version__
    assert made.created.endswith("+00:00")
