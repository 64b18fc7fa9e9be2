"""Senders and receivers of RC with a bad network between them, all of them models."""

import random
from collections import deque
from dataclasses import dataclass, field

import numpy as np

from framelane.models.placement.bd_rows import Descriptor
from framelane.models.placement.trailer import Trailer
from framelane.models.rc.lossy_network import LinkImpairments, LossyNetwork
from framelane.models.rc.rc_protocol import RcLimits, RcState
from framelane.models.rc.rc_requester import RcRequester, commands
from framelane.models.rc.rc_responder import Manner, RcResponder, Region
from framelane.models.rc.rc_ring import Issue, Retired
from framelane.models.rc.rc_timer import TICK_NS
from framelane.models.roce_tx import wire
from framelane.models.roce_tx.roce_qp import AckPolicy, QpContext, Segmentation, Service
from framelane.models.station.roce_rx import Event

LOCAL, REMOTE = wire.Endpoint(2, 0x0A000001), wire.Endpoint(4, 0x0A000002)
BASE = 0x1234_5678_9000
PACKET_NS = 30
"""A packet on the line."""
QUEUE = 16
"""Messages that wait in the transmitter."""
MTU = 256
LOSSLESS = LinkImpairments()
LIMITS = RcLimits(window=24, timeout=2, backoff=3, retries=15)


@dataclass
class Work:
    """One descriptor of a QP, and its end."""

    bd: Descriptor
    tag: int
    retired: Retired | None = None


@dataclass
class Side:
    """One QP with all that it is to send: `works` in order, those up to `given` handed over, up to `done` ended."""

    qp: QpContext
    responder: RcResponder
    source: bytes
    works: list[Work]
    given: int = 0
    done: int = 0
    ended_at: int = 0
    frame_sizes: deque[int] = field(default_factory=deque)


class World:
    """`messages` in frames of random sizes on each of the `manners`' QPs. `run` goes on until all have ended."""

    def __init__(
        self,
        manners: list[Manner],
        messages: int,
        seed: int,
        *,
        impairments: LinkImpairments = LOSSLESS,
        limits: RcLimits = LIMITS,
        segmentation: Segmentation = Segmentation.ONLY,
        ack_policy: AckPolicy = AckPolicy.LAST,
        depth: int = 64,
    ) -> None:
        self.random = random.Random(seed)
        self.now = 0
        self.there: LossyNetwork[tuple[int, wire.Headers, bytes]] = LossyNetwork(impairments, seed * 2 + 1)
        self.back: LossyNetwork[Event] = LossyNetwork(impairments, seed * 2 + 2)
        self.requester = RcRequester(len(manners), depth)
        self.silent: set[int] = set()
        """QPs of which the receiver does not hear."""
        self.feeds_errors = True
        """QPs in error are given messages too, which fail."""
        self.packets = 0
        self._queue: deque[tuple[int, wire.Headers, bytes, bool]] = deque()
        self._messages = 0
        self._ticked = 0
        self.sides = []
        for index, manner in enumerate(manners):
            psn = self.random.choice((self.random.getrandbits(24), (1 << 24) - 20))
            qp = QpContext(REMOTE, 0x11 + index, 0x77, psn, MTU, Service.RC, segmentation, ack_policy, ack_log2=2)
            self.sides.append(self._side(index, qp, manner, messages))
            self.requester.write(index, qp)
            self.requester.limit(index, limits)
            assert self.requester.arm(index, psn)

    def _side(self, index: int, qp: QpContext, manner: Manner, messages: int) -> Side:
        works, sizes, at, frame = list[Work](), deque[int](), 0, 0
        while len(works) < messages:
            rows = self.random.randrange(1, 6)
            sizes.append(rows + 1)
            for row in range(rows + 1):
                last = row == rows
                length = 64 if last else self.random.choice((1, 255, 256, 257, self.random.randrange(1, 1200)))
                works.append(Work(Descriptor(at, BASE + at, length, index, index, last, frame if last else 0), frame))
                at += length
            frame += 1
        memory = Region(BASE, qp.rkey, bytearray(at))
        source = self.random.randbytes(at)
        return Side(qp, RcResponder(qp.psn, MTU, memory, qp=index, manner=manner), source, works, frame_sizes=sizes)

    def run(self, until: int | None = None) -> None:
        """Go on until nothing is left to happen, or to a time in ns."""
        while (then := self._step()) is not None and (until is None or then < until):
            self.now = max(self.now, then)
            ticks = self.now // TICK_NS - self._ticked
            if ticks:
                self.requester.advance(ticks)
                self._ticked += ticks

    def _step(self) -> int | None:
        self._feed()
        for packet in self.there.due(self.now):
            index, headers, payload = packet
            if index not in self.silent:
                for event in self.sides[index].responder.receive(headers, payload):
                    self.back.send(self.now, event)
        for event in self.back.due(self.now):
            self.requester.event(event)
        if self.there.next_arrival() is None:
            for event in (event for side in self.sides for event in side.responder.flush()):
                self.back.send(self.now, event)
        self._settle()
        times = [self.there.next_arrival(), self.back.next_arrival()]
        if self._queue:
            index, headers, payload, ends = self._queue.popleft()
            self.packets += 1
            self.there.send(self.now, (index, headers, payload))
            if ends:
                self._messages -= 1
                self.requester.ended(index)
            times.append(self.now + PACKET_NS)
        ticks = self.requester.timer.next_end()
        if ticks is not None:
            times.append((self._ticked + ticks) * TICK_NS)
        known = [time for time in times if time is not None]
        return min(known) if known else None

    def _settle(self) -> None:
        """All that follows at once: ends, new descriptors, messages that may be sent, or are skipped."""
        busy = True
        while busy:
            retired = self.requester.retire()
            for end in retired:
                self._retire(end)
            self._feed()
            while self._messages < QUEUE and (issue := self.requester.issue()):
                self._send(issue)
            busy = bool(retired)

    def _send(self, issue: Issue) -> None:
        side = self.sides[issue.entry.bd.qp]
        self._messages += 1
        left = commands(issue, side.qp)
        for k, c in enumerate(left):
            h = wire.Headers(
                LOCAL, REMOTE, c.src_port, c.opcode, side.qp.dest_qpn, c.psn, c.length, c.reth, c.imm,
                ack_request=c.ack_request,
            )  # fmt: skip
            at = issue.entry.bd.source + c.offset
            self._queue.append((issue.entry.bd.qp, h, side.source[at : at + c.length], k == len(left) - 1))

    def _feed(self) -> None:
        for index, side in enumerate(self.sides):
            ring = self.requester.rings[index]
            failing = self.feeds_errors and self.requester.qps[index].state is RcState.ERROR
            while side.frame_sizes and (failing or self.requester.has_room(index, side.frame_sizes[0])):
                if failing and ring.free < side.frame_sizes[0]:
                    break
                ring.admit(side.frame_sizes[0])
                for _ in range(side.frame_sizes.popleft()):
                    work = side.works[side.given]
                    trailer = Trailer(0, 0, 0, 0, 0, 0, 0, 0, 0) if work.bd.last else None
                    self.requester.enqueue(work.bd, trailer, work.tag)
                    side.given += 1

    def _retire(self, retired: Retired) -> None:
        side = self.sides[retired.destination_index]
        work = side.works[side.done]
        assert (work.tag, work.bd.last) == (retired.tag, retired.last), "ended out of order"
        work.retired = retired
        side.done += 1
        side.ended_at = self.now

    def check(self) -> None:
        """All has ended; what did not fail arrived once and in place; what failed has a reason; no memory is held."""
        assert not any(self.requester.under_way)
        for index, side in enumerate(self.sides):
            assert side.done == len(side.works), f"QP {index}: {side.done} of {len(side.works)} messages have ended"
            failed = self.check_arrived(index)
            assert failed <= (self.requester.qps[index].state is RcState.ERROR), f"QP {index}: lost without a reason"

    def check_arrived(self, index: int, first: int = 0) -> bool:
        """All messages from the `first` on that did not fail arrived once and in place; whether any failed."""
        side = self.sides[index]
        memory, writes = side.responder._region.memory, side.responder.writes
        assert writes.max() <= 1, f"QP {index}: bytes were written twice"
        for work in side.works[first:]:
            assert work.retired
            at, end = work.bd.source, work.bd.source + work.bd.length
            if not work.retired.failed:
                assert memory[at:end] == side.source[at:end], f"QP {index}: message at {at} is not there"
                assert np.all(writes[at:end] == 1)
        return any(work.retired and work.retired.failed for work in side.works[first:])

    def failed(self, index: int) -> int:
        """Messages of a QP that were given up."""
        return sum(work.retired is not None and work.retired.failed for work in self.sides[index].works)
