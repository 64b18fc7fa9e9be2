"""Clock cycles of the Verilated packetizer: packet to packet, input to output, and what stalls cost."""

import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from framelane.driver.simulated.simulation import MAX_QPS
from framelane.driver.simulated.verilated_roce_tx import RoceTxSimulator, Stalls, Traffic
from framelane.models.cells import axis
from framelane.models.roce_tx import wire
from framelane.models.roce_tx.roce_qp import AckPolicy, QpContext, Segmentation, Service
from framelane.models.roce_tx.roce_segment import Message
from framelane.models.roce_tx.wire import MTUS, UC, Endpoint, Opcode

LOCAL, PEER = Endpoint(0x020000000001, 0x0A000001), Endpoint(0x020000000002, 0x0A000002)
REPEATS = 3
"""Equal packets in a row."""

STALL_SHARES = (0.1, 0.4, 0.8)
STALL_SIDES = ("sink", "payload", "message", "all")
STALL_MESSAGES = 400


def rows(width: int, payloads: Sequence[int]) -> list[dict[str, Any]]:
    """Cycles at a bus of `width` bits of packets with every number of `payloads` bytes; source and sink always ready.

    One row for each service, segmentation, kind of packet and payload. Single packets (ONLY) come as equal ones in a
    row. With the segmentation `message` each payload is also that of a LAST behind a FIRST, and every path MTU that of
    a FIRST and a MIDDLE. In cycles:

    - `period`: from the packet's first beat out to that of the next one, the longest seen
    - `latency`: from its first payload beat in to its first beat out; negative where beats of headers leave before
    - `payload_latency`: from its first payload beat in to the beat out that holds the first byte of it
    - `message_latency`: from its message in to its first beat out; None for MIDDLE and LAST

    Latencies are those after idle, or behind the packets of the same message. `ideal_beats` is the packet, Ethernet
    header to ICRC, in beats.
    """
    table: list[dict[str, Any]] = []
    for service, segmentation in itertools.product(Service, Segmentation):
        qps = tuple(QpContext(PEER, 0x11, 0x1234, mtu=mtu, service=service, segmentation=segmentation) for mtu in MTUS)
        found: dict[tuple[str, int], dict[str, Any]] = {}
        with RoceTxSimulator(LOCAL, qps, width) as simulator:
            for payload in payloads:
                for _ in range(REPEATS):
                    _send(simulator, payload, MTUS[-1])
                _note(found, simulator.run(), width)
            if segmentation is Segmentation.MESSAGE:
                for mtu in MTUS:
                    for _ in range(REPEATS):
                        _send(simulator, 3 * mtu, mtu)
                    _note(found, simulator.run(), width)
                for payload in payloads:
                    mtu = min(mtu for mtu in MTUS if mtu >= payload)
                    _send(simulator, mtu + payload, mtu)
                _send(simulator, 1, MTUS[-1])
                _note(found, simulator.run(), width)
        fixed = {"width": width, "service": service.name, "segmentation": segmentation.name.lower()}
        table += [fixed | found[key] for key in sorted(found)]
    return table


def _send(simulator: RoceTxSimulator, length: int, mtu: int) -> None:
    simulator.send(Message(0, length, MTUS.index(mtu)), bytes(length))


def _note(found: dict[tuple[str, int], dict[str, Any]], traffic: Traffic, width: int) -> None:
    """Add what one run, which began idle, shows of all its packets but the last, which none follows."""
    for k, (own, behind) in enumerate(itertools.pairwise(traffic.cycles.tolist())):
        message, payload, first, _ = own
        frame = traffic.packets[k]
        headers, _ = wire.parse(frame)
        opcode = Opcode(headers.opcode & ~UC)
        kind = opcode.name.removeprefix("WRITE_")
        row = found.setdefault(
            (kind, headers.payload_bytes),
            {
                **{"packet": kind, "payload": headers.payload_bytes, "period": 0},
                **{"ideal_beats": axis.n_beats(len(frame), width)},
                **dict.fromkeys(("latency", "payload_latency", "message_latency")),
            },
        )
        row["period"] = max(row["period"], behind[2] - first)
        if k == 0 or not opcode.starts:
            header_bytes = len(frame) - headers.payload_bytes - headers.pad - wire.ICRC_BYTES
            row["latency"] = first - payload
            row["payload_latency"] = first + header_bytes * 8 // width - payload
        if k == 0:
            row["message_latency"] = first - message


@dataclass(frozen=True, slots=True)
class Bubbles:
    """Bubbles of random traffic while one side, or all, pause in a share of the cycles; see `Traffic.bubbles`."""

    width: int
    side: str
    share: float
    beats: int
    bubbles: int
    unexplained: int


def bubbles(width: int, side: str, share: float) -> Bubbles:
    """What random messages of 1 to 2000 bytes, most of them short, on QPs of every kind show while `side` pauses."""
    chance = random.Random(f"{width} {side} {share}")
    stalls = Stalls(**{each: share for each in STALL_SIDES[:-1] if side in (each, "all")})
    with RoceTxSimulator(LOCAL, every_kind(), width, stalls) as simulator:
        for _ in range(STALL_MESSAGES):
            length = chance.randint(1, chance.choice((*[60] * 8, 2000)))
            imm = chance.choice((None, length))
            simulator.send(Message(0, length, chance.randrange(MAX_QPS), imm), bytes(length))
        traffic = simulator.run()
    beats = sum(axis.n_beats(len(packet), width) for packet in traffic.packets)
    return Bubbles(width, side, share, beats, traffic.bubbles, traffic.unexplained_bubbles)


def every_kind() -> tuple[QpContext, ...]:
    """A whole QP table, of all services, segmentations and path MTUs, with and without VLAN tag."""
    return tuple(
        QpContext(
            PEER,
            k,
            k,
            mtu=MTUS[k % len(MTUS)],
            service=Service(k % 2),
            segmentation=Segmentation(k // 2 % 2),
            ack_policy=AckPolicy(k // 4 % 3) if k % 2 else AckPolicy.NEVER,
            vlan=k if k % 3 == 0 else None,
            entropy=k % 5 == 0,
        )
        for k in range(MAX_QPS)
    )
