"""What the doctor says at the edges: of packets that end in a header, of the last value that is right."""

import pytest

from doctor_cases import examine, make, stream
from framelane.doctor.cause import Placer
from framelane.doctor.diagnosis import diagnose
from framelane.doctor.packets.bth import name
from framelane.source.impairments import packet_fields


def test_a_fragment_that_ends_within_its_udp_header_is_too_short() -> None:
    first = packet_fields.write(stream(make())[0], "ip.flags", 1)
    found = examine([packet_fields.seal(first, "ip.flags")[:38]], make())
    assert found.groups["udp-short"].detail == "4 bytes of UDP came"
    assert found.placed == [Placer.NONE]
    behind = packet_fields.write(first, "ip.fragment", 185)
    assert "udp-short" not in examine([packet_fields.seal(behind, "ip.fragment")[:38]], make()).groups


@pytest.mark.parametrize(
    ("field", "value", "code", "detail"),
    [
        ("eth.type", 0x1234, "ethertype", "EtherType 0x1234, should be 0x0800"),
        ("bth.pkey", 0xBFFF, "pkey", "P_Key 0xbfff, should be 0xffff"),
        ("bth.pkey", 0x7FFE, "pkey", "P_Key 0x7ffe, should be 0xffff"),
        ("bth.pkey", 0x7FFF, "frame-unended", "slot 0, begun by packet 1"),
        ("bth.opcode", 0x65, "opcode", "opcode 0x65 (UD SEND ONLY with immediate), should be an RDMA WRITE"),
    ],
)
def test_another_value_of_a_field_gets_its_cause(field: str, value: int, code: str, detail: str) -> None:
    changed = packet_fields.seal(packet_fields.write(stream(make())[0], field, value), field)
    found = examine([changed], make())
    assert {each: group.detail for each, group in found.groups.items()} == {code: detail}


@pytest.mark.parametrize(
    ("opcode", "said"),
    [
        (0x00, "RC SEND FIRST"),
        (0x17, "RC SEND ONLY with invalidate"),
        (0x18, "reserved"),
        (0x2B, "UC WRITE ONLY with immediate"),
        (0x81, "CNP"),
        (0xA0, "XRC SEND FIRST"),
        (0xC0, "reserved"),
        (0xFF, "reserved"),
    ],
)
def test_opcodes_have_the_names_of_the_specification(opcode: int, said: str) -> None:
    assert name(opcode) == said


def test_an_ethernet_header_alone_has_its_protocol() -> None:
    header = bytes(12) + b"\x08\x06"
    assert examine([header], make()).groups["other-traffic"].detail == "ARP"
    assert examine([header[:13]], make()).groups["short-frame"].detail == "13 bytes hold no Ethernet and IPv4 header"


@pytest.mark.parametrize(("size", "short"), [(27, True), (28, False)])
def test_a_datagram_must_have_room_for_a_udp_header(size: int, short: bool) -> None:
    packet = packet_fields.seal(packet_fields.write(stream(make())[0], "ip.length", size), "ip.length")
    found = examine([packet], make()).groups.get("ip-length")
    assert (found.detail if found else "") == (f"total length {size}: too short for a UDP header" if short else "")


def test_a_message_that_another_one_follows_without_its_last_packet_is_said_to_lack_its_bytes() -> None:
    """Nothing is lost: the PSNs go on."""
    session = make(segmentation="message")
    sent = stream(session)
    left = [*sent[:3], *sent[4:10]]
    numbered = [packet_fields.write(packet, "bth.psn", session.psn + n & 0xFFFFFF) for n, packet in enumerate(left)]
    found = examine([packet_fields.seal(packet, "bth.psn") for packet in numbered], session)
    assert found.diagnosis.lost == 0
    group = found.groups["no-last"]
    assert (group.first, group.count, group.detail) == (4, 1, "the message of packet 1 lacks 128 bytes")


def test_packets_of_a_capture_are_counted_from_1() -> None:
    packets = [(5, packet, len(packet)) for packet in stream(make(qpn=7))[:2]]
    (group,) = diagnose(packets, make()).groups
    assert (group.cause.code, group.first, group.last) == ("qpn", 1, 2)
