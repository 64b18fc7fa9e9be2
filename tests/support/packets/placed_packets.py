"""Packets to a real receiver, from a capture or over sockets, and what it made of them held against the forecast."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from expected_frames import Expected, Forecast, Source
from framelane.models.placement.slots import HOLE_WORD
from framelane.packets.pcap import PcapWriter
from framelane.receiver.ring.receiver import ReceivedFrame, Receiver
from framelane.receiver.ring.ring import Ring
from framelane.receiver.ring.tally import Tally
from framelane.receiver.transport.packet_port import PacketPort
from framelane.receiver.transport.pcap_port import PcapPort
from framelane.receiver.transport.softnic import Port, SoftNic
from framelane.receiver.transport.transport import Counters
from framelane.receiver.transport.udp_port import UdpPort
from framelane.session.session import Session
from framelane.source.sender import PacketSender, UdpSender

PATIENCE_S = 5.0
Send = Callable[[list[bytes]], None]
BATCH = 16
"""Packets that are sent before the receiver fetches them: they fit any socket's queue."""


class ReceivingHost:
    """A receiver with its ring. Every frame is looked at, then released."""

    def __init__(self, session: Session, port: Port) -> None:
        self.ring = Ring(session)
        self.nic = SoftNic(port, self.ring.memory, session)
        self.receiver = Receiver(self.ring, self.nic)
        self.seen: dict[int, Expected] = {}
        self.images: dict[int, NDArray[np.uint16]] = {}
        self.counters = Counters()
        """At the end."""

    def poll(self, timeout_s: float = 0) -> None:
        self.take(self.receiver.poll(timeout_s))

    def drain(self, placed: int) -> None:
        """Fetch until so many packets are placed, and no more come."""
        deadline = time.monotonic() + PATIENCE_S
        while self.nic.counters.placed < placed and time.monotonic() < deadline:
            self.poll(0.05)
        before, deadline = -1, time.monotonic() + PATIENCE_S
        while before != (before := self.nic.counters.packets) and time.monotonic() < deadline:
            self.poll(0.02)

    def finish(self, source: Source) -> None:
        """Nothing is on its way any more."""
        self.take(self.receiver.settle(source.offered, source.dropped))
        self.counters = self.nic.counters

    def take(self, frames: list[ReceivedFrame]) -> None:
        for frame in frames:
            assert frame.number not in self.seen, "a frame is handed out once"
            self.images[frame.number] = frame.image.copy()
            self.seen[frame.number] = Expected(frame.image != HOLE_WORD, frame.trailers[0] is not None)
            assert frame.holes == np.count_nonzero(~self.seen[frame.number].pixels)
            self.receiver.release(frame)

    def check(self, forecast: Forecast) -> None:
        """Every frame is as forecast, to the pixel, and the loss identity has exactly these numbers."""
        source = forecast.source
        for number, expected in forecast.frames.items():
            if expected.fate == "missing":
                assert number not in self.seen, f"of frame {number} nothing was left"
                continue
            seen, image = self.seen[number], source.image(number)
            assert np.array_equal(seen.pixels, expected.pixels), f"the holes of frame {number}"
            assert seen.trailer == expected.trailer
            assert np.array_equal(self.images[number][expected.pixels], image[expected.pixels])
        counters = self.counters
        assert counters.placed == forecast.placed
        assert counters.packets == counters.placed + counters.refused.total()
        assert self.receiver.strays == 0
        fates = [forecast.count(fate) for fate in ("complete", "incomplete", "missing")]
        tally = Tally(source.offered, fates[0], fates[1], source.dropped, 0, fates[2])
        assert self.receiver.tally(source.offered) == tally
        assert tally.holds


@contextmanager
def live(session: Session, interfaces: tuple[str, str] | None = None) -> Iterator[tuple[ReceivingHost, Send]]:
    """A receiver and a sender, on a pair of interfaces or over UDP on loopback."""
    if interfaces:
        with PacketSender(interfaces[0]) as packets:
            host = ReceivingHost(session, PacketPort(interfaces[1]))
            with host.nic:
                yield host, packets.send
        return
    port = UdpPort(session, 0)
    host = ReceivingHost(session, port)
    with host.nic, UdpSender(session, port.address[1]) as datagrams:
        yield host, datagrams.send


def receive(
    wire: Path | tuple[str, str] | None, session: Session, left: list[bytes], forecast: Forecast
) -> ReceivingHost:
    """The packets `left` to a receiver of a capture (in the folder `wire`), of an interface, or of UDP; to the end."""
    if isinstance(wire, Path):
        with PcapWriter(wire / "left.pcap") as capture:
            for packet in left:
                capture.write(packet)
        host = ReceivingHost(session, PcapPort(wire / "left.pcap"))
        with host.nic:
            while not host.nic.ended:
                host.poll()
            host.finish(forecast.source)
    else:
        with live(session, wire) as (host, send):
            for start in range(0, len(left), BATCH):
                send(left[start : start + BATCH])
                host.poll()
            host.drain(forecast.placed)
            host.finish(forecast.source)
    return host
