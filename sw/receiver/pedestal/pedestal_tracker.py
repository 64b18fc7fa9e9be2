"""Tracking of the G0 pedestal from dark frames as they arrive: the model's bits, at the detector's rate."""

import concurrent.futures
import itertools
import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import ConfigError, InputError
from framelane.base.part_file import PartFile
from framelane.models.jungfrau.jf_correct import ADC_MASK
from framelane.models.jungfrau.jf_fixed import PEDESTAL_FRACTION_BITS
from framelane.models.jungfrau.jf_scene import CHIP
from framelane.models.pedestal.dark_frames import TICK_NS, DarkClock
from framelane.models.pedestal.jf_pedestal import SHARE_BITS
from framelane.models.pedestal.jf_pedestal_settings import TrackerSettings, gains
from framelane.models.pedestal.jf_pedestal_state import LEVEL_BITS, MAX_PAUSE, RATE_BITS, Chip, TrackerState
from framelane.receiver.pedestal import _pedestal_kernels, _pedestal_update
from framelane.receiver.pedestal.drift import DriftLimits, DriftRecord, DriftRow

_TICKS_A_SECOND = 1e9 / TICK_NS
_BINS = 1 << 15
MOST_AHEAD = round(_TICKS_A_SECOND / 2)
"""Half the ticks after which pedestals are written anew in any case."""
DUE_BITS = 3
"""Pedestals that have drifted by `2**-DUE_BITS` ADU since they were written are written anew."""


@dataclass(slots=True)
class Progress:
    """How far a tracking is, beside its `TrackerState`. Times are ticks of its clock."""

    frames: int = 0
    """Dark frames that came."""
    tick: int = 0
    """The tick of the newest,"""
    timestamp_ns: int = 0
    """and what its source tells, 0 if it does not."""
    recorded: int = 0
    """The tick of the record's last row."""
    written: int = 0
    """When pedestals were written last,"""
    blocks: int = 0
    """and how many updates all chips had then."""


class PedestalTracker:
    """Follows the pedestal of plane 0 (G0, or HG0 where `high_gain`) of a detector of modules one above the other.

    `state` is the beginning, by a dark run; it is taken over, not copied. `record` gets a row a module every
    `record_s` seconds of the detector's time. `threads` at most; None: one a core. What comes out equals
    `models.jf_pedestal` bit for bit, however the frames are put into batches. Not for use by several threads at once.
    ConfigError where modules are not whole chips, or `record_s` is not a time above 0.
    """

    def __init__(
        self,
        state: TrackerState,
        settings: TrackerSettings | None = None,
        limits: DriftLimits | None = None,
        *,
        high_gain: bool = False,
        module_rows: int = 512,
        record_s: float = 10.0,
        threads: int | None = None,
    ) -> None:
        settings = settings or TrackerSettings()
        rows = len(state.level)
        if rows > module_rows and (module_rows % CHIP or rows % module_rows):
            raise ConfigError(
                f"{rows} rows are no whole modules of {module_rows} rows, or these no whole chips of {CHIP}: give the "
                "rows of a module"
            )
        if not 0 < record_s < math.inf:
            raise ConfigError(f"a row of the record every {record_s} s cannot be: give a time above 0")
        self.state = state
        self.settings = settings
        self.high_gain = high_gain
        self.progress = Progress()
        self.record = DriftRecord(limits or DriftLimits())
        self.clock = DarkClock(settings.dark_interval_ns)
        self._arrays = tuple(getattr(state, each.name) for each in fields(state))
        self._start = state.level.copy()
        self._constants = (
            *gains(settings),
            ADC_MASK if high_gain else ADC_MASK + 1,
            round(settings.most_outliers * (1 << SHARE_BITS)),
            settings.restart_blocks,
        )
        chips = len(state.chips)
        threads = min(threads or len(os.sched_getaffinity(0)), chips)
        self._bands = list(itertools.pairwise(chips * n // threads for n in range(threads + 1)))
        self._bins = np.zeros((threads, _BINS), np.int32)
        self._pool = concurrent.futures.ThreadPoolExecutor(threads)
        self._modules = np.array_split(np.arange(chips), max(1, rows // module_rows))
        self.record_ticks = round(record_s * _TICKS_A_SECOND)
        """From one row of the record to the next at least."""

    def take(self, frames: NDArray[np.uint16], timestamps_ns: Sequence[int | None]) -> bool:
        """Take dark frames, C-contiguous uint16 (n, rows, columns), with the time of each if it has one.

        Whether pedestals are due to be written: there are better ones, or they have drifted by 1/8 ADU. InputError
        where the frames do not fit the detector.
        """
        n, shape = len(timestamps_ns), self.state.level.shape
        if frames.dtype != np.uint16 or frames.shape != (n, *shape) or not frames.flags.c_contiguous:
            raise InputError(
                f"the dark frames are {frames.dtype} {frames.shape}, the tracking is for uint16 {(n, *shape)} "
                "without gaps"
            )
        ticks = np.array([self.clock.tick(time) for time in timestamps_ns], np.int64)

        def take(band: tuple[int, int], bins: NDArray[np.int32]) -> None:
            _pedestal_kernels.take(frames, ticks, self._arrays, *band, *self._constants, bins)

        if len(self._bands) == 1:
            take(self._bands[0], self._bins[0])
        else:
            list(self._pool.map(take, self._bands, self._bins))
        now = self.progress
        now.frames += n
        if n:
            now.tick, now.timestamp_ns = int(ticks[-1]), timestamps_ns[-1] or 0
        if now.tick - now.recorded >= self.record_ticks:
            self.note()
        return self._n_blocks != now.blocks or now.tick - now.written >= 2 * self._half_due

    def note(self) -> None:
        """Add a row for each module to the record, as at the end of a run, unless its last is of the newest frame."""
        if self.progress.tick != self.progress.recorded:
            self.progress.recorded = self.progress.tick
            for module in range(len(self._modules)):
                self.record.add(self._row(module))

    def write_record(self, path: Path, *, force: bool = False) -> None:
        """Write the record to a JSON file, up to the newest frame. InputError, or OSError, where that cannot be."""
        self.note()
        with PartFile(path, force=force) as part:
            part.path.write_text(json.dumps(self.record.document(), indent=1) + "\n")

    def write_quarters(self, plane: NDArray[np.uint16]) -> None:
        """Write the pedestal to `plane`, uint16 (rows, columns), in quarters of an ADU: plane 0 of
        `FixedCalibration.pedestal`. It is meant for the frames until it is due again, so it is that of half the time
        until then."""
        shift = LEVEL_BITS - PEDESTAL_FRACTION_BITS
        tick = self.progress.tick + self._half_due
        self.progress.written, self.progress.blocks = self.progress.tick, self._n_blocks

        def write(band: tuple[int, int]) -> None:
            _pedestal_update.publish(self._arrays, *band, tick, shift, plane)

        list(self._pool.map(write, self._bands))

    @property
    def pedestal_adu(self) -> NDArray[np.float32]:
        """The pedestal as it is in the newest dark frame, ADU, float32 (rows, columns)."""
        return (self.state.pedestal(LEVEL_BITS, self.progress.tick) * 2.0**-LEVEL_BITS).astype(np.float32)

    @property
    def _n_blocks(self) -> int:
        return int(self.state.chips[:, Chip.BLOCKS].sum())

    @property
    def _half_due(self) -> int:
        """Ticks in which the fastest chip drifts by half of what makes pedestals due."""
        fastest = max(int(np.abs(self.state.chips[:, Chip.RATE]).max()), 1)
        return min((1 << RATE_BITS - DUE_BITS - 1) // fastest, MOST_AHEAD)

    def _row(self, module: int) -> DriftRow:
        chips = self._modules[module]
        state = self.state.chips[chips]
        moments = np.array([_pedestal_update.moments(self._arrays, self._start, int(chip)) for chip in chips])
        n = max(int(moments[:, 0].sum()), 1)
        passed = (self.progress.tick - state[:, Chip.MIDDLE]).clip(0, MAX_PAUSE)
        common = state[:, Chip.COMMON] * 2.0**-LEVEL_BITS + state[:, Chip.RATE] * 2.0**-RATE_BITS * passed
        mean = float((moments[:, 1] + moments[:, 0] * common).sum() / n)
        square = float((moments[:, 2] + 2 * common * moments[:, 1] + moments[:, 0] * common**2).sum() / n)
        return DriftRow(
            module=module,
            timestamp_ns=self.progress.timestamp_ns,
            elapsed_s=self.progress.tick / _TICKS_A_SECOND,
            drift_adu=mean,
            rate_adu_per_s=float(state[:, Chip.RATE].mean()) * 2.0**-RATE_BITS * _TICKS_A_SECOND,
            spread_adu=max(square - mean**2, 0.0) ** 0.5,
            frames=self.progress.frames,
            refused=int(state[:, Chip.REFUSED].max()),
            outliers=int(state[:, Chip.OUTLIERS].sum()),
            restarts=int(state[:, Chip.RESTARTS].sum()),
        )
