"""Receivers' memories for tests of placement: what packets write there, and what numpy says must be there."""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from framelane.models.placement import trailer
from framelane.models.placement.flow import Destination, Flow, FrameEvent
from framelane.models.roce_tx import roce_icrc, wire
from framelane.models.roce_tx.roce_qp import QpContext, Segmentation
from framelane.models.tx import TxConfig

GUARD = 256
"""Bytes before and behind each ring that nobody may write."""


class Memories:
    """One memory a QP: its destinations' rings, each with guards around it, filled with noise.

    A plain RDMA responder without any check but the ICRC: it writes what a packet says where it says.
    """

    def __init__(self, config: TxConfig, seed: int) -> None:
        noise = np.random.default_rng(seed)
        self.rings = [noise.integers(0, 256, ring_bytes(d) + 2 * GUARD, np.uint8) for d in config.destinations]
        self._of_qp = {config.qps[d.qp].dest_qpn: k for k, d in enumerate(config.destinations)}
        self._bases = [d.base - GUARD for d in config.destinations]
        self._open: dict[int, int] = {}

    def place(self, packets: Iterable[bytes]) -> None:
        """Write the packets' payload, in their order."""
        for packet in packets:
            headers, payload = wire.parse(packet)
            if not roce_icrc.check(packet):
                continue
            index = self._of_qp[headers.dest_qpn]
            if headers.reth:
                self._open[headers.dest_qpn] = headers.reth.address
            at = self._open[headers.dest_qpn] - self._bases[index]
            assert 0 <= at <= self.rings[index].size - len(payload), "outside the memory, guards included"
            self.rings[index][at : at + len(payload)] = np.frombuffer(payload, np.uint8)
            self._open[headers.dest_qpn] += len(payload)


def ring_bytes(destination: Destination) -> int:
    return destination.n_slots * destination.slot_bytes


@dataclass(frozen=True)
class Sent:
    """One frame for one destination: its own number there, and the frame."""

    destination: int
    number: int
    event: FrameEvent


def dealt(flow: Flow, events: Sequence[FrameEvent]) -> list[Sent]:
    """Which frames a flow would send where, by going through all that the detector has made, one by one.

    No formula of the transmitter is used.
    """
    hands = [0] * flow.destinations
    taken = turn = in_bunch = 0
    sent = []
    seen = 0
    for event in events:
        if flow.kind is not None and event.kind != flow.kind:
            continue
        position = seen
        seen += 1
        if position < flow.first or (flow.count and taken == flow.count):
            continue
        phase = position - flow.first
        while phase >= flow.period:
            phase -= flow.period
        if phase >= flow.burst:
            continue
        taken += 1
        sent.append(Sent(flow.first_destination + turn, hands[turn], event))
        hands[turn] += 1
        in_bunch += 1
        if in_bunch == flow.bunch:
            in_bunch, turn = 0, (turn + 1) % flow.destinations
    return sent


def put(
    ring: NDArray[np.uint8],
    destination: Destination,
    flow: Flow,
    sent: Sent,
    frame: NDArray[np.uint8],
    mtu: int,
    dropped: int,
) -> None:
    """Put a frame's rectangle and its trailer where they belong, by numpy slicing. `frame` is its memory.

    The destination did not get `dropped` frames before.
    """
    pixel, row = flow.pixel_bytes, flow.row_bytes
    slot = ring[GUARD:][: ring_bytes(destination)].reshape(destination.n_slots, -1)[sent.number % destination.n_slots]
    left, right = flow.x0 * pixel, flow.x1 * pixel
    for line in range(flow.height):
        source = frame[flow.source_offset + (flow.y0 + line) * flow.source_pitch :][left : left + row]
        slot[(flow.y1 + line) * flow.destination_pitch :][right : right + row] = source
    merged = flow.height == 1 or flow.row_bytes == flow.source_pitch == flow.destination_pitch
    runs = [flow.payload_bytes] if merged else [row] * flow.height
    packets = sum(-(-min(flow.max_length, run - at) // mtu) for run in runs for at in range(0, run, flow.max_length))
    wanted = trailer.Trailer(
        source=flow.source,
        slot=sent.number % destination.n_slots,
        frame_number=sent.number,
        timestamp_ns=sent.event.timestamp_ns,
        bunch_id=sent.event.bunch_id,
        payload_bytes=flow.width * flow.height * pixel,
        packets=packets,
        frames_dropped=dropped,
        detector_frame=sent.event.number,
    )
    slot[destination.trailer_offset :][: trailer.TRAILER_BYTES] = np.frombuffer(wanted.pack(), np.uint8)


def some_plan(draw: random.Random, local: wire.Endpoint) -> tuple[TxConfig, int]:
    """A random configuration that can be served, and the bytes of a frame in its memory."""
    span = 1 + draw.randrange(3000)
    wide = draw.random() < 0.3
    pixel = 4 if wide else 2
    columns, rows = 1 + draw.randrange(60), 1 + draw.randrange(30)
    pitch = columns * pixel + draw.choice((0, 0, draw.randrange(64)))
    offset = draw.choice((0, draw.randrange(span)))
    flows: list[Flow] = []
    destinations: list[Destination] = []
    qps: list[QpContext] = []
    for _ in range(1 + draw.randrange(4)):
        width, height = (
            (columns, rows) if draw.random() < 0.3 else (1 + draw.randrange(columns), 1 + draw.randrange(rows))
        )
        x1, y1 = draw.choice((0, draw.randrange(20))), draw.choice((0, draw.randrange(10)))
        out_pitch = (x1 + width) * pixel + draw.choice((0, draw.randrange(200)))
        if draw.random() < 0.3 and x1 == 0:
            out_pitch = width * pixel
        count = 1 + draw.randrange(3)
        period = 1 + draw.choice((0, draw.randrange(4)))
        flows.append(
            Flow(
                source=draw.randrange(256),
                first_destination=len(destinations),
                destinations=count,
                bunch=1 + draw.randrange(3),
                first=draw.choice((0, draw.randrange(4))),
                period=period,
                burst=1 + draw.randrange(period),
                count=draw.choice((0, 0, 1 + draw.randrange(5))),
                kind=draw.choice((None, None, draw.randrange(3))),
                x0=draw.randrange(columns - width + 1),
                y0=draw.randrange(rows - height + 1),
                width=width,
                height=height,
                source_pitch=pitch,
                source_offset=offset,
                wide=wide,
                x1=x1,
                y1=y1,
                destination_pitch=out_pitch,
                max_length=draw.choice((1 << 31, 1 << 12, 1 + draw.randrange(500))),
            )
        )
        for _ in range(count):
            need = (y1 + height) * out_pitch + 64 * (1 + draw.randrange(3))
            slot = -(-need // 4096) * 4096
            base = draw.getrandbits(47) << 12 | draw.choice((0, draw.randrange(4096)))
            spare = slot - (y1 + height) * out_pitch
            at = slot - 64 - draw.choice((0, draw.randrange(spare - 63)))
            destinations.append(Destination(len(qps), base, slot, 1 + draw.randrange(4), at))
            qps.append(
                QpContext(
                    dst=wire.Endpoint(draw.getrandbits(48), draw.getrandbits(32)),
                    dest_qpn=len(qps) + 2,
                    rkey=draw.getrandbits(32),
                    psn=draw.getrandbits(24),
                    mtu=draw.choice(wire.MTUS),
                    segmentation=draw.choice(list(Segmentation)),
                    vlan=draw.choice((None, draw.getrandbits(16))),
                )
            )
    return TxConfig(local, tuple(qps), tuple(destinations), tuple(flows)), offset + rows * pitch
