"""What the doctor makes of packets that are not frames: answers of the receiver, ICMP, and the traffic of others."""

import struct

import pytest

from doctor_cases import examine, make, stream
from framelane.doctor.cause import Placer
from framelane.doctor.diagnosis import Doctor
from framelane.models.roce_tx import roce_icrc, wire
from framelane.source.impairments import packet_fields

SESSION = make(service="RC")
SOURCE, RECEIVER = SESSION.source.endpoint(), SESSION.receiver.endpoint()


def answer(opcode: int, payload: bytes, src: wire.Endpoint = RECEIVER, dst: wire.Endpoint = SOURCE) -> bytes:
    """A RoCE packet with PSN 5 for QP 2, by default from the receiver to the source."""
    headers = wire.Headers(src, dst, 0xC000, 0x0B, 2, 5, payload_bytes=len(payload))
    whole = bytearray(wire.pack(headers) + payload)
    whole[42] = opcode
    return roce_icrc.append(bytes(whole))


def aeth(syndrome: int) -> bytes:
    """An acknowledgement: syndrome and MSN."""
    return answer(0x11, bytes([syndrome, 0, 0, 1]))


def ethernet(ethertype: int, data: bytes, src: int = RECEIVER.mac, dst: int = SOURCE.mac) -> bytes:
    return dst.to_bytes(6, "big") + src.to_bytes(6, "big") + ethertype.to_bytes(2, "big") + data


def ipv4(protocol: int, data: bytes, src: int = RECEIVER.ip, dst: int = SOURCE.ip, options: bytes = b"") -> bytes:
    words = 5 + len(options) // 4
    head = struct.pack(">BBHHHBBHII", 0x40 | words, 0, 4 * words + len(data), 0, 0, 64, protocol, 0, src, dst)
    return head + options + data


def icmp(kind: int, code: int, about: bytes, mtu: int = 0) -> bytes:
    """An ICMP error of the receiver to the source, about a packet."""
    return ethernet(0x0800, ipv4(1, struct.pack(">BBHHH", kind, code, 0, 0, mtu) + about))


def sent(port: int = 4791, protocol: int = 17, options: bytes = b"") -> bytes:
    """The beginning of a packet of the source: an IP header and 8 bytes."""
    return ipv4(protocol, struct.pack(">HHHH", 0xC000, port, 1000, 0), SOURCE.ip, RECEIVER.ip, options)


def only(packet: bytes) -> tuple[str, str]:
    """Cause and detail of a packet alone, which nobody places."""
    found = examine([packet], SESSION)
    assert found.placed == [Placer.NONE]
    ((code, group),) = found.groups.items()
    return code, group.detail


ABOUT = "from 10.0.0.2, about a packet for 10.0.0.2"


@pytest.mark.parametrize(
    ("packet", "code", "detail"),
    [
        (aeth(0x00), "ack", "PSN 0x5"),
        (aeth(0x1F), "ack", "PSN 0x5"),
        (aeth(0x20), "rnr-nak", "PSN 0x5"),
        (aeth(0x3F), "rnr-nak", "PSN 0x5"),
        (aeth(0x60), "nak-sequence", "NAK 0 at PSN 0x5: PSN sequence error: a packet before is missing"),
        (aeth(0x61), "nak", "NAK 1 at PSN 0x5: invalid request: opcode, length or their order"),
        (aeth(0x62), "nak", "NAK 2 at PSN 0x5: remote access error: rkey, bounds of the ring, or no permission"),
        (aeth(0x63), "nak", "NAK 3 at PSN 0x5: remote operational error: the receiver has failed"),
        (aeth(0x64), "nak", "NAK 4 at PSN 0x5: invalid RD request"),
        (aeth(0x65), "nak", "NAK 5 at PSN 0x5: syndrome 0x65"),
        (aeth(0x70), "nak", "NAK 16 at PSN 0x5: syndrome 0x70"),
        (answer(0x81, bytes(16)), "cnp", "for QP 0x2"),
        (answer(0x0A, bytes(16)), "answer", "opcode 0x0a, PSN 0x5"),
        (icmp(3, 3, sent()), "icmp-port-unreachable", ABOUT),
        (icmp(3, 3, sent(options=bytes(8))), "icmp-port-unreachable", ABOUT),
        (icmp(3, 4, sent(), mtu=1500), "icmp-too-big", f"{ABOUT}: its MTU is 1500"),
        (icmp(3, 1, sent()), "icmp-unreachable", f"{ABOUT}: code 1"),
        (icmp(3, 13, sent()), "icmp-unreachable", f"{ABOUT}: code 13"),
        (icmp(11, 0, sent()), "icmp-ttl", ABOUT),
        (icmp(11, 3, sent()), "icmp-ttl", ABOUT),
        (icmp(5, 3, sent()), "other-traffic", "ICMP over IPv4"),
        (icmp(8, 0, sent()), "other-traffic", "ICMP over IPv4"),
        (icmp(3, 3, sent(port=4790)), "other-traffic", "ICMP over IPv4"),
        (icmp(3, 3, sent(protocol=6)), "other-traffic", "ICMP over IPv4"),
        (icmp(3, 3, sent()[:27]), "other-traffic", "ICMP over IPv4"),
        (icmp(3, 3, sent(options=bytes(8))[:28]), "other-traffic", "ICMP over IPv4"),
    ],
)
def test_an_answer_is_read_by_its_numbers(packet: bytes, code: str, detail: str) -> None:
    assert only(packet) == (code, detail)


@pytest.mark.parametrize(
    ("src", "dst"), [(RECEIVER, wire.Endpoint(7, 0x0A000009)), (wire.Endpoint(7, 0x0A000009), SOURCE)]
)
def test_an_answer_of_or_to_another_host_is_none_of_the_session(src: wire.Endpoint, dst: wire.Endpoint) -> None:
    addresses = " to ".join(str(bytes(end.ip.to_bytes(4, "big")).hex()) for end in (src, dst))
    code, detail = only(answer(0x11, bytes(4), src, dst))
    assert code == "other-roce", addresses
    assert detail.startswith("RoCE v2 from 10.0.0.")


def test_a_host_that_sends_to_itself_is_not_answered() -> None:
    session = make(receiver={"mac": "02:00:00:00:00:02", "ip": "10.0.0.1"})
    assert all(examine(stream(session), session).placed)


@pytest.mark.parametrize(
    ("ethertype", "name"),
    [
        (0x0806, "ARP"),
        (0x86DD, "IPv6"),
        (0x8808, "MAC control (pause, PFC)"),
        (0x8809, "slow protocols (LACP)"),
        (0x88CC, "LLDP"),
        (0x88F7, "PTP"),
        (0x8863, "PPPoE"),
        (0x8864, "PPPoE"),
        (0x8847, "EtherType 0x8847"),
        (0x0600, "EtherType 0x0600"),
        (0x05FF, "IEEE 802.3 with a length (spanning tree)"),
        (0x0026, "IEEE 802.3 with a length (spanning tree)"),
    ],
)
def test_other_protocols_are_counted_by_their_names(ethertype: int, name: str) -> None:
    found = examine([ethernet(ethertype, bytes(60))] * 3, SESSION).diagnosis
    assert (dict(found.noise), found.ours, found.packets) == ({name: 3}, 0, 3)


@pytest.mark.parametrize(("protocol", "name"), [(2, "IGMP"), (6, "TCP"), (17, "UDP"), (47, "IP protocol 47")])
def test_other_protocols_over_ipv4_are_too(protocol: int, name: str) -> None:
    packet = ethernet(0x0800, ipv4(protocol, bytes(60), 0x0A090001, 0x0A090002), 7, 8)
    assert only(packet) == ("other-traffic", f"{name} over IPv4")


def test_roce_of_others_is_told_from_packets_that_are_meant_for_the_session() -> None:
    """One address or number of the session is enough where the packet is RoCE."""
    others = make(
        source={"mac": "02:00:00:00:01:01", "ip": "10.1.0.1"},
        receiver={"mac": "02:00:00:00:01:02", "ip": "10.1.0.2"},
        qpn=5,
        rkey=5,
    )
    packet = stream(others)[0]
    assert only(packet) == ("other-roce", "RoCE v2 from 10.1.0.1 to 10.1.0.2")
    hints = {
        "ip.src": SOURCE.ip,
        "ip.dst": RECEIVER.ip,
        "eth.dst": RECEIVER.mac,
        "bth.qpn": SESSION.qpn,
        "reth.rkey": SESSION.rkey,
    }
    for name, value in hints.items():
        changed = packet_fields.seal(packet_fields.write(packet, name, value), name)
        assert "other-roce" not in examine([changed], make()).groups, name


@pytest.mark.parametrize(
    ("port", "qpn", "ours"), [(4791, 5, True), (9999, 0x12345, True), (9999, 5, False), (9999, 0x12344, False)]
)
def test_a_packet_with_the_wrong_port_is_known_by_the_qpn(port: int, qpn: int, ours: bool) -> None:
    packet = stream(make())[0]
    changed = packet_fields.write(packet_fields.write(packet, "bth.qpn", qpn), "udp.dst", port)
    found = examine([packet_fields.seal(changed, "udp.dst")], make())
    assert found.diagnosis.ours == ours
    assert ("udp-port" in found.groups) == (ours and port != 4791)


def test_what_may_be_of_the_session_is_judged_where_its_qpn_cannot_be_seen() -> None:
    """A fragment, or a packet of which only the beginning was captured."""
    packet = stream(make())[0]
    fragment = packet_fields.seal(packet_fields.write(packet, "ip.flags", 1), "ip.flags")[:38]
    assert examine([fragment], make()).diagnosis.ours == 1
    assert examine([packet[:38]], make()).diagnosis.ours == 0
    doctor = Doctor(make())
    doctor.take(1, 0, packet[:38], len(packet))
    assert doctor.finish().ours == 1


def test_two_marks_of_the_session_are_not_enough_where_the_port_is_another() -> None:
    others = make(
        source={"mac": "02:00:00:00:01:01", "ip": "10.1.0.1"}, receiver={"mac": "02:00:00:00:01:02", "ip": "10.1.0.2"}
    )
    packet = packet_fields.seal(packet_fields.write(stream(others)[0], "udp.dst", 9999), "udp.dst")
    assert only(packet) == ("other-traffic", "UDP over IPv4"), "QPN and rkey are those of the session"
    for name, value in (("eth.dst", RECEIVER.mac), ("ip.src", SOURCE.ip), ("ip.dst", RECEIVER.ip)):
        third = packet_fields.seal(packet_fields.write(packet, name, value), name)
        assert examine([third], make()).diagnosis.ours == 1, name


def test_roce_v1_is_of_the_session_where_one_of_its_macs_is() -> None:
    assert only(ethernet(0x8915, bytes(80), 7, RECEIVER.mac))[0] == "roce-v1"
    assert only(ethernet(0x8915, bytes(80), SOURCE.mac, 7))[0] == "roce-v1"
    assert only(ethernet(0x8915, bytes(80), 7, 8)) == ("other-traffic", "RoCE v1")
    assert examine([ethernet(0x8915, bytes(80), 7, RECEIVER.mac)], SESSION).diagnosis.ours == 1


def test_ipv6_is_a_fault_on_the_port_of_roce_only() -> None:
    def ipv6(header: int, port: int) -> bytes:
        return ethernet(0x86DD, struct.pack(">IHBB", 6 << 28, 8, header, 64) + bytes(32) + struct.pack(">HH", 1, port))

    assert only(ipv6(17, 4791))[0] == "ipv6"
    assert only(ipv6(17, 4790)) == ("other-traffic", "IPv6")
    assert only(ipv6(6, 4791)) == ("other-traffic", "IPv6")
