"""PSI's gain maps: read as they are, and a file that cannot be one is refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from framelane.base.errors import InputError
from framelane.calibration.gain_maps import GainMaps
from framelane.receiver.jungfrau.jungfrau_file import JungfrauFile

PLANE = 512 * 1024 * 8
NOMINAL = (41.0, -1.44, -0.1145, 100.0, -1.45, -0.115)

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write nominal gain maps of a module, of so many planes, with single gains changed: {(plane, row, column): x}."""

    def make(name: str = "gainMaps_M001.bin", planes: int = 3, scale: float = 1.0, **changes: Any) -> Path:
        maps = np.multiply.outer(np.array(NOMINAL[:planes]), np.full((512, 1024), scale))
        for at, value in changes.get("gains", {}).items():
            maps[at] = value
        path = tmp_path / name
        maps.astype(changes.get("dtype", "<f8")).tofile(path)
        return path

    return make


def test_the_planes_of_a_real_module_are_read_exactly(tmp_path: Path, real_file: JungfrauFile) -> None:
    path = tmp_path / "gainMaps_M049_2020-08-26.bin"
    real_file.gain_adu_per_kev.astype("<f8").tofile(path)
    gains = GainMaps([path]).gains(high_gain=False)
    assert np.array_equal(gains.values, real_file.gain_adu_per_kev)
    assert gains.values.dtype == np.float32
    assert not gains.bad.any()


def test_the_first_three_of_six_planes_are_the_normal_gain_the_others_the_high_one(write: Write) -> None:
    maps = GainMaps([write(planes=6)])
    assert maps.high_gain
    assert np.allclose(maps.gains(high_gain=False).values[:, 5, 7], NOMINAL[:3])
    assert np.allclose(maps.gains(high_gain=True).values[:, 5, 7], NOMINAL[3:])


def test_modules_are_stacked_in_the_order_in_which_they_are_given(write: Write) -> None:
    paths = [write(f"gainMaps_M{i}.bin", gains={(1, 0, 2): -1.4 - i / 100}) for i in (3, 1, 2)]
    maps = GainMaps(paths)
    assert maps.shape == (1536, 1024)
    assert np.allclose(maps.gains(high_gain=False).values[1, ::512, 2], [-1.43, -1.41, -1.42])


@pytest.mark.parametrize(
    ("size", "found"),
    [
        (0, "0 bytes"),
        (3 * PLANE - 1, "12582911 bytes"),
        (4 * PLANE, "16777216 bytes"),
        (6 * PLANE - 8, "25165816 bytes"),
        (7 * PLANE, "more than 25165824 bytes"),
    ],
)
def test_gain_maps_of_the_wrong_size_are_refused(tmp_path: Path, size: int, found: str) -> None:
    path = tmp_path / "gainMaps_M001.bin"
    path.write_bytes(bytes(size))
    with pytest.raises(InputError, match=rf"gainMaps_M001.bin has {found}, .* 12582912 .* or 25165824 "):
        GainMaps([path])


def test_gain_maps_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "nowhere.bin", tmp_path):
        with pytest.raises(InputError, match=f"cannot read (the gain maps )?{path}: "):
            GainMaps([path])
    with pytest.raises(InputError, match="no gain maps"):
        GainMaps([])


@pytest.mark.parametrize(
    ("value", "said"), [(np.nan, "nan"), (np.inf, "inf"), (0.0, "0"), (-0.0, "-0"), (1.44, "1.44")]
)
def test_a_bad_gain_is_refused_with_its_place_or_masked(write: Write, value: float, said: str) -> None:
    good, bad = write("good.bin"), write("bad.bin", gains={(1, 3, 4): value, (2, 511, 1023): value})
    maps = GainMaps([good, bad])
    with pytest.raises(
        InputError, match=rf"bad.bin: 2 gains .* first {said} ADU/keV in G1 row 3 column 4: .*mask_bad_gains"
    ):
        maps.gains(high_gain=False)
    masked = maps.gains(high_gain=False, mask_bad=True)
    assert np.argwhere(masked.bad).tolist() == [[1, 515, 4], [2, 1023, 1023]]


def test_bad_gains_of_the_high_gain_do_not_matter_to_the_normal_one(write: Write) -> None:
    maps = GainMaps([write(planes=6, gains={(4, 3, 4): np.nan})])
    assert not maps.gains(high_gain=False).bad.any()
    with pytest.raises(InputError, match="first nan ADU/keV in HG1 row 3 column 4"):
        maps.gains(high_gain=True)


def test_without_planes_of_the_high_gain_there_is_none(write: Write) -> None:
    maps = GainMaps([write("six.bin", planes=6), write("three.bin")])
    assert not maps.high_gain
    with pytest.raises(InputError, match=r"three.bin has three planes, those of the normal gain: for HG0 give"):
        maps.gains(high_gain=True)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"scale": 12.4}, "the median gain of G0 is 508.4 ADU/keV, far from the nominal 41"),
        ({"scale": 0.001}, "the median gain of G0 is 0.041 ADU/keV"),
        ({"gains": {1: -0.1145, 2: -1.44}}, "the median gain of G1 is -0.1145 ADU/keV, far from the nominal -1.44"),
        ({"dtype": ">f8"}, "far from the nominal"),
        ({"gains": {2: 0.1145}}, "524288 of 524288 gains of G2 are not finite, 0 or of the wrong sign"),
        ({"gains": {0: np.nan}}, "524288 of 524288 gains of G0 are not finite"),
    ],
)
def test_planes_in_other_units_or_another_order_are_refused_even_where_bad_gains_are_masked(
    write: Write, changes: dict[str, Any], sentence: str
) -> None:
    maps = GainMaps([write(**changes)])
    with pytest.raises(InputError, match=sentence) as caught:
        maps.gains(high_gain=False, mask_bad=True)
    assert "gainMaps_M001.bin" in str(caught.value)


def test_the_gains_of_a_module_that_is_not_used_are_masked_only(write: Write) -> None:
    planes: dict[Any, float] = {0: np.nan, (1, 2, 3): 0.0}
    maps = GainMaps([write("dead.bin", gains=planes), write("good.bin")])
    bad: NDArray[np.bool_] = maps.gains(high_gain=False, unused_modules=(0,)).bad
    assert bad[0, :512].all()
    assert np.argwhere(bad[1:]).tolist() == [[0, 2, 3]]
    with pytest.raises(InputError, match=r"dead\.bin"):
        maps.gains(high_gain=False, unused_modules=(1,))
