"""The UC responder: what is placed, what is refused and by which word, and that nothing else is ever written."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from framelane.models.placement.trailer import Trailer
from framelane.models.roce_tx import roce_icrc, wire
from framelane.models.roce_tx.packet_batch import Batch
from framelane.models.roce_tx.roce_segment import Message
from framelane.models.roce_tx.roce_tx import RoceTx
from framelane.models.roce_tx.wire import UC, Opcode
from framelane.receiver.transport.fast_responder import FastResponder
from framelane.receiver.transport.refusals import Refusal
from framelane.receiver.transport.responder import Responder
from framelane.receiver.transport.transport import Completion
from framelane.session.session import Session

MakeSession = Callable[..., Session]
GUARD = 4096


class Compiled:
    """The compiled responder, a packet at a time."""

    def __init__(self, memory: NDArray[np.uint8], session: Session) -> None:
        self._fast = FastResponder(memory, session)
        self.state, self.counters = self._fast.state, self._fast.counters

    def receive(self, frame: bytes) -> Completion | None:
        return self._fast.receive(Batch.of([frame]), 0)[1]


class Target:
    """A responder whose ring lies between guard bytes, and a sender for it."""

    def __init__(self, session: Session, make: type[Responder] | type[Compiled] = Responder) -> None:
        self.session = session
        self._all = np.full(session.layout.ring_bytes + 2 * GUARD, 0xEE, np.uint8)
        self.memory: NDArray[np.uint8] = self._all[GUARD:-GUARD]
        self.responder = make(self.memory, session)
        self._sender = RoceTx(session.source.endpoint(), (session.qp_context(),))

    def packets(self, length: int, at: int = 0, imm: int | None = None) -> tuple[bytes, list[bytes]]:
        """Random payload and the packets that carry it to offset `at` of the ring."""
        payload = np.random.default_rng(length).bytes(length)
        return payload, self._sender.send(Message(self.session.base + at, length, imm=imm), payload)[1]

    def trailer(
        self, number: int, *, at: int | None = None, imm: int | None = None, spoiled: int | None = None, **changes: int
    ) -> list[bytes]:
        """The packet of a frame's trailer with these changes, and with byte `spoiled` wrong."""
        layout = self.session.layout
        made = replace(Trailer(0, layout.slot(number), number, 0, 0, self.session.image_bytes, 4, 0), **changes)
        place = layout.trailer_place(number, 0) if at is None else at
        message = Message(self.session.base + place, 64, imm=number if imm is None else imm)
        data = bytearray(made.pack())
        if spoiled is not None:
            data[spoiled] ^= 1
        return self._sender.send(message, bytes(data))[1]

    def receive(self, frame: bytes) -> Completion | None:
        """Hand one packet to the responder; the guards hold in any case."""
        completion = self.responder.receive(frame)
        assert (self._all[:GUARD] == 0xEE).all()
        assert (self._all[-GUARD:] == 0xEE).all()
        return completion

    def refuse(self, frame: bytes) -> str:
        """Hand over a packet that must be refused; its reason."""
        before, memory = self.responder.counters.refused.copy(), self.memory.copy()
        assert self.receive(frame) is None
        assert np.array_equal(memory, self.memory)
        (reason,) = self.responder.counters.refused - before
        return reason


@pytest.fixture
def target(make_session: MakeSession) -> Target:
    return Target(make_session())


@pytest.fixture(params=[Responder, Compiled])
def either(make_session: MakeSession, request: pytest.FixtureRequest) -> Target:
    return Target(make_session(), request.param)


@pytest.fixture
def message_target(make_session: MakeSession) -> Target:
    return Target(make_session(segmentation="message"))


def forge(frame: bytes, *, payload: bytes | None = None, **changes: Any) -> bytes:
    """The same packet with other header fields or another payload; ICRC, lengths and checksum are right for them."""
    headers, old = wire.parse(frame)
    payload = old if payload is None else payload
    headers = replace(headers, **{"payload_bytes": len(payload)} | changes)
    return roce_icrc.append(wire.pack(headers) + payload + bytes(-len(payload) % 4))


def forge_reth(frame: bytes, **changes: int) -> bytes:
    reth = wire.parse(frame)[0].reth
    assert reth
    return forge(frame, reth=replace(reth, **changes))


@pytest.mark.parametrize("segmentation", ["only", "message"])
@pytest.mark.parametrize("mtu", [256, 4096])
@pytest.mark.parametrize("length", [1, 2, 3, 255, 256, 257, 4095, 4096, 4097, 9001])
def test_any_length_is_placed_byte_for_byte_and_completes_once(
    make_session: MakeSession, segmentation: str, mtu: int, length: int
) -> None:
    target = Target(make_session(segmentation=segmentation, mtu=mtu))
    payload, packets = target.packets(length, at=333, imm=0xABCDEF01)
    completions = [c for c in map(target.receive, packets) if c]
    assert completions == [Completion(0xABCDEF01)]
    assert target.memory[333 : 333 + length].tobytes() == payload
    assert (target.memory[:333] == 0xEE).all()
    assert (target.memory[333 + length :] == 0xEE).all()
    counters = target.responder.counters
    assert (counters.placed, counters.payload_bytes, counters.lost) == (len(packets), length, 0)
    assert not counters.refused


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"dst": wire.Endpoint(0x02_00_00_00_00_02, 0x7F000003)}, Refusal.DESTINATION),
        ({"dst": wire.Endpoint(0x02_00_00_00_00_03, 0x7F000001)}, Refusal.DESTINATION),
        ({"src": wire.Endpoint(0x02_00_00_00_00_01, 0x7F000009)}, Refusal.SOURCE),
        ({"opcode": Opcode.WRITE_ONLY}, Refusal.SERVICE),
        ({"dest_qpn": 0x12344}, Refusal.QPN),
        ({"pkey": 0xFFFE}, Refusal.PKEY),
        ({"opcode": Opcode.WRITE_FIRST + UC}, Refusal.LENGTH),
        ({"opcode": Opcode.WRITE_MIDDLE + UC, "reth": None}, Refusal.SEQUENCE),
        ({"opcode": Opcode.WRITE_LAST + UC, "reth": None}, Refusal.SEQUENCE),
    ],
)
def test_a_right_packet_for_someone_else_is_refused(target: Target, changes: dict[str, Any], reason: str) -> None:
    packet = target.packets(1024)[1][0]
    assert target.refuse(forge(packet, **changes)) == reason


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"rkey": 0xCAFEF00C}, Refusal.RKEY),
        ({"length": 1023}, Refusal.LENGTH),
        ({"length": 1025}, Refusal.LENGTH),
        ({"length": 0}, Refusal.LENGTH),
        ({"length": (1 << 31) + 1}, Refusal.LENGTH),
        ({"address": 0x7F12_3456_7000 - 1}, Refusal.BOUNDS),
        ({"address": 0x7F12_3456_7000 + 4 * 4096 - 1023}, Refusal.BOUNDS),
        ({"address": 0}, Refusal.BOUNDS),
        ({"address": (1 << 64) - 1}, Refusal.BOUNDS),
        ({"address": (1 << 64) - 1024}, Refusal.BOUNDS),
    ],
)
def test_a_wrong_reth_is_refused_to_the_byte(target: Target, changes: dict[str, int], reason: str) -> None:
    packet = target.packets(1024)[1][0]
    assert target.refuse(forge_reth(packet, **changes)) == reason
    assert target.receive(forge_reth(packet, address=target.session.base + 4 * 4096 - 1024)) is None
    assert target.responder.counters.placed == 1, "the last 1024 bytes of the ring are still inside"


def test_the_last_bytes_of_the_address_space_do_not_wrap_around(make_session: MakeSession) -> None:
    target = Target(make_session(base=(1 << 64) - 4 * 4096))
    payload, packets = target.packets(1024, at=4 * 4096 - 1024)
    target.receive(packets[0])
    assert target.memory[-1024:].tobytes() == payload
    assert target.refuse(forge_reth(packets[0], address=(1 << 64) - 1023)) == Refusal.BOUNDS


def test_a_message_whose_end_is_outside_is_refused_at_its_first_packet(message_target: Target) -> None:
    _, packets = message_target.packets(2049, at=4 * 4096 - 2048)
    assert [message_target.refuse(p) for p in packets] == [Refusal.BOUNDS, Refusal.SEQUENCE, Refusal.SEQUENCE]


@pytest.mark.parametrize("imm", [None, 0x1234])
def test_zero_bytes_write_nothing_and_need_no_rkey_or_address(target: Target, imm: int | None) -> None:
    packet = target.packets(64)[1][0]
    opcode = UC + (Opcode.WRITE_ONLY if imm is None else Opcode.WRITE_ONLY_IMM)
    empty = forge(packet, payload=b"", reth=wire.Reth(0, 0, 0), opcode=opcode, imm=imm)
    assert target.receive(empty) == (None if imm is None else Completion(0x1234, empty=True))
    assert target.responder.counters.placed == 1
    assert (target.memory == 0xEE).all()


def test_more_than_the_path_mtu_in_one_packet_is_refused(target: Target) -> None:
    packet = target.packets(1024)[1][0]
    long = forge(forge_reth(packet, length=1028), payload=bytes(1028))
    assert target.refuse(long) == Refusal.LENGTH


@pytest.mark.parametrize("pkey", [0xFFFF, 0x7FFF])
@pytest.mark.parametrize("also", [{"tos": 0xFF}, {"ttl": 1}, {"src_port": 0xFFFF}, {"ack_request": True}])
def test_what_routers_and_members_may_vary_is_placed(target: Target, pkey: int, also: dict[str, Any]) -> None:
    payload, packets = target.packets(77)
    target.receive(forge(packets[0], pkey=pkey, **also))
    assert target.memory[:77].tobytes() == payload


def test_every_byte_of_the_headers_is_guarded_but_those_that_may_change_on_the_way(make_session: MakeSession) -> None:
    target = Target(make_session(sources=2))  # of one source, a packet that comes again is late
    packet = target.packets(50, imm=5)[1][0]
    taken = set()
    for offset in range(len(packet)):
        for flip in (0x01, 0x80, 0xFF):
            bad = bytearray(packet)
            bad[offset] ^= flip
            before = target.responder.counters.placed
            target.receive(bytes(bad))
            if target.responder.counters.placed > before:
                taken.add(offset)
    reasons = set(target.responder.counters.refused)
    source_mac, udp_checksum, bth_reserved = {6, 7, 8, 9, 10, 11}, {40, 41}, {46}
    assert taken == source_mac | udp_checksum | bth_reserved
    assert reasons == {
        Refusal.ETHERNET, Refusal.IPV4, Refusal.CHECKSUM, Refusal.LENGTH, Refusal.PORT, Refusal.OPCODE, Refusal.VERSION,
        Refusal.DESTINATION, Refusal.ICRC,
    }  # fmt: skip


def test_a_packet_cut_anywhere_is_refused_and_one_with_bytes_behind_is_placed(target: Target) -> None:
    payload, packets = target.packets(50)
    for size in range(len(packets[0])):
        assert target.refuse(packets[0][:size]) in (Refusal.ETHERNET, Refusal.IPV4)
    target.receive(packets[0] + bytes(9))
    assert target.memory[:50].tobytes() == payload


def test_random_mutations_are_refused_or_placed_where_they_say(message_target: Target) -> None:
    target, rng = message_target, np.random.default_rng(3)
    packets = [p for n in (5, 1024, 5000) for p in target.packets(n, at=n)[1]]
    for _ in range(3000):
        packet = bytearray(packets[rng.integers(len(packets))])
        for offset in rng.integers(14, len(packet), rng.integers(3)):
            packet[offset] = rng.integers(256)
        whole = roce_icrc.append(bytes(packet[:-4])) if rng.integers(2) else bytes(packet)
        target.receive(whole[: rng.integers(len(whole) + 1)] if not rng.integers(8) else whole)
    counters = target.responder.counters
    assert counters.packets == 3000 == counters.placed + counters.refused.total()
    assert counters.placed > 100
    assert counters.examples.keys() == counters.refused.keys()


@pytest.mark.parametrize("lost", [0, 1, 3])
def test_after_a_lost_packet_the_rest_of_its_message_is_dropped_and_the_next_is_served(
    message_target: Target, lost: int
) -> None:
    payload, packets = message_target.packets(5 * 1024)
    for packet in packets[:lost]:
        message_target.receive(packet)
    assert {message_target.refuse(packet) for packet in packets[lost + 1 :]} == {Refusal.SEQUENCE}
    assert message_target.memory[: lost * 1024].tobytes() == payload[: lost * 1024]
    assert (message_target.memory[lost * 1024 :] == 0xEE).all()
    payload, packets = message_target.packets(3000, at=8192, imm=1)
    assert [message_target.receive(p) for p in packets][-1] == Completion(1)
    assert message_target.memory[8192:11192].tobytes() == payload
    assert message_target.responder.counters.lost == 1


def test_a_message_of_more_than_two_gigabytes_is_refused_by_its_length(message_target: Target) -> None:
    first = message_target.packets(4096)[1][0]
    assert message_target.refuse(forge_reth(first, length=(1 << 31) + 1)) == Refusal.LENGTH
    assert message_target.refuse(forge_reth(first, length=1 << 31)) == Refusal.BOUNDS


def test_a_refused_message_ends_the_one_it_broke_into(message_target: Target) -> None:
    _, packets = message_target.packets(3000)
    message_target.receive(packets[0])
    assert message_target.refuse(forge_reth(packets[0], rkey=1)) == Refusal.RKEY
    assert message_target.refuse(packets[1]) == Refusal.SEQUENCE


def test_a_lost_last_packet_costs_its_message_alone(message_target: Target) -> None:
    _, cut = message_target.packets(2500, imm=1)
    _, packets = message_target.packets(2500, imm=2)
    completions = [message_target.receive(p) for p in cut[:-1] + packets]
    assert [c.imm for c in completions if c] == [2]


def test_a_middle_shorter_than_the_mtu_ends_its_message(message_target: Target) -> None:
    _, packets = message_target.packets(4096)
    message_target.receive(packets[0])
    assert message_target.refuse(forge(packets[1], payload=bytes(1020))) == Refusal.LENGTH
    assert message_target.refuse(packets[2]) == Refusal.SEQUENCE


def test_a_last_that_does_not_end_the_message_is_refused(message_target: Target) -> None:
    _, packets = message_target.packets(4096)
    message_target.receive(packets[0])
    assert message_target.refuse(forge(packets[1], opcode=Opcode.WRITE_LAST + UC)) == Refusal.LENGTH


def test_a_middle_that_would_pass_the_end_of_the_message_is_refused(message_target: Target) -> None:
    _, packets = message_target.packets(2048)
    message_target.receive(packets[0])
    assert message_target.refuse(forge(packets[1], opcode=Opcode.WRITE_MIDDLE + UC)) == Refusal.LENGTH


def test_a_duplicate_inside_a_message_ends_it(message_target: Target) -> None:
    _, packets = message_target.packets(4096)
    message_target.receive(packets[0])
    message_target.receive(packets[1])
    assert message_target.refuse(packets[1]) == Refusal.SEQUENCE
    assert message_target.refuse(packets[2]) == Refusal.SEQUENCE


def test_lost_late_and_repeated_packets_are_told_by_their_psn(target: Target) -> None:
    _, packets = target.packets(8 * 1024)
    order = [0, 1, 4, 3, 5, 5, 7]  # 2 and 6 lost, 3 late, 5 twice; the PSN wraps between 1 and 2
    for index in order:
        target.receive(packets[index])
    counters = target.responder.counters
    assert (counters.skipped, counters.behind) == (3, 2)
    assert counters.placed == len(order), "ONLY packets are placed whatever their PSN"


def test_what_was_sent_before_the_last_trailer_is_late_also_where_the_psn_wraps(target: Target) -> None:
    old, trailer = target.packets(3 * 1024)[1], target.trailer(7)  # PSN fffffe to 000001
    new = target.packets(2048)[1]
    for packet in (old[0], old[2], trailer[0], new[1]):
        target.receive(packet)
    assert {target.refuse(packet) for packet in (*old, *trailer)} == {Refusal.LATE}
    target.receive(new[0])
    counters = target.responder.counters
    assert (counters.placed, counters.completions) == (5, 1), "behind the trailer, any order will do"
    assert (counters.refused["late"], counters.behind, counters.lost) == (4, 5, 0)
    assert counters.examples["late"] == "packet 5: late: PSN 0xfffffe is not after 0x1, where the last frame ended"
    assert target.refuse(forge(new[0], psn=1 + (1 << 23))) == Refusal.LATE
    target.receive(forge(new[0], psn=(1 << 23)))
    assert counters.placed == 6, "half of the PSNs are ahead"


def test_a_refused_trailer_makes_nothing_late(target: Target) -> None:
    pixels, trailer = target.packets(1024)[1], target.trailer(7)
    assert target.refuse(forge_reth(trailer[0], rkey=1)) == Refusal.RKEY
    target.receive(pixels[0])
    assert target.responder.counters.placed == 1


@pytest.mark.parametrize("psn", [0, 1, 5000, (1 << 23) - 1])
def test_an_immediate_of_no_bytes_which_needs_no_rkey_makes_nothing_late(either: Target, psn: int) -> None:
    target = either
    trailer = target.trailer(7)
    target.receive(trailer[0])
    empty: dict[str, Any] = {
        "payload": b"",
        "reth": wire.Reth(0, 0, 0),
        "psn": target.responder.state.newest_psn + psn & 0xFFFFFF,
    }
    for imm in (6, 7, 8, 1 << 24):
        target.responder.receive(forge(trailer[0], imm=imm, **empty))
    payload, pixels = target.packets(1024)
    target.receive(pixels[0])
    assert target.memory[:1024].tobytes() == payload
    assert target.responder.state.ended == wire.parse(trailer[0])[0].psn


def _with(**changes: int) -> Callable[[Target], list[bytes]]:
    return lambda target: target.trailer(**{"number": 7} | changes)


@pytest.mark.parametrize(
    "make",
    [
        lambda target: target.packets(64, at=3 * 4096 + 4032, imm=7)[1],
        lambda target: target.packets(1024, imm=7)[1],
        lambda target: target.packets(63, at=3 * 4096 + 4033, imm=7)[1],
        _with(imm=8),
        _with(imm=1 << 24 | 7),
        _with(at=2 * 4096 + 4032),
        _with(at=2 * 4096 + 4032, slot=2),
        _with(frame_number=8),
        _with(number=6, at=3 * 4096, source=1, imm=1 << 24 | 6),
        _with(spoiled=0),
        _with(spoiled=4),
    ],
    ids=["none", "pixels", "short", "frame", "source", "place", "slot", "number", "no source", "magic", "version"],
)
def test_an_immediate_without_the_trailer_that_it_names_ends_no_frame(
    either: Target, make: Callable[[Target], list[bytes]]
) -> None:
    for packet in make(either):
        either.receive(packet)
    assert either.responder.counters.completions == 1
    assert either.responder.state.ended is None


@pytest.mark.parametrize("number", [7, (1 << 24) + 7, (1 << 64) - 1])
def test_a_trailer_of_another_size_ends_its_frame_all_the_same(either: Target, number: int) -> None:
    (packet,) = either.trailer(number, imm=number & 0xFFFFFF, payload_bytes=1)
    assert either.receive(packet) == Completion(number & 0xFFFFFF)
    assert either.responder.state.ended == wire.parse(packet)[0].psn


def test_a_late_packet_does_not_break_into_an_open_message(message_target: Target) -> None:
    old, _ = message_target.packets(64)[1], [message_target.receive(p) for p in message_target.trailer(1)]
    payload, packets = message_target.packets(3000)
    message_target.receive(packets[0])
    assert message_target.refuse(old[0]) == Refusal.LATE
    for packet in packets[1:]:
        message_target.receive(packet)
    assert message_target.memory[:3000].tobytes() == payload


def test_the_psns_of_several_sources_interleave_and_none_is_late(make_session: MakeSession) -> None:
    target = Target(make_session(sources=2))
    packets = target.packets(1024)[1] + target.trailer(1)
    for packet in reversed(packets):
        target.receive(packet)
    assert target.responder.counters.placed == 2


def test_the_first_refusal_of_each_reason_is_kept_as_a_sentence(target: Target) -> None:
    packet = target.packets(64)[1][0]
    target.receive(packet)
    for qpn in (0x777, 0x778):
        target.receive(forge(packet, dest_qpn=qpn))
    assert target.responder.counters.refused == {"qpn": 2}
    assert target.responder.counters.examples == {"qpn": "packet 2: qpn: for QP 0x777, the session's is 0x12345"}


def test_an_rkey_is_never_told(target: Target) -> None:
    packet = target.packets(64)[1][0]
    target.receive(forge_reth(packet, rkey=0xBAD0BAD0))
    assert "bad0" not in target.responder.counters.examples["rkey"]
    assert "cafe" not in target.responder.counters.examples["rkey"]
