"""Raw frames of a JUNGFRAU to an HDF5 file, as they came; `recorded_file` reads it.

| dataset at the root | shape                         | type   |                                                    |
|---------------------|-------------------------------|--------|----------------------------------------------------|
| `raw`               | (frames, modules * 512, 1024) | uint16 | words; 0x8000: the pixel did not come              |
| `frame_number`      | (frames)                      | uint64 |                                                    |
| `bunch_id`          | (frames)                      | uint64 | of the first module of which anything came         |
| `timestamp_ns`      | (frames)                      | uint64 | since the measurement began, at most; of the same  |
| `captured_ns`       | (frames)                      | uint64 | of a capture: when the last packet came, since 1970 |
| `exposure_ns`       | (frames)                      | uint64 | of the same module                                 |
| `holes`             | (frames)                      | uint32 | pixels that did not come                           |
| `guarded`           | (frames)                      | uint32 | words of gain code 10, which became 0xFFFF         |
| `packets`           | (frames, modules)             | uint16 | packets that came, of 128, or 256 of two rows      |
| `module_id`         | (frames, modules)             | uint16 | here and below 0 where nothing came                |
| `high_gain`         | (frames, modules)             | bool   | HG0 instead of G0                                  |
| `storage_cell`      | (frames, modules)             | uint8  | 0..15                                              |
"""

from pathlib import Path
from typing import Any, Self

import hdf5plugin
import numpy as np

from framelane.base.claim import Claim
from framelane.base.errors import InputError
from framelane.base.real_time import iso
from framelane.files.committed_file import MOST_CHUNKS
from framelane.files.reserving import ReservingFile
from framelane.files.series import Series
from framelane.models.jungfrau.jf_packet import MODULE_COLUMNS, MODULE_ROWS, TICK_NS, JfHeader
from framelane.models.placement.slots import HOLE_WORD
from framelane.receiver.jungfrau.detector_frame import DetectorFrame
from framelane.receiver.jungfrau.frame_file import Columns, FrameFile
from framelane.receiver.sinks import nxmx
from framelane.receiver.sinks.pixel_form import RAW
from framelane.receiver.transport.capture_times import CaptureTimes

FORMAT = "framelane-raw-1"
_NOTHING = JfHeader(frame_number=0)


class Recorder:
    """Records frames of `modules` modules. `compress`: bitshuffle and LZ4, with checksums; to three quarters.

    The file `path` appears with its first frames and can be read at any moment; when it is full it becomes a `Series`.
    What a detector sent cannot be taken again: where the block ends with an error, the frames so far are kept, or,
    where it is the disk that fails, those that were committed. An older file is replaced only with `force`. InputError
    where it cannot be written.
    """

    def __init__(
        self,
        path: Path,
        modules: int,
        compress: bool = False,
        *,
        times: CaptureTimes | None = None,
        force: bool = False,
    ) -> None:
        self.frames = 0
        self._closed = self._failed = False
        self._files = Series(path, lambda part, before: RawFile(part, modules, compress, times), force=force)

    @property
    def full(self) -> str | None:
        """Why nothing more can be written, once the disk is full; what was written can be kept."""
        return self._files.current.full

    def write(self, frame: DetectorFrame, captured_ns: int | None = None) -> None:
        """Append one frame, with when it was captured where there are `times`.

        InputError where the disk has failed, or has gone: no more can be written then.
        """
        try:
            self._files.file.write(frame, captured_ns)
        except InputError:
            self._failed = not self._files.stopped
            raise
        self.frames += 1

    def close(self) -> None:
        """End the file. InputError where the disk does not take it; what was committed stays."""
        if not (self._closed or self._failed):
            self._closed = True
            self._files.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *error: object) -> None:
        try:
            if self.frames or kind is None:
                self.close()
        finally:
            self._files.leave()


class RawFile(FrameFile):
    """One file of a recording."""

    _disk: ReservingFile

    def __init__(
        self, path: Path | Claim, modules: int, compress: bool = False, times: CaptureTimes | None = None
    ) -> None:
        self._modules, self._captured = modules, times is not None
        self._frame_bytes = modules * MODULE_ROWS * MODULE_COLUMNS * 2
        taken = (iso(times.first_ns), iso(times.last_ns)) if times else None
        super().__init__(path, FORMAT, lambda: self._make(modules, compress), taken)

    @property
    def full(self) -> str | None:
        """See `Recorder`."""
        return self._disk.full.strerror if self._disk.full else None

    def _end(self) -> None:
        if self.full:
            self.file.attrs["fault"] = self.full
        super()._end()

    @property
    def filled(self) -> bool:
        """Whether what follows should go to another file."""
        return self.frames * self._modules >= MOST_CHUNKS

    def _open(self, path: Path) -> ReservingFile:
        return ReservingFile(path, self._frame_bytes)

    def _make(self, modules: int, compress: bool) -> None:
        names = "frame_number", "bunch_id", "timestamp_ns", "exposure_ns", *([nxmx.CAPTURED] if self._captured else [])
        numbers = dict.fromkeys(names, ("u8", ()))
        of_module = {"packets": "u2", "module_id": "u2", "high_gain": "?", "storage_cell": "u1"}
        columns: Columns = {
            **numbers,
            **dict.fromkeys(("holes", "guarded"), ("u4", ())),
            **{name: (dtype, (modules,)) for name, dtype in of_module.items()},
        }
        self.make_records(self.file, columns)
        if self._captured:
            self.file[nxmx.CAPTURED].attrs.update(nxmx.RECORD_ATTRIBUTES[nxmx.CAPTURED])
        shape = (modules * MODULE_ROWS, MODULE_COLUMNS)
        self._raw = self.file.create_dataset(
            "raw",
            (0, *shape),
            "u2",
            maxshape=(None, *shape),
            chunks=(1, MODULE_ROWS, MODULE_COLUMNS),
            fillvalue=np.uint16(HOLE_WORD),
            fletcher32=compress,
            rdcc_nbytes=1,  # no cache: what is written is on the disk, and no more has to go there when that is full
            **(hdf5plugin.Bitshuffle() if compress else {}),
        )
        self._raw.attrs.update({f"code_{name}": np.uint16(code) for name, code in RAW.codes.items()})

    def write(self, frame: DetectorFrame, captured_ns: int | None = None) -> None:
        """See `Recorder`."""
        headers = [header or _NOTHING for header in frame.headers]
        record: dict[str, Any] = {
            "frame_number": frame.number,
            "bunch_id": frame.header.bunch_id,
            "timestamp_ns": frame.timestamp_ns,
            "exposure_ns": frame.header.exposure * TICK_NS,
            "holes": frame.holes,
            "guarded": frame.guarded,
            "packets": frame.packets,
            "module_id": [header.module_id for header in headers],
            "high_gain": [header.high_gain for header in headers],
            "storage_cell": [header.storage_cell for header in headers],
        }
        if self._captured:
            record[nxmx.CAPTURED] = captured_ns or 0
        self.append(self._raw, frame.image, record)
