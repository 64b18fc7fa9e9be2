"""The service itself: what may be done when, and what is known of it. Nothing here knows of HTTP."""

import logging
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from framelane.base.errors import FramelaneError, InputError
from framelane.receiver import RunStatistics, StreamCounts, recover
from framelane.serve.configuration import Configuration
from framelane.serve.metrics import Measured, Metrics, summed
from framelane.serve.pictures import Pictures
from framelane.serve.run_record import RunRecord, identity
from framelane.serve.served_run import ServedRun
from framelane.serve.service_state import Known, State, StateFile
from framelane.serve.sums import Sums

_log = logging.getLogger("framelane.serve")
ACTIVE = State.ARMED, State.RUNNING
_CLOSE_S = 30.0


class WrongState(FramelaneError):
    """What was asked for is not done in this state."""


class Service:
    """One receiver, in the folder `folder`: runs one after the other, each in a file. Any thread may call it.

    A run that was cut off as the service was killed is closed when it starts anew: `said` tells where its file is.
    InputError where the folder cannot be had, or its state is damaged.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.pictures, self.sums = Pictures(), Sums()
        self.pictures.tell = self.sums.follow
        self._file = StateFile(folder)
        try:
            self._known = self._file.read()
        except BaseException:
            self._file.close()
            raise
        self._run: ServedRun | None = None
        self._started = False
        self._doing = ""
        self._before, self._ends = RunStatistics.none(), Counter[str]()
        self._streamed: dict[str, StreamCounts] = {}
        self._summed: ServedRun | None = None
        """The run whose counts are in `_before`, and in `_streamed`."""
        self._nothing = RunRecord()
        self._commands, self._changes = threading.Lock(), threading.RLock()
        self.metrics = Metrics(self._measured)
        if self._known.state in ACTIVE:
            self._settle_cut_off()

    @property
    def state(self) -> State:
        """What it does now."""
        run = self._run
        if self._doing == "arm":
            return State.IDLE
        if run is None or run.over.is_set():
            return self._known.state
        return State.RUNNING if self._started or run.begun else State.ARMED

    def status(self) -> dict[str, Any]:
        """All that a page or a control system shows (`Status` of the REST interface)."""
        with self._changes:
            known, run, state = self._known, self._run, self.state
        record = run.record if run else self._nothing
        counted = record.counted
        return {
            "state": state,
            "doing": self._doing,
            "said": "" if state in ACTIVE else known.said,
            "run": known.run,
            "file": known.file,
            "address": run.address if run and state in ACTIVE else "",
            "line": run.line if run and state in ACTIVE else "",
            "loss": identity(counted.statistics.tally),
            "frames_per_s": record.rate() if state in ACTIVE else 0.0,
            "slots": counted.slots,
            "slots_used": counted.slots_used,
            "troubles": list(counted.notes),
            "thresholds": self.thresholds(),
        }

    @property
    def record(self) -> RunRecord:
        """The record of the newest run."""
        return self._run.record if self._run else self._nothing

    @property
    def configuration(self) -> Configuration | None:
        """The configuration of the next run, and of the one that goes on."""
        return self._known.configuration

    def configure(self, configuration: Configuration) -> None:
        """Choose what the next run is. WrongState while one goes on, FramelaneError for what cannot be."""
        with self._command("configure"):
            self._forbid("configure", *ACTIVE)
            configuration.check(self.folder)
            self._become(State.IDLE, "configured", configuration=configuration)

    def arm(self) -> None:
        """Open a run: all is compiled, sources find its session, the board is configured; frames that come are taken.

        WrongState where a run goes on or nothing is configured. FramelaneError where it cannot be opened: the state is
        `error` then.
        """
        with self._command("arm"):
            self._forbid("arm", *ACTIVE)
            configuration = self._known.configuration
            if configuration is None:
                raise WrongState("nothing is configured: configure the service, then arm it")
            number, path = self._next_file(configuration)
            self.sums.forget()
            before = self._known
            with self._changes:  # so that it is known if it is killed now
                armed = {"state": State.ARMED, "said": "", "run": number, "file": path.name}
                self._keep(before.model_copy(update=armed))
            run = ServedRun(configuration, self.folder, number, path, self.pictures, self.metrics.timings, self._ended)
            with self._changes:
                self._started, self._run = False, run
            try:
                run.open()
            except FramelaneError as error:
                self._become(State.ERROR, str(error), run=before.run, file=before.file)
                raise
            about = {"run": number, "file": path.name, "address": run.address}
            _log.info("run %d is armed: sources find it at %s", number, run.address, extra={"about": about})

    def start(self) -> None:
        """Let the board send, if there is one. WrongState unless it is armed."""
        with self._command("start"):
            if self.state is State.RUNNING:
                return
            if self.state is not State.ARMED or self._run is None:
                raise WrongState(f"the service is {self.state}, nothing can be started: arm it first")
            self._run.start()
            self._started = True

    def stop(self, timeout_s: float = 10.0) -> bool:
        """End the run in order, with all that has arrived; whether it has ended in so many seconds.

        WrongState where none goes on.
        """
        with self._command("stop"):
            return self._active("stop").stop(timeout_s)

    def abort(self, timeout_s: float = 10.0) -> bool:
        """End the run at once; what came is in its file. Where none goes on, `error` and `ended` become `idle`.

        Whether it has ended in so many seconds. WrongState while it is being armed.
        """
        if self._doing == "arm":
            raise WrongState("the service is being armed: abort it once it is")
        run = self._run
        if run is None or run.over.is_set():
            with self._command("abort"):
                self._become(State.IDLE, "")
            return True
        return run.abort("aborted", timeout_s)

    def thresholds(self) -> dict[str, int | None]:
        """The thresholds that judge frames now, or in the next run; None: the run's default."""
        judging = self._known.configuration.judging if self._known.configuration else None
        return {
            "threshold": judging.threshold if judging else None,
            "minimum_peaks": judging.minimum_peaks if judging else None,
        }

    def change_thresholds(self, threshold: int | None, minimum_peaks: int | None) -> None:
        """Judge by others, from the next frame on; None: as it is. The file says of each frame which they were.

        WrongState where nothing is configured, FramelaneError for what cannot be: then all stays as it was.
        """
        with self._command("change thresholds"):
            configuration = self._known.configuration
            if configuration is None:
                raise WrongState("nothing is configured: configure the service, then change its thresholds")
            given = {"threshold": threshold, "minimum_peaks": minimum_peaks}
            changed = configuration.changed(**{name: value for name, value in given.items() if value is not None})
            changed.check(self.folder)
            if self.state in ACTIVE and self._run is not None:
                self._run.change_veto(threshold, minimum_peaks)
                about = {"run": self._known.run, **changed.judging.model_dump(mode="json", exclude_none=True)}
                _log.info("run %d: thresholds are now %s", self._known.run, changed.judging, extra={"about": about})
            with self._changes:
                self._keep(self._known.model_copy(update={"configuration": changed}))

    def close(self) -> None:
        """End the run in order, and let go of the folder."""
        run = self._run
        if run is not None and not run.over.is_set():
            run.stop(_CLOSE_S)
        self._file.close()

    @contextmanager
    def _command(self, name: str) -> Iterator[None]:
        if not self._commands.acquire(blocking=False):
            raise WrongState(f"the service has another command to do: {self._doing or 'another'}: ask again")
        self._doing = name
        try:
            yield
        finally:
            self._doing = ""
            self._commands.release()

    def _forbid(self, what: str, *states: State) -> None:
        if self.state in states or (self._run is not None and not self._run.over.is_set()):
            raise WrongState(f"the service is {self.state}: stop or abort the run, then {what}")

    def _active(self, what: str) -> ServedRun:
        if self._run is None or self.state not in ACTIVE:
            raise WrongState(f"the service is {self.state}: there is no run to {what}")
        return self._run

    def _become(self, state: State, said: str, **more: Any) -> None:
        with self._changes:
            self._keep(self._known.model_copy(update={"state": state, "said": said, **more}))
        about = {"state": state.value, "run": self._known.run, "file": self._known.file}
        _log.info("the state is %s%s", state, f": {said}" if said else "", extra={"about": about})

    def _keep(self, known: Known) -> None:
        self._known = known
        try:
            self._file.write(known)
        except InputError as error:  # a full disk must not end a run
            _log.error("the state could not be kept: %s", error)

    def _ended(self, run: ServedRun) -> None:
        """A run comes to its end; called by its thread."""
        if run.error is not None:  # it could not be opened, which `arm` says
            return
        statistics = run.record.counted.statistics
        about = {"run": run.number, "file": run.path.name, "loss": identity(statistics.tally), "fault": run.fault}
        _log.info("run %d is over: %s", run.number, statistics.tally, extra={"about": about})
        with self._changes:
            self._before, self._summed = self._before + statistics, run
            self._streamed = summed(self._streamed, run.streamed())
            self._ends["error" if run.fault else "ended"] += 1
        if run.fault:
            self._become(State.ERROR, run.fault)
            return
        came = f"{statistics.tally}: {run.path.name}" if statistics.written else "no frame came: there is no file"
        self._become(State.ENDED, came)

    def _measured(self) -> Measured:
        with self._changes:
            run, before = self._run, self._before
            counted = run.record.counted if run else self._nothing.counted
            streams = dict(self._streamed)
            if run is not None and run is self._summed:
                counted = replace(counted, statistics=RunStatistics.none())
            elif run is not None:
                streams = summed(streams, run.streamed())
            ends = {"ended": self._ends["ended"], "error": self._ends["error"]}
            return Measured(self.state, before, counted, ends, streams)

    def _next_file(self, configuration: Configuration) -> tuple[int, Path]:
        """The number and the file of the next run: no older file has its name."""
        number = self._known.run + 1
        while (path := self.folder / f"{configuration.name}_{number:06d}.h5").exists() or self._parts(path):
            number += 1
        return number, path

    def _parts(self, path: Path) -> bool:
        return any(self.folder.glob(f"{path.stem}_data_*{path.suffix}"))

    def _settle_cut_off(self) -> None:
        """The service was killed in the midst of a run: close it, and say what is left."""
        name = self._known.file or ""
        try:
            found = recover(self.folder / name)
            left = f"{name} has {found.frames} frames that can be read, {found.complete} of them complete"
            left = "; ".join([left, *found.troubles, *found.advice])
        except FramelaneError as error:
            left = str(error) if (self.folder / name).exists() else "no frame had been written: there is no file"
        said = f"run {self._known.run} was cut off, as the service ended without closing it: {left}"
        self._become(State.ERROR, said)
