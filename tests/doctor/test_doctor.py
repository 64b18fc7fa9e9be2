"""The doctor on planted faults: the right cause, the verdict of the soft NIC and of Linux; silence on good packets."""

import random
import time
from pathlib import Path

import pytest

from doctor_cases import examine, make, respond, stream
from framelane.doctor.catalogue import SECTIONS
from framelane.doctor.cause import Kind, Placer
from framelane.models.roce_tx import roce_icrc, wire
from framelane.receiver.transport.refusals import Refusal
from planted_faults import FAULTS, HARMLESS, PlantedFault, first_change

PAGE = Path(__file__).resolve().parents[2] / "docs" / "howto" / "doctor.md"
CAUSES = {cause.code: cause for causes in SECTIONS.values() for cause in causes}

EXPECTED = {
    "eth.dst: for another MAC": "mac",
    "eth.type: RoCE v1": "roce-v1",
    "ARP": "other-traffic",
    "IPv6": "ipv6",
    "runt: 30 bytes": "short-frame",
    "VLAN tag: of VLAN 100": "vlan",
    "ip.version: 6": "ip-version",
    "ip.ihl: options": "ip-options",
    "ip.length: more than the frame": "ip-length",
    "ip.length: less than the datagram": "udp-length",
    "ip.id: not covered by the ICRC": "icrc-mistake",
    "ip.flags: more fragments": "ip-fragment",
    "ip.fragment: not the first": "ip-fragment",
    "ip.protocol: TCP": "ip-protocol",
    "ip.checksum": "ip-checksum",
    "ip.ttl: changed, checksum not": "ip-checksum",
    "ip.src: from another host": "source-ip",
    "ip.dst: for another host": "destination-ip",
    "udp.dst: port 4792": "udp-port",
    "udp.length: more than came": "udp-length",
    "udp.length: less than came": "udp-length",
    "udp.checksum: wrong": "udp-checksum",
    "UDP: ten bytes of text": "udp-short",
    "bth.opcode: of no operation": "opcode",
    "bth.opcode: UD SEND": "opcode",
    "bth.opcode: RC on a QP of UC": "service",
    "bth.pad: 1 byte that is not a pad": "dma-length",
    "bth.tver: 1": "bth-version",
    "bth.pkey: of another partition": "pkey",
    "bth.qpn: of another QP": "qpn",
    "MIDDLE without FIRST": "no-first",
    "LAST without FIRST": "no-first",
    "reth.va: 4 bytes below the ring": "bounds",
    "reth.va: the last 4 bytes above the ring": "bounds",
    "reth.va: wraps 2^64": "bounds",
    "reth.va: an offset instead of an address": "bounds",
    "reth.rkey: its key": "rkey",
    "reth.rkey: its index": "rkey",
    "reth.length: more than the payload": "dma-length",
    "reth.length: less than the payload": "dma-length",
    "reth.length: more than 2^31": "message-too-long",
    "reth.length: 0 with payload": "dma-length",
    "payload: one bit": "icrc-bit-flip",
    "payload: 4 bytes too few": "dma-length",
    "payload: 4 bytes too many": "mtu",
    "truncated: 100 bytes": "ip-length",
    "path MTU: twice the session's": "mtu",
    "ICRC: one bit": "icrc-bit-flip",
    "ICRC: inverted, of a poisoned packet": "icrc-poisoned",
    "ICRC: most significant byte first": "icrc-mistake",
    "ICRC: not over the 8 ones": "icrc-mistake",
    "ICRC: over the time to live": "icrc-mistake",
    "ICRC: over the IPv4 checksum": "icrc-mistake",
    "ICRC: over BTH resv8a": "icrc-mistake",
    "ICRC: none": "icrc-missing",
    "FIRST lost": "rest-of-message",
    "MIDDLE lost": "rest-of-message",
    "FIRST shorter than the path MTU": "first-not-mtu",
    "MIDDLE shorter than the path MTU": "middle-not-mtu",
    "LAST before its time": "message-length",
    "reth.length: of more than the message": "message-length",
    "reth.va: a message that leaves the ring": "bounds",
    "bth.psn: of a MIDDLE, one too many": "rest-of-message",
    "a packet of an earlier frame, again": "late",
    "bth.psn: of an earlier frame": "late",
}
"""The cause that must be named first for a planted fault."""

LINUX_PLACES = ("reth.length: more than the payload", "LAST before its time")
"""Seen on Linux 6.12 by `sim/softroce/test_refused.py`: a packet with the whole path MTU of a longer message."""


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_planted_fault_gets_its_cause(fault: PlantedFault) -> None:
    session = make(segmentation=fault.segmentation)
    good = stream(session)
    bad = fault.mutate(good, session)
    found = examine(bad, session)
    cause = CAUSES[EXPECTED[fault.name]]
    group = found.groups[cause.code]
    if not fault.soft_nic_takes_it and cause.kind is not Kind.NOISE:
        assert cause.refusal == fault.cause
    assert group.cause is cause
    if not fault.seen_later:
        assert group.first == first_change(good, bad) + 1
    faults = {g.cause.code for g in found.diagnosis.groups if g.cause.kind is Kind.FAULT} - {cause.code}
    assert faults <= {"bounds", "udp-length", "dma-length"}, "no other cause is blamed, but what follows from this one"
    assert group.detail
    assert group.cause.advice


@pytest.mark.parametrize("fault", [*FAULTS, *HARMLESS], ids=lambda fault: fault.name)
def test_the_verdict_on_a_planted_fault_is_that_of_the_responder(fault: PlantedFault) -> None:
    session = make(segmentation=fault.segmentation)
    bad = fault.mutate(stream(session), session)
    assert [Placer.SOFT_NIC in placed for placed in examine(bad, session).placed] == respond(bad, session)


@pytest.mark.parametrize("fault", [*FAULTS, *HARMLESS], ids=lambda fault: fault.name)
def test_the_verdict_for_softroce_is_that_of_the_list(fault: PlantedFault) -> None:
    """What Linux does with each fault is measured by the tests in `sim/softroce`."""
    session = make(segmentation=fault.segmentation)
    good = stream(session)
    bad = fault.mutate(good, session)
    placed = [Placer.SOFT_ROCE in each for each in examine(bad, session).placed]
    if fault.name in LINUX_PLACES:
        assert placed[first_change(good, bad)]
        return
    assert all(placed) != fault.refused_by_nic
    at = first_change(good, bad)
    assert all(placed[:at])
    if fault.ends_qp:
        ended = placed.index(False)
        assert not any(placed[ended:])


def test_at_least_25_causes_are_told_apart() -> None:
    assert len({EXPECTED[fault.name] for fault in FAULTS}) >= 25


@pytest.mark.parametrize("fault", HARMLESS, ids=lambda fault: fault.name)
def test_what_is_harmless_is_no_fault(fault: PlantedFault) -> None:
    session = make()
    found = examine(fault.mutate(stream(session), session), session)
    assert found.bad <= ({"psn-jump"} if "psn" in fault.name else set())


@pytest.mark.parametrize("service", ["UC", "RC"])
@pytest.mark.parametrize("segmentation", ["only", "message"])
def test_no_false_alarm_on_good_packets_of_any_form(service: str, segmentation: str) -> None:
    """10,000 in all four, over all MTUs and odd image sizes."""
    packets = 0
    for mtu, rows, columns in ((256, 37, 33), (512, 64, 100), (1024, 31, 257), (2048, 100, 100), (4096, 128, 256)):
        session = make(service=service, segmentation=segmentation, mtu=mtu, rows=rows, columns=columns, n_slots=3)
        while_sent = stream(session, 1 + 520 // -(-session.image_bytes // mtu))
        found = examine(while_sent, session)
        assert [group.cause.code for group in found.diagnosis.groups] == []
        reference = Placer.SOFT_NIC if service == "UC" else Placer.RNIC
        assert all(reference in placed for placed in found.placed)
        assert found.diagnosis.frames.complete == len(while_sent) // len(stream(session, 1))
        packets += len(while_sent)
    assert packets >= 2500


@pytest.mark.parametrize("segmentation", ["only", "message"])
@pytest.mark.parametrize("share", [0.001, 0.02, 0.2])
def test_lost_packets_are_lost_and_no_faults_of_packets(segmentation: str, share: float) -> None:
    session = make(segmentation=segmentation)
    draw = random.Random(share)
    sent = stream(session, 200)
    left = [packet for n, packet in enumerate(sent) if n in (0, len(sent) - 1) or draw.random() >= share]
    found = examine(left, session)
    assert not any(group.cause.kind is Kind.FAULT for group in found.diagnosis.groups)
    assert found.diagnosis.lost == len(sent) - len(left)
    assert [Placer.SOFT_NIC in placed for placed in found.placed] == respond(left, session)
    counts = found.diagnosis.frames
    assert counts.complete + counts.incomplete + counts.missing == 200


def test_doubled_and_reordered_packets_are_counted_apart() -> None:
    session = make()
    sent = stream(session, 10)
    order = [0, 1, 1, 3, 2, *range(4, 50)]
    found = examine([sent[n] for n in order], session)
    assert (found.diagnosis.lost, found.diagnosis.duplicates, found.diagnosis.reordered) == (0, 1, 1)
    assert found.bad == {"duplicate", "reordered"}
    assert found.diagnosis.frames.complete == 10


def test_a_refused_packet_is_not_counted_as_lost() -> None:
    session = make()
    sent = stream(session)
    sent[7] = sent[7][:-1] + bytes([sent[7][-1] ^ 1])
    found = examine(sent, session)
    assert found.diagnosis.lost == 0
    assert "lost" not in found.groups


def test_a_capture_that_begins_in_the_middle_is_no_loss() -> None:
    session = make(segmentation="message")
    found = examine(stream(session, 8)[22:], session)
    kinds = {group.cause.code: group.cause.kind for group in found.diagnosis.groups}
    assert kinds["begun-late"] is Kind.NOTE
    assert kinds["begun-before-capture"] is Kind.NOTE
    assert found.bad == {"frame-incomplete"}
    assert found.diagnosis.lost == 0


def test_a_source_with_the_session_of_the_last_run_is_told_so() -> None:
    stale = make(qpn=0x11111, rkey=0x1234567, base=0x7F99_0000_0000)
    found = examine(stream(stale), make())
    assert {"qpn", "rkey", "bounds"} <= found.bad
    assert found.diagnosis.placed[Placer.SOFT_NIC] == 0
    assert found.groups["qpn"].count == found.diagnosis.packets


def test_addresses_in_the_wrong_byte_order_are_recognized() -> None:
    session = make()
    to = "06:05:04:03:02:01"
    reversed_mac = make(receiver={"mac": to, "ip": "10.0.0.2"})
    here = make(receiver={"mac": ":".join(reversed(to.split(":"))), "ip": "10.0.0.2"})
    assert "mac-reversed" in examine(stream(reversed_mac), here).bad
    swapped = make(rkey=int.from_bytes((0xCAFEF00D).to_bytes(4, "little"), "big"))
    assert "reverse order" in examine(stream(swapped), session).groups["rkey"].detail
    swapped = make(qpn=int.from_bytes((0x12345).to_bytes(3, "little"), "big"))
    assert "reverse order" in examine(stream(swapped), session).groups["qpn"].detail


def test_traffic_of_others_is_noise_and_not_a_fault() -> None:
    others = make(source={"mac": "02:00:00:00:01:01", "ip": "10.1.0.1"}, qpn=5, rkey=5,
                  receiver={"mac": "02:00:00:00:01:02", "ip": "10.1.0.2"})  # fmt: skip
    found = examine([packet for pair in zip(stream(make()), stream(others), strict=True) for packet in pair], make())
    assert not found.bad
    assert found.diagnosis.noise == {"RoCE v2 from 10.1.0.1 to 10.1.0.2": 20}
    assert found.diagnosis.ours == 20


def test_an_rc_gap_holds_up_all_that_follows_until_it_is_sent_again() -> None:
    session = make(service="RC")
    sent = stream(session)
    found = examine([*sent[:3], *sent[4:8], *sent[3:]], session)
    placed = [Placer.RNIC in each for each in found.placed]
    assert placed == [True] * 3 + [False] * 4 + [True] * 17
    assert found.groups["rc-gap"].count == 4
    assert found.groups["rc-gap"].cause.kind is Kind.CONSEQUENCE


def test_an_rc_qp_is_dead_behind_a_wrong_rkey() -> None:
    session = make(service="RC")
    wrong = stream(make(service="RC", rkey=1))
    sent = stream(session)
    found = examine([*sent[:3], wrong[3], *sent[4:]], session)
    assert [Placer.RNIC in each for each in found.placed] == [True] * 3 + [False] * 17
    assert found.groups["rc-error"].detail == "since packet 4"
    assert "rkey" in found.bad


def test_the_receivers_answers_are_read(udp_answers: list[tuple[bytes, str]]) -> None:
    session = make(service="RC")
    for packet, code in udp_answers:
        assert list(examine([packet], session).groups) == [code]


@pytest.fixture
def udp_answers() -> list[tuple[bytes, str]]:
    """Acknowledgements from the receiver to the source, by their syndrome (AETH: syndrome, MSN)."""
    session = make(service="RC")

    def packet(opcode: int, aeth: bytes) -> bytes:
        headers = wire.Headers(
            session.receiver.endpoint(), session.source.endpoint(), 0xC000, 0x0B, 2, 5, payload_bytes=len(aeth)
        )
        whole = bytearray(wire.pack(headers) + aeth)
        whole[42] = opcode
        return roce_icrc.append(bytes(whole))

    kinds = [(0x1F, "ack"), (0x60, "nak-sequence"), (0x61, "nak"), (0x62, "nak"), (0x2E, "rnr-nak")]
    acks = [(packet(0x11, bytes([syndrome, 0, 0, 1])), code) for syndrome, code in kinds]
    return [*acks, (packet(0x81, bytes(16)), "cnp")]


def test_ten_thousand_packets_take_seconds_even_where_every_icrc_is_wrong() -> None:
    session = make(rows=512, columns=1024, mtu=4096)
    sent = stream(session, 2)
    noise = random.Random(1)
    wrong = [packet[:-4] + noise.randbytes(4) for packet in sent]
    start = time.perf_counter()
    found = examine(wrong * 4, session)
    assert (time.perf_counter() - start) / len(wrong) / 4 < 1.5e-3
    assert found.bad >= {"icrc"}


def test_every_cause_says_what_it_means_and_what_to_do() -> None:
    assert len(CAUSES) == sum(map(len, SECTIONS.values())), "no two causes have one name"
    for cause in CAUSES.values():
        assert cause.meaning
        assert cause.advice
        assert not cause.meaning.endswith(".")
        if cause.refusal is not None:
            assert Placer.SOFT_NIC in cause.refused_by or cause.code == "rc-repeated"


def test_every_reason_of_the_soft_nic_has_a_cause() -> None:
    assert {cause.refusal for cause in CAUSES.values()} - {None} == set(Refusal)


def test_the_page_lists_every_cause_as_it_is() -> None:
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    assert rows == [
        f"| `{cause.code}` | {cause.kind.value} | {cause.meaning} | {cause.advice} | {cause.refused_by.words()} |"
        for cause in CAUSES.values()
    ]
