"""The closed loop: Verilated transmitter, wire, soft NIC, ring, and the credit that comes back."""

import time
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import SimulationError, TransportError
from framelane.demo.losses import Loss, Losses
from framelane.driver.board.board import Board
from framelane.models.cells import axis
from framelane.models.memory.frame_store import FrameInfo
from framelane.models.roce_tx import wire
from framelane.models.roce_tx.wire import Headers
from framelane.packets.pcap import PcapWriter
from framelane.receiver.ring.receiver import ReceivedFrame, Receiver
from framelane.receiver.ring.ring import Ring
from framelane.receiver.transport.transport import Counters, Transport

BATCH = 16
"""Packets sent before the receiver fetches them: they fit any socket's queue."""

PATIENCE_S = 2.0
"""How long a packet may be on its way on this machine."""


class Transmitter(Protocol):
    """One that takes raw images and gives packets."""

    board: Board
    cycles: int

    def frame(self, info: FrameInfo, image: NDArray[np.uint16]) -> None: ...

    def run(self) -> list[bytes]: ...


class Sender(Protocol):
    """Puts Ethernet frames without FCS on a wire."""

    def send(self, frames: list[bytes]) -> None: ...


@dataclass(slots=True)
class Traffic:
    """What the transmitter has sent. `lost` are the indices, in the capture, of packets that were lost on the way.

    The receiver has to place `placeable` packets: those that were not lost, and whose message has lost none before.
    `payload_bytes` are those of all RDMA WRITEs, trailers included; `wire_bytes` all that Ethernet carries, gaps
    included; `ideal_beats` the bus cycles that the packets themselves take.
    """

    packets: int = 0
    payload_bytes: int = 0
    wire_bytes: int = 0
    ideal_beats: int = 0
    placeable: int = 0
    lost: list[int] = field(default_factory=list)

    def count(self, packets: list[bytes], headers: list[Headers], loss: Loss, width: int) -> None:
        """Add the packets of one frame, on a bus of `width` bits."""
        self.lost += [self.packets + index for index, lost in enumerate(loss.packets) if lost]
        self.placeable += loss.placed
        self.packets += len(packets)
        self.payload_bytes += sum(h.payload_bytes for h in headers)
        self.wire_bytes += sum(len(packet) + wire.LINE_BYTES for packet in packets)
        self.ideal_beats += sum(axis.n_beats(len(packet), width) for packet in packets)


class Chain:
    """Sends frame after frame, some packets of which `losses` loses; what arrives comes back."""

    def __init__(
        self,
        simulator: Transmitter,
        width: int,
        capture: PcapWriter,
        sender: Sender,
        transport: Transport,
        ring: Ring,
        losses: Losses,
    ) -> None:
        self.receiver = Receiver(ring, transport)
        self.traffic = Traffic()
        self._simulator = simulator
        self._width = width
        self._capture = capture
        self._sender = sender
        self._transport = transport
        self._ring = ring
        self._losses = losses
        self._offered = 0
        self._unplaced = 0

    @property
    def counters(self) -> Counters:
        """What the transport has seen."""
        return self._transport.counters

    @property
    def cycles(self) -> int:
        """Clock cycles of the gateware."""
        return self._simulator.cycles

    def send(self, info: FrameInfo, image: NDArray[np.uint16]) -> tuple[Loss, list[ReceivedFrame]]:
        """Send one frame: what it loses, and the frames that are over, each to be given back by `receiver.release`."""
        self._simulator.board.publish_credit(0, self._ring.window_end)
        self._simulator.frame(info, image)
        packets = self._simulator.run()
        counters = self._simulator.board.counters()
        here, flow = counters.destinations[0], counters.flows[0]
        wrong = (here.failed, flow.refused, counters.frames_bad, counters.mismatches, counters.constant_errors)
        if any(wrong):
            raise SimulationError(f"frame {info.number} did not leave as it should: {counters}")
        self._offered += 1
        for packet in packets:
            self._capture.write(packet, info.timestamp_ns)
        headers = [wire.parse(packet)[0] for packet in packets]
        loss = self._losses.draw(headers)
        self.traffic.count(packets, headers, loss, self._width)
        kept = [packet for packet, lost in zip(packets, loss.packets, strict=True) if not lost]
        frames = []
        for start in range(0, len(kept), BATCH):
            self._sender.send(kept[start : start + BATCH])
            frames += self.receiver.poll(0)
        frames += self._drain()
        frames += self.receiver.settle(self._offered, here.dropped + here.skipped)
        return loss, frames

    def _drain(self) -> list[ReceivedFrame]:
        """Wait until all that can be placed is placed; foreign packets may come in between."""
        frames: list[ReceivedFrame] = []
        sent = self.traffic.packets - len(self.traffic.lost)
        deadline = time.monotonic() + PATIENCE_S
        while (counters := self._transport.counters).placed + counters.queue_drops < (
            self.traffic.placeable - self._unplaced
        ):
            if time.monotonic() > deadline:
                came = counters.packets + counters.queue_drops
                if came < sent:
                    raise TransportError(
                        f"{sent - came} of {sent} packets did not come back within {PATIENCE_S:g} s: does the "
                        "receiving interface see what the sending one sends, and are both up (`ip -br link`)?"
                    )
                self._unplaced = self.traffic.placeable - counters.placed - counters.queue_drops
                break
            frames += self.receiver.poll(0.1)
        return frames + self.receiver.poll(0)
