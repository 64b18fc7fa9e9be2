"""Dark runs and gain maps to a calibration."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from framelane.base.any_path import AnyPath
from framelane.base.errors import ConfigError, InputError, InputOptionError, OptionError
from framelane.base.output import check_no_input
from framelane.base.telling import Progress, tell_nobody
from framelane.calibration.calibration_file import write_sets
from framelane.calibration.calibration_set import CalibrationSet, combine
from framelane.calibration.dark import DarkLimits, DarkResult, measure
from framelane.calibration.gain_maps import GainMaps
from framelane.calibration.pedestal_file import read_pedestals
from framelane.calibration.provenance import Provenance, Source
from framelane.calibration.raw_frames import RawFrames
from framelane.calibration.stage_pedestal import HIGH_GAIN, NORMAL, Stage, StagePedestal
from framelane.files.linked_files import with_linked
from framelane.models.jungfrau.jf_calibration import Calibration
from framelane.models.jungfrau.jf_geometry import Geometry
from framelane.models.jungfrau.jf_packet import MODULE_ROWS


@dataclass(frozen=True, slots=True, eq=False)
class MadeCalibration:
    """Calibrations of one or both gain modes, with the statistics and the files behind them."""

    sets: tuple[CalibrationSet, ...]
    """One for each gain mode, the normal one first."""
    sources: tuple[Source, ...]
    """The files that were read."""
    stages: tuple[Stage, ...]
    """Those that there are pedestals of."""
    inputs: tuple[Path, ...]

    @property
    def calibration(self) -> Calibration:
        """The calibration of the normal gain mode, or of the high one where there is no other."""
        return self.sets[0].calibration

    @property
    def high_gain(self) -> Calibration | None:
        """The calibration of the high gain mode; None where it was not made."""
        return next((each.calibration for each in self.sets if each.calibration.high_gain), None)

    def write(
        self, path: AnyPath, *, command: str = "framelane.calibration.make_calibration", force: bool = False
    ) -> None:
        """Write it all to an HDF5 file (docs/howto/calibration.md) that names `command`. InputError where that fails.

        A file that was read is not replaced, another older one only with `force`.
        """
        check_no_input(Path(path), with_linked(self.inputs))
        write_sets(Path(path), self.sets, Provenance.now(command, self.sources), force=force)


def make_calibration(
    gain_maps: Sequence[AnyPath],
    energy_kev: float,
    darks: Mapping[Stage, AnyPath] | Mapping[str, AnyPath],
    *,
    pedestals: AnyPath | None = None,
    dataset: str | None = None,
    limits: DarkLimits | None = None,
    mask_bad_gains: bool = False,
    bad_modules: Sequence[int] = (),
    geometry: Geometry | None = None,
    progress: Progress = tell_nobody,
) -> MadeCalibration:
    """Make a calibration from dark runs of each stage and the gain maps of each module (docs/howto/calibration.md).

    - `gain_maps`: files of PSI's gain maps, one a module, in module order. `energy_kev`: of a photon.
    - `darks`: HDF5 files with raw frames without light, by the `Stage` the detector was forced to: G0, G1, G2, HG0.
    - `pedestals`: a file with those of the other stages: of jungfrau_utils, or an older calibration.
    - `dataset` of the raw frames; None: found. `limits`: from where on a pixel is bad; None: the defaults.
    - `mask_bad_gains` masks pixels whose gain is not finite, 0 or of the wrong sign, which is an error otherwise.
    - `bad_modules`, from 0, are not used, nor are those that the `geometry` masks, which must have as many modules.

    ConfigError for what cannot be; InputError for files that are not usable, do not go together, or are too few.
    """
    runs = {_stage(name): Path(path) for name, path in darks.items()}
    files = [Path(path) for path in gain_maps]
    unused = _unused(len(files), energy_kev, bad_modules, geometry)
    sources: list[Source] = []
    progress("reading gain maps", 0, 0)
    maps = GainMaps(files)
    sources += [Source.of(path, f"gain map of module {i}") for i, path in enumerate(maps.paths)]
    found: dict[Stage, StagePedestal] = {}
    by_mode: set[Stage] = set()
    if pedestals is not None:
        given = Path(pedestals)
        progress(f"reading {given}", 0, 0)
        found = _from_file(given, unused, maps)
        taken = [stage for stage in found if stage not in runs]
        sources.append(Source.of(given, f"pedestals of {', '.join(taken) or 'no stage'}"))
    for stage, path in runs.items():
        progress(f"averaging {path}", 0, 0)
        with RawFrames(path, dataset) as frames:
            _check_shape(path, (frames.rows, frames.columns), maps)
            result = measure(frames, stage, limits or DarkLimits(), unused)
            sources.append(_source(frames, stage, result))
        found[stage] = result.pedestal
        if result.by_mode:
            by_mode.add(stage)
    if not {Stage.G0, Stage.HG0} <= by_mode:
        _refuse_same_run(runs, sources)
    sets = []
    for stages in _modes(runs, found, maps):
        high_gain = stages is HIGH_GAIN
        gains = maps.gains(high_gain, mask_bad_gains, unused)
        sets.append(combine(found, gains, energy_kev, high_gain))
    inputs = (*files, *runs.values(), *([Path(pedestals)] if pedestals is not None else []))
    return MadeCalibration(tuple(sets), tuple(sources), tuple(found), inputs)


def _stage(name: str) -> Stage:
    if name not in list(Stage):
        raise ConfigError(f"there is no gain stage {name!r} to give a dark run of: give {', '.join(Stage)}")
    return Stage(name)


def _unused(modules: int, energy_kev: float, bad: Sequence[int], geometry: Geometry | None) -> tuple[int, ...]:
    """Modules that are given as bad, or masked by the geometry, ascending. ConfigError for what cannot be."""
    if not 0 < energy_kev < math.inf:
        raise OptionError("{energy_kev} {0} keV cannot be: give a positive number of keV", energy_kev)
    outside = [module for module in bad if not 0 <= module < modules]
    if outside:
        raise OptionError(
            "{bad_modules} {0}: there are gain maps of {1} modules: give 0 to {2}", outside[0], modules, modules - 1
        )
    if geometry and len(geometry.module) != modules:
        raise OptionError(
            "the geometry {0} has {1} modules, there are gain maps of {2}: give {gain_maps} once for each module, in "
            "module order",
            *(geometry.name, len(geometry.module), modules),
        )
    masked = [i for i, place in enumerate(geometry.module) if place.masked] if geometry else []
    unused = tuple(sorted({*bad, *masked}))
    if modules and len(unused) == modules:
        raise ConfigError(f"all of {modules} modules are given as bad: nothing is left to calibrate")
    return unused


def _source(frames: RawFrames, stage: Stage, result: DarkResult) -> Source:
    return Source.of(frames.path, f"dark run of {stage}", frames.begun, result.frames, result.used)


def _from_file(path: Path, unused: Sequence[int], maps: GainMaps) -> dict[Stage, StagePedestal]:
    found = read_pedestals(path, unused)
    for pedestal in found.values():
        _check_shape(path, pedestal.mean.shape, maps)
    return found


def _check_shape(path: Path, shape: tuple[int, ...], maps: GainMaps) -> None:
    if shape != maps.shape:
        modules = shape[0] / MODULE_ROWS
        raise InputOptionError(
            "{0} has {1} x {2} pixels ({3:g} modules), the {4} gain maps are for {5} x {6}: give {gain_maps} once for "
            "each module, in module order",
            *(path, *shape, modules, len(maps.paths), *maps.shape),
        )


def _refuse_same_run(darks: Mapping[Stage, Path], sources: Sequence[Source]) -> None:
    """The words of G0 and HG0 are alike: one run given for both, that does not say its modes, would pass all checks."""
    hashes = [source.sha256 for source in sources if source.role in ("dark run of G0", "dark run of HG0")]
    if len(hashes) == 2 and hashes[0] == hashes[1]:
        raise InputError(
            f"{darks[Stage.G0]} and {darks[Stage.HG0]} are the same run, which does not say its gain modes: G0 and HG0 "
            "need one each"
        )


def _modes(
    darks: Mapping[Stage, Path], pedestals: Mapping[Stage, StagePedestal], maps: GainMaps
) -> list[tuple[Stage, Stage, Stage]]:
    """The gain modes whose stages are all there: the normal one first."""
    missing = [stage for stage in (Stage.G1, Stage.G2) if stage not in pedestals]
    if Stage.G0 not in pedestals and Stage.HG0 not in pedestals:
        missing.insert(0, Stage.G0)
    if missing:
        raise InputOptionError(
            "there are no pedestals of {0}: give a dark run of each, or {pedestals}", ", ".join(missing)
        )
    modes = []
    for stages in (NORMAL, HIGH_GAIN):
        asked = stages[0] in darks or stages is NORMAL or Stage.G0 not in pedestals
        if stages[0] in pedestals and (asked or maps.high_gain):
            modes.append(stages)
    return modes
