"""`framelane calibration make`: dark runs and gain maps to a calibration file."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from framelane.cli import calibration_show
from framelane.cli.output import check_no_input
from framelane.cli.stages import Stages, say
from framelane.models.errors import ConfigError, InputError
from framelane.models.jf_geometry import Geometry
from framelane.models.jf_packet import MODULE_ROWS
from framelane.receiver.calibration.calibration_file import write_sets
from framelane.receiver.calibration.calibration_set import CalibrationSet, combine
from framelane.receiver.calibration.dark import DarkLimits, DarkResult, measure
from framelane.receiver.calibration.gain_maps import GainMaps
from framelane.receiver.calibration.pedestal_file import read_pedestals
from framelane.receiver.calibration.provenance import Provenance, Source
from framelane.receiver.calibration.raw_frames import RawFrames
from framelane.receiver.calibration.stage_pedestal import HIGH_GAIN, NORMAL, Stage, StagePedestal


@dataclass(frozen=True, slots=True)
class MakeOptions:
    """What the user chose. ConfigError for what cannot be, InputError where an input is the output."""

    gain_maps: tuple[Path, ...]
    energy_kev: float
    output: Path
    darks: Mapping[Stage, Path]
    """The dark run of each stage that has one."""
    pedestals: Path | None
    """Where the pedestals of the other stages are."""
    dataset: str | None
    limits: DarkLimits
    mask_bad_gains: bool
    bad_modules: tuple[int, ...]
    """Indices from 0, ascending."""
    geometry: Geometry | None
    """Must have as many modules as there are gain maps; those that it masks are not used either."""
    command: str

    def __post_init__(self) -> None:
        if not 0 < self.energy_kev < math.inf:
            raise ConfigError(f"--energy {self.energy_kev} keV cannot be: give a positive number of keV")
        outside = [module for module in self.bad_modules if not 0 <= module < len(self.gain_maps)]
        if outside:
            raise ConfigError(
                f"--bad-module {outside[0]}: there are gain maps of {len(self.gain_maps)} modules: give 0 to "
                f"{len(self.gain_maps) - 1}"
            )
        if self.geometry and len(self.geometry.module) != len(self.gain_maps):
            raise ConfigError(
                f"the geometry {self.geometry.name} has {len(self.geometry.module)} modules, there are gain maps of "
                f"{len(self.gain_maps)}: give --gain-maps once for each module, in module order"
            )
        if len(self.unused) == len(self.gain_maps):
            raise ConfigError(f"all of {len(self.gain_maps)} modules are given as bad: nothing is left to calibrate")
        check_no_input(self.output, self.inputs)

    @property
    def unused(self) -> tuple[int, ...]:
        """Modules that are given as bad, or masked by the geometry."""
        masked = [i for i, place in enumerate(self.geometry.module) if place.masked] if self.geometry else []
        return tuple(sorted({*self.bad_modules, *masked}))

    @property
    def inputs(self) -> list[Path]:
        """All files that are read."""
        return [*self.gain_maps, *self.darks.values(), *([self.pedestals] if self.pedestals else [])]


def run(options: MakeOptions, console: Console) -> None:
    """Make the file, and print what is in it. Raises FramelaneError for bad input, and writes nothing then."""
    sources: list[Source] = []
    with Stages(console) as stages:
        with stages.stage("reading gain maps"):
            maps = GainMaps(options.gain_maps)
            sources += [Source.of(path, f"gain map of module {i}") for i, path in enumerate(maps.paths)]
        pedestals: dict[Stage, StagePedestal] = {}
        by_mode: set[Stage] = set()
        if options.pedestals:
            with stages.stage(f"reading {options.pedestals}"):
                pedestals = _from_file(options, options.pedestals, maps)
                taken = [stage for stage in pedestals if stage not in options.darks]
                sources.append(Source.of(options.pedestals, f"pedestals of {', '.join(taken) or 'no stage'}"))
        for stage, path in options.darks.items():
            with stages.stage(f"averaging {path}"):
                result, source = _from_dark(options, stage, path, maps)
                pedestals[stage] = result.pedestal
                sources.append(source)
                if result.by_mode:
                    by_mode.add(stage)
        if not {Stage.G0, Stage.HG0} <= by_mode:
            _refuse_same_run(options, sources)
        sets = _sets(options, pedestals, maps)
        with stages.stage(f"writing {options.output}"):
            write_sets(options.output, sets, Provenance.now(options.command, tuple(sources)))
    if not any(each.calibration.high_gain for each in sets) and Stage.HG0 in pedestals:
        say(console, f"{options.pedestals} has HG0, the gain maps have not: there is no calibration of the high gain")
    calibration_show.run(options.output, console)


def _from_dark(options: MakeOptions, stage: Stage, path: Path, maps: GainMaps) -> tuple[DarkResult, Source]:
    with RawFrames(path, options.dataset) as frames:
        _check_shape(path, (frames.rows, frames.columns), maps)
        result = measure(frames, stage, options.limits, options.unused)
        begun = frames.begun
    return result, Source.of(path, f"dark run of {stage}", begun, result.frames, result.used)


def _from_file(options: MakeOptions, path: Path, maps: GainMaps) -> dict[Stage, StagePedestal]:
    found = read_pedestals(path, options.unused)
    for pedestal in found.values():
        _check_shape(path, pedestal.mean.shape, maps)
    return found


def _check_shape(path: Path, shape: tuple[int, ...], maps: GainMaps) -> None:
    if shape != maps.shape:
        modules = shape[0] / MODULE_ROWS
        raise InputError(
            f"{path} has {shape[0]} x {shape[1]} pixels ({modules:g} modules), the {len(maps.paths)} gain maps are for "
            f"{maps.shape[0]} x {maps.shape[1]}: give --gain-maps once for each module, in module order"
        )


def _refuse_same_run(options: MakeOptions, sources: list[Source]) -> None:
    """The words of G0 and HG0 are alike: one run given for both, that does not say its modes, would pass all checks."""
    pair = [options.darks.get(stage) for stage in (Stage.G0, Stage.HG0)]
    hashes = [source.sha256 for source in sources if source.role in ("dark run of G0", "dark run of HG0")]
    if len(hashes) == 2 and hashes[0] == hashes[1]:
        raise InputError(
            f"{pair[0]} and {pair[1]} are the same run, which does not say its gain modes: G0 and HG0 need one each"
        )


def _sets(options: MakeOptions, pedestals: Mapping[Stage, StagePedestal], maps: GainMaps) -> list[CalibrationSet]:
    """The gain modes whose stages are all there: the normal one first."""
    missing = [stage for stage in (Stage.G1, Stage.G2) if stage not in pedestals]
    if Stage.G0 not in pedestals and Stage.HG0 not in pedestals:
        missing.insert(0, Stage.G0)
    if missing:
        wanted = ", ".join(f"{stage.option}" for stage in missing)
        raise InputError(f"there are no pedestals of {', '.join(missing)}: give {wanted}, or --pedestals")
    sets = []
    for stages in (NORMAL, HIGH_GAIN):
        high_gain = stages is HIGH_GAIN
        asked = stages[0] in options.darks or not high_gain or Stage.G0 not in pedestals
        if stages[0] in pedestals and (asked or maps.high_gain):
            gains = maps.gains(high_gain, options.mask_bad_gains, options.unused)
            sets.append(combine(pedestals, gains, options.energy_kev, high_gain))
    return sets
