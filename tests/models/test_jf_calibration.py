"""Calibrations: what is refused with its place, what is masked, and the constants that quantizing gives."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from framelane.base.errors import ConfigError, InputError
from framelane.models.jungfrau.jf_calibration import Calibration
from framelane.models.jungfrau.jf_correct import PixelCode, correct_float, correct_int16
from framelane.models.jungfrau.jf_fixed import quantize

MakeCalibration = Callable[..., Calibration]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"pedestal": np.zeros((2, 2, 3))}, r"shape \(2, 2, 3\), needed is \(3, rows, columns\)"),
        ({"pedestal": np.zeros((3, 0, 3))}, "one plane for G0, G1, G2"),
        ({"gain": np.ones((3, 3, 2))}, r"gains have the shape \(3, 3, 2\), the pedestals \(3, 2, 3\)"),
        ({"gain": np.ones((3, 2, 3), np.int32)}, "gains have the dtype int32"),
        ({"pedestal": np.ones((3, 2, 3), np.complex128)}, "pedestals have the dtype complex128"),
        ({"photon_energy_kev": 0.0}, r"photon energy of 0\.0 keV"),
        ({"photon_energy_kev": float("nan")}, "photon energy of nan keV"),
        ({"mask": np.zeros((3, 2), np.bool_)}, r"mask is bool \(3, 2\), needed is bool \(2, 3\) or \(3, 2, 3\)"),
        ({"mask": np.zeros((2, 3), np.uint8)}, "mask is uint8"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(
    make_calibration: MakeCalibration, changes: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence):
        make_calibration(**changes)


def spoiled(planes: NDArray[Any], stage: int, value: float) -> NDArray[Any]:
    """Two pixels of one stage replaced: row 1, columns 1 and 2."""
    planes = planes.copy()
    planes[stage, 1, 1:] = value
    return planes


@pytest.mark.parametrize(
    ("name", "stage", "value", "sentence"),
    [
        ("pedestal", 1, np.nan, "pedestal is not a finite number at 2 pixels, first in G1 row 1 column 1: correct"),
        ("pedestal", 2, np.inf, "pedestal is not a finite number at 2 pixels, first in G2"),
        ("gain", 0, np.inf, "gain is not a finite number at 2 pixels, first in G0"),
        ("gain", 1, np.nan, "gain is not a finite number at 2 pixels, first in G1"),
        ("gain", 2, 0, "gain is 0 ADU/keV at 2 pixels, first in G2"),
        ("gain", 0, -41, "gain has the wrong sign .* at 2 pixels, first in G0"),
        ("gain", 1, 1.44, "gain has the wrong sign .* at 2 pixels, first in G1"),
    ],
)
def test_pixels_without_calibration_are_refused_with_the_place_unless_they_are_masked(
    make_calibration: MakeCalibration, name: str, stage: int, value: float, sentence: str
) -> None:
    planes = spoiled(getattr(make_calibration(), name), stage, value)
    with pytest.raises(InputError, match=sentence):
        make_calibration(**{name: planes})
    mask = np.zeros((2, 3), np.bool_)
    mask[1, 1:] = True
    calibration = make_calibration(**{name: planes}, mask=mask)
    raw = np.full((2, 3), (0x1000, 0x5000, 0xF000)[stage], np.uint16)
    assert (correct_int16(raw, quantize(calibration)) == PixelCode.MASKED).tolist() == mask.tolist()
    assert np.isnan(correct_float(raw, calibration).values).tolist() == mask.tolist()


@pytest.mark.parametrize(("stage", "gain"), [(0, 0.001), (0, 41 * 4.1), (1, -1.44 / 4.1), (2, -40.0)])
def test_a_dead_pixel_is_masked_and_costs_the_others_no_precision(
    make_calibration: MakeCalibration, stage: int, gain: float
) -> None:
    calibration = make_calibration(gain=spoiled(make_calibration().gain, stage, gain))
    mantissa = quantize(calibration).mantissa
    assert np.argwhere(mantissa == 0).tolist() == [[stage, 1, 1], [stage, 1, 2]]
    assert mantissa[mantissa != 0].min() >= 0x8000


@pytest.mark.parametrize(("stage", "gain"), [(0, 41 * 3.9), (1, -1.44 / 3.9)])
def test_a_pixel_of_unusual_gain_is_still_used(make_calibration: MakeCalibration, stage: int, gain: float) -> None:
    mantissa = quantize(make_calibration(gain=spoiled(make_calibration().gain, stage, gain))).mantissa
    assert 2048 <= mantissa.min() < 0x8000 <= mantissa[stage].max()


@pytest.mark.parametrize(
    ("adu", "quarters"), [(-0.01, None), (0.0, 0), (0.374, 1), (0.376, 2), (16383.75, 0xFFFF), (16383.8, None)]
)
def test_a_pedestal_that_its_format_does_not_hold_masks_its_pixel(
    make_calibration: MakeCalibration, adu: float, quarters: int | None
) -> None:
    fixed = quantize(make_calibration(pedestal=spoiled(make_calibration().pedestal, 1, adu)))
    assert np.argwhere(fixed.mantissa == 0).tolist() == ([[1, 1, 1], [1, 1, 2]] if quarters is None else [])
    assert quarters is None or fixed.pedestal[1, 1, 1] == quarters


@pytest.mark.parametrize("gain", [41.0, 2**-7, 1.0, np.nextafter(1.0, 0), np.nextafter(1.0, 2), 41 * 1.99])
@pytest.mark.parametrize("fraction_bits", [0, 3])
def test_the_largest_mantissa_of_a_stage_uses_all_16_bits(
    make_calibration: MakeCalibration, gain: float, fraction_bits: int
) -> None:
    planes = np.full((3, 2, 3), gain) * np.array([1, -1, -1]).reshape(3, 1, 1)
    fixed = quantize(make_calibration(gain=planes, photon_energy_kev=1.0), fraction_bits)
    assert (fixed.mantissa >= 0x8000).all()
    exact = 2**fraction_bits / (4 * gain)
    np.testing.assert_allclose(np.ldexp(fixed.mantissa, -fixed.shift[0]), exact, rtol=2**-16)


@pytest.mark.parametrize(
    ("fraction_bits", "energy", "sentence"),
    [
        (-1, 12.4, "-1 fraction bits"),
        (16, 12.4, "16 fraction bits"),
        (0, 1e4, "G0 with 0 fraction bits needs a right shift of 36, the hardware has 0 to 31"),
        (15, 0.1, "G2 with 15 fraction bits needs a right shift of -4"),
    ],
)
def test_a_scale_that_the_hardware_cannot_shift_is_refused(
    make_calibration: MakeCalibration, fraction_bits: int, energy: float, sentence: str
) -> None:
    with pytest.raises(ConfigError, match=sentence):
        quantize(make_calibration(photon_energy_kev=energy), fraction_bits)


def test_kev_are_photons_of_one_kev(make_calibration: MakeCalibration) -> None:
    kev, photons = (quantize(make_calibration(), 2, unit) for unit in ("keV", "photons"))
    exact = 4 / (4 * 41.0)
    np.testing.assert_allclose(np.ldexp(kev.mantissa[0], -kev.shift[0]), exact, rtol=2**-16)
    np.testing.assert_allclose(np.ldexp(photons.mantissa[0], -photons.shift[0]), exact / 12.4, rtol=2**-16)
