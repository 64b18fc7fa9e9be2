"""The frames of a run in an HDF5 file."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Self

from framelane.base.any_path import AnyPath
from framelane.base.claim import Claim
from framelane.base.errors import InputError
from framelane.base.output import check_no_input
from framelane.files.linked_files import with_linked
from framelane.files.series import Series, parts_of
from framelane.receiver.gpu.gpu_error import GpuError
from framelane.receiver.live.frame import Frame
from framelane.receiver.live.packet_source import Live
from framelane.receiver.live.reception import Reception
from framelane.receiver.live.run_description import describe_run, metadata_of
from framelane.receiver.live.run_statistics import RunStatistics
from framelane.receiver.pipeline.veto import Reason
from framelane.receiver.sinks.file_options import FileOptions
from framelane.receiver.sinks.hdf5 import Hdf5Sink


class Recorder:
    """Writes frames of `run` to the file `path` (docs/reference/files.md): live it appears with the first and grows.

    An older file is replaced only with `force`: by the first frames; of a capture by the whole file, which does not
    appear where the block raises. Where no frame came
    there is none. Where the block raises, a file of frames from the wire is kept, which nobody can
    send again. When the disk is full such a run is ended, and the file has all frames that fitted; the others are
    `unwritten`. Where it fails or goes away, the run is ended, and the file has those that were committed, if it is
    still there. InputError where `path` cannot be written, or is an input of the run.

    What `options` say of the experiment goes before what the run's plan says of it, its table `[metadata]`.
    """

    def __init__(
        self, run: Reception, path: AnyPath, *, options: FileOptions | None = None, force: bool = False
    ) -> None:
        self.path = path = Path(path)
        options = options or FileOptions()
        options = replace(options, metadata=metadata_of(run, options.metadata))
        inputs = with_linked([*run.source.inputs, *run.processing.inputs, *options.metadata.files])
        for written in (path, *parts_of(path)):
            check_no_input(written, inputs)
        self.frames = self.unwritten = 0
        self.incomplete: list[int] = []
        """Numbers of the frames in the file that are."""
        self.reasons: Counter[Reason] = Counter()
        self._run, self._writing, self._failed = run, False, False
        made, processing = run.prepared, run.processing
        self.description = describe_run(run, options.metadata)
        """What the file says of the experiment."""
        taken = (run.captured.first_ns, run.captured.last_ns) if run.captured else None

        def make(part: Path | Claim, before: Hdf5Sink | None) -> Hdf5Sink:
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

        self._files = Series(path, make, force=force)

    @property
    def statistics(self) -> RunStatistics:
        """What the run has counted up to now: frames, packets, verdicts."""
        run = self._run
        return RunStatistics(
            run.tally,
            run.counters,
            self.reasons,
            written=self.frames,
            strays=run.strays,
            first_stray=run.first_stray,
            first_misfit=run.first_misfit,
            sources_gone=run.sources_gone,
        )

    @property
    def kept(self) -> bool:
        """Whether there is a file, with frames of this run."""
        return bool(self.frames) and self.path.is_file()

    def write(self, frame: Frame) -> None:
        """Write a frame, and give it back: where that shows that its slot was overwritten, it is taken out again."""
        if self._failed or self._end_when_full():
            self.unwritten += frame.give_back()
            return
        try:
            complete = frame.complete
        except GpuError as error:  # of a ring on a GPU that has failed: nothing of the frame is written
            self._run.end(str(error))
            self.unwritten += frame.give_back()
            return
        try:
            self._put(frame, complete)
        except InputError as error:
            self._fail(error)
            self.unwritten += frame.give_back()
        self._end_when_full()

    def _put(self, frame: Frame, complete: bool) -> None:
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

    def _fail(self, error: InputError) -> None:
        """The disk has failed: a live run ends and is summed up, another one raises."""
        if not self._run.live:
            raise error
        self._failed = not self._files.stopped
        self._run.end(str(error))

    def _end_when_full(self) -> bool:
        if self._files.current.full:
            self._run.end(f"cannot write {self.path}: {self._files.current.full}: make room there")
        return bool(self._files.current.full or self._files.stopped)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *error: object) -> None:
        try:
            if self.frames and not self._failed and (kind is None or (self._run.live and not self._writing)):
                self._files.current.note_loss(self._run.tally)
                self._files.close()
        except InputError as error:
            self._fail(error)
        finally:
            if self._run.live:
                self._files.leave()
            else:
                self._files.discard()
