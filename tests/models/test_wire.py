"""Bytes on the wire, by three oracles: our own inverse, scapy, and tshark."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scapy.contrib.roce import BTH, cnp
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Raw

from framelane.base.errors import PacketError
from framelane.models.roce_tx import roce_icrc, roce_join, wire
from framelane.models.roce_tx.roce_segment import Message
from framelane.models.roce_tx.roce_tx import RoceTx
from framelane.models.roce_tx.wire import UC, Endpoint, Headers, Opcode, Reth
from framelane.packets.pcap import PcapWriter
from framelane.session.session import Session

MakeSession = Callable[..., Session]
Tshark = Callable[[Path, list[str]], list[list[str]]]
HEADERS = Headers(
    src=Endpoint(0x020000000001, 0x0A000001),
    dst=Endpoint(0x0200000000FE, 0xC0A80102),
    src_port=0xC123,
    opcode=Opcode.WRITE_ONLY_IMM + UC,
    dest_qpn=0xABCDEF,
    psn=0xFFFFFF,
    payload_bytes=5,
    reth=Reth(0xFEDCBA9876543210, 0xDEADBEEF, 5),
    imm=0x01020304,
)


def random_headers(rng: np.random.Generator) -> Headers:
    """Any packet that `wire` can say."""
    opcode = Opcode(int(rng.choice(list(Opcode))))

    def bits(n: int) -> int:
        return int(rng.integers(1 << n, dtype=np.uint64) if n < 64 else rng.integers(1 << 64, dtype=np.uint64))

    return Headers(
        src=Endpoint(bits(48), bits(32)),
        dst=Endpoint(bits(48), bits(32)),
        src_port=bits(16),
        opcode=opcode + UC * bits(1),
        dest_qpn=bits(24),
        psn=bits(24),
        payload_bytes=int(rng.integers(0, 4097)),
        reth=Reth(bits(63), bits(32), bits(32)) if opcode.starts else None,
        imm=bits(32) if opcode.has_imm else None,
        pkey=bits(16),
        tos=bits(8),
        ttl=bits(8),
        ack_request=bool(bits(1)),
        vlan=bits(16) if bits(1) else None,
    )


def frame_of(headers: Headers, payload: bytes) -> bytes:
    return roce_icrc.append(roce_join.join(wire.pack(headers), payload))


def test_every_header_comes_back_from_its_bytes() -> None:
    rng = np.random.default_rng(1)
    for _ in range(500):
        headers = random_headers(rng)
        payload = rng.bytes(headers.payload_bytes)
        frame = frame_of(headers, payload)
        assert wire.parse(frame) == (headers, payload)
        assert roce_icrc.check(frame)
        assert len(frame) % 4 == 2, "14 or 18 bytes of Ethernet, then whole words"


def test_scapy_computes_the_same_icrc_for_any_packet() -> None:
    rng = np.random.default_rng(2)
    for _ in range(300):
        headers = random_headers(rng)
        frame = frame_of(headers, rng.bytes(headers.payload_bytes))
        packet = Ether(frame)
        packet[BTH].icrc = None
        assert bytes(packet) == frame


def test_packets_of_scapys_own_making_have_the_icrc_we_expect() -> None:
    rng = np.random.default_rng(4)
    for pad in range(4):
        bth = BTH(opcode=0x24, padcount=pad, dqpn=0x123, psn=pad, migreq=1) / Raw(rng.bytes(60))
        assert roce_icrc.check(
            bytes(Ether() / IP(src="10.0.0.1", dst="10.0.0.2", id=pad, tos=2) / UDP(dport=4791) / bth)
        )
    congestion = Ether() / IP(src="10.0.0.1", dst="10.0.0.2", ttl=9) / UDP(dport=4791, sport=55227) / cnp(dqpn=0xD2)
    assert roce_icrc.check(bytes(congestion))
    assert not roce_icrc.check(bytes(congestion)[:-1] + b"\x00")


def test_scapy_finds_the_vlan_tag_and_what_is_behind_it() -> None:
    packet = Ether(frame_of(replace(HEADERS, vlan=0xB123), b"hello"))
    tag = packet[Dot1Q]
    assert (tag.prio, tag.dei, tag.vlan, packet[BTH].psn) == (5, 1, 0x123, 0xFFFFFF)


def test_scapy_names_the_fields_alike() -> None:
    packet = Ether(frame_of(HEADERS, b"hello"))
    ip, udp, bth = packet[IP], packet[UDP], packet[BTH]
    assert (ip.src, ip.dst, ip.flags, ip.id, ip.ttl, ip.len) == (
        "10.0.0.1",
        "192.168.1.2",
        "DF",
        0,
        64,
        len(packet) - 14,
    )
    assert (udp.sport, udp.dport, udp.chksum, udp.len) == (0xC123, 4791, 0, ip.len - 20)
    assert (bth.opcode, bth.padcount, bth.pkey, bth.dqpn, bth.psn) == (0x2B, 3, 0xFFFF, 0xABCDEF, 0xFFFFFF)
    assert (bth.version, bth.migreq, bth.solicited, bth.ackreq, bth.fecn, bth.becn) == (0, 1, 0, 0, 0, 0)


FIELDS = {
    "eth.src": "02:00:00:00:00:01",
    "eth.dst": "02:00:00:00:00:fe",
    "ip.checksum.status": "1",
    "ip.flags.df": "1",
    "infiniband.bth.opcode": str(0x2B),
    "infiniband.bth.padcnt": "3",
    "infiniband.bth.p_key": str(0xFFFF),
    "infiniband.bth.destqp": str(0xABCDEF),
    "infiniband.bth.psn": str(0xFFFFFF),
    "infiniband.reth.va": str(0xFEDCBA9876543210),
    "infiniband.reth.r_key": str(0xDEADBEEF),
    "infiniband.reth.dmalen": "5",
    "infiniband.immdt": "01020304",
}


def test_tshark_decodes_every_field_we_wrote(tmp_path: Path, tshark: Tshark) -> None:
    with PcapWriter(tmp_path / "x.pcap") as writer:
        writer.write(frame_of(HEADERS, b"hello"))
    (values,) = tshark(tmp_path / "x.pcap", list(FIELDS))
    assert dict(zip(FIELDS, values, strict=True)) == FIELDS


def test_tshark_follows_a_message_through_its_packets(
    tmp_path: Path, tshark: Tshark, make_session: MakeSession
) -> None:
    only, message = make_session(), make_session(segmentation="message")
    with PcapWriter(tmp_path / "x.pcap") as writer:
        for session in (only, message):
            sender = RoceTx(session.source.endpoint(), (session.qp_context(),))
            for packet in sender.send(Message(session.base, 2500, imm=0xA), bytes(2500))[1]:
                writer.write(packet)
    fields = ["infiniband.bth.opcode", "infiniband.bth.psn", "infiniband.reth.dmalen", "infiniband.immdt", "ip.len"]
    assert tshark(tmp_path / "x.pcap", fields) == [
        ["42", "16777214", "1024", "", "1084"],
        ["42", "16777215", "1024", "", "1084"],
        ["43", "0", "452", "0000000a", "516"],
        ["38", "16777214", "2500", "", "1084"],
        ["39", "16777215", "", "", "1068"],
        ["41", "0", "", "0000000a", "500"],
    ]


@pytest.mark.parametrize(
    ("offset", "value", "reason"),
    [
        (12, 0x86, "ethernet"),
        (14, 0x46, "ipv4"),
        (23, 6, "ipv4"),
        (16, 0xFF, "ipv4"),
        (26, 0x99, "checksum"),
        (36, 0x13, "port"),
        (39, 0x00, "length"),
        (42, 0x24, "opcode"),
        (42, 0x31, "opcode"),
        (43, 0x71, "version"),
    ],
)
def test_what_is_no_rdma_write_is_refused_by_its_field(offset: int, value: int, reason: str) -> None:
    frame = bytearray(frame_of(HEADERS, b"hello"))
    frame[offset] = value
    with pytest.raises(PacketError) as refusal:
        wire.parse(bytes(frame))
    assert refusal.value.reason == reason


def test_a_pad_longer_than_what_there_is_to_pad_is_refused() -> None:
    empty = bytearray(frame_of(replace(HEADERS, payload_bytes=0), b""))
    empty[43] |= 0x10
    with pytest.raises(PacketError, match="too few for the headers of WRITE_ONLY_IMM"):
        wire.parse(bytes(empty))
