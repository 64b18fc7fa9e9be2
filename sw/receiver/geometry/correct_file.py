"""A file of raw frames to one of photons, module by module or as the detector's image."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from framelane.base.any_path import AnyPath
from framelane.base.errors import InputError, OptionError
from framelane.base.output import check_no_input
from framelane.base.telling import Progress, tell_nobody
from framelane.calibration.gain_mode import GainMode, open_calibration
from framelane.calibration.raw_frames import RawFrames
from framelane.files.linked_files import with_linked
from framelane.models.jungfrau.jf_calibration import Calibration
from framelane.models.jungfrau.jf_geometry import Geometry
from framelane.models.peaks.peak_settings import Panel
from framelane.receiver.geometry.assembly import Assembly
from framelane.receiver.geometry.assembly_map import DoublePixels
from framelane.receiver.geometry.corrected_file import CorrectedFile
from framelane.receiver.geometry.describe import describe
from framelane.receiver.geometry.geometry_file import load
from framelane.receiver.pipeline.corrected import CorrectedImages
from framelane.receiver.pipeline.correction import Correction, Unit
from framelane.receiver.pipeline.judging_options import JudgingOptions
from framelane.receiver.pipeline.veto import Reason
from framelane.receiver.sinks import nxmx
from framelane.receiver.sinks.file_options import FileOptions
from framelane.receiver.sinks.mask_bits import DEAD
from framelane.receiver.sinks.pixel_form import PixelForm, form_of


class CorrectedFrames(NamedTuple):
    """What became of the frames of a file."""

    corrected: int
    left_out: int
    """Frames whose `is_good_frame` is 0."""
    reasons: Counter[Reason]
    """How many of the others had which verdict."""


def correct_file(
    input: AnyPath,
    calibration: AnyPath,
    output: AnyPath,
    *,
    geometry: str | Geometry | None = None,
    double_pixels: DoublePixels | None = None,
    output_type: Literal["int16", "float32"] | None = None,
    unit: Unit = "photons",
    gain_mode: GainMode | None = None,
    dataset: str | None = None,
    judging: JudgingOptions | None = None,
    options: FileOptions | None = None,
    force: bool = False,
    progress: Progress = tell_nobody,
) -> CorrectedFrames:
    """Correct the raw frames of the HDF5 file `input` (docs/howto/calibration.md) into the HDF5 file `output`.

    With a `geometry`, one of the package by its name, a file, or `read_geometry`'s, modules are assembled into images,
    where `double_pixels` at chip borders are kept, masked or split. `gain_mode` is of frames that do not say it
    themselves, `dataset` is found where it is not given. Images are counted and judged as `judging` says, in whole
    `unit`s, and recorded as a receiver does (docs/reference/files.md): the same frames get the same verdicts. A number
    that a file does not give is the frame's place in it. `output_type` is int16 with codes, or float32 with NaN;
    `options.photons_as` chooses another type for readers who do not know codes, float32 being the same. An older
    `output` is replaced only with `force`. ConfigError for what cannot be; InputError for files that are not usable, or
    do not go together: nothing is left behind then.
    """
    judging, options = judging or JudgingOptions(), options or FileOptions()
    kind, form = _form(output_type, options)
    path, target = Path(input), Path(output)
    if double_pixels is not None and geometry is None:
        raise OptionError("{double_pixels} is for assembled images: give {geometry} as well")
    given = [Path(geometry)] if isinstance(geometry, str) else []
    check_no_input(target, with_linked([path, Path(calibration), *given, *options.metadata.files]))
    with RawFrames(path, dataset) as file:
        _check(file)
        constants = _calibration(Path(calibration), gain_mode, file)
        progress("prepare the correction", 0, 0)
        correct = Correction(constants, "int16", unit)
        exact = Correction(constants, "float32", unit) if kind == "float32" else None
        geometry = load(geometry) if isinstance(geometry, str) else geometry
        arrange, shape, mask = _arrangement(geometry, double_pixels, constants)
        description = describe(
            options.metadata, shape, photon_energy_kev=constants.photon_energy_kev, geometry=geometry, mask=mask
        )
        asked, share = judging.judging(shape, panels=_panels(geometry)), judging.share
        judge = CorrectedImages(shape, asked)
        known, reasons = _records(file), Counter[Reason]()
        with CorrectedFile(
            target,
            description,
            form,
            unit=unit,
            records=[*known, "complete"],
            judging=asked,
            share=share,
            options=options,
            taken=file.taken(options.metadata.clock),
            force=force,
        ) as sink:
            for turn, first in enumerate(file.starts):
                progress(f"correct: {file.path.name}", turn, len(file.starts))
                indices, raw = file.batch(first)
                if not indices.size:
                    continue
                images = arrange(correct(raw))
                shown = arrange(exact(raw)) if exact else images
                for index, image, written in zip(indices, images, shown, strict=True):
                    record = {name: int(column[index]) for name, column in known.items()}
                    keep = share is not None and share.keeps(record["frame_number"])
                    result = judge(image.view(np.uint16), keep=keep)
                    record.setdefault("complete", not result.counts.holes)
                    sink.write(record, result, written)
                    reasons[result.verdict.reason] += 1
        return CorrectedFrames(file.n_good, file.n_frames - file.n_good, reasons)


def _records(file: RawFrames) -> dict[str, NDArray[np.uint64]]:
    """What is known of every frame, and not by its pixels. A file that says one number only says the detector's."""
    known = {name: column for name, column in file.records().items() if name in nxmx.OF_SOURCE}
    if "detector_frame" not in known and "frame_number" in known:
        known["detector_frame"] = known["frame_number"]
    known.setdefault("frame_number", np.arange(file.n_frames, dtype=np.uint64))
    return known


def _panels(geometry: Geometry | None) -> list[Panel] | None:
    """Where modules lie in the image: no Bragg peak crosses their borders. None where they lie as in the raw frame."""
    if geometry is None:
        return None
    return [Panel(module.y, module.x, *module.shape) for module in geometry.module if not module.masked]


def _form(
    output_type: Literal["int16", "float32"] | None, options: FileOptions
) -> tuple[Literal["int16", "float32"], PixelForm]:
    """What the correction makes, and what stands in the file. Floats are not clipped, each but NaN counts photons."""
    if output_type and options.photons_as:
        raise OptionError("{output_type} and {photons_as} are both types of the pixels: give one of them")
    if output_type == "float32" or options.photons_as == "float32":
        every = np.finfo(np.float32)
        return "float32", replace(form_of("float32"), lowest=float(every.min), highest=float(every.max))
    return "int16", form_of(options.photons_as)


def _check(file: RawFrames) -> None:
    """Refuse frames that no one calibration fits."""
    if len(file.gain_modes) > 1:
        raise InputError(f"{file.path} has frames in high gain and others: record them apart")
    if len(file.storage_cells) > 1:
        raise InputError(
            f"{file.path} has frames of the storage cells {', '.join(map(str, file.storage_cells))}, each of which has "
            "its own pedestals, and a calibration those of one: record them apart"
        )


def _calibration(path: Path, gain_mode: GainMode | None, file: RawFrames) -> Calibration:
    """The calibration of the frames' gain mode, after a check that it is of this detector."""
    with open_calibration(path, gain_mode, file.path, file.high_gain) as source:
        if (source.rows, source.columns) != (file.rows, file.columns):
            raise InputError(
                f"{source.path} is for {source.rows} x {source.columns} pixels, the frames of {file.path} have "
                f"{file.rows} x {file.columns}: give the calibration of this detector"
            )
        return source.calibration


def _arrangement(
    geometry: Geometry | None, double_pixels: DoublePixels | None, calibration: Calibration
) -> tuple[Callable[[NDArray[Any]], NDArray[Any]], tuple[int, int], NDArray[np.uint32]]:
    """What turns corrected frames into images, the shape of an image, and its pixel mask."""
    usable = calibration.usable[0]
    if geometry is None:
        return (lambda frames: frames), usable.shape, np.where(usable, np.uint32(0), np.uint32(DEAD))
    assembly = Assembly(geometry, double_pixels or "keep")
    assembly.check(usable.shape)
    return assembly, assembly.shape, assembly.pixel_mask(usable)
