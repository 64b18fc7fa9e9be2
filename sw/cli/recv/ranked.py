"""`framelane recv` under MPI: every rank receives a session of its own, rank 0 sums up and links the files."""

import signal
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import monotonic
from types import FrameType
from typing import Any

from rich.console import Console

from framelane.base.errors import FramelaneError, InputError, OptionError
from framelane.base.output import check_free
from framelane.base.progress import say
from framelane.base.stopping import Stop, stop_on_signals
from framelane.cli.option_names import sentence
from framelane.cli.recv import one_run, summary
from framelane.cli.recv.recv_options import Demand, RecvOptions
from framelane.cli.recv.run_watch import Progress
from framelane.cli.told import Told, run_facts
from framelane.models.roce_tx import wire
from framelane.receiver import Live, RunStatistics
from framelane.receiver.ranks.ranks import Lost, Ranks
from framelane.receiver.sinks.master_file import Master, Part, write_master
from framelane.session.session_link import PORT

_SHOW_S = 30.0
"""A launcher may show rank 0 a terminal where there is none: lines are said, nothing moves."""


@dataclass(frozen=True, slots=True)
class RankOutcome:
    """What a rank tells at the end. `good` as of `Received`; `fault` is one sentence where the run could not be."""

    host: str
    gpu: str
    path: Path
    kept: bool = False
    """There is a file, of this run."""
    stamp: tuple[int, int] | None = None
    """Its bytes, and when it was changed, in nanoseconds since 1970: by these it is known elsewhere."""
    good: bool = False
    fault: str = ""
    lines: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    """Those of `lines` that are said of a good run, too."""
    statistics: RunStatistics | None = None

    @property
    def written(self) -> int:
        """Frames in its file."""
        return self.statistics.written if self.statistics else 0

    @property
    def about(self) -> dict[str, Any]:
        """For the master."""
        tally = asdict(self.statistics.tally) if self.statistics else {}
        return {"host": self.host, "good": self.good, **tally, **({"fault": self.fault} if self.fault else {})}


class NotAllReady(FramelaneError):
    """Another rank could not begin: its sentences, each with its rank."""


class RankWatch:
    """Tells the other ranks of this one's run. All begin together, or none does; one that is stopped stops all."""

    def __init__(self, ranks: Ranks, console: Console) -> None:
        self.ready = False
        """All ranks have begun."""
        self.lines: list[str] = []
        self._ranks, self._console = ranks, console
        self._stop = Stop()
        self._shown = 0.0

    @contextmanager
    def running(self, sentence: str, stop: Stop) -> Iterator[Progress]:
        """See `RunWatch`. NotAllReady where another rank could not begin.

        SIGUSR1 ends the run, too: `mpirun` of Open MPI passes it on, and kills at once where it is told to end.
        """
        self._stop = stop
        self._ranks.stops = lambda: stop.wanted
        signal.signal(signal.SIGUSR1, self._note)
        if faults := agree(self._ranks, ""):
            raise NotAllReady(faults)
        self.ready = True
        say(self._console, f"rank {self._ranks.rank}: {sentence}")
        self._shown = monotonic()
        try:
            yield self
        finally:
            self._ranks.beat()  # where a signal has ended it, all are told

    def update(self, status: str) -> None:
        """See `Progress`."""
        if self._ranks.beat(status):
            self._stop.wanted = True
        if self._ranks.rank == 0 and monotonic() > self._shown + _SHOW_S:
            self._shown = monotonic()
            lines = (f"rank {rank}: {note or 'has ended'}" for rank, note in enumerate(self._ranks.notes))
            say(self._console, "\n".join(lines))

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._stop.wanted = True

    def say(self, lines: Sequence[str]) -> None:
        """See `RunWatch`: rank 0 says it, where it is worth it."""
        self.lines = list(lines)


def agree(ranks: Ranks, fault: str) -> str:
    """Whether all ranks can begin: empty, or a line for each `fault` of one."""
    told = ranks.gather(fault)
    faults = [f"rank {n}: {t.why if isinstance(t, Lost) else t}" for n, t in enumerate(told or ()) if t]
    answer = ranks.answer("\n".join(faults))
    return f"rank 0: {answer.why}" if isinstance(answer, Lost) else str(answer)


def run(options: RecvOptions, ranks: Ranks, console: Console, json: Path | None = None) -> bool:
    """Receive on this rank; whether all ranks are good. FramelaneError where a run could not begin, on rank 0 only.

    Rank 0 writes the result of all ranks to `json`.
    """
    with ranks:
        outcome = _receive(options, ranks, console, json)
        with stop_on_signals() as stop:  # a rank that waits hears of it, too
            ranks.stops = lambda: stop.wanted
            told = ranks.gather(outcome)
            good = told is not None and _summed_up(options, told, console, json)
            answer = ranks.answer(good)
    return answer is True


def _receive(options: RecvOptions, ranks: Ranks, console: Console, json: Path | None) -> RankOutcome:
    """This rank's own run. What goes wrong is told and raised where no rank has begun; later it is the outcome."""
    watch, outcome, older = RankWatch(ranks, console), RankOutcome(ranks.host, "", options.output), None
    try:
        if ranks.rank == 0:
            check_free(options.output, force=options.force)
            result_file(options, json, ranks.size)
        own = of_rank(options, ranks)
        older = _identity(own.output)
        outcome = replace(outcome, path=own.output.absolute(), gpu=_gpu(own, ranks))
        received = one_run.run(own, console, watch)
    except NotAllReady as error:
        if ranks.rank:
            raise SystemExit(2) from error
        raise
    except BaseException as error:
        if not isinstance(error, FramelaneError | OSError):
            traceback.print_exc()
        if watch.ready:
            kept = _identity(outcome.path) not in (None, older)
            outcome = replace(outcome, kept=kept, stamp=_stamp(outcome.path))
            return replace(outcome, fault=_sentence(error), lines=tuple(watch.lines))
        faults = agree(ranks, _sentence(error))
        if ranks.rank or not isinstance(error, Exception):
            raise SystemExit(2) from error
        raise NotAllReady(faults) from error
    return replace(
        outcome,
        kept=_identity(own.output) not in (None, older),
        stamp=_stamp(own.output),
        good=received.good,
        fault=received.fault,
        lines=tuple(watch.lines),
        notes=received.notes,
        statistics=received.statistics,
    )


def _identity(path: Path) -> int | None:
    """The identity of the file of this name, which each run makes anew; None where there is none."""
    return path.stat().st_ino if path.is_file() else None


def _stamp(path: Path) -> tuple[int, int] | None:
    return (path.stat().st_size, path.stat().st_mtime_ns) if path.is_file() else None


def _sentence(error: BaseException) -> str:
    if isinstance(error, FramelaneError):
        return sentence(error)
    if isinstance(error, OSError):
        return ": ".join(str(part) for part in (error.filename2 or error.filename, error.strerror or error) if part)
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def of_rank(options: RecvOptions, ranks: Ranks) -> RecvOptions:
    """The options of one rank: files and ports of its own. ConfigError where that cannot be.

    What the user demands is of the frames of all ranks. `{rank}` and `{local_rank}` in names stand for numbers. Without
    `{rank}` the output, and the published session, get `_<rank>` behind their names. Ports count up with the ranks of a
    host.
    """
    live = options.source
    if not isinstance(live, Live):
        raise OptionError("a capture holds one session: leave out the MPI launcher, or give {transport}")

    if live.detector_layout is not None:
        raise OptionError("a detector's packets go to one receiver: leave out the MPI launcher")
    if options.streams:
        raise OptionError("{stream} is of one receiver: leave it out, or the MPI launcher")

    def named(name: Path) -> Path:
        return Path(_filled(str(name), ranks))

    def own(name: Path) -> Path:
        return Path(_filled(str(name if "{rank}" in str(name) else name.with_stem(f"{name.stem}_{{rank}}")), ranks))

    def counted(port: int | None, default: int) -> int:
        return 0 if port == 0 else (port or default) + ranks.local_rank

    own_live = replace(
        live,
        session=named(live.session) if live.session else None,
        plan=named(live.plan) if isinstance(live.plan, Path) else live.plan,
        publish=own(live.publish) if live.publish else None,
        interface=_filled(live.interface, ranks) if live.interface else None,
        device=_filled(live.device, ranks) if live.device else None,
        link_port=counted(live.link_port, PORT),
        port=counted(live.port, wire.ROCE_PORT) if live.transport == "udp" else None,
    )
    processing = options.processing
    if processing.calibration:
        processing = replace(processing, calibration=named(processing.calibration))
    if "{" in str(options.output):
        raise OptionError("{output} {0} is the file of all ranks: give it a name without braces", options.output)
    return replace(options, source=own_live, processing=processing, output=own(options.output), demand=Demand())


def _filled(name: str, ranks: Ranks) -> str:
    return name.replace("{rank}", str(ranks.rank)).replace("{local_rank}", str(ranks.local_rank))


def _gpu(options: RecvOptions, ranks: Ranks) -> str:
    if not options.processing.gpu:
        return ""
    from framelane.receiver.ranks.rank_gpu import choose_gpu

    return choose_gpu(ranks.local_rank)


def result_file(options: RecvOptions, json: Path | None, size: int) -> Told:
    """The file of `--json`. OptionError where another file of the run, of any of `size` ranks, has its name."""
    own = [options.output, *([options.source.publish] if isinstance(options.source, Live) else [])]
    written = [
        name.with_name(name.name.replace("{rank}", str(rank)))
        if "{rank}" in name.name
        else name.with_stem(f"{name.stem}_{rank}")
        for rank in range(size)
        for name in own
        if name is not None
    ]
    inputs = [*options.source.inputs, *options.processing.inputs, options.output, *written]
    return Told(json, "recv", inputs=inputs, force=options.force)


def _summed_up(
    options: RecvOptions, told: Sequence[RankOutcome | Lost], console: Console, json: Path | None = None
) -> bool:
    """`_sum_up`, whatever goes wrong there: the other ranks wait for the answer."""
    try:
        return _sum_up(options, told, console, json)
    except Exception as error:
        if not isinstance(error, InputError):
            traceback.print_exc()
        say(console, _sentence(error))
        return False


def _sum_up(
    options: RecvOptions, told: Sequence[RankOutcome | Lost], console: Console, json: Path | None = None
) -> bool:
    """On rank 0, report each rank and all together, write the master and `json`; return whether all are good."""
    parts = [
        Part(None, about={"good": False, "fault": each.why})
        if isinstance(each, Lost)
        else Part(each.path if each.kept else None, each.written if each.statistics else None, each.about, each.stamp)
        for each in told
    ]
    try:
        master = write_master(options.output, parts, force=options.force)
    except Exception as error:  # what came is said all the same
        if not isinstance(error, InputError | OSError):
            traceback.print_exc()
        master, see, fault = Master(0, {}), _sentence(error), _sentence(error)
    else:
        fault = ""
        see = f"see {options.output}, of {master.frames} frames" if master.frames else "nothing is written"
    for rank, each in enumerate(told):
        for line in _lines(each, master.left_out.get(rank)):
            say(console, f"rank {rank}: {line}")
    for line in notes(told):
        say(console, line)
    there = [each.statistics for each in told if isinstance(each, RankOutcome) and each.statistics]
    total = sum(there, RunStatistics.none())
    lines = summary.packets(total)
    if options.processing.minimum_peaks:
        lines.append(summary.verdicts(total.reasons))
    if unwritten := total.tally.complete + total.tally.incomplete - total.written:
        lines.append(f"{unwritten} frames came that are not in the files")
    unmet = options.demand.unmet(total.tally, total.sources_gone)
    ends = [f"loss identity: {total.tally}", see, *filter(None, [unmet])]
    say(console, "\n".join([f"{len(there)} of {len(told)} ranks:", *lines, *ends]))
    good = (
        not unmet
        and not master.left_out
        and bool(master.frames)
        and all(isinstance(t, RankOutcome) and t.good for t in told)
    )
    facts = [_facts(each, master.left_out.get(rank)) for rank, each in enumerate(told)]
    result_file(options, json, len(told)).write(
        good=good,
        file=str(options.output),
        fault=fault,
        unmet=unmet,
        frames=master.frames,
        ranks=facts,
        **run_facts(total),
    )
    return good


def _facts(told: RankOutcome | Lost, left_out: str | None) -> dict[str, Any]:
    """What `--json` says of a rank; `left_out`: why its file is not in the master."""
    if isinstance(told, Lost):
        return {"good": False, "file": None, "fault": told.why}
    facts = run_facts(told.statistics) if told.statistics else {}
    fault = told.fault or left_out or ""
    file = str(told.path) if told.kept else None
    return {
        "good": told.good and not left_out,
        "host": told.host,
        "gpu": told.gpu,
        "file": file,
        "fault": fault,
        **facts,
    }


def notes(told: Sequence[RankOutcome | Lost]) -> list[str]:
    """The notes of all ranks: each line once, with the ranks that have it."""
    ranks: dict[str, list[int]] = {}
    for rank, each in enumerate(told):
        for line in dict.fromkeys(each.notes if isinstance(each, RankOutcome) else ()):
            ranks.setdefault(line, []).append(rank)
    return [f"{_named(who, len(told))}: {line}" for line, who in ranks.items()]


def _named(ranks: Sequence[int], size: int) -> str:
    if len(ranks) == size > 1:
        return "all ranks"
    return f"rank{'s' * (len(ranks) > 1)} {', '.join(map(str, ranks))}"


def _lines(told: RankOutcome | Lost, left_out: str | None) -> list[str]:
    """What rank 0 says of a rank: all that it has to say, where not everything came."""
    if isinstance(told, Lost):
        return [told.why]
    statistics, frames = told.statistics, f"{told.written} frames" if told.statistics else "it has failed"
    where = f"{frames}, on {', '.join(filter(None, (told.host, told.gpu)))}"
    well = told.good and statistics is not None and statistics.tally.complete == statistics.tally.sent
    said = () if well else tuple(line for line in told.lines if line not in told.notes)
    lines = [*said, *((told.fault,) if told.fault and told.fault not in told.lines else ())]
    return [f"{where}, see {told.path}" if told.kept else where, *lines, *((left_out,) if left_out else ())]
