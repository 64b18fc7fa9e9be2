"""The HDF5 sink: images, the record of every frame, and what is known of the experiment."""

import contextlib
from dataclasses import asdict
from pathlib import Path

import numpy as np

from framelane.base.claim import Claim
from framelane.base.errors import InputOptionError
from framelane.base.real_time import iso
from framelane.files.forgiving import ForgivingFile
from framelane.files.growing_hdf5 import GrowingHdf5
from framelane.files.reserving import ReservingFile
from framelane.receiver.pipeline.judging import Judging
from framelane.receiver.pipeline.random_share import RandomShare
from framelane.receiver.pipeline.result import Result
from framelane.receiver.ring.receiver import ReceivedFrame
from framelane.receiver.ring.tally import Tally
from framelane.receiver.sinks import nxmx
from framelane.receiver.sinks.description import Description
from framelane.receiver.sinks.file_options import FileOptions
from framelane.receiver.sinks.judged_frames import JudgedFrames
from framelane.receiver.sinks.peak_table import table_bytes
from framelane.receiver.sinks.pixel_form import RAW, form_of
from framelane.session.session import Session

_CACHE_BYTES = 1 << 20
"""So much of each dataset waits to be written, and one image: all of it has to fit what is reserved."""
_COMPRESSED = 1.02
"""What cannot be compressed grows by less."""


class Hdf5Sink(GrowingHdf5):
    """Writes the file `path`, which appears with its first frames and can be read at any moment; see `GrowingHdf5`.

    `/entry/data/data` is (frames, rows, columns), an image a chunk, bitshuffle and LZ4; beside it, readable without
    their plugin, are a frame's number, time, counts and verdict. A rejected frame has these and no image: its pixels
    all read as holes. A timestamp or bunch id that did not arrive reads 0, the detector's number `UNKNOWN_FRAME`.
    `/entry/sparse` has the rows of accepted frames where the pipeline makes them: those of row r of frame f are at
    `pointers[f, r]` to `pointers[f, r + 1]` of `columns` and `values`. `/entry/result_1` has the places of Bragg peaks.

    `judging` is that of the results, None where nothing is counted, and `share` the rejected frames that are kept: both
    are said in the file, so that `VerdictFile` can replay the verdicts. Every result has the counts of `judging.rungs`,
    and with `judging.bragg` its verdict is on Bragg peaks. With `sparse` there are sparse rows from the beginning, else
    from the first frame that has them. With `whole` it appears when it is closed. In a `Series`, `before` is the file
    of the frames before: pointers go on there.

    `photon_energy_kev` is None where it is not known: the images of a session of raw pixels are raw words then, those
    of a corrected one photons all the same. `description` is of the experiment: with enough of it the file is NXmx. The
    run is to be of `frames`, where that is known; those of a capture were `taken` from one moment to another, ns since
    1970, where it tells, and each says when (`nxmx.CAPTURED`). With `reserve` room is held back on the disk: when that
    is `full`, the frame that found it so is written all the same, and the file can be closed. An older file is replaced
    only with `force`; `path` may be the claim to it that the caller holds. InputError when it cannot be written.
    """

    def __init__(
        self,
        path: Path | Claim,
        session: Session,
        *,
        photon_energy_kev: float | None = None,
        description: Description | None = None,
        options: FileOptions | None = None,
        frames: int | None = None,
        taken: tuple[int, int] | None = None,
        judging: Judging | None = None,
        share: RandomShare | None = None,
        reserve: bool = False,
        sparse: bool = False,
        whole: bool = False,
        before: "Hdf5Sink | None" = None,
        force: bool = False,
    ) -> None:
        self._session, self._reserve = session, reserve
        self._peak_bytes = table_bytes(judging.bragg.limit) if judging and judging.bragg else 0
        self._options = options or FileOptions()
        self._description = description or Description(
            metadata=self._options.metadata, shape=(session.rows, session.columns), photon_energy_kev=photon_energy_kev
        )
        raw = session.pixels == "raw" and photon_energy_kev is None
        if raw and self._options.photons_as:
            raise InputOptionError(
                "raw words are not photons and cannot be written as {photons_as} {0}: give {calibration} as well",
                self._options.photons_as,
            )
        self._form = RAW if raw else form_of(self._options.photons_as, session.fraction_bits)
        self._taken = (iso(taken[0]), iso(taken[1])) if taken else None
        super().__init__(path, whole=whole, force=force, rdcc_nbytes=_CACHE_BYTES)
        with contextlib.ExitStack() as undo:
            undo.callback(self.discard)
            self._make(frames, judging, share, sparse, before)
            undo.pop_all()

    def _make(
        self,
        frames: int | None,
        judging: Judging | None,
        share: RandomShare | None,
        sparse: bool,
        before: "Hdf5Sink | None",
    ) -> None:
        session = self._session
        self._entry = nxmx.make_entry(self.file)
        nxmx.begin(self._entry, frames, self._options.metadata.frame_time_s, self._taken)
        units = "ADU words" if self._form is RAW else session.unit
        nxmx.make_data(self._entry, session, self._form, units, self._options.checksum)
        self._judged = JudgedFrames(
            self._entry,
            unit=session.unit,
            records=[name for name in nxmx.RECORD if self._taken or name != nxmx.CAPTURED],
            fraction_bits=session.fraction_bits,
            judging=judging,
            share=share,
            sparse=sparse,
            first_value=before.values if before else 0,
            clock=self._options.metadata.clock,
        )
        self._description.write(self._entry, self._form, self._options.checksum)

    @property
    def full(self) -> str | None:
        """Why no more frames can be written, where room is reserved; those that were can be kept."""
        return self._disk.full.strerror if isinstance(self._disk, ReservingFile) and self._disk.full else None

    @property
    def filled(self) -> bool:
        """Whether what follows should go to another file."""
        return not self._whole and self._judged.filled

    @property
    def values(self) -> int:
        """How many values the sparse rows have, with those of the files before."""
        return self._judged.values

    def write(self, frame: ReceivedFrame, result: Result) -> None:
        """Append one frame. What it needs of `result` is copied."""
        record = {
            "frame_number": frame.number,
            "timestamp_ns": frame.timestamp_ns or 0,
            "time_flags": frame.time_flags,
            "bunch_id": frame.bunch_id or 0,
            "detector_frame": _detector_frame(frame),
            "complete": frame.complete,
        }
        if self._taken:
            record[nxmx.CAPTURED] = frame.captured_ns or 0
        with self.changing():
            self._judged.append(record, result, self._form(result.image) if result.verdict.accepted else None)
        self.check()

    def retract(self) -> None:
        """Take the last frame out again: its slot was overwritten while it was read. Not twice in a row."""
        with self.changing():
            self._judged.retract()

    def note_loss(self, tally: Tally) -> None:
        """Say what became of all frames of the run, in `/entry/loss`. Before the file is closed, once."""
        with self.changing():
            loss = self._entry.create_group("loss")
            loss.attrs.update({name: np.uint64(count) for name, count in asdict(tally).items()})
        self.check()

    def _complete(self) -> None:
        self._judged.complete()

    def _end(self) -> None:
        self._complete()
        self._entry["end_time"] = self._taken[1] if self._taken else nxmx.now()

    def _open(self, path: Path) -> ForgivingFile:
        """The file, beside room for two images, and for one of which every pixel is in sparse rows, of 6 bytes each."""
        if not self._reserve:
            return super()._open(path)
        pixels, rows = self._session.rows * self._session.columns, 8 * (self._session.rows + 1)
        images = (2 * self._form.dtype.itemsize + 6) * pixels
        return ReservingFile(path, round(_COMPRESSED * (images + rows + self._peak_bytes)))


def _detector_frame(frame: ReceivedFrame) -> int:
    """The detector's own number, of the first source that tells."""
    return next((t.detector_frame for t in frame.trailers if t), nxmx.UNKNOWN_FRAME)
