"""The geometry of a detector in the files of other programs: CrystFEL's .geom, pyFAI's .poni."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from framelane.base.any_path import AnyPath
from framelane.base.errors import InputError, InputOptionError
from framelane.base.output import check_free, check_no_input
from framelane.base.part_file import PartFile
from framelane.files.new_hdf5 import NewHdf5
from framelane.models.jungfrau.jf_correct import MAX_VALUE
from framelane.models.jungfrau.jf_geometry import Geometry
from framelane.models.jungfrau.jf_packet import MODULE_COLUMNS, MODULE_ROWS
from framelane.models.jungfrau.jf_panels import PIXEL_M, Panel
from framelane.models.jungfrau.jf_scene import CHIP
from framelane.receiver.geometry.describe import describe
from framelane.receiver.geometry.geometry_file import load
from framelane.receiver.pipeline.correction import Unit
from framelane.receiver.sinks import nxmx
from framelane.receiver.sinks.description import Description
from framelane.session.metadata import KEV_ANGSTROM, Metadata

Images = Literal["assembled", "stacked"]
_PACKED: dict[str, Any] = {"compression": "gzip", "compression_opts": 1, "shuffle": True}
_NEEDED = "distance_mm", "beam_x", "beam_y", "energy_kev"


def export_geometry(
    path: AnyPath,
    geometry: str | Geometry,
    metadata: Metadata,
    *,
    images: Images = "assembled",
    unit: Unit = "photons",
    force: bool = False,
) -> list[Path]:
    """Write the geometry to `path`: a CrystFEL geometry if that ends with .geom, a calibration of pyFAI with .poni.

    It is for `images` that are assembled, as `correct_file` makes them with this geometry, or for frames as they come,
    whose modules are stacked. Their values are in `unit`, which a .geom says: photons of the energy in `metadata`, or
    keV. A .poni of these needs a detector file beside it, which is written too: the files that
    were written are returned. Older files are replaced only with `force`, an input never. InputError where `metadata`
    lacks distance, beam or energy, or a file cannot be written.
    """
    target, placed = Path(path), load(geometry) if isinstance(geometry, str) else geometry
    inputs = [*metadata.files, *([Path(geometry)] if isinstance(geometry, str) else [])]
    check_no_input(target, inputs)
    if missing := [f"{{{name}}}" for name in _NEEDED if name not in _known(metadata)]:
        raise InputOptionError(f"a geometry needs {', '.join(missing)}: give what is missing")
    stack = len(placed.module) * MODULE_ROWS, MODULE_COLUMNS
    shape = stack if images == "stacked" else (placed.rows, placed.columns)
    described = describe(metadata, shape, geometry=placed)
    if target.suffix == ".geom":
        _write_text(target, force, "\n".join(_crystfel(described, unit)))
        return [target]
    if target.suffix != ".poni":
        raise InputError(f"{target} says not for which program it is: give a name that ends with .geom or .poni")
    if images == "assembled":
        of_all = {"pixel1": PIXEL_M, "pixel2": PIXEL_M, "max_shape": shape}
        _write_text(target, force, _poni(described, "Detector", of_all))
        return [target]
    detector = target.with_suffix(".detector.h5")
    check_no_input(detector, inputs)
    check_free(target, force=force)
    _write_detector(detector, described, force)
    _write_text(target, force, _poni(described, "NexusDetector", {"filename": str(detector.resolve())}))
    return [target, detector]


def _known(metadata: Metadata) -> set[str]:
    return {*metadata.given} | ({"energy_kev"} if metadata.photon_energy_kev else set())


def _write_text(path: Path, force: bool, text: str) -> None:
    try:
        with PartFile(path, force=force) as part:
            part.path.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}: make room there, or give another file") from error


def _crystfel(described: Description, unit: Unit) -> Iterator[str]:
    """CrystFEL's manual page crystfel_geometry(5): z along the beam, y up, x to the left; corners in pixels."""
    given, energy = described.metadata, described.photon_energy_kev
    assert given.distance_mm is not None
    assert given.beam_x is not None
    assert given.beam_y is not None
    assert energy is not None
    yield f"; {described.detector}, of framelane: for images of {described.shape[0]} x {described.shape[1]} pixels"
    yield f"photon_energy = {energy * 1e3:.12g}"
    yield f"clen = {given.distance_mm / 1e3:.12g}"
    yield f"res = {1 / PIXEL_M:.9f}"
    yield "adu_per_photon = 1" if unit == "photons" else "adu_per_eV = 0.001"
    yield from ("data = /entry/data/data", "dim0 = %", "dim1 = ss", "dim2 = fs")
    yield from ("mask = /entry/instrument/detector/pixel_mask", "mask_good = 0x0", "mask_bad = 0xffff")
    yield "peak_list = /entry/result_1"
    yield from (f"flag_lessthan = {-MAX_VALUE}", f"flag_morethan = {MAX_VALUE}")
    for panel in described.panels or ():
        x, y = given.beam_x - panel.corner[0], given.beam_y - panel.corner[1]
        yield ""
        yield f"{panel.name}/min_fs = {panel.column}"
        yield f"{panel.name}/max_fs = {panel.column + panel.columns - 1}"
        yield f"{panel.name}/min_ss = {panel.row}"
        yield f"{panel.name}/max_ss = {panel.row + panel.rows - 1}"
        yield f"{panel.name}/corner_x = {x:.6f}"
        yield f"{panel.name}/corner_y = {y:.6f}"
        yield f"{panel.name}/fs = {-panel.fast[0]:+.1f}x {-panel.fast[1]:+.1f}y"
        yield f"{panel.name}/ss = {-panel.slow[0]:+.1f}x {-panel.slow[1]:+.1f}y"


def _poni(described: Description, detector: str, config: dict[str, object]) -> str:
    """pyFAI's calibration, version 2.1 (pyFAI.io.ponifile): the foot of the normal from the sample, SI units."""
    given, energy = described.metadata, described.photon_energy_kev
    assert given.distance_mm is not None
    assert given.beam_x is not None
    assert given.beam_y is not None
    assert energy is not None
    lines = {
        "poni_version": "2.1",
        "Detector": detector,
        "Detector_config": json.dumps({**config, "orientation": 3}),
        "Distance": f"{given.distance_mm / 1e3:.12g}",
        "Poni1": f"{given.beam_y * PIXEL_M:.12g}",
        "Poni2": f"{given.beam_x * PIXEL_M:.12g}",
        **dict.fromkeys(("Rot1", "Rot2", "Rot3"), "0"),
        "Wavelength": f"{KEV_ANGSTROM / energy * 1e-10:.12g}",
    }
    return "\n".join(f"{name}: {value}" for name, value in lines.items())


def _write_detector(path: Path, described: Description, force: bool) -> None:
    """A detector of pyFAI (NexusDetector): where the corners of each pixel are, large ones too."""
    rows, columns = described.shape
    corners = np.zeros((rows, columns, 4, 3), np.float32)
    for panel in described.panels or ():
        part = corners[panel.row : panel.row + panel.rows, panel.column : panel.column + panel.columns]
        part[..., 1:] = _corners(panel)
    with NewHdf5(path, force=force) as new:
        entry = nxmx.make_entry(new.file)
        entry["start_time"] = nxmx.now()  # without it pyFAI sees no entry
        instrument = nxmx.group(entry, "instrument", "NXinstrument")
        detector = nxmx.group(instrument, "detector", "NXdetector")
        detector["pixel_size"], detector["IS_FLAT"], detector["IS_CONTIGUOUS"] = [PIXEL_M, PIXEL_M], True, False
        detector["max_shape"] = detector["shape"] = described.shape
        detector["orientation"], detector["API_VERSION"] = 3, "1.0"
        detector.create_dataset("pixel_corners", data=corners, chunks=(1, columns, 4, 3), **_PACKED)
        if described.mask is not None:
            detector["mask"] = (described.mask & 0xFFFF != 0).astype(np.int8)


def _corners(panel: Panel) -> NDArray[np.float64]:
    """y and x of the four corners of each pixel, m: as they come going round, (rows, columns, 4, 2)."""
    along_rows = _edges(panel.row % MODULE_ROWS, panel.rows, MODULE_ROWS)
    along_columns = _edges(panel.column, panel.columns, MODULE_COLUMNS)
    (x_fast, y_fast), (x_slow, y_slow) = panel.fast, panel.slow
    y = panel.corner[1] + along_rows[:, None] * y_slow + along_columns[None, :] * y_fast
    x = panel.corner[0] + along_rows[:, None] * x_slow + along_columns[None, :] * x_fast
    points = np.stack([y, x], axis=-1) * PIXEL_M
    return np.stack([points[:-1, :-1], points[1:, :-1], points[1:, 1:], points[:-1, 1:]], axis=2)


def _edges(first: int, size: int, of: int) -> NDArray[np.float64]:
    """Where the pixels of a panel begin and end, from its corner: those of a chip at another chip are double."""
    made = np.arange(size + 1.0)
    if size == CHIP:
        made[0] -= first > 0
        made[-1] += first + size < of
    return made
