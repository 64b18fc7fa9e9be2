"""`framelane jungfrau record`: packets of a real detector, live or from a capture, to a file of raw frames."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from pathlib import Path
from time import monotonic

from rich.console import Console

from framelane.base.errors import ConfigError, InputError, TransportError
from framelane.base.output import check_no_input
from framelane.base.progress import say
from framelane.base.stopping import Stop, stop_on_signals
from framelane.cli.told import Told
from framelane.models.jungfrau.jf_packet import PACKETS, check_interfaces
from framelane.packets.detector_file import JUNGFRAU, shipped
from framelane.receiver.detector.detector_port import DetectorPort
from framelane.receiver.detector.packet_batch import PacketBatch
from framelane.receiver.detector.packet_fate import Fate
from framelane.receiver.jungfrau.detector_frame import DetectorFrame, FrameCounts
from framelane.receiver.jungfrau.jungfrau_capture import JungfrauCapture
from framelane.receiver.jungfrau.jungfrau_udp import FrameAssembler
from framelane.receiver.jungfrau.recorder import Recorder
from framelane.receiver.transport import sockets
from framelane.receiver.transport.capture_times import CaptureTimes

_POLL_S, _SHOW_S = 0.1, 0.5
_DRAIN_S = 1.0
"""Longest time after a signal in which what is queued is still read."""
SETTLE_S = 1.0
"""Silence after which what is under way is written as it is."""
_PACKET_IN_QUEUE = 12_000
"""Bytes that the kernel counts for a packet in a queue, about."""

_WHY = {
    Fate.PORT: "not UDP to these ports",
    Fate.SIZE: "neither 8240 nor 4144 bytes long",
    Fate.VERSION: "another version of the header",
    Fate.DETECTOR: "another type of detector",
    Fate.PACKET: "packet numbers out of range: check --interfaces",
    Fate.MODULE: "from another module on the same port: give each module its own",
    Fate.LATE: "too late, their frames were written",
    Fate.NUMBER: "with frame numbers far from all others: corrupt, or another detector's",
    Fate.DUPLICATE: "twice",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordOptions:
    """What the user chose. `ports`: that of the first stream, or of each. ConfigError for what cannot be."""

    output: Path
    pcap: Path | None
    host: str
    ports: list[int]
    modules: int
    interfaces: int
    frames: int | None
    compress: bool
    force: bool = False

    def __post_init__(self) -> None:
        check_interfaces(self.interfaces)
        if len(self.ports) not in (1, self.modules * self.interfaces):
            raise ConfigError(
                f"{len(self.ports)} ports for {self.modules} modules with {self.interfaces} interfaces: give --port "
                f"once, for the first of consecutive ones, or {self.modules * self.interfaces} times"
            )
        if len(set(self.ports)) < len(self.ports):
            raise ConfigError("the ports are not all different: give each stream a --port of its own")
        if self.frames is not None and self.frames < 1:
            raise ConfigError(f"--frames {self.frames} is too few: give 1 or more")
        if self.pcap is not None:
            check_no_input(self.output, [self.pcap])

    def source(self) -> JungfrauCapture | DetectorPort:
        """Where the packets come from."""
        ports = self.ports
        if len(ports) == 1:
            ports = list(range(ports[0], ports[0] + self.modules * self.interfaces))
        return DetectorPort(self.host, ports) if self.pcap is None else JungfrauCapture(self.pcap, ports)


def run(options: RecordOptions, console: Console, told: Told) -> bool:
    """Record until the capture ends, the frames are there, the disk is full or a signal comes; whether all came."""
    assembler = FrameAssembler(options.modules, options.interfaces)
    failed = ""
    with (
        options.source() as source,
        stop_on_signals() as stop,
        Recorder(options.output, options.modules, options.compress, times=_times(source), force=options.force) as file,
    ):
        if isinstance(source, DetectorPort):
            _say_listening(source, console)
        with console.status("no packet yet") as status:
            shown = monotonic()
            try:
                for frame in _frames(source, assembler, stop):
                    file.write(frame, source.came_ns(frame.number) if isinstance(source, JungfrauCapture) else None)
                    if file.frames == options.frames or file.full:
                        break
                    if monotonic() - shown > _SHOW_S:
                        shown = monotonic()
                        status.update(_frames_line(assembler.counts))
                if file.frames:
                    file.close()
            except InputError as error:  # of the disk: what came is told all the same
                failed = str(error)
        counts, drops = assembler.counts, source.queue_drops
        say(console, "\n".join(_lines(counts, source)))
        if not (file.frames or failed):
            page = "docs/reference/jungfrau_packets.md"
            raise TransportError(f'no frame came, nothing is written: see "Nothing arrives" in {page}')
    if file.full:
        say(console, f"{file.full}: the recording ended early, frames up to {frame.number} are in {options.output}")
    if failed:
        say(console, f"{failed}: the recording ended early; what was readable by then stays")
    if options.output.is_file():
        say(console, f"see {options.output}")
    refused = sum(counts.fates.values()) - counts.fates[Fate.PLACED]
    good = not (counts.incomplete or counts.missing or refused or drops or file.full or failed)
    told.write(
        good=good,
        file=str(options.output),
        written=file.frames,
        complete=counts.complete,
        incomplete=counts.incomplete,
        missing=counts.missing,
        holes=counts.holes,
        packets={fate.name: count for fate, count in counts.fates.items()},
        queue_drops=drops,
        fault=failed or file.full,
    )
    return good


def _times(source: JungfrauCapture | DetectorPort) -> CaptureTimes | None:
    return source.times if isinstance(source, JungfrauCapture) else None


def _frames(source: JungfrauCapture | DetectorPort, assembler: FrameAssembler, stop: Stop) -> Iterator[DetectorFrame]:
    """All frames until the source ends, or until nothing is queued any more after a signal."""
    batch = PacketBatch(shipped(JUNGFRAU))
    last = monotonic()
    end = inf
    while not source.ended:
        source.fill(batch, 0 if stop.wanted else _POLL_S)
        now = monotonic()
        yield from assembler.add(batch)
        if batch.n:
            last = now
        elif now - last > SETTLE_S:
            yield from assembler.flush()
        if stop.wanted:
            end = min(end, now + _DRAIN_S)
            if not batch.n or now > end:
                break
    yield from assembler.flush()


def _say_listening(port: DetectorPort, console: Console) -> None:
    where = ", ".join(f"{host}:{number}" for host, number in port.addresses)
    say(console, f"listening on UDP {where}: Ctrl-C ends the recording and keeps it")
    if port.queue_bytes < sockets.QUEUE_BYTES:
        say(
            console,
            f"the kernel queues {port.queue_bytes // _PACKET_IN_QUEUE} packets a port, a module's frame has {PACKETS}: "
            f"where it drops any, allow more with `sysctl -w net.core.rmem_max={sockets.QUEUE_BYTES}`",
        )


def _frames_line(counts: FrameCounts) -> str:
    return (
        f"frames: {counts.complete} complete, {counts.incomplete} incomplete with {counts.holes} holes, "
        f"{counts.missing} missing"
    )


def _lines(counts: FrameCounts, source: JungfrauCapture | DetectorPort) -> list[str]:
    """The summary: what was lost, and why."""
    fates = counts.fates
    lines = {
        f"{source.queue_drops} dropped by the kernel, whose queue was full": source.queue_drops,
        f"{counts.guarded} words of gain code 10, which became 0xFFFF: a broken module": counts.guarded,
        f"{counts.restarts} times the frame numbers began anew": counts.restarts,
    }
    if isinstance(source, JungfrauCapture):
        lines[f"{source.fragments} IP fragments: set an MTU of 9000 where the detector sends"] = source.fragments
    return [
        f"{sum(fates.values())} packets, {fates[Fate.PLACED]} of them placed",
        *(f"{fates[fate]} {why}" for fate, why in _WHY.items() if fates[fate]),
        *(line for line, n in lines.items() if n),
        _frames_line(counts),
    ]
