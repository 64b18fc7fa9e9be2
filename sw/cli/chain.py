"""The closed loop: Verilated transmitter, wire, soft NIC, ring, and the credit that comes back."""

import time
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from framelane.driver.verilated import TxSimulator
from framelane.models import axis, wire
from framelane.models.bd_gen import FrameEvent
from framelane.models.errors import SimulationError, TransportError
from framelane.receiver.pcap import PcapWriter
from framelane.receiver.receiver import ReceivedFrame, Receiver
from framelane.receiver.ring import Ring
from framelane.receiver.transport import Transport

BATCH = 16
"""Packets sent before the receiver fetches them: they fit any socket's queue."""

PATIENCE_S = 2.0
"""How long a packet may be on its way on this machine."""

_WIRE_OVERHEAD = 24
"""Preamble and start delimiter 8, FCS 4, gap 12 bytes: what Ethernet adds to a packet (IEEE 802.3)."""


class Sender(Protocol):
    """Puts Ethernet frames without FCS on a wire."""

    def send(self, frames: list[bytes]) -> None: ...


@dataclass(slots=True)
class Traffic:
    """What the transmitter has sent. `lost` are the indices, in the capture, of packets that were lost on the way.

    `payload_bytes` are those of all RDMA WRITEs, trailers included; `wire_bytes` all that Ethernet carries, gaps
    included; `ideal_beats` the bus cycles that the packets themselves take.
    """

    packets: int = 0
    payload_bytes: int = 0
    wire_bytes: int = 0
    ideal_beats: int = 0
    lost: list[int] = field(default_factory=list)

    def count(self, packet: bytes, width: int) -> None:
        """Add one packet of a bus of `width` bits."""
        headers, _ = wire.parse(packet)
        self.packets += 1
        self.payload_bytes += headers.payload_bytes
        self.wire_bytes += len(packet) + _WIRE_OVERHEAD
        self.ideal_beats += axis.n_beats(len(packet), width)


class Chain:
    """Sends frame after frame; what arrives comes back. A share `drop` of the packets is lost, drawn with `seed`."""

    def __init__(
        self,
        simulator: TxSimulator,
        width: int,
        capture: PcapWriter,
        sender: Sender,
        transport: Transport,
        ring: Ring,
        drop: float,
        seed: int,
    ) -> None:
        self.receiver = Receiver(ring, transport)
        self.traffic = Traffic()
        self._simulator = simulator
        self._width = width
        self._capture = capture
        self._sender = sender
        self._transport = transport
        self._ring = ring
        self._drop = drop
        self._rng = np.random.default_rng(seed)
        self._offered = 0

    def send(self, event: FrameEvent, image: np.ndarray) -> list[ReceivedFrame]:
        """Send one frame; the frames that are over with it, each to be given back by `receiver.release`."""
        self._simulator.write_memory(event.address, image)
        self._simulator.window_end = self._ring.window_end
        self._simulator.offer(event)
        packets = self._simulator.run()
        counters = self._simulator.counters()
        if counters.read_errors or counters.messages_refused:
            raise SimulationError(f"frame {event.number} did not leave as it should: {counters}")
        self._offered += 1
        kept = [packet for packet in packets if self._survives(packet, event.timestamp_ns)]
        frames = []
        for start in range(0, len(kept), BATCH):
            self._sender.send(kept[start : start + BATCH])
            frames += self.receiver.poll(0)
        frames += self._drain()
        return frames + self.receiver.settle(self._offered, counters.frames_dropped + counters.frames_refused)

    def _survives(self, packet: bytes, timestamp_ns: int) -> bool:
        self._capture.write(packet, timestamp_ns)
        lost = bool(self._rng.random() < self._drop)
        if lost:
            self.traffic.lost.append(self.traffic.packets)
        self.traffic.count(packet, self._width)
        return not lost

    def _drain(self) -> list[ReceivedFrame]:
        """Wait until all that was sent has come."""
        frames: list[ReceivedFrame] = []
        sent = self.traffic.packets - len(self.traffic.lost)
        deadline = time.monotonic() + PATIENCE_S
        while (counters := self._transport.counters).packets + counters.queue_drops < sent:
            if time.monotonic() > deadline:
                missing = sent - counters.packets
                raise TransportError(
                    f"{missing} of {sent} packets did not come back within {PATIENCE_S:g} s: does the receiving "
                    "interface see what the sending one sends?"
                )
            frames += self.receiver.poll(0.1)
        return frames + self.receiver.poll(0)
