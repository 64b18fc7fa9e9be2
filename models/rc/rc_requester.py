"""The sender's whole part of the RC service: rings of descriptors in, messages out, again and again until acknowledged.

Nothing of the payload is kept: what is sent again is read again from the frame's memory, which is held until then.
"""

from collections import Counter
from dataclasses import dataclass, replace

from framelane.models.placement.bd_rows import Descriptor
from framelane.models.placement.trailer import Trailer
from framelane.models.rc.rc_protocol import Decision, RcLimits, RcNote, RcQp, RcReason, RcState
from framelane.models.rc.rc_ring import Entry, Issue, RcRing, Retired, packets
from framelane.models.rc.rc_timer import RcTimer
from framelane.models.roce_tx.roce_qp import AckPolicy, QpContext, Segmentation, Service
from framelane.models.roce_tx.roce_segment import Message, PacketCommand, segment
from framelane.models.station.roce_rx import Event, EventKind


@dataclass(frozen=True, slots=True)
class RcContext:
    """What the requester knows of a QP's entry in the table: all that may not change while it is armed."""

    usable: bool
    """Enabled, of RC, and asks for acknowledgements: with AckPolicy.NEVER none would ever come."""
    mtu: int
    segmentation: Segmentation

    @classmethod
    def of(cls, qp: QpContext) -> "RcContext":
        """That of a QP as it is written."""
        usable = qp.enabled and qp.service is Service.RC and qp.ack_policy is not AckPolicy.NEVER
        return cls(usable, qp.mtu, qp.segmentation)


def commands(issue: Issue, qp: QpContext) -> list[PacketCommand]:
    """The packets of a message that is issued: what is left of it, with the PSNs and opcodes of the whole."""
    bd = issue.entry.bd
    message = Message(bd.destination, bd.length, bd.qp, bd.imm if bd.last else None)
    return segment(message, qp, issue.psn - issue.skip & 0xFFFFFF)[issue.skip :]


class RcRequester:
    """`rc_requester.sv`, event by event. Each call does one operation; the caller says how they follow in time."""

    def __init__(self, qps: int, depth: int) -> None:
        self.qps = [RcQp() for _ in range(qps)]
        self.rings = [RcRing(depth) for _ in range(qps)]
        self.timer = RcTimer(qps)
        self.under_way = [0] * qps
        """Messages of which the transmitter has not told the end, or packets have not left for the line."""
        self.notes: Counter[tuple[int, RcNote]] = Counter()
        self._left = [False] * qps  # packets, since the timer was started
        self._contexts: list[RcContext | None] = [None] * qps
        self._blocked = [False] * qps
        self._turn = 0

    def write(self, index: int, qp: QpContext) -> None:
        """The QP's entry in the table is written."""
        context = RcContext.of(qp)
        if self._contexts[index] != context:
            self._follow(index, self.qps[index].close(RcReason.REWRITTEN))
        self._contexts[index] = context

    def limit(self, index: int, limits: RcLimits) -> None:
        """The QP's limits are written."""
        self.qps[index].limits = limits

    def has_room(self, index: int, descriptors: int) -> bool:
        """Whether a frame of so many descriptors may be taken for the QP; in error none is."""
        return self.qps[index].state is not RcState.ERROR and self.rings[index].has_room(descriptors)

    def enqueue(self, bd: Descriptor, trailer: Trailer | None, tag: int) -> None:
        """Accept a descriptor of an RC QP."""
        context = self._contexts[bd.qp]
        count = packets(bd.length, context.mtu if context else 256)
        self.rings[bd.qp].enqueue(Entry(bd, trailer, count, tag))

    def issue(self) -> Issue | None:
        """The next message for the transmitter, from one QP after the other; None while none may be sent."""
        for _ in self.qps:
            index = self._turn = (self._turn + 1) % len(self.qps)
            ring = self.rings[index]
            while ring.waiting and not self._blocked[index]:
                decision = self.qps[index].ask(ring.next_psn, ring.waiting.packets)
                self._follow(index, decision)
                self._blocked[index] = not decision.answer
                if issue := ring.answered(decision):
                    self.under_way[index] += 1
                    return issue
        return None

    def ended(self, index: int) -> None:
        """A message of this QP has ended and left, whatever its status: bad packets are not placed."""
        self.under_way[index] -= 1
        self._left[index] = True

    def retire(self) -> list[Retired]:
        """All descriptors that have come to their end."""
        found = []
        for qp, ring in zip(self.qps, self.rings, strict=True):
            while retired := ring.retire(qp.una, qp.state is RcState.ERROR):
                found.append(retired)
        return found

    def event(self, event: Event) -> None:
        """An acknowledgement, or a CNP, which is not the requester's."""
        if event.kind is not EventKind.CNP and event.qp < len(self.qps):
            self._follow(event.qp, self.qps[event.qp].event(event.kind, event.psn, event.value))

    def advance(self, ticks: int) -> None:
        """Let time pass."""
        for index in self.timer.tick(ticks):
            self._follow(index, self.qps[index].expired(self.under_way[index] > 0 or self._left[index]))

    def arm(self, index: int, psn: int) -> bool | None:
        """Start the QP anew with `psn`: True when that is done, False where its entry in the table does not allow it.

        None while it is not done: what is left of the old messages ends first, in error. Call again.
        """
        context = self._contexts[index]
        if context is None or not context.usable:
            return False
        qp, ring = self.qps[index], self.rings[index]
        self._follow(index, qp.close(RcReason.CLOSED))
        if ring.head != ring.tail or not ring.whole_frames or self.under_way[index]:
            return None
        ring.arm(psn)
        self._follow(index, qp.arm(psn))
        return True

    def _follow(self, index: int, decision: Decision) -> None:
        if decision.timer is not None:
            self._left[index] = False
            if decision.timer:
                self.timer.start(index, decision.timer)
            else:
                self.timer.stop(index)
        if decision.back:
            self.rings[index].back()
        if decision.note or decision.timer is not None:
            self._blocked[index] = False
        if decision.note:
            self.notes[index, decision.note] += 1


def without(issue: Issue, mtu: int) -> Descriptor:
    """The descriptor of what is left of a message: the bytes behind its first `skip` packets of `mtu` bytes."""
    done, bd = issue.skip * mtu, issue.entry.bd
    source, destination = bd.source + done & (1 << 64) - 1, bd.destination + done & (1 << 64) - 1
    return replace(bd, source=source, destination=destination, length=bd.length - done)
