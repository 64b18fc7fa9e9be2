"""Every opcode, pad count and tail of the packetizer: RTL, model, scapy and tshark say the same.

FRAMELANE_ORACLE_PACKETS is the least number of packets, over all widths together; `make oracles` takes 100,000.
"""

import itertools
import os
import random
from collections.abc import Callable, Iterable, Iterator
from ipaddress import IPv4Address
from pathlib import Path
from typing import NamedTuple

import pytest
from scapy.contrib.roce import BTH
from scapy.layers.l2 import Ether

from framelane.driver.simulated.library import WIDTHS
from framelane.driver.simulated.simulation import MAX_QPS
from framelane.driver.simulated.verilated_roce_tx import RoceTxSimulator, Stalls
from framelane.models.roce_tx import roce_icrc, wire
from framelane.models.roce_tx.roce_qp import AckPolicy, QpContext, Segmentation, Service
from framelane.models.roce_tx.roce_segment import Message
from framelane.models.roce_tx.roce_tx import RoceTx
from framelane.models.roce_tx.wire import (
    BTH_BYTES,
    ICRC_BYTES,
    IP_BYTES,
    MTUS,
    RETH_BYTES,
    UC,
    UDP_BYTES,
    Endpoint,
    Opcode,
)
from framelane.packets.pcap import PcapWriter
from widths import some_widths

PACKETS = int(os.environ.get("FRAMELANE_ORACLE_PACKETS", "3000"))
Traffic = tuple[int, list[bytes]]
Tshark = Callable[[Path, list[str]], list[list[str]]]
BATCH = 128
BROKEN = 0.03
"""Share of the messages that are sent once more with a payload stream of another length."""
STALL_SHARES = (0.0, 0.1, 0.5)
BASE_BYTES = wire.ETH_BYTES + IP_BYTES + UDP_BYTES + BTH_BYTES


class Case(NamedTuple):
    """A message whose last packet is of this kind, and whose payload ends in this lane."""

    service: Service
    opcode: Opcode
    lane: int


TAILS = [opcode for opcode in Opcode if opcode.ends]


def rounds(lanes: int, chance: random.Random) -> Iterator[Case]:
    """Yield every case again and again, each time in another order."""
    cases = [Case(*case) for case in itertools.product(Service, TAILS, range(lanes))]
    while True:
        yield from chance.sample(cases, len(cases))


def random_table(chance: random.Random) -> tuple[QpContext, ...]:
    """A QP table with both services and segmentations, each with and without VLAN tag, and all path MTUs."""
    bits = chance.getrandbits
    return tuple(
        QpContext(
            dst=Endpoint(bits(48), bits(32)),
            dest_qpn=bits(24),
            rkey=bits(32),
            psn=chance.choice((bits(24), 0xFFFFFF - bits(4))),
            mtu=MTUS[k % len(MTUS)],
            service=Service(k & 1),
            segmentation=Segmentation(k >> 1 & 1),
            ack_policy=chance.choice(list(AckPolicy)) if k & 1 else AckPolicy.NEVER,
            ack_log2=bits(2),
            src_port=chance.randrange(wire.ROCE_PORT + 1, 1 << 16),  # a lower one decides what tshark decodes
            entropy=bool(bits(1)),
            vlan=bits(16) if k >> 2 & 1 else None,
            pkey=bits(16),
            tos=bits(8),
            ttl=bits(8),
        )
        for k in range(MAX_QPS)
    )


def message_of(case: Case, qps: tuple[QpContext, ...], lanes: int, chance: random.Random) -> Message:
    """A random message whose last packet is `case`."""
    single = case.opcode in (Opcode.WRITE_ONLY, Opcode.WRITE_ONLY_IMM)
    index = chance.choice([k for k, qp in enumerate(qps) if qp.service is case.service and (single or qp.segmentation)])
    qp = qps[index]
    header = BASE_BYTES + RETH_BYTES * case.opcode.starts + wire.IMM_BYTES * case.opcode.has_imm
    header += wire.VLAN_BYTES * (qp.vlan is not None)
    tail = (case.lane - header) % lanes + 1 + lanes * min(chance.randrange(qp.mtu // lanes), chance.randrange(64))
    before = 0 if single and qp.segmentation else chance.choice((0, 0, 0, 1)) if single else chance.choice((1, 1, 2))
    return Message(
        address=chance.getrandbits(64),
        length=before * qp.mtu + tail,
        qp=index,
        imm=chance.getrandbits(32) if case.opcode.has_imm else None,
        psn=chance.choice((*[None] * 9, chance.getrandbits(24))),
    )


def batch(cases: Iterable[Case], width: int, chance: random.Random) -> list[bytes]:
    """Send messages through RTL and model, which must agree: the packets. Some payload streams are short or long."""
    local, qps = Endpoint(chance.getrandbits(48), chance.getrandbits(32)), random_table(chance)
    model, expected, expected_statuses = RoceTx(local, qps), [], []
    stalls = Stalls(*chance.choices(STALL_SHARES, k=3))
    with RoceTxSimulator(local, qps, width, stalls, seed=chance.getrandbits(32)) as simulator:
        for case in cases:
            message = message_of(case, qps, width // 8, chance)
            streams = [message.length] + [chance.randint(1, 2 * message.length)] * (chance.random() < BROKEN)
            for length in streams:
                payload = chance.randbytes(length)
                simulator.send(message, payload)
                status, packets = model.send(message, payload)
                expected_statuses.append((status, message.qp))
                expected += packets
        traffic = simulator.run()
    assert traffic.statuses == expected_statuses
    for index, pair in enumerate(zip(traffic.packets, expected, strict=True)):
        assert pair[0] == pair[1], f"packet {index}"
    return traffic.packets


@pytest.fixture(
    scope="module", params=some_widths("roce_tx before the oracles", WIDTHS), ids=lambda width: f"{width} bits"
)
def traffic(request: pytest.FixtureRequest) -> Traffic:
    """Run this width's share of the packets, and every case at least once: the width, and packets as the model's."""
    width: int = request.param
    chance = random.Random(width)
    cases = rounds(width // 8, chance)
    packets: list[bytes] = []
    n_cases = len(Service) * len(TAILS) * width // 8
    for sent in itertools.count(step=BATCH):
        if sent >= n_cases and len(packets) * len(WIDTHS) >= PACKETS:
            break
        packets += batch(itertools.islice(cases, BATCH), width, chance)
    return width, packets


def coverage(packets: list[bytes], lanes: int) -> set[tuple[int, int, int]]:
    """Opcode, pad count and last payload lane of every packet that is whole."""
    parsed = [(wire.parse(packet)[0], len(packet) - ICRC_BYTES) for packet in packets if roce_icrc.check(packet)]
    return {(headers.opcode, headers.pad, (end - headers.pad - 1) % lanes) for headers, end in parsed}


def everything(lanes: int) -> set[tuple[int, int, int]]:
    """All that `coverage` can find: a FIRST or MIDDLE ends in one of two lanes, by its VLAN tag."""
    full = {
        (opcode, (end + wire.VLAN_BYTES * tag - 1) % lanes)
        for opcode, end in ((Opcode.WRITE_FIRST, BASE_BYTES + RETH_BYTES), (Opcode.WRITE_MIDDLE, BASE_BYTES))
        for tag in range(2)
    }
    tails = {(opcode, lane) for opcode in Opcode if opcode.ends for lane in range(lanes)}
    return {(opcode + service, (1 - lane) % 4, lane) for opcode, lane in full | tails for service in (0, UC)}


def mac(address: int) -> str:
    return address.to_bytes(6, "big").hex(":")


def fields_of(packet: bytes) -> dict[str, str]:
    """What tshark must say of a packet of the model."""
    h, _ = wire.parse(packet)
    udp_bytes = len(packet) - wire.ip_offset(packet) - IP_BYTES
    vlan, reth = h.vlan, h.reth
    values: dict[str, object] = {
        "eth.dst": mac(h.dst.mac),
        "eth.src": mac(h.src.mac),
        "vlan.priority": "" if vlan is None else vlan >> 13,
        "vlan.dei": "" if vlan is None else vlan >> 12 & 1,
        "vlan.id": "" if vlan is None else vlan & 0xFFF,
        "ip.src": IPv4Address(h.src.ip),
        "ip.dst": IPv4Address(h.dst.ip),
        "ip.dsfield.dscp": h.tos >> 2,
        "ip.dsfield.ecn": h.tos & 3,
        "ip.len": udp_bytes + IP_BYTES,
        "ip.id": 0,
        "ip.flags.df": 1,
        "ip.ttl": h.ttl,
        "ip.proto": wire.PROTOCOL_UDP,
        "ip.checksum.status": 1,
        "udp.srcport": h.src_port,
        "udp.dstport": wire.ROCE_PORT,
        "udp.length": udp_bytes,
        "udp.checksum": 0,
        "infiniband.bth.opcode": h.opcode,
        "infiniband.bth.se": 0,
        "infiniband.bth.m": 1,
        "infiniband.bth.padcnt": h.pad,
        "infiniband.bth.tver": 0,
        "infiniband.bth.p_key": h.pkey,
        "infiniband.bth.destqp": h.dest_qpn,
        "infiniband.bth.a": int(h.ack_request),
        "infiniband.bth.psn": h.psn,
        "infiniband.reth.va": "" if reth is None else reth.address,
        "infiniband.reth.r_key": "" if reth is None else reth.rkey,
        "infiniband.reth.dmalen": "" if reth is None else reth.length,
        "infiniband.immdt": "" if h.imm is None else f"{h.imm:08x}",
        "infiniband.invariant.crc": int.from_bytes(packet[-ICRC_BYTES:], "big"),
    }
    return {name: str(value) for name, value in values.items()}


def test_the_packets_have_every_opcode_pad_and_tail(traffic: Traffic) -> None:
    width, packets = traffic
    assert coverage(packets, width // 8) == everything(width // 8)


def test_scapy_computes_the_same_icrc(traffic: Traffic) -> None:
    width, packets = traffic
    inverted = 0
    for packet in packets:
        icrc: bytes = Ether(packet)[BTH].compute_icrc(b"")
        if icrc != packet[-ICRC_BYTES:]:
            assert bytes(byte ^ 0xFF for byte in icrc) == packet[-ICRC_BYTES:]
            assert not roce_icrc.check(packet), "poisoned only where the model has it poisoned"
            inverted += 1
    assert 0 < inverted < len(packets) * BROKEN
    print(
        f"{len(packets):,} packets at {width} bits: RTL = model = scapy's ICRC, its inverse in {inverted} poisoned ones"
    )


def test_tshark_decodes_the_same_fields(traffic: Traffic, tshark: Tshark, tmp_path: Path) -> None:
    width, packets = traffic
    with PcapWriter(tmp_path / "x.pcap") as writer:
        for packet in packets:
            writer.write(packet)
    names = list(fields_of(packets[0]))
    for index, (packet, values) in enumerate(zip(packets, tshark(tmp_path / "x.pcap", names), strict=True)):
        assert dict(zip(names, values, strict=True)) == fields_of(packet), f"packet {index}"
    print(f"{len(packets):,} packets at {width} bits: RTL = model = tshark's {len(names)} fields")
