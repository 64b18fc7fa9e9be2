"""rc_requester between a transmitter, a network in each direction and a receiver a QP: all of them models."""

from collections import deque
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from bench import Bench, Stalls
from framelane.driver.simulated import ports
from framelane.driver.simulated.ports import BD_T, TRAILER_T
from framelane.models.cells import axis
from framelane.models.placement.bd_rows import Descriptor
from framelane.models.placement.trailer import Trailer
from framelane.models.rc.lossy_network import LinkImpairments, LossyNetwork
from framelane.models.rc.rc_protocol import PSNS, RcLimits, RcNote, RcState
from framelane.models.rc.rc_responder import Manner, RcResponder, Region
from framelane.models.roce_tx import wire
from framelane.models.roce_tx.roce_qp import AckPolicy, QpContext, Service
from framelane.models.roce_tx.roce_segment import Message, segment
from framelane.models.station.roce_rx import Event
from rc_ports import COMMAND_T, EVENT_T, ITEM_T, LIMITS_T, RETIRED_T, STATUS_T
from signals import now

DEPTH, TICK = 16, 20
"""Entries of a ring, and clocks of a tick: how the benches build the block."""
BASE = 0x1234_5678_9000
LOCAL, REMOTE = wire.Endpoint(2, 0x0A000001), wire.Endpoint(4, 0x0A000002)
MTU = 256
LIMITS = RcLimits(window=24, timeout=3, backoff=2, retries=7)
LOSSLESS = LinkImpairments(delay=100)
TRANSMITTER = 24
"""Messages that wait in it."""
IMPAIRMENTS = {
    "lossless": LOSSLESS,
    "lossy": LinkImpairments(0.01, 0.01, 0.01, 0.02, delay=100, lateness=400),
    "very_lossy": LinkImpairments(0.05, 0.05, 0.02, 0.2, delay=60, lateness=1000),
}


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
            counts = bits(32), bits(64), bits(64), bits(64), bits(32), bits(32), bits(64), bits(64)
            trailer = Trailer(1, *counts, time_flags=bits(32))
            self.trailers.items.append({"tdata": TRAILER_T.pack(asdict(trailer))})
            if index in self.peers:
                self.peers[index].trailers.append(trailer)
        return bd.last

    def _world(self) -> None:
        dut = self.dut
        note, qp = RcNote(now(dut.note_o)), now(dut.note_qp_o)
        if note:
            self.notes[qp, note] = self.notes.get((qp, note), 0) + 1
        for name in ("done", "refused"):
            if now(getattr(dut, f"{name}_o")):
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
        await self.until(lambda: bool(now(self.dut.idle_o)) and not self._queue, limit)

    async def status(self, index: int) -> dict[str, int]:
        self.dut.status_qp_i.value = index
        await self.step()
        return STATUS_T.unpack(now(self.dut.status_o))

    async def check(self) -> None:
        """What did not fail has arrived, once; what failed has a reason."""
        for index, peer in self.peers.items():
            assert peer.responder.writes.max() <= 1, "bytes were written twice"
            for bd, failed in zip(peer.bds, peer.ends, strict=True):
                at, end = bd.source, bd.source + bd.length
                assert failed or peer.region.memory[at:end] == peer.source[at:end], f"QP {index}: {at} is not there"
            state = (await self.status(index))["state"]
            assert any(peer.ends) <= (state == RcState.ERROR)
