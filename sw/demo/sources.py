"""Where the frames of a demo come from: a file of real ones, or the simulated detector."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import InputError
from framelane.calibration.calibration_file import CalibrationFile
from framelane.files.recorded_file import RecordedFile
from framelane.models.jungfrau.jf_calibration import Calibration
from framelane.models.jungfrau.jf_correct import STAGE_SHIFT, correct_float, guard
from framelane.models.jungfrau.jf_detector import Detector, DetectorConfig
from framelane.receiver.jungfrau.jungfrau_file import JungfrauFile
from framelane.session.metadata import Metadata

DATA_NAME = "jungfrau_module.h5"
DEFAULT_FRAMES = 6
_G0_TO_G2 = np.array([0, 1, 2, 2], np.uint8)


@dataclass(frozen=True, eq=False, slots=True)
class SourceFrame:
    """One frame to send. `raw` has passed the guard, which replaced `guarded` words that no detector produces.

    `reference` is what its photons should be (floating, rows x columns), NaN where the gain is not known. What it says
    of a pixel that gets a code means nothing.
    """

    raw: NDArray[np.uint16]
    guarded: int
    timestamp_ns: int
    bunch_id: int
    reference: NDArray[np.floating[Any]]


class Source(Protocol):
    """A detector. `name` says which; images are `rows` x `columns` pixels."""

    name: str
    n_frames: int
    rows: int
    columns: int
    calibration: Calibration
    metadata: Metadata
    """What is known of the experiment."""

    def frame(self, number: int) -> SourceFrame:
        """Frame `number`, from 0."""


class FileSource:
    """The first `n_frames` frames of a file; all, but at most 6, where it is None."""

    def __init__(self, file: JungfrauFile, n_frames: int | None) -> None:
        self.name = file.path.name
        self.n_frames = _chosen(file.path, file.n_frames, n_frames)
        self.rows, self.columns = file.rows, file.columns
        self.calibration = file.calibration
        self.metadata = Metadata()
        self._file = file

    def frame(self, number: int) -> SourceFrame:
        """See `Source`. The file has no times: the number stands for the bunch, 500 us apart."""
        raw, guarded = guard(self._file.image(number))
        reference: NDArray[np.floating[Any]] | None = self._file.reference(number)
        if reference is None:
            reference = correct_float(raw, self.calibration).values
        known = np.choose(_G0_TO_G2[raw >> STAGE_SHIFT], self._file.gain_known)
        return SourceFrame(raw, guarded, number * 500_000, number, np.where(known, reference, np.nan))


class RecordedSource:
    """The same of a recorder's file and a calibration of its own. Pixels that did not come are guarded."""

    def __init__(self, file: RecordedFile, calibration: CalibrationFile, n_frames: int | None) -> None:
        if (file.rows, file.columns) != (calibration.rows, calibration.columns):
            raise InputError(
                f"{calibration.path} is for {calibration.rows} x {calibration.columns} pixels, the frames of "
                f"{file.path} have {file.rows} x {file.columns}: give the calibration of this detector"
            )
        self.name = file.path.name
        self.n_frames = _chosen(file.path, file.n_frames, n_frames)
        self.rows, self.columns = file.rows, file.columns
        self.calibration = calibration.calibration
        self.metadata = Metadata()
        self._file, self._known = file, calibration.gain_known
        self._records = file.records()

    def frame(self, number: int) -> SourceFrame:
        """See `Source`. What the file does not say of times is made up, as for `FileSource`."""
        raw, guarded = guard(self._file.images(number, number + 1)[0])
        timestamp, bunch = (self._records.get(name) for name in ("timestamp_ns", "bunch_id"))
        known = np.choose(_G0_TO_G2[raw >> STAGE_SHIFT], self._known)
        return SourceFrame(
            raw,
            guarded,
            number * 500_000 if timestamp is None else int(timestamp[number]),
            number if bunch is None else int(bunch[number]),
            np.where(known, correct_float(raw, self.calibration).values, np.nan),
        )


class SimulatedSource:
    """`n_frames` frames of the simulated detector of `modules` modules, from `seed`."""

    def __init__(self, modules: int, n_frames: int, seed: int) -> None:
        self._detector = Detector(DetectorConfig(modules=modules, seed=seed))
        self.name = f"simulated detector, {modules} module{'s' * (modules > 1)}"
        self.n_frames = n_frames
        self.calibration = self._detector.calibration
        _, self.rows, self.columns = self.calibration.pedestal.shape
        self.metadata = _simulated(modules)

    def frame(self, number: int) -> SourceFrame:
        """See `Source`."""
        frame = self._detector.frame(number)
        raw, guarded = guard(frame.raw)
        reference = correct_float(raw, self.calibration).values
        return SourceFrame(raw, guarded, frame.timestamp_ns, frame.bunch_id, reference)


def _simulated(modules: int) -> Metadata:
    """An experiment for the simulated detector: its beam hits the middle of one module, or of eight as a 4M."""
    centre = {1: (515.0, 257.0), 8: (1034.0, 1082.0)}.get(modules)
    return Metadata(
        distance_mm=100.0,
        **({} if centre is None else {"beam_x": centre[0], "beam_y": centre[1]}),
        material="Si",
        thickness_um=320.0,
        geometry={1: "jungfrau_500k", 8: "jungfrau_4m"}.get(modules),
        sample="simulated",
        source_name="simulated",
        instrument="framelane demo",
        clock="own",
    )


def _chosen(path: Path, available: int, wanted: int | None) -> int:
    """How many frames of a file to send."""
    if wanted is not None and wanted > available:
        raise InputError(f"{path} holds {available} frames, {wanted} are asked for: give a smaller --frames")
    return wanted or min(available, DEFAULT_FRAMES)


def real_frames() -> Path | None:
    """The file of real frames beside the repository, or in the folder FRAMELANE_DATA; None where there is none."""
    folder = os.environ.get("FRAMELANE_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data"
    path = Path(folder) / DATA_NAME
    return path if path.is_file() else None
