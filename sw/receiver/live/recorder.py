"""The frames of a run in an HDF5 file."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Self

from framelane.base.any_path import AnyPath
from framelane.base.output import check_no_input
from framelane.files.series import Series
from framelane.receiver.geometry.describe import describe
from framelane.receiver.gpu.gpu_error import GpuError
from framelane.receiver.live.frame import Frame
from framelane.receiver.live.packet_source import Live
from framelane.receiver.live.reception import Reception
from framelane.receiver.pipeline.veto import Reason
from framelane.receiver.sinks.file_options import FileOptions
from framelane.receiver.sinks.hdf5 import Hdf5Sink
from framelane.session.plan_file import load_metadata


class Recorder:
    """Writes frames of `run` to the file `path` (docs/files.md): live it is there with the first of them and grows.

    Of a capture it appears whole, and nothing of it where the block raises: an older file stays. Where no frame came
    there is none. Where the block raises, a file of frames from the wire is kept, which nobody can
    send again: with all of them, or, where it is the disk that fails, with those that were committed. When the disk is
    full the run is ended, and the file has all frames that fitted; the others are `unwritten`. InputError where `path`
    cannot be written, or is an input of the run.

    What `options` say of the experiment goes before what the run's plan says of it, its table `[metadata]`.
    """

    def __init__(self, run: Reception, path: AnyPath, *, options: FileOptions | None = None) -> None:
        self.path = path = Path(path)
        check_no_input(path, [*run.source.inputs, *run.processing.inputs])
        self.frames = self.unwritten = 0
        self.incomplete: list[int] = []
        """Numbers of the frames in the file that are."""
        self.reasons: Counter[Reason] = Counter()
        self._run, self._writing = run, False
        made, processing = run.prepared, run.processing
        options = _with_plan(options or FileOptions(), run)
        self.description = describe(
            options.metadata,
            (run.session.rows, run.session.columns),
            photon_energy_kev=made.photon_energy_kev,
            usable=made.usable,
        )
        """What the file says of the experiment."""
        taken = (run.captured.first_ns, run.captured.last_ns) if run.captured else None

        def make(part: Path, before: Hdf5Sink | None) -> Hdf5Sink:
            return Hdf5Sink(
                part,
                run.session,
                photon_energy_kev=made.photon_energy_kev,
                description=self.description,
                options=options,
                frames=run.source.frames if isinstance(run.source, Live) else None,
                taken=taken,
                judging=made.judging,
                share=processing.share,
                reserve=True,
                sparse=processing.sparse is not None,
                whole=not run.live,
                before=before,
            )

        self._files = Series(path, make)

    def write(self, frame: Frame) -> None:
        """Write a frame, and give it back: where that shows that its slot was overwritten, it is taken out again."""
        if self._end_when_full():
            self.unwritten += frame.give_back()
            return
        try:
            complete = frame.complete
        except GpuError as error:  # of a ring on a GPU that has failed: nothing of the frame is written
            self._run.end(str(error))
            self.unwritten += frame.give_back()
            return
        with self._files.changing() as sink:
            self._writing = True
            sink.write(frame.received, frame.result)
            self._writing = False
            if frame.give_back():
                self.frames += 1
                self.reasons[frame.verdict.reason] += 1
                if not complete:
                    self.incomplete.append(frame.number)
            else:
                sink.retract()
        self._end_when_full()

    def _end_when_full(self) -> bool:
        if self._files.current.full:
            self._run.end(f"cannot write {self.path}: {self._files.current.full}: make room there")
        return self._files.current.full is not None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *error: object) -> None:
        try:
            if self.frames and (kind is None or (self._run.live and not self._writing)):
                self._files.current.note_loss(self._run.tally)
                self._files.close()
        finally:
            if self._run.live:
                self._files.leave()
            else:
                self._files.discard()


def _with_plan(options: FileOptions, run: Reception) -> FileOptions:
    """The options, and behind them what the plan of a live run says of the experiment."""
    plan = run.source.plan if isinstance(run.source, Live) else None
    if not isinstance(plan, Path):
        return options
    return replace(options, metadata=load_metadata(plan).updated(options.metadata))
