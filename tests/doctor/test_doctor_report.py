"""The doctor's whole report, word for word, and the same as a document, of captures of every kind.

`doctor_reports.txt` has the report of each capture below, which was compared with what is in the capture.
"""

from pathlib import Path

import pytest

from doctor_cases import make, stream
from framelane.doctor.diagnosis import Doctor
from framelane.doctor.gathered import Diagnosis
from framelane.doctor.report import document, lines
from framelane.source.impairments import packet_fields

SESSION = make()
SENT = stream(SESSION, 5)
GOOD = SENT[:20]
ARP, LLDP = (bytes(12) + kind + bytes(46) for kind in (b"\x08\x06", b"\x88\xcc"))
BEGUN_NS, STEP_NS = 1_700_000_000_000_000_000, 1_500_000

ON_THE_WAY = [ARP, ARP, *GOOD[:6], *GOOD[7:12], GOOD[10], *GOOD[12:16], GOOD[17], GOOD[16], *GOOD[18:], LLDP]
"""One packet is lost, one twice, one late."""
EARLY = [*SENT[:3], *SENT[20:22], *SENT[3:5]]
"""Frame 4 begins in the slot of frame 0 before that has ended, and nothing is lost."""


def renumbered(packets: list[bytes]) -> list[bytes]:
    """The packets with PSNs as if they were sent in this order."""
    numbered = (packet_fields.write(p, "bth.psn", SESSION.psn + n & 0xFFFFFF) for n, p in enumerate(packets))
    return [packet_fields.seal(packet, "bth.psn") for packet in numbered]


CAPTURES: dict[str, tuple[list[bytes], int | None]] = {
    "good": (GOOD, None),
    "trouble on the way": (ON_THE_WAY, None),
    "of another session": (stream(make(qpn=7, rkey=8), 2), None),
    "nothing of ours": ([ARP], None),
    "cut off at once": ([], 30),
    "cut off": (GOOD[:7], 900),
    "addresses of another session": (stream(make(base=0x4000), 3), None),
    "no ICRC is right": ([p[:-4] + bytes([n + 1, 2, 3, 4]) for n, p in enumerate(GOOD)], None),
    "overwritten": (renumbered(EARLY), None),
    "half of them of another QP": (stream(make(qpn=7), 4)[:10] + GOOD[10:], None),
}
"""Packets, and the byte at which the capture is cut off."""
REPORTS = {
    report.partition("\n")[0]: report.partition("\n")[2].rstrip("\n").splitlines()
    for report in Path(__file__).with_name("doctor_reports.txt").read_text().split("== ")[1:]
}


def diagnosed(name: str) -> Diagnosis:
    packets, cut_at = CAPTURES[name]
    doctor = Doctor(SESSION)
    for number, packet in enumerate(packets):
        doctor.take(number + 1, BEGUN_NS + number * STEP_NS, packet)
    found = doctor.finish()
    found.cut_at = cut_at
    return found


@pytest.mark.parametrize("name", CAPTURES)
def test_a_report_says_what_is_in_the_capture(name: str) -> None:
    assert lines(diagnosed(name), SESSION) == REPORTS[name]


def test_a_capture_with_a_snap_length_says_how_many_packets_are_cut() -> None:
    for count, sentence in ((1, "1 packet is cut"), (3, "3 packets are cut")):
        doctor = Doctor(SESSION)
        for number, packet in enumerate(GOOD[:count], 1):
            doctor.take(number, 0, packet[:96], len(packet))
        text = lines(doctor.finish(), SESSION)
        assert text[1] == f"placed, frames: not known, {sentence} by the capture"
        assert "  96 of 1098 bytes were captured" in text


def test_a_time_that_no_calendar_has_is_left_out() -> None:
    doctor = Doctor(SESSION)
    doctor.take(1, 1 << 70, stream(make(qpn=7))[0])
    assert "  first in packet 1 at 0.000000 s" in lines(doctor.finish(), SESSION)


def test_only_packets_that_were_all_wrong_by_one_value_have_a_sentence_at_the_top() -> None:
    two = Doctor(SESSION)
    for number, packet in enumerate([*stream(make(qpn=7))[:10], *stream(make(qpn=9))[10:]], 1):
        two.take(number, 0, packet)
    assert document(two.finish(), SESSION)["summary"] == []


def test_the_document_has_the_numbers_of_the_report() -> None:
    found = document(diagnosed("trouble on the way"), SESSION)
    causes = found.pop("causes")
    assert found == {
        "packets": 23,
        "session_packets": 20,
        "cut_packets": 0,
        "first_ns": BEGUN_NS,
        "last_ns": BEGUN_NS + 22 * STEP_NS,
        "placed": {"soft_nic": 20, "rnic": 20, "soft_roce": 20},
        "noise": {"ARP": 2, "LLDP": 1},
        "lost": 1,
        "duplicates": 1,
        "reordered": 1,
        "frames": {
            "first": 0,
            "last": 3,
            "complete": 3,
            "incomplete": 1,
            "incomplete_frames": [1],
            "missing": 0,
        },
        "summary": ["the packets are right, the network or the host loses some"],
    }
    assert [(c["cause"], c["kind"], c["count"], c["first_packet"], c["last_packet"]) for c in causes[:4]] == [
        ("lost", "network", 2, 9, 19),
        ("frame-incomplete", "network", 1, 11, 11),
        ("duplicate", "network", 1, 14, 14),
        ("reordered", "network", 1, 20, 20),
    ]
    assert all(c["time_ns"] == BEGUN_NS + (c["first_packet"] - 1) * STEP_NS for c in causes)


def test_the_document_says_who_does_not_place_a_packet_and_which_counter_grows() -> None:
    first, second = document(diagnosed("of another session"), SESSION)["causes"]
    assert (first["cause"], second["cause"]) == ("qpn", "rkey")
    assert first["not_placed_by"] == second["not_placed_by"] == ["soft_nic", "soft_roce", "rnic"]
    assert (first["counter"], second["counter"]) == ("qpn", "rkey")
    assert first["detail"] == "destination QP 0x7, should be 0x12345"
    (loss,) = [c for c in document(diagnosed("trouble on the way"), SESSION)["causes"] if c["cause"] == "lost"]
    assert (loss["not_placed_by"], loss["counter"]) == ([], None)
