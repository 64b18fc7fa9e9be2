"""What the doctor says of half a capture: packets cut by a snap length, a file cut off, one sentence for many."""

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from doctor_cases import make, stream
from framelane.doctor.cause import Placer
from framelane.doctor.diagnosis import Doctor
from framelane.doctor.gathered import Diagnosis
from framelane.doctor.report import lines
from framelane.session.session import Session

RunCli = Callable[..., tuple[int, str, str]]
SNAPS = (15, 20, 34, 40, 42, 53, 54, 58, 60, 70, 74, 96, 128, 256, 1000)
ROUND = {"rows": 17, "columns": 99}
"""An image whose rest is not a multiple of 4 bytes: its last packet has a pad."""


def snapped(sent: list[bytes], session: Session, snap: int, after: int = 0) -> Diagnosis:
    """The diagnosis where at most `snap` bytes of each packet behind the first `after` were captured."""
    doctor = Doctor(session)
    for number, packet in enumerate(sent, 1):
        kept = packet if number <= after else packet[:snap]
        assert doctor.take(number, number * 1000, kept, len(packet)) in Placer
    return doctor.finish()


def codes(diagnosis: Diagnosis) -> set[str]:
    return {group.cause.code for group in diagnosis.groups}


@pytest.mark.parametrize("snap", SNAPS)
@pytest.mark.parametrize("changes", [{}, ROUND, {"segmentation": "only"}, {"service": "RC"}], ids=str)
def test_nothing_behind_the_cut_of_a_snapped_packet_is_judged(changes: dict[str, Any], snap: int) -> None:
    session = make(**changes)
    found = snapped(stream(session), session, snap)
    assert codes(found) == {"cut-by-capture"}
    assert found.cut > 0
    assert found.frames.incomplete == found.lost == 0


@pytest.mark.parametrize("service", ["UC", "RC"])
def test_packets_cut_from_the_middle_on_leave_the_judgement_of_those_before(service: str) -> None:
    session = make(service=service)
    found = snapped(stream(session), session, 96, after=7)
    assert codes(found) == {"cut-by-capture"}
    assert found.frames.complete == 1


def test_headers_before_the_cut_and_gaps_are_still_judged() -> None:
    sent = stream(make(qpn=0x777, rkey=5))
    del sent[4]
    found = snapped(sent, make(), 96)
    assert codes(found) == {"cut-by-capture", "qpn", "rkey"}
    sent = stream(make())
    del sent[4]
    assert snapped(sent, make(), 96).lost == 1


def test_a_psn_behind_the_cut_is_not_lost() -> None:
    session, sent = make(), stream(make())
    doctor = Doctor(session)
    for number, packet in enumerate(sent, 1):
        doctor.take(number, number * 1000, packet[:50] if 6 <= number <= 8 else packet, len(packet))
    found = doctor.finish()
    assert codes(found) == {"cut-by-capture"}
    assert (found.cut, found.lost) == (3, 0)


def test_of_cut_packets_the_report_does_not_say_who_places_them() -> None:
    text = "\n".join(lines(snapped(stream(make()), make(), 96), make()))
    assert "placed, frames: not known, 20 packets are cut by the capture" in text
    assert "fault: cut-by-capture, 20 times\n" in text
    assert "placed: 0" not in text
    assert "not placed by" not in text


def pcap(packets: list[bytes]) -> bytes:
    data = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1)
    for packet in packets:
        data += struct.pack("<IIII", 1_700_000_000, 0, len(packet), len(packet)) + packet
    return data


def block(kind: int, body: bytes) -> bytes:
    body += bytes(-len(body) % 4)
    size = 12 + len(body)
    return struct.pack("<II", kind, size) + body + struct.pack("<I", size)


def pcapng(packets: list[bytes]) -> bytes:
    data = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)) + block(1, struct.pack("<HHI", 1, 0, 0))
    for packet in packets:
        data += block(6, struct.pack("<IIIII", 0, 0, 0, len(packet), len(packet)) + packet)
    return data


@pytest.fixture
def doctor(run_cli: RunCli, tmp_path: Path) -> Callable[[bytes], tuple[int, str, Any]]:
    """Examine a capture of these bytes; status, text, and the document."""

    def run(data: bytes) -> tuple[int, str, Any]:
        make().save(tmp_path / "session.json")
        (tmp_path / "x").write_bytes(data)
        (tmp_path / "x.json").unlink(missing_ok=True)
        files = ("--session", tmp_path / "session.json", "--pcap", tmp_path / "x", "--json", tmp_path / "x.json")
        status, out, err = run_cli("doctor", *files)
        assert err == ""
        return status, " ".join(out.split()), json.loads((tmp_path / "x.json").read_text())

    return run


@pytest.mark.parametrize("form", [pcap, pcapng])
def test_a_capture_that_is_cut_off_is_said_to_be_so(doctor: Any, form: Callable[[list[bytes]], bytes]) -> None:
    sent = stream(make())
    first, ten, eleven = (len(form(sent[:n])) for n in (0, 10, 11))
    whole = form(sent)
    for size, packets in ((first + 1, 0), (first + 15, 0), (first + 40, 0), (ten + 3, 10), (eleven - 1, 10)):
        status, out, document = doctor(whole[:size])
        assert status == 1
        assert f"warning: the capture is cut off at byte {size}, after {packets} packets" in out
        assert "likely causes" not in out
        assert "nothing is wrong with these packets" not in out
        assert document["capture"] == {"cut_at": size, "packets": packets}
        assert document["nothing_wrong"] is False
    status, out, document = doctor(whole)
    assert (status, "cut off" in out, "capture" in document) == (0, False, False)


@pytest.mark.parametrize("form", [pcap, pcapng])
def test_a_record_of_a_capture_with_an_impossible_length_is_told_by_its_place(
    doctor: Any, form: Callable[[list[bytes]], bytes]
) -> None:
    sent = stream(make())
    data, at = bytearray(form(sent)), len(form(sent[:10]))
    data[at + 8 : at + 12] = b"\xff\xff\xff\x7f"
    if form is pcapng:
        data[at + 4 : at + 8] = bytes(4)
    status, out, _ = doctor(bytes(data))
    assert status == 1
    assert f"warning: the capture is cut off at byte {at}, after 10 packets" in out


def test_messages_that_lie_outside_the_ring_alike_are_told_in_one_sentence() -> None:
    session = make()
    sent = stream(make(base=0x4000), frames=12)
    doctor = Doctor(session)
    for number, packet in enumerate(sent, 1):
        doctor.take(number, number * 1000, packet)
    found = doctor.finish()
    (group,) = [group for group in found.groups if group.cause.code == "bounds"]
    assert dict(group.values) == {f"nowhere near the ring at {session.base:#x}: is it of another session?": group.count}
    text = [line for line in lines(found, session) if "nowhere near the ring" in line and "every packet" not in line]
    assert len(text) == 1
    assert f"({group.count} times, address and length aside)" in text[0]


def test_different_values_of_one_cause_are_still_told_apart() -> None:
    sent = [*stream(make(qpn=0x777))[:10], *stream(make(qpn=0x778))[10:]]
    doctor = Doctor(make())
    for number, packet in enumerate(sent, 1):
        doctor.take(number, number * 1000, packet)
    (group,) = [group for group in doctor.finish().groups if group.cause.code == "qpn"]
    assert list(group.values.values()) == [10, 10]


def test_five_values_of_a_cause_are_remembered_and_counted_on() -> None:
    qpns = (1, 2, 3, 4, 5, 6, 7, 1, 5, 6)
    doctor = Doctor(make())
    for number, qpn in enumerate(qpns, 1):
        doctor.take(number, 0, stream(make(qpn=qpn))[0])
    (group,) = [group for group in doctor.finish().groups if group.cause.code == "qpn"]
    counts = [2, 1, 1, 1, 2]
    assert dict(group.values) == {f"destination QP {n:#x}, should be 0x12345": k for n, k in enumerate(counts, 1)}
    assert (group.count, group.last) == (10, 10)
