"""roce_rx: events and reasons as by the model, of packets as scapy builds and NICs send them; one beat a clock."""

from typing import Any

import cocotb
import pytest
from scapy.contrib.roce import AETH, BTH
from scapy.layers.inet import UDP
from scapy.packet import Packet, Raw

from bench import ALL_STALLS, Bench, Stalls, run
from framelane.models.roce_tx import roce_icrc, wire
from framelane.models.roce_tx.wire import Endpoint
from framelane.models.station import roce_rx
from framelane.models.station.roce_rx import Event, EventKind, Peer, RoceDrop
from receive_bench import (
    ANSWERS_OF_RXE,
    CNP_OF_CONNECTX_4_LX,
    EVENT_T,
    PEER,
    acknowledge,
    congestion,
    corruptions,
    count_pulses,
    ethernet,
    ip,
    truncations,
)
from signals import now

WIDTH = 64
N_QPS = 16
NAK_CODES = {0: EventKind.NAK_SEQUENCE, 1: EventKind.NAK_INVALID, 2: EventKind.NAK_ACCESS, 3: EventKind.NAK_OPERATION}


def peers(seed_ip: int = PEER.ip) -> dict[int, Peer]:
    """A table: RC and UC, default and other partitions, as full and limited members; QP 7 is not enabled."""
    table = {k: Peer(rc=k % 4 != 2, ip=seed_ip + k // 4) for k in range(N_QPS) if k != 7}
    table[8] = Peer(rc=True, ip=seed_ip, pkey=0x8123)
    table[9] = Peer(rc=True, ip=seed_ip, pkey=0x0123)
    return table


class RoceBench(Bench):
    """The block with a table that answers a cycle after its index, or at once."""

    def __init__(self, dut: Any, stalls: Stalls = Stalls.NONE, *, late: bool = True) -> None:
        super().__init__(dut, stalls)
        self.frames, self.events = self.source("s_axis"), self.sink("m_axis_event")
        self.first_qpn = int(dut.FirstQpn.value)
        self.table = peers()
        self.sent: list[bytes] = []
        self.dropped = count_pulses(self, dut.dropped_o)
        self._index = 0
        self._late = late
        self.answer(self._look_up)

    def _look_up(self) -> None:
        at = self._index if self._late else now(self.dut.index_o)
        peer = self.table.get(at)
        chance = self.random.getrandbits
        self.dut.enabled_i.value = peer is not None
        self.dut.rc_i.value = peer.rc if peer else chance(1)
        self.dut.peer_ip_i.value = peer.ip if peer else PEER.ip
        self.dut.pkey_i.value = peer.pkey if peer else 0xFFFF
        self._index = now(self.dut.index_o)

    def send(self, frame: bytes) -> None:
        self.frames.send(frame, WIDTH)
        self.sent.append(frame)

    def model(self, frame: bytes) -> Event | RoceDrop:
        return roce_rx.receive(frame, self.table.get, self.first_qpn)

    async def check(self) -> list[Event | RoceDrop]:
        """All that was sent was read as by the model: what it says."""
        await self.until(lambda: not self.frames.items, 2_000_000)
        for _ in range(40):
            await self.step()
        expected = [self.model(frame) for frame in self.sent]
        fields = [EVENT_T.unpack(item["tdata"]) for item in self.events.items]
        found = [Event(f["qp"], EventKind(f["kind"]), f["psn"], f["value"], f["msn"]) for f in fields]
        assert found == [event for event in expected if isinstance(event, Event)]
        reasons = [reason for reason in expected if isinstance(reason, RoceDrop)]
        assert self.dropped == {reason: reasons.count(reason) for reason in reasons}
        return expected


def icrc_again(frame: bytes) -> bytes:
    """The frame with the ICRC that it must have, and the right checksum of its IPv4 header."""
    ip_header = frame[14:24] + b"\0\0" + frame[26:34]
    frame = frame[:24] + wire.ip_checksum(ip_header).to_bytes(2, "big") + frame[26:]
    return roce_icrc.append(frame[:-4])


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS, late=[False, True])
async def every_kind_of_acknowledgement_and_cnps_are_read_as_scapy_has_written_them(
    dut: Any, stalls: Stalls, late: bool
) -> None:
    bench = RoceBench(dut, stalls, late=late)
    await bench.reset()
    draw = bench.random.getrandbits
    expected = []
    for _ in range(2):
        for syndrome in (*range(0x40), *range(0x60, 0x64)):
            qp, psn, msn = bench.random.choice([0, 1, 3]), draw(24), draw(24)
            bench.send(acknowledge(bench.first_qpn + qp, psn, syndrome, msn) + bytes(draw(4)))
            kind = NAK_CODES[syndrome & 3] if syndrome >= 0x60 else EventKind(syndrome >> 5)
            expected.append(Event(qp, kind, psn, syndrome & 0x1F, msn))
        for qp in (0, 1, 2, 3):
            bench.send(congestion(bench.first_qpn + qp))
            expected.append(Event(qp, EventKind.CNP, 0))
    assert await bench.check() == expected
    assert not bench.dropped
    if stalls is Stalls.NONE:
        assert bench.frames.accepted[-1] - bench.frames.accepted[0] == len(bench.frames.accepted) - 1


@cocotb.test()
async def packets_that_nics_have_sent_are_read(dut: Any) -> None:
    bench = RoceBench(dut)
    await bench.reset()
    bench.table |= {0x118 - bench.first_qpn: Peer(rc=False, ip=0x0A001101)}
    for frame in (CNP_OF_CONNECTX_4_LX, *ANSWERS_OF_RXE):
        bench.send(frame)
    found = await bench.check()
    if bench.first_qpn == 2:
        assert found == [RoceDrop.QP, *ANSWERS_OF_RXE.values()], "the CNP is right, but its QP number is not ours"
    else:
        assert found == [Event(0x18, EventKind.CNP, 0), *[RoceDrop.QP] * len(ANSWERS_OF_RXE)]


@cocotb.test()
@cocotb.parametrize(kind=["ack", "cnp"])
async def any_single_wrong_bit_is_told_by_the_right_reason_and_never_an_event_that_was_not_sent(
    dut: Any, kind: str
) -> None:
    bench = RoceBench(dut)
    await bench.reset()
    qpn = bench.first_qpn + 1
    good = acknowledge(qpn, 0x123456, 0x1F, 0x654321) if kind == "ack" else congestion(qpn)
    for wrong in corruptions(good):
        bench.send(wrong)
    found = await bench.check()
    unprotected = {*range(14), 40, 41, 46}  # Ethernet, the UDP checksum, resv8a: routers may change them
    for number, reading in enumerate(found):
        at = number // 8
        if at in unprotected:
            assert reading == bench.model(good), f"byte {at}"
        elif 14 <= at < 34:
            assert reading in (RoceDrop.CHECKSUM, RoceDrop.LENGTH), f"byte {at}"
        else:
            assert reading is (RoceDrop.LENGTH if at in (38, 39) else RoceDrop.ICRC), f"byte {at}"


@cocotb.test()
@cocotb.parametrize(stalls=[Stalls.NONE, Stalls.BOTH], padding=[0, 6])
async def a_packet_cut_behind_any_byte_is_dropped_and_those_around_it_are_not(
    dut: Any, stalls: Stalls, padding: int
) -> None:
    bench = RoceBench(dut, stalls)
    await bench.reset()
    goods = [acknowledge(bench.first_qpn, 5, 0x20), congestion(bench.first_qpn + 3)]
    cuts = [cut for good in goods for cut in truncations(good)]
    for number, cut in enumerate(cuts):
        bench.send(cut)
        bench.send(goods[number % 2] + bytes(padding))
    found = await bench.check()
    assert set(found[::2]) == {RoceDrop.LENGTH}
    assert all(isinstance(reading, Event) for reading in found[1::2])


@cocotb.test()
async def runs_of_cut_packets_leave_nothing_behind(dut: Any) -> None:
    bench = RoceBench(dut)
    await bench.reset()
    for _ in range(150):
        for _ in range(bench.random.randrange(4)):
            good = bench.random.choice((acknowledge(bench.first_qpn, 5), congestion(bench.first_qpn)))
            bench.send(good[: bench.random.randint(1, len(good) - 1)])
        bench.send(acknowledge(bench.first_qpn + 1, bench.random.getrandbits(24), 0x62))
    found = await bench.check()
    assert sum(isinstance(reading, Event) for reading in found) == 150


@cocotb.test()
@cocotb.parametrize(stalls=[Stalls.NONE, Stalls.BOTH])
async def every_field_that_forbids_a_packet_forbids_it_although_its_icrc_is_right(dut: Any, stalls: Stalls) -> None:
    bench = RoceBench(dut, stalls)
    await bench.reset()
    first = bench.first_qpn
    foreign = Endpoint(PEER.mac, PEER.ip ^ 0x80000000)
    udp = UDP(sport=0xC000, dport=4791, chksum=0)
    under = ethernet() / ip() / udp
    aeth = AETH(syndrome=0, msn=1)

    def ack(opcode: int = 0x11, **fields: Any) -> Packet:
        return under / BTH(opcode=opcode, dqpn=first, psn=7, **fields)

    far = (first + 256) & 0xFFFFFF
    cases: list[tuple[bytes, RoceDrop | None]] = [
        *((bytes(ack(version=v) / aeth), RoceDrop.VERSION) for v in (1, 2, 4, 8, 15)),
        *((bytes(ack(c) / aeth), RoceDrop.OPCODE) for c in range(256) if c not in (0x11, 0x81)),
        (bytes(ack(padcount=1) / aeth), RoceDrop.SIZE),
        (bytes(ack(padcount=2) / aeth), RoceDrop.SIZE),
        (bytes(ack()), RoceDrop.SIZE),
        (bytes(ack() / aeth / Raw(bytes(4))), RoceDrop.SIZE),
        (bytes(ack() / aeth / Raw(bytes(12))), RoceDrop.SIZE),
        (bytes(ack() / aeth / Raw(bytes(4096))), RoceDrop.SIZE),
        (bytes(ack(0x81) / Raw(bytes(12))), RoceDrop.SIZE),
        (bytes(ack(0x81) / Raw(bytes(20))), RoceDrop.SIZE),
        *((bytes(ack() / aeth / Raw(bytes(n))), RoceDrop.LENGTH) for n in (1, 2, 3, 5)),
        *((bytes(under / Raw(bytes(n))) + bytes(40), RoceDrop.LENGTH) for n in (0, 4, 8, 12)),
        (bytes(ack(0x81) / Raw(b"\xff" * 16)), None),
        (acknowledge(first + 7, 1), RoceDrop.QP),
        (congestion(first + 7), RoceDrop.QP),
        (acknowledge(first + N_QPS, 1), RoceDrop.QP),
        *(
            (acknowledge(qpn & 0xFFFFFF, 1), RoceDrop.QP)
            for qpn in (far, far + 1, first - 1, first - 2, first ^ 1 << 23)
        ),
        (acknowledge(first + 2, 1), RoceDrop.SERVICE),
        (congestion(first + 2), None),
        (acknowledge(first, 1, under=ethernet() / ip(src=foreign)), RoceDrop.SOURCE),
        (congestion(first, under=ethernet() / ip(src=foreign)), RoceDrop.SOURCE),
        (acknowledge(first + 4, 1), RoceDrop.SOURCE),
        (acknowledge(first, 1, pkey=0x7FFF), None),
        (acknowledge(first, 1, pkey=0xFFFE), RoceDrop.PKEY),
        (congestion(first, pkey=0x8001), RoceDrop.PKEY),
        (acknowledge(first + 8, 1, pkey=0x8123), None),
        (acknowledge(first + 8, 1, pkey=0x0123), None),
        (acknowledge(first + 8, 1), RoceDrop.PKEY),
        (acknowledge(first + 9, 1, pkey=0x8123), None),
        (acknowledge(first + 9, 1, pkey=0x0123), RoceDrop.PKEY),
        *((acknowledge(first, 1, s), RoceDrop.SYNDROME) for s in (*range(0x40, 0x60), *range(0x64, 0x100))),
        (icrc_again(acknowledge(first, 1, under=ethernet() / ip(tos=3, ttl=1, id=77))), None),
    ]
    bench.random.shuffle(cases)
    for frame, _ in cases:
        bench.send(frame)
    found = await bench.check()
    for (frame, reason), reading in zip(cases, found, strict=True):
        assert (reading is reason) if reason is not None else isinstance(reading, Event), frame.hex(" ")
    assert set(bench.dropped) == set(RoceDrop) - {RoceDrop.CHECKSUM, RoceDrop.ICRC}


@cocotb.test()
async def lengths_that_lie_are_told_before_anything_else(dut: Any) -> None:
    bench = RoceBench(dut)
    await bench.reset()
    good = acknowledge(bench.first_qpn, 1)
    for length in [*range(64), 255, 0x7FFF, 0x8030, 0xFFF8, 0xFFFF]:
        for field, own in ((16, 48), (38, 28)):
            lie = length if field == 16 else length & 0xFFFF
            frame = good[:field] + lie.to_bytes(2, "big") + good[field + 2 :]
            bench.send(icrc_again(frame) + bytes(bench.random.randrange(3) * 4))
            assert lie == own or bench.model(bench.sent[-1]) is RoceDrop.LENGTH
    await bench.check()


@cocotb.test()
async def every_checksum_but_the_right_one_is_refused(dut: Any) -> None:
    bench = RoceBench(dut)
    await bench.reset()
    good = acknowledge(bench.first_qpn, 1)
    right = int.from_bytes(good[24:26], "big")
    for wrong in {0, 0xFFFF, right ^ 0xFFFF, *(right ^ 1 << b for b in range(16)), right - 1, right + 1}:
        bench.send(good[:24] + wrong.to_bytes(2, "big") + good[26:])
    for ttl, tos, id_ in ((1, 0xFF, 0xFFFF), (255, 2, 0), (64, 0, 0x8000)):  # sums that carry more and less often
        bench.send(acknowledge(bench.first_qpn, 1, under=ethernet() / ip(ttl=ttl, tos=tos, id=id_)))
    found = await bench.check()
    assert [type(reading) for reading in found[-3:]] == [Event] * 3
    assert set(found[:-3]) == {RoceDrop.CHECKSUM}


@cocotb.test()
@cocotb.parametrize(stalls=[Stalls.NONE, Stalls.BOTH])
async def random_packets_are_read_as_by_the_model(dut: Any, stalls: Stalls) -> None:
    bench = RoceBench(dut, stalls)
    await bench.reset()
    chance = bench.random
    for _ in range(400):
        qpn, under = bench.first_qpn + chance.randrange(N_QPS + 2), ethernet() / ip(id=chance.getrandbits(16))
        frame = acknowledge(
            qpn, chance.getrandbits(24), chance.choice((0, 0x1F, 0x2A, 0x60, chance.getrandbits(8))), under=under
        )
        if chance.random() < 0.2:
            frame = congestion(qpn, under=under)
        wrong = bytearray(frame)
        for _ in range(chance.choice((0, 0, 1, 2))):
            wrong[chance.randrange(14, len(wrong))] ^= 1 << chance.randrange(8)
        frame = bytes(wrong) if chance.random() < 0.5 else icrc_again(bytes(wrong))
        if chance.random() < 0.1:
            frame = frame[: chance.randint(1, len(frame))]
        bench.send(frame + bytes(chance.choice((0, 0, 2, 60, 900))))
    found = await bench.check()
    assert sum(isinstance(reading, Event) for reading in found) > 30


@cocotb.test()
async def events_that_wait_stop_the_frames_and_none_is_lost(dut: Any) -> None:
    bench = RoceBench(dut)
    bench.events._stall = lambda: bool(bench.frames.items) and bench.cycle % 200 < 150
    await bench.reset()
    for psn in range(300):
        bench.send(acknowledge(bench.first_qpn, psn))
        bench.send(acknowledge(bench.first_qpn, psn)[: bench.random.randint(1, 61)])
    found = await bench.check()
    assert [reading.psn for reading in found if isinstance(reading, Event)] == list(range(300))


@cocotb.test()
async def an_event_comes_four_cycles_behind_its_packet(dut: Any) -> None:
    bench = RoceBench(dut)
    await bench.reset()
    bench.send(acknowledge(bench.first_qpn, 1))
    await bench.check()
    assert bench.events.taken[0] - bench.frames.accepted[-1] == 4


@cocotb.test()
async def a_reset_leaves_nothing_of_the_packet_under_way(dut: Any) -> None:
    bench = RoceBench(dut)
    for cycles in range(1, 14):
        await bench.reset(cycles=1)
        bench.send(acknowledge(bench.first_qpn, 1))
        for _ in range(cycles):
            await bench.step()
        await bench.reset(cycles=1)
        bench.sent.clear()
        bench.dropped.clear()
        bench.send(acknowledge(bench.first_qpn, 2))
        assert await bench.check() == [Event(0, EventKind.ACK, 2, 31)]


@pytest.mark.parametrize("first_qpn", [2, 0x100])
def test_roce_rx(first_qpn: int) -> None:
    run("roce_rx", FirstQpn=first_qpn)
