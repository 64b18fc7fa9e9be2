"""`framelane calibration show`: what a calibration holds, and where it comes from."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich import box
from rich.console import Console
from rich.table import Table

from framelane.base.progress import say
from framelane.calibration.calibration_file import CalibrationFile
from framelane.calibration.provenance import Provenance
from framelane.calibration.stage_pedestal import HIGH_GAIN, NORMAL, Reason


def run(path: Path, console: Console) -> None:
    """Print it. Raises InputError for a file that is not a calibration."""
    with CalibrationFile(path) as file:
        provenance = file.provenance
        modes = [file.high_gain] + ([True] if file.has_high_gain and not file.high_gain else [])
        say(console, f"{path}: {file.rows} x {file.columns} pixels, {file.photon_energy_kev:g} keV a photon")
    for high_gain in modes:
        with CalibrationFile(path, high_gain) as file:
            _show_stages(file, console)
    if provenance is None:
        say(console, "no provenance: the file does not say where its numbers come from")
    else:
        _show_provenance(provenance, console)


def _show_stages(file: CalibrationFile, console: Console) -> None:
    stages = HIGH_GAIN if file.high_gain else NORMAL
    table = Table(title="high gain" if file.high_gain else "normal gain", box=box.SIMPLE, title_justify="left")
    for name in ("median of pixels in use", *stages):
        table.add_column(name, justify="left" if name not in stages else "right")
    usable, reasons = file.calibration.usable, file.mask_reasons
    for name, planes, digits in (
        ("pedestal, ADU", file.pedestal_adu, 1),
        ("rms, ADU", file.rms_adu, 2),
        ("gain, ADU/keV", file.gain_adu_per_kev, 4),
        ("frames", file.count, 0),
    ):
        table.add_row(name, *(_median(plane, used, digits) for plane, used in zip(planes, usable, strict=True)))
    table.add_row("masked pixels", *(str(np.count_nonzero(~used)) for used in usable))
    for reason in Reason:
        counts = [np.count_nonzero(plane & reason.bit) for plane in reasons]
        if any(counts):
            table.add_row(f"  {reason.words}", *map(str, counts))
    console.print(table)


def _median(plane: NDArray[np.float32] | NDArray[np.uint32], used: NDArray[np.bool_], digits: int) -> str:
    """The median of the pixels in use; a dash where that is not known."""
    values = plane[used]
    if not values.size or np.isnan(median := float(np.median(values))) or (not digits and not median):
        return "-"
    return f"{median:.{digits}f}"


def _show_provenance(provenance: Provenance, console: Console) -> None:
    say(console, f"made {provenance.created} by framelane {provenance.version}:")
    say(console, f"  {provenance.command}")
    for source in provenance.sources:
        frames = f", {source.used} of {source.frames} frames" if source.frames else ""
        begun = f", recorded {source.begun}" if source.begun else ""
        say(console, f"{source.role}: {source.name}{frames}{begun}, {source.size} bytes of {source.modified}")
        say(console, f"  SHA-256 {source.sha256}")
