"""Pedestals from dark runs: frames without light, in which the detector was forced into one gain stage."""

import math
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import ConfigError, InputError, InputOptionError
from framelane.calibration._dark_kernels import CODES, accumulate, count_codes
from framelane.calibration.raw_frames import RawFrames
from framelane.calibration.stage_pedestal import Reason, Stage, StagePedestal
from framelane.models.jungfrau.jf_correct import ADC_MASK
from framelane.models.jungfrau.jf_packet import MODULE_COLUMNS, MODULE_ROWS

MIDDLE = (ADC_MASK + 1) // 2
"""Subtracted before squares are summed."""
MOST_FRAMES = 1 << 18
"""So many squares of 14 bits, times their number, fit 63 bits: the variance is exact, and that of a dead pixel 0."""

_OTHER_MODE = CODES
"""In the place of a gain code: code 0, but of the other gain mode."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DarkLimits:
    """Limits beyond which a pixel is bad, in each stage. Raises ConfigError for impossible values."""

    min_frames: int = 10
    """Words of the right stage that a pixel needs, and frames that a run needs."""
    max_wrong: float = 0.01
    """Share of words that may be of another stage, or error words."""
    max_noise: float = 4.0
    """Largest rms, in units of the median of its module."""
    max_offset_adu: float = 2000.0
    """Largest distance of the mean from the median of its module."""

    def __post_init__(self) -> None:
        if self.min_frames < 2:
            raise ConfigError(f"{self.min_frames} frames tell no noise: give a minimum of 2 or more")
        if not 0 <= self.max_wrong < 1:
            raise ConfigError(f"a share of {self.max_wrong} words of the wrong stage cannot be: give 0 to below 1")
        if not (1 < self.max_noise < math.inf and 0 < self.max_offset_adu < math.inf):
            raise ConfigError(
                f"limits of {self.max_noise} times the median noise and {self.max_offset_adu} ADU from the median "
                "pedestal cannot be: give more than 1, and more than 0"
            )


class DarkRun:
    """The sums of a dark run of `stage`, whose frames are added one after another: 24 bytes a pixel, however many come.

    A frame counts for a module where more of the module's words are in `stage` than in any other; elsewhere (the
    detector had not switched yet) it is left out, and so is one of the other gain mode, for G0 and HG0. Of a frame that
    counts, words of another stage and error words (0xFFFF, 0x4000 in G1, 0xC000 in G2, 0x3FFF in HG0) are `wrong`;
    holes (0x8000) are not counted at all.
    """

    def __init__(self, stage: Stage, rows: int, columns: int) -> None:
        self.stage = stage
        self.module_rows = MODULE_ROWS if columns == MODULE_COLUMNS and rows % MODULE_ROWS == 0 else rows
        shape = (rows, columns)
        self._sum, self._squares = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        self._count, self._wrong = np.zeros(shape, np.uint32), np.zeros(shape, np.uint32)
        self.frames_in = np.zeros((rows // self.module_rows, CODES + 1), np.int64)
        """For each module, how many frames were in which gain code, int64 (modules, 5); holes alone are none. The last
        are those of G0 in a run of HG0, and of HG0 in one of G0."""

    @property
    def used(self) -> NDArray[np.int64]:
        """Frames that counted, for each module."""
        frames: NDArray[np.int64] = self.frames_in[:, self.stage.code]
        return frames

    def rows_of(self, module: int) -> slice:
        """The rows of a module in the raw image."""
        return slice(module * self.module_rows, (module + 1) * self.module_rows)

    def add(self, batch: NDArray[np.uint16], modes: NDArray[np.int8]) -> None:
        """Add frames, uint16 (frames, rows, columns), of the gain modes (frames, modules) as `RawFrames` has them."""
        other_mode = modes == (0 if self.stage is Stage.HG0 else 1)
        for module, frames_in in enumerate(self.frames_in):
            rows = self.rows_of(module)
            codes = count_codes(batch[:, rows])
            seen = codes.any(axis=1)
            code = codes.argmax(axis=1)
            if self.stage.code == 0:
                code[(code == 0) & other_mode[:, module]] = _OTHER_MODE
            frames_in += np.bincount(code[seen], minlength=CODES + 1)
            counted = seen & (code == self.stage.code)
            sums = (self._sum[rows], self._squares[rows], self._count[rows], self._wrong[rows])
            accumulate(batch[:, rows], counted, self.stage.code, self.stage is Stage.HG0, MIDDLE, *sums)

    def pedestal(self, limits: DarkLimits) -> StagePedestal:
        """Mean, rms (of the sample, n - 1) and the mask of bad pixels, by `limits`."""
        n, wrong = self._count.astype(np.int64), self._wrong.astype(np.int64)
        mean = np.divide(self._sum, n, out=np.full(n.shape, np.nan), where=n > 0) + MIDDLE
        spread = n * self._squares - self._sum**2
        rms = np.sqrt(np.divide(spread, n * (n - 1), out=np.full(n.shape, np.nan), where=n > 1))
        reasons = np.zeros(n.shape, np.uint32)
        reasons[wrong > limits.max_wrong * (n + wrong)] |= Reason.WRONG_STAGE.bit
        reasons[n < limits.min_frames] |= Reason.FEW_FRAMES.bit
        reasons[(spread == 0) & (n > 1)] |= Reason.DEAD.bit
        for module in range(len(self.frames_in)):
            rows = self.rows_of(module)
            good = reasons[rows] == 0
            if good.any():
                median_rms, median = np.median(rms[rows][good]), np.median(mean[rows][good])
                reasons[rows][rms[rows] > limits.max_noise * median_rms] |= Reason.NOISY.bit
                reasons[rows][np.abs(mean[rows] - median) > limits.max_offset_adu] |= Reason.OUT_OF_RANGE.bit
        return StagePedestal(self.stage, mean.astype(np.float32), rms.astype(np.float32), self._count, reasons)


@dataclass(frozen=True, slots=True)
class DarkResult:
    """What a dark run gave."""

    pedestal: StagePedestal
    frames: int
    """Frames in the file."""
    used: int
    """Frames that counted: of the used module with the fewest."""
    by_mode: bool
    """Whether the file says the gain mode of its frames, by which those of G0 and HG0 were chosen."""


def measure(frames: RawFrames, stage: Stage, limits: DarkLimits, unused_modules: Collection[int] = ()) -> DarkResult:
    """The pedestals of `stage` from a run; a run of several stages gives each of them. Modules not used are masked.

    Where the file tells the gain mode of a frame, G0 is of frames in the normal one and HG0 of those in the high one.
    InputError, which names the file, where too few frames are in `stage`; where several storage cells are mixed; and
    where most pixels of a module are bad.
    """
    if stage.code == 0 and frames.high_gain not in (None, stage is Stage.HG0):
        taken, other = ("HG0", Stage.HG0) if frames.high_gain else ("G0", Stage.G0)
        raise InputError(
            f"{frames.path} is not a dark run of {stage}: it says itself that it was taken in {taken}: give it "
            f"as one of {other}"
        )
    if len(frames.storage_cells) > 1:
        raise InputError(
            f"{frames.path} has frames of the storage cells {', '.join(map(str, frames.storage_cells))}, each of which "
            "has its own pedestals: give a run of one"
        )
    if frames.n_good > MOST_FRAMES:
        raise InputError(f"{frames.path} has {frames.n_good} frames: at most {MOST_FRAMES} are averaged, give fewer")
    run = DarkRun(stage, frames.rows, frames.columns)
    shape = (frames.n_frames, len(run.frames_in))
    if frames.modes.shape[1] not in (1, shape[1]):
        raise InputError(
            f"{frames.path} says the gain mode of {frames.modes.shape[1]} modules, its frames have {shape[1]} of "
            f"{run.module_rows} rows: give the file as it was recorded"
        )
    modes = np.broadcast_to(frames.modes, shape)
    for batch in frames.batches():
        run.add(batch.words, modes[batch.indices])
    modules = [module for module in range(len(run.frames_in)) if module not in unused_modules]
    _refuse_wrong_stage(frames, run, limits, modules)
    pedestal = run.pedestal(limits)
    for module in range(len(run.frames_in)):
        reasons = pedestal.reasons[run.rows_of(module)]
        if module not in modules:
            reasons |= Reason.GIVEN.bit
        elif np.count_nonzero(reasons) > reasons.size // 2:
            counts = [(np.count_nonzero(reasons & reason.bit), reason.words) for reason in Reason]
            why = ", ".join(f"{n} {words}" for n, words in counts if n)
            raise InputOptionError(
                "{0}: {1} of {2} pixels of module {3} are bad in {4} ({5}): this is not a dark run, or the module is "
                "given as bad with {bad_modules}",
                *(frames.path, np.count_nonzero(reasons), reasons.size, module, stage, why),
            )
    pedestal.check(frames.path)
    return DarkResult(pedestal, frames.n_frames, int(run.used[modules].min()), bool(frames.gain_modes))


def _refuse_wrong_stage(frames: RawFrames, run: DarkRun, limits: DarkLimits, modules: list[int]) -> None:
    if not modules:
        raise InputError(f"{frames.path} has {len(run.frames_in)} modules, all given as bad: leave one")
    worst = min(modules, key=lambda module: run.used[module])
    if run.used[worst] >= limits.min_frames:
        return
    where = "" if len(run.frames_in) == 1 else f" of module {worst}"
    stage = run.stage
    first, other = ("HG0", "G0") if stage is Stage.HG0 and frames.gain_modes else ("G0", "HG0")
    names = (first, "G1", "gain code 10", "G2", other)
    others = ", ".join(f"{n} in {name}" for name, n in zip(names, run.frames_in[worst], strict=True) if n)
    if run.used[worst] == 0:
        raise InputError(
            f"{frames.path} is not a dark run of {stage}: of its {frames.n_good} frames{where} none is in {stage} "
            f"({others or 'only holes'}): give a run in which the detector was forced to {stage}"
        )
    raise InputOptionError(
        "{0} has {1} frames{2} in {3} ({4}), needed are {5}: give a longer dark run, or a smaller {min_frames}",
        *(frames.path, run.used[worst], where, stage, others, limits.min_frames),
    )
