"""A simulated JUNGFRAU: seeded raw frames with the pixel statistics of a real module's, and the truth behind them."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import ConfigError
from framelane.models.jungfrau.jf_calibration import STAGES, Calibration
from framelane.models.jungfrau.jf_correct import ADC_MASK, SATURATED_WORD, STAGE_SHIFT
from framelane.models.jungfrau.jf_scene import Scene

PEDESTAL_ADU = (2450.0, 13585.0, 14100.0)
PEDESTAL_SPREAD_ADU = (225.0, 150.0, 165.0)
GAIN_ADU_PER_KEV = (41.0, -1.44, -0.1145)
GAIN_SPREAD = 0.025
"""Standard deviation of the pixels' gains, as a share of the nominal one."""

SWITCH_KEV = (280.0, 8100.0)
"""Charge at which a pixel goes from G0 to G1, and from G1 to G2: 22.6 and 653 photons of 12.4 keV."""

FIRST_BUNCH_ID = 1 << 32

_SPREAD_ENDS = 4
"""No pixel is further from the mean than so many standard deviations."""

_GAIN_CODES = (0b00, 0b01, 0b11)
_ADC_RANGES = ((0, ADC_MASK), (1, ADC_MASK), (0, ADC_MASK - 1))
"""What each stage may read: G1 at 0 and G2 at 16383 would be error words; G2 at 0 is the saturated word."""

NOISY = 20.0
"""Times as much noise as others a noisy pixel has."""

_CALIBRATION, _FRAME, _DRIFT, _DEFECTS, _DARK = range(5)


@dataclass(frozen=True, slots=True)
class DetectorConfig:
    """A detector and what it looks at. Raises ConfigError for a value that cannot be."""

    modules: int = 1
    """Modules, one above the other in the image."""

    rows: int = 512
    columns: int = 1024
    """Pixels of a module."""

    seed: int = 1
    photon_energy_kev: float = 12.4
    scene: Scene = field(default_factory=Scene)

    noise_adu: tuple[float, float, float] = (24.0, 3.0, 3.0)
    """Readout noise (rms) in G0, G1, G2; in G0 0.047 photons of 12.4 keV."""

    pedestal_spread_adu: tuple[float, float, float] = PEDESTAL_SPREAD_ADU
    """Standard deviation of the pixels' pedestals in G0, G1, G2."""

    gain_spread: float = GAIN_SPREAD
    """That of their gains, as a share of the nominal one."""

    stuck_in_g1: int = 130
    """Pixels of a module that always read G1 with the same ADC; masked in the calibration."""

    stuck_saturated: int = 2
    """Pixels of a module that always read 0xC000; masked in the calibration."""

    dead: int = 0
    """Pixels of a module that always read their pedestal, whatever their charge; masked in the calibration."""

    noisy: int = 0
    """Pixels of a module with `NOISY` times the noise; masked in the calibration."""

    dark_period: int = 10
    """Every so many frames, the last of them is dark (no photons); 0: none."""

    period_ns: int = 500_000
    """From one frame to the next."""

    drift_adu_per_s: float = 0.0
    """Mean drift of the pedestals of G0 from frame 0 on, which is calibrated. G1 and G2 do not drift."""

    drift_spread: float = 0.05
    """Standard deviation of the pixels' drifts, as a share of the mean one."""

    def __post_init__(self) -> None:
        if min(self.modules, self.rows, self.columns) < 1:
            raise ConfigError(
                f"{self.modules} modules of {self.rows} x {self.columns} pixels cannot be: give 1 or more"
            )
        if not 0 < self.photon_energy_kev < 1e3:
            raise ConfigError(
                f"a photon energy of {self.photon_energy_kev} keV cannot be: give more than 0, below 1000"
            )
        if min(self.seed, self.dark_period, self.period_ns) < 0:
            raise ConfigError("seed, dark_period and period_ns cannot be negative")
        if not all(0 <= adu < 1e4 for adu in (*self.noise_adu, *self.pedestal_spread_adu)):
            raise ConfigError(
                f"noise of {self.noise_adu} ADU and pedestals that spread by {self.pedestal_spread_adu} ADU cannot be: "
                "give 0 to 10,000 of each stage"
            )
        if not 0 <= self.gain_spread < 1 / _SPREAD_ENDS:
            raise ConfigError(
                f"gains that spread by {self.gain_spread} cannot be: give a share of 0 to below {1 / _SPREAD_ENDS}"
            )
        if not (abs(self.drift_adu_per_s) < 1e6 and 0 <= self.drift_spread < 1e3):
            raise ConfigError(
                f"a drift of {self.drift_adu_per_s} ADU/s that spreads by {self.drift_spread} cannot be: give less "
                "than 1e6 either way, and a share of 0 to 1000"
            )
        bad = self.stuck + self.dead + self.noisy
        if min(self.stuck_in_g1, self.stuck_saturated, self.dead, self.noisy) < 0 or bad > self.rows * self.columns:
            raise ConfigError(
                f"{self.stuck} stuck, {self.dead} dead and {self.noisy} noisy pixels in a module of {self.rows} x "
                f"{self.columns} cannot be"
            )

    @property
    def stuck(self) -> int:
        """Stuck pixels of a module."""
        return self.stuck_in_g1 + self.stuck_saturated


@dataclass(frozen=True, eq=False, slots=True)
class DetectorFrame:
    """One frame of all modules, each array (modules * rows, columns)."""

    number: int
    raw: NDArray[np.uint16]
    """Words as the detector sends them: never gain code 10, nor an error word."""
    photons: NDArray[np.float32]
    """The truth: the charge in each pixel, in photons; not whole, since photons are divided between pixels."""
    dark: bool
    timestamp_ns: int
    bunch_id: int


class Detector:
    """The detector that `config` describes. A module's frame depends on seed, module and frame number only."""

    def __init__(self, config: DetectorConfig) -> None:
        self.config = config
        modules = [_Module(config, index) for index in range(config.modules)]
        self.calibration = Calibration(
            np.concatenate([module.pedestal for module in modules], axis=1),
            np.concatenate([module.gain for module in modules], axis=1),
            config.photon_energy_kev,
            np.concatenate([module.bad for module in modules]),
        )
        self._modules = modules
        self._rate = config.scene.rate(config.rows, config.columns)

    def pedestal_g0(self, number: int) -> NDArray[np.float32]:
        """The true pedestals of G0 in frame `number`, ADU, float32 (modules * rows, columns)."""
        return np.concatenate([module.pedestal_g0(number) for module in self._modules])

    def dark(self, number: int, stage: int) -> NDArray[np.uint16]:
        """Frame `number` of a dark run that is forced to `stage` (0, 1, 2: G0, G1, G2): its words, as in a frame."""
        config = self.config
        words = [
            module.dark(stage, number, _generator(config, _DARK, index, stage, number))
            for index, module in enumerate(self._modules)
        ]
        return np.concatenate(words)

    def frame(self, number: int) -> DetectorFrame:
        """Frame `number`, from 0."""
        config = self.config
        dark = config.dark_period > 0 and number % config.dark_period == config.dark_period - 1
        shape = (config.modules, config.rows, config.columns)
        raw, photons = np.empty(shape, np.uint16), np.zeros(shape, np.float32)
        for index, module in enumerate(self._modules):
            rng = _generator(config, _FRAME, index, number)
            if not dark:
                photons[index] = config.scene.charge(self._rate, rng)
            raw[index] = module.read(photons[index], number, rng)
        image = (config.modules * config.rows, config.columns)
        return DetectorFrame(
            number,
            raw.reshape(image),
            photons.reshape(image),
            dark,
            number * config.period_ns,
            FIRST_BUNCH_ID + number,
        )


class _Module:
    """The pixels of one module: pedestals, gains and the words of those that are stuck."""

    def __init__(self, config: DetectorConfig, index: int) -> None:
        self._config = config
        rng = _generator(config, _CALIBRATION, index)
        shape = (STAGES, config.rows, config.columns)

        def spread() -> NDArray[np.float32]:
            return rng.standard_normal(shape, np.float32).clip(-_SPREAD_ENDS, _SPREAD_ENDS)

        def planes(values: tuple[float, ...]) -> NDArray[np.float32]:
            return np.array(values, np.float32).reshape(STAGES, 1, 1)

        self.pedestal = planes(PEDESTAL_ADU) + planes(config.pedestal_spread_adu) * spread()
        self.gain = planes(GAIN_ADU_PER_KEV) * (1 + np.float32(config.gain_spread) * spread())
        self.bad = np.zeros(shape[1:], np.bool_)
        self._stuck_at = rng.choice(self.bad.size, config.stuck, replace=False)
        self._stuck_words = 1 << STAGE_SHIFT | rng.integers(1, ADC_MASK, config.stuck, np.uint16)
        self._stuck_words[: config.stuck_saturated] = SATURATED_WORD
        self.bad.flat[self._stuck_at] = True
        rng = _generator(config, _DEFECTS, index)
        chosen = rng.permutation(np.flatnonzero(~self.bad))[: config.dead + config.noisy]
        self._dead, self._noisy = np.split(chosen, [config.dead])
        self.bad.flat[chosen] = True
        rng = _generator(config, _DRIFT, index)
        self._drift = 1 + np.float32(config.drift_spread) * rng.standard_normal(shape[1:], np.float32).clip(
            -_SPREAD_ENDS, _SPREAD_ENDS
        )
        """Drift of each pixel, in units of the mean drift."""

    def pedestal_g0(self, number: int) -> NDArray[np.float32]:
        """The pedestals of G0 in frame `number`."""
        config = self._config
        drifted = np.float32(config.drift_adu_per_s * number * config.period_ns / 1e9)
        pedestal: NDArray[np.float32] = self.pedestal[0] + drifted * self._drift
        return pedestal

    def read(self, photons: NDArray[np.float32], number: int, rng: np.random.Generator) -> NDArray[np.uint16]:
        """Digitize a charge in photons: the words of frame `number`."""
        noise = self._ripple(rng)
        energy = photons * np.float32(self._config.photon_energy_kev)
        energy.flat[self._dead] = 0
        words = self._digitize(0, self.pedestal_g0(number), self.gain[0], energy, noise)
        limits = (*SWITCH_KEV, np.inf)
        for stage in (1, 2):
            where = np.nonzero((energy >= limits[stage - 1]) & (energy < limits[stage]))
            planes = self.pedestal[stage][where], self.gain[stage][where]
            words[where] = self._digitize(stage, *planes, energy[where], noise[where])
        words.flat[self._stuck_at] = self._stuck_words
        return words

    def dark(self, stage: int, number: int, rng: np.random.Generator) -> NDArray[np.uint16]:
        """The words of dark frame `number` in a stage."""
        pedestal = self.pedestal_g0(number) if stage == 0 else self.pedestal[stage]
        nothing = np.zeros_like(pedestal)
        words = self._digitize(stage, pedestal, self.gain[stage], nothing, self._ripple(rng))
        words.flat[self._stuck_at] = self._stuck_words
        return words

    def _ripple(self, rng: np.random.Generator) -> NDArray[np.float32]:
        """The noise of a frame, in units of its rms."""
        ripple = rng.standard_normal((self._config.rows, self._config.columns), np.float32)
        ripple.flat[self._dead] = 0
        ripple.flat[self._noisy] *= np.float32(NOISY)
        return ripple

    def _digitize(
        self,
        stage: int,
        pedestal: NDArray[np.float32],
        gain: NDArray[np.float32],
        energy: NDArray[np.float32],
        noise: NDArray[np.float32],
    ) -> NDArray[np.uint16]:
        adc = pedestal + gain * energy
        adc += np.float32(self._config.noise_adu[stage]) * noise
        code = np.uint16(_GAIN_CODES[stage] << STAGE_SHIFT)
        words: NDArray[np.uint16] = np.rint(adc).clip(*_ADC_RANGES[stage]).astype(np.uint16) | code
        return words


def _generator(config: DetectorConfig, *key: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(config.seed, spawn_key=key))
