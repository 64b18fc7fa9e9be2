"""Hostile packets: the compiled soft NIC does what the Responder does, to the byte, and touches nothing else.

The ring and the packets lie against pages that may not be touched: a byte written or read there ends the process.
FRAMELANE_FUZZ_PACKETS is the number of packets of the long test (20,000 if it is not set; 10 million take ten minutes);
FRAMELANE_FUZZ_SEED its first seed.
"""

import itertools
import os
from collections.abc import Callable, Sequence
from dataclasses import astuple, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from framelane.models.roce_tx import roce_icrc, wire
from framelane.models.roce_tx.packet_batch import EMPTY, Batch
from framelane.models.tx import tx
from framelane.receiver.transport import sockets
from framelane.receiver.transport.responder import Responder
from framelane.receiver.transport.softnic import SoftNic
from framelane.receiver.transport.transport import Completion
from framelane.session.session import Session
from guarded import guarded
from hostile_packets import HostilePackets

MakeSession = Callable[..., Session]
PACKETS = int(os.environ.get("FRAMELANE_FUZZ_PACKETS", "20000"))
SEED = int(os.environ.get("FRAMELANE_FUZZ_SEED", "1"))
AT_ONCE = 400
CANARY = 0xA5

SHAPES: list[dict[str, Any]] = [
    {"mtu": 256},
    {"mtu": 256, "segmentation": "message"},
    {"mtu": 512, "segmentation": "message", "base": (1 << 64) - 4 * 4096, "psn": 0x7FFFFF},
    {"mtu": 1024, "sources": 2, "base": 0, "qpn": 2},
    {"mtu": 256, "segmentation": "message", "rkey": 0, "rows": 1, "columns": 5},
]


class Wire:
    """A port whose batches end where a forbidden page begins, of at most `most` packets."""

    queue_drops = 0

    def __init__(self, most: int = sockets.BATCH) -> None:
        self.waiting: list[bytes] = []
        self._most = most
        self._room = guarded(1 << 22)

    @property
    def ended(self) -> bool:
        """See `Port`."""
        return not self.waiting

    def batch(self, timeout_s: float) -> Batch:
        """See `Port`."""
        now, self.waiting = self.waiting[: self._most], self.waiting[self._most :]
        if not now:
            return EMPTY
        sizes = np.array([len(packet) for packet in now], np.int64)
        data = self._room[len(self._room) - int(sizes.sum()) :]
        data[:] = np.frombuffer(b"".join(now), np.uint8)
        return Batch(data, np.cumsum(sizes) - sizes, sizes)

    def close(self) -> None:
        """See `Port`."""


class Pair:
    """The compiled soft NIC beside a Responder, which gets every packet alone."""

    def __init__(self, session: Session, most: int = sockets.BATCH) -> None:
        size = session.layout.ring_bytes
        self.ring, self.expected = guarded(size), np.empty(size, np.uint8)
        self.ring[:] = self.expected[:] = CANARY
        self.wire = Wire(most)
        self.nic = SoftNic(self.wire, self.ring, session)
        self.responder = Responder(self.expected, session)

    def receive(self, packets: Sequence[bytes]) -> list[Completion]:
        """Both take the packets; nothing tells them apart."""
        expected = [completion for completion in map(self.responder.receive, packets) if completion]
        self.wire.waiting += packets
        came = []
        while not self.nic.ended:
            now = self.nic.poll(0)
            assert len(now) <= 1
            came += now
        assert came == expected
        assert np.array_equal(self.ring, self.expected)
        assert self.nic.counters == self.responder.counters
        assert astuple(self.nic.qp) == astuple(self.responder.state)
        return came


def test_millions_of_hostile_packets_are_taken_as_by_the_responder(make_session: MakeSession) -> None:
    left, placed, refused = PACKETS, 0, 0
    for seed in itertools.count(SEED):
        session = make_session(**SHAPES[seed % len(SHAPES)])
        stream, pair = HostilePackets(session, seed), Pair(session, most=1 + seed % 70)
        for _ in range(min(10, -(-left // AT_ONCE))):
            pair.receive(stream.packets(AT_ONCE))
            left -= AT_ONCE
        placed += pair.responder.counters.placed
        refused += pair.responder.counters.refused.total()
        if left <= 0:
            break
    assert placed > PACKETS // 10
    assert refused > PACKETS // 10


@pytest.mark.parametrize("shape", range(len(SHAPES)))
def test_good_packets_are_all_taken_without_the_responder(
    make_session: MakeSession, monkeypatch: pytest.MonkeyPatch, shape: int
) -> None:
    session = make_session(**SHAPES[shape])
    packets = tx([np.random.default_rng(n).bytes(session.image_bytes) for n in range(3)], session.tx_config())
    tagged = [packet[:12] + b"\x81\x00\x00\x05" + packet[12:] for packet in packets]
    Pair(session).receive(packets)
    Pair(session).receive(tagged)
    port, ring = Wire(), guarded(session.layout.ring_bytes)
    nic = SoftNic(port, ring, session)
    monkeypatch.setattr(Responder, "receive", None)  # it would be called
    port.waiting = packets
    while not nic.ended:
        nic.poll(0)
    assert nic.counters.placed == len(packets)


def count_calls(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The packets that a Responder judges from now on."""
    calls: list[bytes] = []
    judge = Responder.receive

    def receive(self: Responder, frame: bytes) -> Completion | None:
        calls.append(frame)
        return judge(self, frame)

    monkeypatch.setattr(Responder, "receive", receive)
    return calls


def test_the_rest_of_a_message_that_lost_a_packet_costs_the_responder_one(
    make_session: MakeSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = make_session(segmentation="message", mtu=256)
    packets = tx([np.random.default_rng(1).bytes(session.image_bytes)], session.tx_config())
    calls = count_calls(monkeypatch)
    port = Wire()
    nic = SoftNic(port, guarded(session.layout.ring_bytes), session)
    port.waiting = [*packets[:1], *packets[2:], *packets]  # what comes again is late
    while not nic.ended:
        nic.poll(0)
    assert calls == [packets[2], packets[0]]
    assert nic.counters.refused == {"sequence": len(packets) - 3, "late": len(packets)}
    assert nic.counters.examples.keys() == {"sequence", "late"}


def foreign(packet: bytes, reason: str) -> bytes:
    """A good packet, made one that is refused for `reason`."""
    headers, payload = wire.parse(packet)
    if reason == "icrc":
        return roce_icrc.append(packet[: -wire.ICRC_BYTES], poisoned=True)
    if reason in ("port", "opcode"):
        at = wire.ip_offset(packet) + wire.IP_BYTES + {"port": 3, "opcode": wire.UDP_BYTES}[reason]
        return roce_icrc.append(packet[:at] + b"\x24" + packet[at + 1 : -wire.ICRC_BYTES])
    changes: dict[str, dict[str, Any]] = {
        "destination": {"dst": replace(headers.dst, mac=headers.dst.mac ^ 1)},
        "source": {"src": replace(headers.src, ip=headers.src.ip ^ 1)},
        "service": {"opcode": headers.opcode - wire.UC},
        "qpn": {"dest_qpn": headers.dest_qpn ^ 1},
        "pkey": {"pkey": 0x7FFE},
    }
    return roce_icrc.append(wire.pack(replace(headers, **changes[reason])) + payload + bytes(headers.pad))


@pytest.mark.parametrize("reason", ["port", "opcode", "destination", "icrc", "source", "service", "qpn", "pkey"])
def test_a_flood_of_packets_for_somebody_else_costs_the_responder_one(
    make_session: MakeSession, monkeypatch: pytest.MonkeyPatch, reason: str
) -> None:
    session = make_session(mtu=256)
    packets = tx([np.random.default_rng(n).bytes(session.image_bytes) for n in range(2)], session.tx_config())
    others = [foreign(packet, reason) for packet in packets]
    stream = [packet for pair in zip(packets, others, strict=True) for packet in pair]
    Pair(session).receive(stream)
    calls = count_calls(monkeypatch)
    port = Wire()
    nic = SoftNic(port, guarded(session.layout.ring_bytes), session)
    port.waiting = stream
    while not nic.ended:
        nic.poll(0)
    assert calls == others[:1]
    assert nic.counters.refused == {reason: len(others)}
    assert nic.counters.examples.keys() == {reason}
    assert nic.counters.placed == len(packets)


@st.composite
def streams(draw: st.DrawFn, count: int) -> list[tuple[int, list[tuple[int, int]], int]]:
    """Which packet, which bytes of it become what, and how many bytes are cut off."""
    change = st.tuples(st.integers(0, 90), st.integers(0, 255))
    packet = st.tuples(st.integers(0, count - 1), st.lists(change, max_size=2), st.sampled_from([0, 0, 0, 0, 1, 5, 60]))
    return draw(st.lists(packet, max_size=30))


@pytest.mark.parametrize("segmentation", ["only", "message"])
def test_any_stream_is_taken_as_by_the_responder(make_session: MakeSession, segmentation: str) -> None:
    session = make_session(segmentation=segmentation, mtu=256, rows=8)
    good = tx([np.random.default_rng(n).bytes(session.image_bytes) for n in range(2)], session.tx_config())

    @settings(max_examples=150, deadline=None, derandomize=True, database=None)
    @given(stream=streams(len(good)), most=st.integers(1, 40), sealed=st.booleans())
    def check(stream: list[tuple[int, list[tuple[int, int]], int]], most: int, sealed: bool) -> None:
        helper = HostilePackets(session, 0)
        packets = []
        for number, changes, cut in stream:
            packet = bytearray(good[number])
            for at, value in changes:
                packet[min(at, len(packet) - 1)] = value
            packets.append(helper.sealed(packet[: len(packet) - cut]) if sealed else bytes(packet[: len(packet) - cut]))
        Pair(session, most).receive(packets)

    check()
