"""rc_requester: RC through a bad network, the receiver's and the network's models beside the block, cycle by cycle."""

from collections import deque
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import cocotb

from bench import ALL_STALLS, Bench, Stalls, run
from framelane.driver.simulated import ports
from framelane.driver.simulated.ports import BD_T, TRAILER_T
from framelane.models.cells import axis
from framelane.models.placement.bd_rows import Descriptor
from framelane.models.placement.trailer import Trailer
from framelane.models.rc.lossy_network import LinkImpairments, LossyNetwork
from framelane.models.rc.rc_protocol import PSNS, RcLimits, RcNote, RcReason, RcState
from framelane.models.rc.rc_responder import Manner, RcResponder, Region
from framelane.models.roce_tx import wire
from framelane.models.roce_tx.roce_qp import AckPolicy, QpContext, Segmentation, Service
from framelane.models.roce_tx.roce_segment import Message, segment
from framelane.models.station.roce_rx import Event, EventKind
from rc_ports import COMMAND_T, EVENT_T, ITEM_T, LIMITS_T, RETIRED_T, STATUS_T

QPS, DEPTH, TICK = 8, 16, 20
BASE = 0x1234_5678_9000
LOCAL, REMOTE = wire.Endpoint(2, 0x0A000001), wire.Endpoint(4, 0x0A000002)
MTU = 256
LIMITS = RcLimits(window=24, timeout=3, backoff=2, retries=7)
LOSSLESS = LinkImpairments(delay=100)
AHEAD = 96
"""Beats of 512 bits that may be ahead of the packets."""
TRANSMITTER = 24
"""Messages that wait in it."""


@dataclass
class Peer:
    """A receiver, and what is sent to it: descriptors, and how each has ended."""

    qp: QpContext
    region: Region
    responder: RcResponder
    source: bytes
    bds: list[Descriptor]
    ends: list[bool] = field(default_factory=list)
    """Whether it failed."""
    trailers: list[Trailer] = field(default_factory=list)
    ended_at: int = 0


class RequesterBench(Bench):
    """A transmitter of one packet a time, a network in each direction, a receiver a QP."""

    def __init__(
        self, dut: Any, stalls: Stalls = Stalls.NONE, impairments: LinkImpairments = LOSSLESS, packet_cycles: int = 6
    ) -> None:
        super().__init__(dut, stalls)
        self.bds, self.trailers = self.source("s_axis_bd"), self.source("s_axis_trailer")
        self.events, self.commands = self.source("s_axis_event", False), self.source("s_axis_command", False)
        self.items, self.out_trailers = self.sink("m_axis_item"), self.sink("m_axis_trailer")
        self.retired = self.sink("m_axis_retired")
        for name in ("tag_i", "ended_i", "ended_qp_i", "qp_write_valid_i", "qp_write_i", "limits_write_i", "limits_i",
                     "limits_qp_i", "room_qp_i", "room_wanted_i", "admit_i", "status_qp_i", "in_line_i",
                     "left_i", "beat_i"):  # fmt: skip
            getattr(dut, name).value = 0
        self.there: LossyNetwork[tuple[int, wire.Headers, bytes]] = LossyNetwork(impairments, 3)
        self.back: LossyNetwork[Event] = LossyNetwork(impairments, 4)
        self.peers: dict[int, Peer] = {}
        self.silent: set[int] = set()
        self.notes: dict[tuple[int, RcNote], int] = {}
        self.outcomes: list[str] = []
        self.passed: list[dict[str, int]] = []
        self.taken_items = self.taken_trailers = self.taken_ends = self.packets = 0
        self.packet_cycles = packet_cycles
        self._queue: deque[tuple[int, wire.Headers | None, bytes, bool]] = deque()
        self._messages = self._beats = 0
        self._free_at = 0
        stall = self.items._stall
        self.items._stall = lambda: self._messages >= TRANSMITTER or stall()
        self.watch(self._world)

    def peer(self, index: int, messages: int, manner: Manner = Manner.IBA, **fields: Any) -> Peer:
        """A receiver with a QP, and frames for it; queued by `feed`."""
        psn = self.random.choice((PSNS - 10, self.random.getrandbits(24)))
        values = {"psn": psn, "mtu": MTU, "service": Service.RC, "ack_policy": AckPolicy.LAST} | fields
        qp = QpContext(REMOTE, 0x11 + index, 0x77, **values)
        bds: list[Descriptor] = []
        at = 0
        while len(bds) < messages:
            rows = self.random.randrange(1, 5)
            for row in range(rows + 1):
                last = row == rows
                length = 64 if last else self.random.choice((1, 255, 256, 257, self.random.randrange(1, 1200)))
                bds.append(Descriptor(at, BASE + at, length, index, index, last, len(bds) if last else 0))
                at += length
        region = Region(BASE, qp.rkey, bytearray(at))
        responder = RcResponder(psn, MTU, region, qp=index, manner=manner)
        self.peers[index] = Peer(qp, region, responder, self.random.randbytes(at), bds)
        return self.peers[index]

    async def start(self, limits: RcLimits = LIMITS) -> None:
        """Write and arm all QPs, and let them settle."""
        await self.reset()
        for index, peer in self.peers.items():
            await self.write(index, peer.qp)
            await self.limit(index, limits)
            assert await self.command(index, peer.qp.psn) == "done"
        await self.until(
            lambda: sum(n for (_, note), n in self.notes.items() if note is RcNote.ARMED) == len(self.peers)
        )

    async def write(self, index: int, qp: QpContext) -> None:
        self.dut.qp_write_i.value = ports.qp_write_t(index, qp)
        self.dut.qp_write_valid_i.value = 1
        await self.step()
        self.dut.qp_write_valid_i.value = 0

    async def limit(self, index: int, limits: RcLimits) -> None:
        self.dut.limits_i.value, self.dut.limits_qp_i.value = LIMITS_T.pack(asdict(limits)), index
        self.dut.limits_write_i.value = 1
        await self.step()
        self.dut.limits_write_i.value = 0

    async def command(self, index: int, psn: int, arm: bool = True, limit: int = 20_000) -> str:
        """Arm a QP, or close it: what becomes of the command."""
        before = len(self.outcomes)
        fields = {"arm": arm, "qp": index, "reason": 0, "psn": psn}
        self.commands.items.append({"tdata": COMMAND_T.pack(fields)})
        await self.until(lambda: len(self.outcomes) > before, limit)
        await self.step()
        return self.outcomes[-1]

    def feed(self, mix: bool = True) -> None:
        """Queue the descriptors of all peers, frame by frame, from one after the other."""
        waiting = {index: deque(peer.bds) for index, peer in self.peers.items()}
        while waiting:
            index = self.random.choice(list(waiting)) if mix else next(iter(waiting))
            while not self.frame(index, waiting[index].popleft()):
                pass
            if not waiting[index]:
                del waiting[index]

    def frame(self, index: int, bd: Descriptor) -> bool:
        """Queue a descriptor, with a trailer where it is the last."""
        self.bds.items.append({"tdata": BD_T.pack(asdict(bd))})
        if bd.last:
            bits = self.random.getrandbits
            trailer = Trailer(1, bits(32), bits(64), bits(64), bits(64), bits(32), bits(32), bits(64), bits(64))
            self.trailers.items.append({"tdata": TRAILER_T.pack(asdict(trailer))})
            if index in self.peers:
                self.peers[index].trailers.append(trailer)
        return bd.last

    def _world(self) -> None:
        dut = self.dut
        note, qp = RcNote(int(dut.note_o.value)), int(dut.note_qp_o.value)
        if note:
            self.notes[qp, note] = self.notes.get((qp, note), 0) + 1
        for name in ("done", "refused"):
            if int(getattr(dut, f"{name}_o").value):
                self.outcomes.append(name)
        for item in self.items.items[self.taken_items :]:
            self._send(ITEM_T.unpack(item["tdata"]))
        self.taken_items = len(self.items.items)
        for item in self.retired.items[self.taken_ends :]:
            end = RETIRED_T.unpack(item["tdata"])
            peer = self.peers[end["destination_index"]]
            assert end["last"] == peer.bds[len(peer.ends)].last
            peer.ends.append(bool(end["failed"]))
            peer.ended_at = self.cycle
        self.taken_ends = len(self.retired.items)

    def _send(self, item: dict[str, int]) -> None:
        bd = BD_T.unpack(item["bd"])
        self._messages += 1
        peer = self.peers.get(bd["qp"])
        if not item["rc"] or peer is None:
            self.passed.append(bd)
            self._queue.append((bd["qp"], None, bytes(bd["length"]), True))
            return
        message = Message(bd["destination"], bd["length"], bd["qp"], bd["imm"] if bd["last"] else None)
        commands = segment(message, peer.qp, item["psn"])
        if item["resume"]:  # as the packetizer does it: the form of a message that has begun before
            longer = replace(message, length=message.length + MTU, address=message.address - MTU)
            commands = segment(longer, peer.qp, item["psn"] - 1 & 0xFFFFFF)[1:]
            commands = [replace(c, offset=c.offset - MTU) for c in commands]
        for k, c in enumerate(commands):
            h = wire.Headers(
                LOCAL, REMOTE, c.src_port, c.opcode, peer.qp.dest_qpn, c.psn, c.length, c.reth, c.imm,
                ack_request=c.ack_request,
            )  # fmt: skip
            at = bd["source"] + c.offset
            self._queue.append((bd["qp"], h, peer.source[at : at + c.length], k == len(commands) - 1))

    async def step(self) -> None:
        """One cycle of the whole world. Sends a packet, hears what has arrived, answers."""
        self.dut.ended_i.value = 0
        self.dut.beat_i.value = int(self._beats > 0)
        self._beats -= self._beats > 0
        if self._queue and self.cycle >= self._free_at:
            index, headers, payload, ends = self._queue.popleft()
            self._free_at = self.cycle + self.packet_cycles
            self._beats += axis.n_beats(len(payload), 512)
            if headers:
                self.packets += 1
                self.there.send(self.cycle, (index, headers, payload))
            if ends:
                self._messages -= 1
                self.dut.ended_i.value, self.dut.ended_qp_i.value = 1, index
        for index, headers, payload in self.there.due(self.cycle):
            if index not in self.silent:
                for event in self.peers[index].responder.receive(headers, payload):
                    self.back.send(self.cycle, event)
        for event in self.back.due(self.cycle):
            self.hear(event)
        await super().step()

    def hear(self, event: Event) -> None:
        """An event for the block."""
        self.events.items.append({"tdata": EVENT_T.pack(asdict(event))})

    async def finish(self, limit: int = 200_000) -> None:
        """Until all has ended, and nothing is under way."""
        await self.until(lambda: all(len(p.ends) == len(p.bds) for p in self.peers.values()), limit)
        await self.until(lambda: bool(int(self.dut.idle_o.value)) and not self._queue, limit)

    async def status(self, index: int) -> dict[str, int]:
        self.dut.status_qp_i.value = index
        await self.step()
        return STATUS_T.unpack(int(self.dut.status_o.value))

    async def check(self) -> None:
        """What did not fail has arrived, once; what failed has a reason."""
        for index, peer in self.peers.items():
            assert peer.responder.writes.max() <= 1, "bytes were written twice"
            for bd, failed in zip(peer.bds, peer.ends, strict=True):
                at, end = bd.source, bd.source + bd.length
                assert failed or peer.region.memory[at:end] == peer.source[at:end], f"QP {index}: {at} is not there"
            state = (await self.status(index))["state"]
            assert any(peer.ends) <= (state == RcState.ERROR)


IMPAIRMENTS = {
    "lossless": LOSSLESS,
    "lossy": LinkImpairments(0.01, 0.01, 0.01, 0.02, delay=100, lateness=400),
    "very_lossy": LinkImpairments(0.05, 0.05, 0.02, 0.2, delay=60, lateness=1000),
}


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS, impairments=list(IMPAIRMENTS))
async def every_byte_arrives_once_and_in_place(dut: Any, stalls: Stalls, impairments: str) -> None:
    bench = RequesterBench(dut, stalls, IMPAIRMENTS[impairments])
    for index, manner in enumerate(Manner):
        form = (Segmentation.MESSAGE, Segmentation.ONLY)[index % 2]
        policy = {"ack_policy": AckPolicy.INTERVAL, "ack_log2": 1} if index > 1 else {}
        bench.peer(index, 60, manner, segmentation=form, **policy)
    await bench.start()
    bench.feed()
    await bench.finish()
    await bench.check()
    assert not any(any(peer.ends) for peer in bench.peers.values())
    if impairments == "lossless":
        sent = sum(-(-bd.length // MTU) for peer in bench.peers.values() for bd in peer.bds)
        coalesced = sum(n for (qp, note), n in bench.notes.items() if qp == 3 and note is RcNote.TIMED_OUT)
        assert bench.packets == sent or coalesced
    wanted = [t for peer in bench.peers.values() for t in peer.trailers]
    got = {item["tdata"] for item in bench.out_trailers.items}
    assert got == {TRAILER_T.pack(asdict(trailer)) for trailer in wanted}


@cocotb.test()
async def a_silent_receiver_ends_its_own_qp_only_and_is_armed_anew(dut: Any) -> None:
    bench = RequesterBench(dut)
    for index in (0, 1):
        bench.peer(index, 100)
    await bench.start()
    bench.silent.add(1)
    bench.feed()
    await bench.finish()
    await bench.check()
    status = await bench.status(1)
    assert (RcState(status["state"]), RcReason(status["reason"])) == (RcState.ERROR, RcReason.TIMEOUT)
    assert all(bench.peers[1].ends)
    assert not any(bench.peers[0].ends)
    assert bench.notes[1, RcNote.TIMED_OUT] == LIMITS.retries
    bench.silent.clear()
    fresh = bench.peer(1, 20)
    await bench.write(1, fresh.qp)
    assert await bench.command(1, fresh.qp.psn) == "done"
    for bd in fresh.bds:
        bench.frame(1, bd)
    await bench.finish()
    await bench.check()
    assert not any(fresh.ends)


@cocotb.test()
async def a_busy_qp_is_closed_or_armed_by_command(dut: Any) -> None:
    bench = RequesterBench(dut)
    peer = bench.peer(2, 60)
    await bench.start()
    bench.feed()
    await bench.until(lambda: len(peer.ends) > 10)
    assert await bench.command(2, 0, arm=False) == "done"
    await bench.finish()
    assert (await bench.status(2))["reason"] == RcReason.CLOSED
    assert peer.ends == sorted(peer.ends)
    assert not peer.ends[0]
    assert peer.ends[-1]
    fresh = bench.peer(2, 60)
    await bench.write(2, fresh.qp)
    assert await bench.command(2, fresh.qp.psn) == "done"
    for bd in fresh.bds:
        bench.frame(2, bd)
    await bench.until(lambda: len(fresh.ends) > 10)
    assert await bench.command(2, 5) == "done", "a busy QP is closed, drained, and armed"
    assert len(fresh.ends) == len(fresh.bds)
    assert (await bench.status(2))["una"] == 5


@cocotb.test()
async def a_qp_that_cannot_be_acknowledged_is_refused(dut: Any) -> None:
    bench = RequesterBench(dut)
    await bench.reset()
    assert await bench.command(3, 5) == "refused"
    good = QpContext(REMOTE, 1, 1, service=Service.RC, ack_policy=AckPolicy.INTERVAL, ack_log2=3)
    for change in ({"ack_policy": AckPolicy.NEVER}, {"service": Service.UC, "ack_policy": AckPolicy.NEVER}):
        await bench.write(3, replace(good, **change))
        assert await bench.command(3, 5) == "refused"
    await bench.write(3, replace(good, enabled=False))
    assert await bench.command(3, 5) == "refused"
    assert await bench.command(QPS, 5) == "refused"
    await bench.write(3, good)
    await bench.limit(3, LIMITS)
    assert await bench.command(3, 5) == "done"
    assert (await bench.status(3))["state"] == RcState.SETTLE


@cocotb.test()
async def a_qp_that_is_rewritten_is_in_error_unless_only_its_path_and_rate_change(dut: Any) -> None:
    bench = RequesterBench(dut)
    peer = bench.peer(1, 80)
    await bench.start()
    bench.feed()
    await bench.until(lambda: len(peer.ends) > 10)
    await bench.write(1, replace(peer.qp, rate=7, tos=3))
    await bench.until(lambda: len(peer.ends) > 20)
    await bench.write(1, replace(peer.qp, mtu=512))
    await bench.finish()
    assert (await bench.status(1))["reason"] == RcReason.REWRITTEN
    assert peer.ends[-1]


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def what_is_not_of_rc_passes_in_order_and_is_not_kept_back(dut: Any, stalls: Stalls) -> None:
    bench = RequesterBench(dut, stalls)
    bench.peer(0, 40)
    await bench.start()
    bench.silent.add(0)
    sent = []
    for n, bd in enumerate(bench.peers[0].bds):
        bench.frame(0, bd)
        if bd.last:
            for k in range(4):
                other = Descriptor(n, n, 100 + k, (5, 200)[n % 2], 9, k == 3, n)
                bench.frame(5, other)
                sent.append(asdict(other))
    await bench.finish()
    assert bench.passed == sent
    assert len(bench.out_trailers.items) >= len(sent) // 4


@cocotb.test()
async def descriptors_pass_one_a_cycle_when_they_are_not_of_rc(dut: Any) -> None:
    bench = RequesterBench(dut, packet_cycles=1)
    await bench.reset()
    for n in range(100):
        bench.frame(5, Descriptor(n, n, 64, 5, 9, False, 0))
    await bench.drain(bench.items, 100)
    assert bench.items.taken[-1] - bench.items.taken[0] == 99


@cocotb.test()
@cocotb.parametrize(length=[1024, 16 * MTU, 200 * MTU])
async def no_more_is_issued_than_hides_the_latency_of_the_memory(dut: Any, length: int) -> None:
    """What was issued when a NAK comes leaves for nothing: little more than AHEAD, whatever the window holds."""
    bench = RequesterBench(dut)
    peer = bench.peer(0, 1)
    peer.bds[:] = [Descriptor(k * length, BASE + k * length, length, 0, 0, k == DEPTH - 2, 0) for k in range(DEPTH - 1)]
    peer.source = bytes(DEPTH * length)
    await bench.start(replace(LIMITS, window=10_000, timeout=6, backoff=0))
    most = [0]

    def ahead() -> int:
        return sum(axis.n_beats(len(payload), 512) for _, _, payload, _ in bench._queue)

    bench.silent.add(0)
    bench.items._stall = lambda: False
    bench.watch(lambda: most.append(ahead()))
    bench.feed()
    await bench.until(lambda: len(bench.items.items) == DEPTH - 1, 50_000)
    each = axis.n_beats(length, 512)
    assert AHEAD <= max(most) < AHEAD + max(each, AHEAD // 4)


@cocotb.test()
async def a_time_out_while_packets_have_not_left_yet_sends_nothing_twice(dut: Any) -> None:
    bench = RequesterBench(dut, packet_cycles=400)
    peer = bench.peer(0, 30)
    await bench.start(replace(LIMITS, timeout=2, backoff=0, retries=0))
    bench.feed()
    await bench.finish()
    await bench.check()
    assert not any(peer.ends)
    assert bench.notes[0, RcNote.DEFERRED] > 5
    assert bench.packets == sum(-(-bd.length // MTU) for bd in peer.bds)


@cocotb.test()
async def nothing_is_armed_while_a_message_has_not_left(dut: Any) -> None:
    bench = RequesterBench(dut, packet_cycles=300)
    bench.peer(0, 12)
    await bench.start()
    bench.feed()
    await bench.until(lambda: bench._messages > 4)
    await bench.command(0, 9)
    assert not bench._messages
    assert not bench._queue


@cocotb.test()
async def congestion_and_events_for_nobody_are_told_apart(dut: Any) -> None:
    bench = RequesterBench(dut)
    await bench.reset()
    seen: list[int] = []
    bench.watch(lambda: seen.append(int(dut.cnp_qp_o.value)) if int(dut.cnp_o.value) else None)
    for event in (Event(3, EventKind.CNP, 0), Event(77, EventKind.ACK, 0), Event(200, EventKind.CNP, 0)):
        bench.hear(event)
    bench.hear(Event(2, EventKind.ACK, 0))
    await bench.until(lambda: bool(bench.notes), 20)
    assert seen == [3, 200]
    assert bench.notes == {(2, RcNote.STALE): 1}


@cocotb.test()
async def a_frame_for_a_qp_in_error_finds_no_room_and_others_do(dut: Any) -> None:
    bench = RequesterBench(dut)
    bench.peer(1, 2)
    await bench.start()

    async def room(index: int, wanted: int) -> bool:
        dut.room_qp_i.value, dut.room_wanted_i.value = index, wanted
        await bench.step()
        await bench.step()
        return bool(int(dut.room_o.value))

    assert await room(1, DEPTH)
    assert await room(6, 1000), "not of RC"
    assert await room(200, 1000), "not of RC"
    await bench.command(1, 0, arm=False)
    assert not await room(1, 1)


def test_rc_requester() -> None:
    run("rc_requester", RcQps=QPS, Depth=DEPTH, Ahead=AHEAD, TickClocks=TICK)
