"""What `framelane recv` does: packets, live or of a capture, to images in a file."""

from dataclasses import dataclass

import numpy as np
from rich.console import Console

from framelane.cli import recv_summary
from framelane.cli.frame_writer import FrameWriter
from framelane.cli.live_loop import LiveLoop
from framelane.cli.live_transport import LiveWire, open_wire, served
from framelane.cli.ranked_statistics import RunStatistics
from framelane.cli.recv_options import RecvOptions
from framelane.cli.recv_pipeline import RecvPipeline
from framelane.cli.ring_memory import ring_memory
from framelane.cli.run_watch import OnConsole, RunWatch
from framelane.cli.stages import say
from framelane.cli.stopping import stop_on_signals
from framelane.models.session import Session
from framelane.receiver.pcap_port import PcapPort
from framelane.receiver.receiver import ReceivedFrame, Receiver
from framelane.receiver.ring import Ring
from framelane.receiver.softnic import SoftNic
from framelane.receiver.tally import Tally


@dataclass(frozen=True, slots=True)
class Received:
    """What became of the frames, and why the run ended early, if it did."""

    tally: Tally
    fault: str = ""
    statistics: RunStatistics | None = None
    """Of a live run."""
    notes: tuple[str, ...] = ()
    """Of what a live run has said, that which is to be known even where all went well."""

    @property
    def good(self) -> bool:
        """Frames came, all are accounted for, and the run ended as it should."""
        return self.tally.holds and bool(self.tally.complete + self.tally.incomplete) and not self.fault


def run(options: RecvOptions, console: Console, watch: RunWatch | None = None) -> Received:
    """Receive until the capture or the run has ended. FramelaneError for bad input.

    A live run is shown to `watch`, which is the console if not given.
    """
    if options.live.transport is not None:
        return _run_live(options, watch or OnConsole(console))
    assert options.pcap is not None
    assert options.session is not None
    session = Session.load(options.session)
    pipeline = RecvPipeline(options, session)
    ring = Ring(session, ring_memory(options)(session))
    with SoftNic(PcapPort(options.pcap), np.asarray(ring.memory), session) as transport:
        receiver = Receiver(ring, transport)
        writer = FrameWriter(options, session, pipeline, receiver)

        def write(frames: list[ReceivedFrame]) -> None:
            """Write all of them: a capture has no credit, its next packets may be of the same slots."""
            for frame in frames:
                writer.put(frame)
            writer.finish()

        with writer.open(ring):
            while not (transport.ended or writer.fault):
                write(receiver.poll(0))
            write(receiver.settle())
        fault = f"the run ended early: {writer.fault}" if writer.fault else ""
        lines = recv_summary.packets(transport.counters, receiver.strays, receiver.first_stray)
    tally = receiver.tally()
    lines += recv_summary.thresholds(options, session, pipeline)
    lines += recv_summary.frames(options, session, pipeline, writer, tally)
    say(console, "\n".join([*lines, fault] if fault else lines))
    return Received(tally, fault)


def _run_live(options: RecvOptions, watch: RunWatch) -> Received:
    with stop_on_signals() as stop, open_wire(options.live, ring_memory(options)) as wire:
        session = wire.session
        pipeline = RecvPipeline(options, session)
        receiver = Receiver(wire.ring, wire.transport)
        writer = FrameWriter(options, session, pipeline, receiver)
        # The pipeline is compiled before anybody hears of the session: a detector does not wait.
        with writer.open(wire.ring), served(session, options.live) as server:
            loop = LiveLoop(wire, receiver, server, options.live)
            with watch.running(_listening(session, *server.address), stop) as progress:
                loop.run(writer, stop, progress)
        tally, counters = loop.tally(), wire.transport.counters
        strays, first_stray = receiver.strays, receiver.first_stray
        notes = [*server.faults, *loop.gone(), *recv_summary.thresholds(options, session, pipeline)]
        lines = [*notes, *_writes(wire, loop, tally)]
        lines += recv_summary.packets(counters, strays, first_stray)
        lines += recv_summary.frames(options, session, pipeline, writer, tally)
    watch.say([*lines, loop.fault] if loop.fault else lines)
    statistics = RunStatistics(tally, counters, writer.reasons, writer.frames, strays, first_stray)
    return Received(tally, loop.fault, statistics, tuple(notes))


def _listening(session: Session, host: str, port: int) -> str:
    return (
        f"waiting for {session.source.ip} over {session.service}, {session.rows} x {session.columns} pixels, "
        f"{session.n_slots} slots; the sources find the session at TCP {host}:{port}: Ctrl-C ends the run and keeps it"
    )


def _writes(wire: LiveWire, loop: LiveLoop, tally: Tally) -> list[str]:
    """What an RDMA device has counted, beside what the sources have sent: nobody else may write to the ring."""
    writes = wire.nic.writes() if wire.nic else None
    if writes is None:
        return []
    line = f"{writes} packets came to the device, {loop.packets} were sent with the trailers that came"
    known = loop.ended and tally.complete == tally.sent - tally.dropped_at_source and wire.session.service == "UC"
    return [line + (": somebody else sends to this port" if known and writes > loop.packets else "")]
