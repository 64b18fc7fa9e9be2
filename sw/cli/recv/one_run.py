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
from framelane.receiver import Live, Reception, Recorder, RunStatistics, Stream, Tally, receive


@dataclass(frozen=True, slots=True)
class Received:
    """What became of the frames, and why the run ended early, if it did."""

    tally: Tally
    fault: str = ""
    unmet: str = ""
    """What of the user's demand is not so, in a sentence."""
    statistics: RunStatistics | None = None
    """The counts of a live run."""
    notes: tuple[str, ...] = ()
    """The lines of a live run that matter even where all went well."""

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
        contextlib.ExitStack() as opened,
        Recorder(reception, options.output, options=options.file, force=options.force) as recorder,
        _shown(reception, watch),
    ):
        metadata = options.file.metadata
        streams = [opened.enter_context(Stream(reception, each, metadata=metadata)) for each in options.streams]
        for frame in reception:
            for stream in streams:
                stream.write(frame)
            recorder.write(frame)
    tally, fault = reception.tally, reception.fault
    notes = [*reception.notes, *summary.thresholds(reception), *map(summary.stream, streams)]
    packets = summary.packets(recorder.statistics)
    lines = [*notes, *summary.writes(reception), *packets] if live else [*packets, *notes]
    lines += summary.frames(reception, recorder, options.drift_file, options.force)
    lines += summary.experiment(recorder)
    unmet = options.demand.unmet(tally, reception.sources_gone)
    watch.say([*lines, *filter(None, (fault, unmet))])
    return Received(tally, fault, unmet, recorder.statistics, tuple(notes))


@contextlib.contextmanager
def _shown(reception: Reception, watch: RunWatch) -> Iterator[None]:
    """While it lasts a live run is shown, from the moment when its sources can find it."""
    if not reception.live:
        yield
        return
    with watch.running(_listening(reception), reception.stop) as progress:
        reception.tell = progress.update
        yield


def _listening(reception: Reception) -> str:
    session, (host, port) = reception.session, reception.serve()
    if isinstance(source := reception.source, Live) and source.detector_layout is not None:
        ports, name = source.detector_ports, source.detector_layout.packets.name
        return (
            f"listening on UDP {host}:{', '.join(map(str, ports))} for {name}, {session.rows} x "
            f"{session.columns} pixels, {session.n_slots} slots: Ctrl-C ends the run and keeps it"
        )
    if isinstance(source, Live) and source.transport == "pcie":
        return (
            f"waiting for the board on PCIe, {session.rows} x {session.columns} pixels, {session.n_slots} slots: "
            "Ctrl-C ends the run and keeps it"
        )
    return (
        f"waiting for {session.source.ip} over {session.service}, {session.rows} x {session.columns} pixels, "
        f"{session.n_slots} slots; the sources find the session at TCP {host}:{port}: Ctrl-C ends the run and keeps it"
    )
