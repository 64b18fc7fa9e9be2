"""The simulated JUNGFRAU: reproducible, physically sound, and statistically like the real module."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from framelane.base.errors import ConfigError
from framelane.models.jungfrau.jf_calibration import Calibration
from framelane.models.jungfrau.jf_correct import PixelCode, correct_float, correct_int16, error_bound
from framelane.models.jungfrau.jf_detector import Detector, DetectorConfig, DetectorFrame
from framelane.models.jungfrau.jf_fixed import quantize
from framelane.models.jungfrau.jf_scene import Scene
from framelane.receiver.jungfrau.jungfrau_file import JungfrauFile

N_FRAMES = 6
SMALL: dict[str, Any] = {"rows": 32, "columns": 64, "stuck_in_g1": 3, "scene": Scene(spots=4)}


@pytest.fixture(scope="module")
def detector() -> Detector:
    return Detector(DetectorConfig(dark_period=0))


@pytest.fixture(scope="module")
def frames(detector: Detector) -> list[DetectorFrame]:
    return [detector.frame(n) for n in range(N_FRAMES)]


def test_a_frame_depends_on_seed_and_number_only() -> None:
    config = DetectorConfig(**SMALL)
    detector = Detector(config)
    words = [detector.frame(n).raw.tobytes() for n in (0, 1, 2, 0, 1 << 40)]
    assert words[0] == words[3]
    assert len(set(words)) == 4
    assert Detector(config).frame(2).raw.tobytes() == words[2]
    assert Detector(DetectorConfig(**SMALL, seed=2)).frame(2).raw.tobytes() != words[2]


def test_a_module_is_the_same_in_a_larger_detector() -> None:
    one, three = (Detector(DetectorConfig(modules=modules, **SMALL)) for modules in (1, 3))
    assert three.frame(5).raw.shape == three.frame(5).photons.shape == (96, 64)
    assert (three.frame(5).raw[:32] == one.frame(5).raw).all()
    assert (three.frame(5).photons[32:64] != three.frame(5).photons[64:]).mean() > 0.5
    pedestal = three.calibration.pedestal
    assert pedestal.shape == three.calibration.gain.shape == (3, 96, 64)
    assert (pedestal[:, :32] == one.calibration.pedestal).all()
    assert (pedestal[:, 32:64] != pedestal[:, 64:]).mean() > 0.9


def test_time_and_bunch_grow_with_the_frame_number_and_are_told_apart() -> None:
    frames = [Detector(DetectorConfig(**SMALL)).frame(n) for n in (0, 7)]
    assert [(frame.number, frame.timestamp_ns) for frame in frames] == [(0, 0), (7, 3_500_000)]
    assert frames[1].bunch_id - frames[0].bunch_id == 7
    assert frames[0].bunch_id >> 32, "would fit 32 bits of the trailer's 64"


@pytest.mark.parametrize(("period", "dark"), [(0, []), (1, [0, 1, 2, 3, 4, 5, 6, 7]), (3, [2, 5])])
def test_dark_frames_come_at_their_period_and_hold_noise_only(period: int, dark: list[int]) -> None:
    detector = Detector(DetectorConfig(dark_period=period, **SMALL))
    frames = [detector.frame(n) for n in range(8)]
    assert [frame.number for frame in frames if frame.dark] == dark
    for frame in frames:
        values = correct_float(frame.raw, detector.calibration).values
        assert bool(frame.photons.any()) == (np.nanmax(values) > 0.5) == (not frame.dark)


@pytest.mark.parametrize("overload", [0.0, 3e3, 1e5, 1e8])
def test_no_charge_makes_an_error_word_or_gain_code_10(overload: float) -> None:
    scene = Scene(spots=200, overloads=20, overload_photons=overload)
    detector = Detector(DetectorConfig(rows=64, columns=128, scene=scene, noise_adu=(5000.0, 5000.0, 5000.0)))
    raw = detector.frame(0).raw
    assert not np.isin(raw, (0xFFFF, 0x4000)).any()
    assert not (raw >> 14 == 0b10).any()


def test_the_gain_stage_follows_the_charge(detector: Detector, frames: list[DetectorFrame]) -> None:
    good = detector.calibration.usable.all(axis=0)
    for frame in frames:
        energy = frame.photons[good] * 12.4
        expected = np.select([energy < 280, energy < 8100], [0b00, 0b01], 0b11)
        assert (frame.raw[good] >> 14 == expected).all()
        assert (energy[frame.raw[good] == 0xC000] > 14_100 / 0.1145 * 0.8).all()


def test_correction_gives_the_true_photons_back_within_the_noise(
    detector: Detector, frames: list[DetectorFrame]
) -> None:
    fixed = quantize(detector.calibration)
    photons_per_adu = np.abs(1 / (detector.calibration.gain * 12.4))
    for frame in frames:
        stage = np.minimum(frame.raw >> 14, 2)
        noise = np.array((24.0, 3.0, 3.0))[stage] * np.choose(stage, photons_per_adu)
        values, codes = correct_float(frame.raw, detector.calibration)
        good = codes == 0
        pull = ((values - frame.photons) / noise)[good]
        assert pull.std() == pytest.approx(1, abs=0.01)
        assert np.abs(pull).max() < 6
        bits = correct_int16(frame.raw, fixed)
        bound = error_bound(frame.raw, detector.calibration, fixed)
        assert (np.abs(bits - frame.photons)[good] <= (bound + 6 * noise)[good]).all()


def test_stuck_pixels_are_masked_and_always_read_the_same(detector: Detector, frames: list[DetectorFrame]) -> None:
    stuck = ~detector.calibration.usable.all(axis=0)
    assert np.count_nonzero(stuck) == 132
    words = [frame.raw[stuck] for frame in frames]
    assert all((word == words[0]).all() for word in words)
    assert np.count_nonzero(words[0] == 0xC000) == 2
    bits = correct_int16(frames[0].raw, quantize(detector.calibration))
    assert (bits[stuck] == PixelCode.MASKED).all()


def test_divided_photons_keep_their_charge() -> None:
    scene = Scene(background=2.0, spots=0, overloads=0)
    rate = scene.rate(256, 256)
    charge = scene.charge(rate, np.random.default_rng(3))
    assert ((charge % 1 > 0.2) & (charge % 1 < 0.8)).mean() > 0.1, "no photon was divided"
    assert rate.mean() == pytest.approx(2.0)
    assert charge.mean() == pytest.approx(2.0, abs=5 * np.sqrt(2.0) / 256 + 0.01)


@pytest.mark.parametrize("seed", range(20))
def test_a_spot_at_an_edge_does_not_reach_the_other_side(seed: int) -> None:
    scene = Scene(background=0, spots=0, overloads=1)
    charge = scene.charge(scene.rate(10, 10), np.random.default_rng(seed))
    row, column = np.nonzero(charge)
    assert 0 < max(np.ptp(row), np.ptp(column)) <= 7


def figures(raw: NDArray[np.uint16], values: NDArray[np.float64]) -> dict[str, float]:
    """The statistics that simulated and real frames are compared by, per frame, of (frames, rows, columns)."""
    frames, in_g0 = len(raw), values[(raw >> 14 == 0) & np.isfinite(values)]
    peak = in_g0[np.abs(in_g0) < 0.15]
    found = {
        "pixels in G1": np.count_nonzero(raw >> 14 == 1) / frames,
        "pixels in G2": np.count_nonzero(raw >> 14 == 3) / frames,
        "saturated": np.count_nonzero(raw == 0xC000) / frames,
        "mean photons in G0": float(in_g0.mean()),
        "noise (rms of the zero peak)": float(np.sqrt((peak**2).mean())),
        "share between 0.2 and 0.8 photons": float(((in_g0 > 0.2) & (in_g0 < 0.8)).mean()),
        "share of 0.8 to 1.2 photons": float(((in_g0 > 0.8) & (in_g0 < 1.2)).mean()),
    }
    places = (0.001, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
    found |= {f"raw quantile {q}": value for q, value in zip(places, np.quantile(raw, places), strict=True)}
    found |= {f"photon quantile {q}": float(np.quantile(in_g0, q)) for q in (0.5, 0.75, 0.95, 0.99)}
    return found


TOLERANCE = {
    "pixels in G1": 60,
    "pixels in G2": 12,
    "saturated": 1.5,
    "mean photons in G0": 0.03,
    "noise (rms of the zero peak)": 0.006,
    "share between 0.2 and 0.8 photons": 0.003,
    "share of 0.8 to 1.2 photons": 0.005,
    "raw quantile 0.001": 180,
    "raw quantile 0.95": 90,
    "raw quantile 0.99": 130,
    "photon quantile 0.99": 0.1,
}
"""By how much the means of six frames may differ; 45 ADU for a quantile of raw words, 0.05 for one of photons."""


def simulated(detector: Detector, frames: list[DetectorFrame]) -> dict[str, float]:
    raw = np.stack([frame.raw for frame in frames])
    return figures(raw, correct_float(raw, detector.calibration).values)


def test_statistics_are_those_published_for_the_real_module(detector: Detector, frames: list[DetectorFrame]) -> None:
    found = simulated(detector, frames)
    assert found["pixels in G1"] == pytest.approx(550, abs=60)
    assert found["pixels in G2"] == pytest.approx(30, abs=12)
    assert 2 <= found["saturated"] <= 5
    assert found["noise (rms of the zero peak)"] == pytest.approx(0.05, abs=0.006)
    assert 1 <= found["mean photons in G0"] <= 1.5
    assert found["photon quantile 0.5"] == pytest.approx(1, abs=0.05)


def test_statistics_are_those_of_the_real_frames(
    detector: Detector, frames: list[DetectorFrame], real_file: JungfrauFile
) -> None:
    raw = np.stack([real_file.image(n) for n in range(real_file.n_frames)])
    calibration = Calibration(real_file.pedestal_adu, real_file.gain_adu_per_kev, real_file.photon_energy_kev)
    real = figures(raw, correct_float(raw, calibration).values)
    default = {name: 45 if name.startswith("raw") else 0.05 for name in real}
    for name, value in simulated(detector, frames).items():
        assert value == pytest.approx(real[name], abs=(default | TOLERANCE)[name]), name


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"modules": 0}, "0 modules of 512 x 1024 pixels cannot be"),
        ({"columns": -1}, "1 modules of 512 x -1 pixels cannot be"),
        ({"photon_energy_kev": 0.0}, r"photon energy of 0\.0 keV"),
        ({"photon_energy_kev": float("nan")}, "photon energy of nan keV"),
        ({"noise_adu": (24.0, -1.0, 3.0)}, r"noise of \(24\.0, -1\.0, 3\.0\) ADU"),
        ({"seed": -1}, "seed, .* cannot be negative"),
        ({"stuck_in_g1": -1}, "1 stuck, 0 dead and 0 noisy pixels in a module"),
        ({"rows": 8, "columns": 8}, "132 stuck, 0 dead and 0 noisy pixels in a module of 8 x 8 cannot be"),
    ],
)
def test_an_impossible_detector_is_refused(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        DetectorConfig(**changes)


@pytest.mark.parametrize(
    ("name", "value"), [("background", -0.1), ("spots", float("nan")), ("spot_spread", 1e9), ("overloads", -1)]
)
def test_an_impossible_scene_is_refused(name: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=f"a scene with {name} = "):
        Scene(**{name: value})
