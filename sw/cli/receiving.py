"""What `framelane recv` does: packets, live or of a capture, to images in a file."""

from dataclasses import dataclass

from rich.console import Console

from framelane.cli.frame_writer import FrameWriter
from framelane.cli.live_loop import LiveLoop
from framelane.cli.live_transport import LiveReceiver, open_live
from framelane.cli.recv_options import RecvOptions
from framelane.cli.stages import say
from framelane.cli.stopping import stop_on_signals
from framelane.models.session import Session
from framelane.receiver.pcap_port import PcapPort
from framelane.receiver.receiver import Receiver
from framelane.receiver.ring import Ring
from framelane.receiver.softnic import SoftNic
from framelane.receiver.tally import Tally


@dataclass(frozen=True, slots=True)
class Received:
    """What became of the frames, and why the run ended early, if it did."""

    tally: Tally
    fault: str = ""

    @property
    def good(self) -> bool:
        """Frames came, all are accounted for, and the run ended as it should."""
        return self.tally.holds and bool(self.tally.complete + self.tally.incomplete) and not self.fault


def run(options: RecvOptions, console: Console) -> Received:
    """Receive until the capture or the run has ended. FramelaneError for bad input."""
    if options.live.transport is not None:
        return _run_live(options, console)
    assert options.pcap is not None
    assert options.session is not None
    session = Session.load(options.session)
    writer = FrameWriter(options, session)
    ring = Ring(session)
    with SoftNic(PcapPort(options.pcap), ring.memory, session) as transport, writer.open() as write:
        receiver = Receiver(ring, transport)
        while not transport.ended:
            for frame in receiver.poll(0):
                write(frame, receiver)
        for frame in receiver.settle():
            write(frame, receiver)
    tally = receiver.tally()
    say(console, "\n".join(writer.summary(transport.counters, receiver, tally)))
    return Received(tally)


def _run_live(options: RecvOptions, console: Console) -> Received:
    with stop_on_signals() as stop, open_live(options.live) as live:
        writer = FrameWriter(options, live.session)
        loop = LiveLoop(live, options.live)
        with writer.open() as write, console.status("nothing has come yet") as status:
            say(console, _listening(live))
            for frame in loop.frames(stop, status):
                write(frame, loop.receiver)
        counters, tally = live.transport.counters, loop.tally()
        lines = [*live.server.faults, *_writes(live, loop, tally), *writer.summary(counters, loop.receiver, tally)]
    say(console, "\n".join([*lines, loop.fault] if loop.fault else lines))
    return Received(tally, loop.fault)


def _listening(live: LiveReceiver) -> str:
    session, (host, port) = live.session, live.server.address
    return (
        f"waiting for {session.source.ip} over {session.service}, {session.rows} x {session.columns} pixels, "
        f"{session.n_slots} slots; the sources find the session at TCP {host}:{port}: Ctrl-C ends the run and keeps it"
    )


def _writes(live: LiveReceiver, loop: LiveLoop, tally: Tally) -> list[str]:
    """What an RDMA device has counted, beside what the sources have sent: nobody else may write to the ring."""
    writes = live.nic.writes() if live.nic else None
    if writes is None:
        return []
    line = f"{writes} packets came to the device, {loop.packets} were sent with the trailers that came"
    known = loop.ended and tally.complete == tally.sent - tally.dropped_at_source and live.session.service == "UC"
    return [line + (": somebody else sends to this port" if known and writes > loop.packets else "")]
