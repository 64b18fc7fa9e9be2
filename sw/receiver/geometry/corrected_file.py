"""Corrected frames of a JUNGFRAU to an HDF5 file, with what is known of the experiment."""

import contextlib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

import framelane
from framelane.calibration.raw_frames import Taken
from framelane.files.new_hdf5 import NewHdf5
from framelane.receiver.pipeline.judging import Judging
from framelane.receiver.pipeline.random_share import RandomShare
from framelane.receiver.pipeline.result import Result
from framelane.receiver.sinks import nxmx
from framelane.receiver.sinks.description import Description
from framelane.receiver.sinks.file_options import FileOptions
from framelane.receiver.sinks.judged_frames import JudgedFrames
from framelane.receiver.sinks.pixel_form import PixelForm

FORMAT = "framelane-corrected-1"
_TIME = "timestamp_ns"
_OF_CORRECTION = "the correction: the input does not say when its frames were taken"


class CorrectedFile(NewHdf5):
    """The file of images of `description`, in `unit`s: `/entry/data/data`, bitshuffle and LZ4; it appears whole.

    Images are int16 or float32, as the correction has them; what stands in the file is `form`. All else is as in the
    file of a receiver: `records` of every frame, names of `nxmx.RECORD`, and what `judging` asks for (`JudgedFrames`);
    `share` are the rejected frames that are kept. It has the times at which frames were `taken`, or of the correction
    where nothing is known of them: attributes `by` say which. Where only the start is known it has no `end_time`.
    """

    def __init__(
        self,
        path: Path,
        description: Description,
        form: PixelForm,
        *,
        records: Collection[str],
        judging: Judging,
        unit: str = "photons",
        share: RandomShare | None = None,
        options: FileOptions | None = None,
        taken: Taken | None = None,
        force: bool = False,
    ) -> None:
        super().__init__(path, force=force)
        options = options or FileOptions()
        self._form, self._taken = form, taken
        with contextlib.ExitStack() as undo:
            undo.callback(self.discard)
            self.file.attrs.update({"format": FORMAT, "program": f"framelane {framelane.__version__}"})
            self.file.attrs["begun"] = nxmx.now()
            entry = nxmx.make_entry(self.file)
            self._begin(entry)
            nxmx.make_images(entry, description.shape, form, options.checksum, units=unit)
            description.write(entry, form, options.checksum)
            self._judged = JudgedFrames(
                entry,
                unit=unit,
                records=[name for name in nxmx.RECORD if name in records or name not in nxmx.OF_SOURCE],
                judging=judging,
                share=share,
                sparse=judging.sparse is not None,
                clock=options.metadata.clock,
            )
            undo.pop_all()

    def write(self, record: Mapping[str, Any], result: Result, image: NDArray[Any] | None = None) -> None:
        """Append one frame with its `records`. Its `image` is that of the result, where no other is given."""
        self._judged.append(record, result, self._form(result.image if image is None else image))
        self.check()

    def _begin(self, entry: Any) -> None:
        if self._taken is None:
            nxmx.begin(entry)
            entry["start_time"].attrs["by"] = _OF_CORRECTION
            return
        start, end, start_by, end_by = self._taken
        nxmx.begin(entry, taken=(start, end or start))
        entry["start_time"].attrs["by"] = start_by
        entry["end_time_estimated"].attrs["by"] = end_by if end else "the start: the end is not known"

    def _end(self) -> None:
        self._judged.complete()
        end, by = (self._taken.end, self._taken.end_by) if self._taken else (nxmx.now(), _OF_CORRECTION)
        if end is not None:
            self.file["entry/end_time"] = end
            self.file["entry/end_time"].attrs["by"] = by
        self.file.attrs["ended"] = nxmx.now()
