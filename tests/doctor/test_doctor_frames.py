"""The doctor on trailers, slots and frames: what is placed rightly, and is still no frame of the session."""

from dataclasses import replace
from typing import Any

import pytest

from doctor_cases import examine, make, stream
from framelane.models.placement import trailer
from framelane.models.roce_tx import wire
from framelane.models.tx import tx
from framelane.session.session import Session
from framelane.source.impairments import packet_fields

TRAILER = 4
"""Its number in a frame: 3 packets and a rest, then the trailer."""


def with_trailer(packet: bytes, **changes: Any) -> bytes:
    """The packet with other fields in its trailer."""
    found = trailer.unpack(wire.parse(packet)[1])
    assert found
    return rewritten(packet, replace(found, **changes).pack())


def rewritten(packet: bytes, payload: bytes) -> bytes:
    changed = packet_fields.write(packet, "payload", int.from_bytes(payload, "big"))
    return packet_fields.seal(changed, "payload")


def forged(packet: bytes, name: str, value: int) -> bytes:
    return packet_fields.seal(packet_fields.write(packet, name, value), name)


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        (lambda p: rewritten(p, b"FLT2" + wire.parse(p)[1][4:]), "trailer-magic"),
        (lambda p: rewritten(p, wire.parse(p)[1][:4] + b"\7\0" + wire.parse(p)[1][6:]), "trailer-version"),
        (lambda p: with_trailer(p, source=1), "trailer-source"),
        (lambda p: with_trailer(p, slot=3), "trailer-frame"),
        (lambda p: with_trailer(p, frame_number=1), "trailer-frame"),
        (lambda p: with_trailer(p, frame_number=4), "trailer-frame"),
        (lambda p: with_trailer(p, payload_bytes=6400), "trailer-bytes"),
        (lambda p: forged(p, "imm", 0x01000000), "trailer-source"),
        (lambda p: forged(p, "imm", 3), "trailer-frame"),
        (lambda p: forged(p, "reth.va", make().base + 3200), "immediate-place"),
        (lambda p: forged(p, "reth.va", make().base + 4096 - 60), "slot-crossing"),
    ],
)
def test_a_wrong_trailer_gets_its_cause(change: Any, cause: str) -> None:
    sent = stream(make())
    sent[TRAILER] = change(sent[TRAILER])
    found = examine(sent, make())
    assert cause in found.bad
    assert found.groups[cause].first == TRAILER + 1
    assert all(found.placed), "a NIC places it all the same"


@pytest.mark.parametrize(
    ("frame", "imm", "wrong"),
    [
        (1 << 16, 1 << 16, False),
        (1 << 23, 1 << 23, False),
        (1 << 23, 0, True),
        (1 << 24, 0, False),
        (1 << 40, 0, False),
        ((1 << 24) + 4, 4, False),
        ((1 << 24) + 4, 0, True),
    ],
)
def test_the_immediate_has_the_low_24_bits_of_the_frame_number(frame: int, imm: int, wrong: bool) -> None:
    sent = stream(make())
    sent[TRAILER] = forged(with_trailer(sent[TRAILER], frame_number=frame), "imm", imm)
    found = examine(sent, make()).groups.get("trailer-frame")
    assert (found.detail if found else "") == (f"frame {frame}, immediate {imm}" if wrong else "")


def test_a_trailer_without_immediate_ends_nothing() -> None:
    sent = stream(make())
    headers, payload = wire.parse(sent[TRAILER])
    plain = wire.pack(replace(headers, opcode=0x2A, imm=None)) + payload + bytes(4)
    sent[TRAILER] = packet_fields.seal(plain, "bth.opcode")
    found = examine(sent, make())
    assert "trailer-without-immediate" in found.bad


def test_an_immediate_on_pixels_is_no_trailer() -> None:
    sent = stream(make())
    headers, payload = wire.parse(sent[1])
    plain = wire.pack(replace(headers, opcode=0x2B, imm=0)) + payload + bytes(4)
    sent[1] = packet_fields.seal(plain, "bth.opcode")
    assert "immediate-place" in examine(sent, make()).bad


def test_a_frame_with_a_hole_is_incomplete_and_its_rows_are_named() -> None:
    sent = stream(make())
    del sent[6]
    found = examine(sent, make())
    assert found.diagnosis.frames.incomplete_frames == [1]
    assert found.groups["frame-incomplete"].detail == ("frame 1: 1024 of 3200 bytes were not written, in rows 5 to 10")
    assert (found.diagnosis.frames.complete, found.diagnosis.frames.incomplete) == (3, 1)


def test_a_source_that_ignores_the_credit_is_caught_by_the_slot_that_it_overwrites() -> None:
    """Frame 4 begins in slot 0 before frame 0 has ended; nothing was lost."""
    session = make()
    sent = stream(session, 5)
    early = [*sent[:3], *sent[20:22], *sent[3:5]]
    renumbered = [forged(p, "bth.psn", session.psn + n & 0xFFFFFF) for n, p in enumerate(early)]
    found = examine(renumbered, session)
    assert "slot-overwritten" in found.bad
    assert "2048 bytes" in found.groups["slot-overwritten"].detail or found.groups["slot-overwritten"].count == 2


@pytest.mark.parametrize(("frame", "beyond"), [(4, False), (5, True), (6, True)])
def test_frames_beyond_all_credit_are_said(frame: int, beyond: bool) -> None:
    """After frame 0 of a ring of 4 slots there may be credit up to frame 4."""
    session = make()
    sent = stream(session, 8)
    jumped = [*sent[:5], *sent[5 * frame : 5 * frame + 5]]
    renumbered = [forged(p, "bth.psn", session.psn + n & 0xFFFFFF) for n, p in enumerate(jumped)]
    found = examine(renumbered, session)
    assert ("credit" in found.bad) == beyond
    assert found.groups["frame-missing"].detail == f"frames 1 to {frame - 1}"


@pytest.mark.parametrize("lost_before", [True, False])
def test_a_gap_of_frames_is_no_breach_of_credit_where_packets_were_lost_since_the_last(lost_before: bool) -> None:
    """What the trailer of the frame before has shown to be lost excuses nothing."""
    session = make()
    sent = stream(session, 8)
    left = [*sent[:3], *sent[4:5], *sent[30:35]] if lost_before else [*sent[:5], *sent[31:35]]
    numbers = [0, 1, 2, 4, 5, 6, 7, 8, 9] if lost_before else [0, 1, 2, 3, 4, 6, 7, 8, 9]
    renumbered = [forged(p, "bth.psn", session.psn + n & 0xFFFFFF) for n, p in zip(numbers, left, strict=True)]
    found = examine(renumbered, session)
    assert found.diagnosis.lost == 1
    assert ("credit" in found.bad) == lost_before


def test_a_free_running_ring_has_no_credit_to_violate() -> None:
    session = make(window_end=(1 << 64) - 1)
    sent = stream(session, 8)
    jumped = [*sent[:5], *sent[30:35]]
    renumbered = [forged(p, "bth.psn", session.psn + n & 0xFFFFFF) for n, p in enumerate(jumped)]
    assert examine(renumbered, session).bad == {"frame-missing"}


def test_a_stream_that_is_sent_twice_repeats_its_frames() -> None:
    session = make(sources=1)
    sent = stream(session)
    again = [forged(p, "bth.psn", session.psn + 20 + n & 0xFFFFFF) for n, p in enumerate(sent)]
    found = examine([*sent, *again], session)
    assert found.groups["frame-repeated"].count == 4


def test_drops_that_the_source_confesses_are_no_losses() -> None:
    session = make()
    sent = stream(session, 3)
    sent[9] = with_trailer(sent[9], frames_dropped=2)
    sent[14] = with_trailer(sent[14], frames_dropped=2)
    found = examine(sent, session)
    assert not found.bad
    assert found.groups["frames-dropped"].detail == "2 before frame 1"


def test_two_sources_make_one_frame() -> None:
    session = make(sources=2)
    parts = [stream(session, 4, source) for source in (0, 1)]
    mixed = [packet for pair in zip(*parts, strict=True) for packet in pair]
    found = examine(mixed, session)
    assert not found.bad
    assert found.diagnosis.frames.complete == 4
    assert (found.diagnosis.lost, found.diagnosis.duplicates, found.diagnosis.reordered) == (0, 0, 0), "not known"


def test_a_source_that_is_missing_is_said() -> None:
    session = make(sources=2, window_end=4)
    found = examine(stream(session, 8, 0), session)
    assert "frame-without-trailer" in found.bad
    assert found.diagnosis.frames.complete == 0


def test_pixels_of_a_larger_image_lie_outside() -> None:
    session, larger = make(slot_bytes=8192), make(rows=32, slot_bytes=8192)
    found = examine(stream(larger), session)
    assert {"outside-image", "trailer-bytes"} <= found.bad


def test_a_ring_of_other_slots_is_told_by_the_trailers() -> None:
    session, other = make(n_slots=4), make(n_slots=3)
    assert "trailer-frame" in examine(stream(other, 4), session).bad


def test_large_slots_keep_their_holes_apart() -> None:
    session: Session = make(rows=128, columns=128, mtu=256)
    images = [bytes(session.image_bytes)]
    sent = tx(images, session.tx_config())
    found = examine([packet for n, packet in enumerate(sent) if n not in (3, 50, 51, 120)], session)
    assert found.diagnosis.lost == 4
    assert "1024 of 32768 bytes" in found.groups["frame-incomplete"].detail


def test_what_is_left_of_a_frame_without_its_trailer_does_not_fill_the_next_one_of_its_slot() -> None:
    """Frame 0 loses packet 1 and its trailer; frame 4, in the same slot, loses all but packet 1 and its trailer."""
    session = make()
    sent = stream(session, 5)
    left = [packet for n, packet in enumerate(sent) if n not in (1, TRAILER, 20, 22, 23)]
    found = examine(left, session)
    assert found.diagnosis.frames.incomplete_frames == [4]
    assert found.diagnosis.frames.complete == 3
    assert found.groups["frame-without-trailer"].detail == "slot 0: the frame that packet 1 began"
