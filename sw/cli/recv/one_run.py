"""One run of `framelane recv`: frames, live or of a capture, to a file, and what is said of them."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console

from framelane.base.output import check_free
from framelane.base.stopping import Stop, stop_on_signals
from framelane.cli.recv import summary
from framelane.cli.recv.recv_options import RecvOptions
from framelane.cli.recv.run_watch import OnConsole, RunWatch
from framelane.receiver.live.packet_source import Live
from framelane.receiver.live.reception import Reception, receive
from framelane.receiver.live.recorder import Recorder
from framelane.receiver.ranks.run_statistics import RunStatistics
from framelane.receiver.ring.tally import Tally
from framelane.session.session import Session


@dataclass(frozen=True, slots=True)
class Received:
    """What became of the frames, and why the run ended early, if it did."""

    tally: Tally
    fault: str = ""
    unmet: str = ""
    """What of the user's demand is not so, in a sentence."""
    statistics: RunStatistics | None = None
    """Of a live run."""
    notes: tuple[str, ...] = ()
    """Of what a live run has said, that which is to be known even where all went well."""

    @property
    def good(self) -> bool:
        """Frames came, all are accounted for and as the user demands, and the run ended as it should."""
        came = bool(self.tally.complete + self.tally.incomplete)
        return self.tally.holds and came and not self.fault and not self.unmet


def run(options: RecvOptions, console: Console, watch: RunWatch | None = None) -> Received:
    """Receive until the capture or the run has ended. FramelaneError for bad input.

    A live run is shown to `watch`, which is the console if not given.
    """
    check_free(options.output, force=options.force)  # before all is prepared, which takes seconds
    watch = watch or OnConsole(console)
    live = isinstance(options.source, Live)
    with (
        stop_on_signals() if live else contextlib.nullcontext(Stop()) as stop,
        receive(options.source, options.processing, stop=stop) as reception,
        Recorder(reception, options.output, options=options.file, force=options.force) as recorder,
        _shown(reception, watch),
    ):
        for frame in reception:
            recorder.write(frame)
    tally, fault = reception.tally, reception.fault
    notes = [*reception.notes, *summary.thresholds(reception)]
    packets = summary.packets(reception.counters, reception.strays, reception.first_stray, reception.first_misfit)
    lines = [*notes, *_writes(reception), *packets] if live else [*packets, *notes]
    lines += summary.frames(reception, recorder, options.drift_file, options.force)
    lines += summary.experiment(recorder)
    unmet = options.demand.unmet(tally)
    watch.say([*lines, *filter(None, (fault, unmet))])
    statistics = RunStatistics(
        tally,
        reception.counters,
        recorder.reasons,
        written=recorder.frames,
        strays=reception.strays,
        first_stray=reception.first_stray,
        first_misfit=reception.first_misfit,
    )
    return Received(tally, fault, unmet, statistics, tuple(notes))


@contextlib.contextmanager
def _shown(reception: Reception, watch: RunWatch) -> Iterator[None]:
    """While it lasts a live run is shown, from the moment when its sources can find it."""
    if not reception.live:
        yield
        return
    with watch.running(_listening(reception.session, *reception.serve()), reception.stop) as progress:
        reception.tell = progress.update
        yield


def _listening(session: Session, host: str, port: int) -> str:
    return (
        f"waiting for {session.source.ip} over {session.service}, {session.rows} x {session.columns} pixels, "
        f"{session.n_slots} slots; the sources find the session at TCP {host}:{port}: Ctrl-C ends the run and keeps it"
    )


def _writes(reception: Reception) -> list[str]:
    """What an RDMA device has counted, beside what the sources have sent: nobody else may write to the ring."""
    writes, sent, tally = reception.writes, reception.packets_sent, reception.tally
    if writes is None:
        return []
    line = f"{writes} packets came to the device, {sent} were sent with the trailers that came"
    known = tally.complete == tally.sent - tally.dropped_at_source and reception.session.service == "UC"
    more = reception.sources_ended and known and writes > sent
    return [line + (": somebody else sends to this port" if more else "")]
