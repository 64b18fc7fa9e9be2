"""One run of the receiver in a thread of its own, as a program would have it: `receive`, `Recorder`, the board."""

import contextlib
import logging
import math
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from framelane.base.errors import FramelaneError
from framelane.base.real_time import is_real
from framelane.doctor.advice import NOTHING
from framelane.receiver import (
    FileOptions,
    Frame,
    Reason,
    Reception,
    Recorder,
    RunStatistics,
    Stream,
    StreamCounts,
    receive,
)
from framelane.serve.board_line import BoardLine
from framelane.serve.configuration import Configuration
from framelane.serve.history import Sample
from framelane.serve.metrics import Timings
from framelane.serve.pictures import Pictures
from framelane.serve.run_record import Counted, RunRecord, stream_troubles, troubles
from framelane.source import Stop

_log = logging.getLogger("framelane.serve")
_NOTHING_S = 5.0
"""So long after the start nothing may come before the doctor is asked."""
_COUNT_S = 0.1
"""From one look at the counters to the next, at least."""


class ServedRun:
    """Run `number` to the file `path`; it is `opened` where frames can come, `begun` with the first, `over` at its end.

    `ended` is called by its thread just before it is over.
    """

    def __init__(
        self,
        configuration: Configuration,
        folder: Path,
        number: int,
        path: Path,
        pictures: Pictures,
        timings: Timings,
        ended: Callable[["ServedRun"], None],
    ) -> None:
        self.number, self.path, self.record = number, path, RunRecord()
        self.streams: list[Stream] = []
        self.opened, self.over = threading.Event(), threading.Event()
        self.begun = False
        self.fault = ""
        """Why it could not be opened, or ended early, in a sentence."""
        self.error: FramelaneError | None = None
        """The error behind `fault`, where the run could not be opened."""
        self.address = ""
        """The address at which sources find the run."""
        self.line = ""
        """How it goes."""
        self._configuration, self._folder = configuration, folder
        self._pictures, self._timings, self._ended = pictures, timings, ended
        self._stop = Stop(who="the service")
        self._aborted = ""
        self._reception: Reception | None = None
        self._board: BoardLine | None = None
        self._looked, self._started_at = 0.0, math.inf
        self._thread = threading.Thread(target=self._run, name="run", daemon=True)

    def open(self) -> None:
        """Start its thread, and wait until frames can come. FramelaneError where they cannot."""
        self._thread.start()
        self.opened.wait()
        if self.error is not None:
            self.over.wait()
            raise self.error

    def start(self) -> None:
        """Arm the board, if there is one. FramelaneError where that fails."""
        if self._board is not None:
            self._board.arm()
        self._started_at = time.monotonic()

    def stop(self, timeout_s: float) -> bool:
        """End in order: the board first, then what has arrived is written. Whether it has ended in so many seconds."""
        if self._board is not None:
            self._board.disarm()
        self._stop.wanted = True
        return self.over.wait(timeout_s)

    def abort(self, reason: str, timeout_s: float) -> bool:
        """End without waiting for what is on its way; frames that have come are in the file. As `stop`."""
        self._aborted = reason
        if self._reception is not None:
            self._reception.end(reason)
        self._stop.wanted = True
        return self.over.wait(timeout_s)

    def change_veto(self, threshold: int | None, minimum_peaks: int | None) -> None:
        """See `Reception.change_veto`."""
        if self._reception is not None:
            self._reception.change_veto(threshold=threshold, minimum_peaks=minimum_peaks)

    def streamed(self) -> dict[str, StreamCounts]:
        """What became of the frames of each stream, by its address."""
        return {stream.address: stream.counts for stream in self.streams}

    def _run(self) -> None:
        try:
            self._receive()
        except FramelaneError as error:
            self._fail(str(error), error)
        except Exception as error:  # a fault of the program ends the run, never the service
            _log.exception("the run has failed")
            said = f"an error of framelane's own has ended the run: {type(error).__name__}: {error}"
            self._fail(said, FramelaneError(said))
        finally:
            self._reception = None
            self._ended(self)
            self.over.set()
            self.opened.set()

    def _fail(self, sentence: str, error: FramelaneError) -> None:
        self.fault = self.fault or sentence
        if not self.opened.is_set():
            self.error = error

    def _receive(self) -> None:
        configuration, folder = self._configuration, self._folder
        live, processing = configuration.live(folder), configuration.processing(folder)
        metadata = configuration.metadata
        with (
            receive(live, processing, stop=self._stop) as reception,
            contextlib.ExitStack() as streams,
            Recorder(reception, self.path, options=FileOptions(metadata=metadata)) as recorder,
            contextlib.ExitStack() as boards,
        ):
            for each in configuration.streams:
                stream = Stream(reception, each.options(), metadata=metadata, series=self.number)
                self.streams.append(streams.enter_context(stream))
            host, port = reception.serve()
            self.address = f"{host}:{port}"
            reception.tell = lambda line: self._tell(line, reception, recorder)
            if configuration.board is not None:
                self._board = BoardLine(configuration.board, folder)
                boards.callback(self._board.close)
            self._reception = reception
            self._look(reception, recorder)
            self.opened.set()
            for frame in reception:
                self._take(frame, reception, recorder)
        self._look(reception, recorder, last=True)
        said = "" if self._aborted else reception.fault
        self.fault = (self._board.fault if self._board else "") or said

    def _take(self, frame: Frame, reception: Reception, recorder: Recorder) -> None:
        begun = time.perf_counter()
        self.begun = True
        self.record.note(frame)
        session = reception.session
        if self._pictures.take(frame, session.unit, session.fraction_bits):
            self._timings.picture.observe(time.perf_counter() - begun)
        taken_ns = frame.utc_ns or frame.timestamp_ns
        if taken_ns and is_real(taken_ns):
            self._timings.age.observe(max(0.0, time.time() - taken_ns / 1e9))
        for stream in self.streams:
            stream.write(frame)
        written = time.perf_counter()
        recorder.write(frame)
        self._timings.write.observe(time.perf_counter() - written)
        if time.monotonic() - self._looked > _COUNT_S:
            self._look(reception, recorder)

    def _tell(self, line: str, reception: Reception, recorder: Recorder) -> None:
        self.line = line
        if self._board is not None and self._board.fault:
            reception.end(self._board.fault)
        self._look(reception, recorder)

    def _look(self, reception: Reception, recorder: Recorder, *, last: bool = False) -> None:
        self._looked = time.monotonic()
        statistics = recorder.statistics + RunStatistics.none()  # a copy
        notes = troubles(statistics, reception.notes if last else reception.notes_so_far)
        if self._board is not None:
            notes += self._board.sentences
        notes += [said for stream in self.streams for said in stream_troubles(stream)]
        waited_s = time.monotonic() - self._started_at
        counters = statistics.counters
        if waited_s > _NOTHING_S and not (counters.packets or counters.completions or last):
            notes.append(f"nothing has come for {waited_s:.0f} s. The likeliest causes, in their order:")
            notes += NOTHING if self._configuration.source.plan else NOTHING[-1:]
        used, slots = (0, reception.slots[1]) if last else reception.slots
        counted = self.record.counted
        if (history := self.record.history).due(used, last=last):
            gpu_bytes = None if last else reception.gpu_memory
            drift = {str(row.module): row.drift_adu for row in reception.drift}
            counted = Counted(statistics, gpu_bytes=gpu_bytes, drift_adu=drift)
            history.take(_sample(statistics, history.most_used, slots, reception.pending, drift))
        self.record.counted = replace(
            counted,
            statistics=statistics,
            notes=tuple(notes),
            slots_used=used,
            slots=slots,
            pending=0 if last else reception.pending,
        )


def _sample(statistics: RunStatistics, used: int, slots: int, pending: int, drift_adu: dict[str, float]) -> Sample:
    tally = statistics.tally
    return Sample(
        time=time.time(),
        frames=tally.complete + tally.incomplete,
        lost=tally.sent - tally.complete,
        slots=slots,
        slots_used=used,
        pending=pending,
        verdicts={reason.name: statistics.reasons[reason] for reason in Reason},
        drift_adu=drift_adu,
    )
