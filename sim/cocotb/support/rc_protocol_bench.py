"""rc_protocol beside one model a QP: what is taken is what the model does, what follows comes in the next cycles."""

from dataclasses import asdict, dataclass
from typing import Any

from bench import Bench
from framelane.models.rc.rc_protocol import PSNS, Decision, RcAnswer, RcNote, RcQp, RcReason, RcState
from framelane.models.station.roce_rx import Event, EventKind
from rc_ports import COMMAND_T, EVENT_T, LIMITS_T, STATUS_T
from signals import now

QPS = 4
READY = ("ask_ready_o", "s_axis_command_tready", "s_axis_event_tready", "expired_ready_o")
OUTPUTS = ("answer_o", "answer_psn_o", "answer_skip_o", "back_o", "arm_o", "arm_psn_o", "note_o", "wake_o", "again_o",
           "timer_write_o", "timer_qp_o", "timer_run_o", "timer_ticks_o", "failing_o", "qp_o", "status_o", "look_una_o",
           *READY)  # fmt: skip
TIMER_AFTER = 2
"""Cycles from a decision to its timer."""
PATIENCE = 10
"""Cycles after which an end of a timer is taken, or taken back, if no command comes: what rc_timer's proof assumes."""


@dataclass(frozen=True)
class Question:
    """May a message of so many packets be sent, `first` being the PSN of its first?"""

    index: int
    first: int
    packets: int


@dataclass(frozen=True)
class Command:
    """As the port takes it."""

    arm: bool
    qp: int
    reason: RcReason = RcReason.CLOSED
    psn: int = 0


@dataclass
class Taken:
    """An operation, what the model says of it, and the question's packets."""

    what: str
    index: int
    decision: Decision
    packets: int | None = None
    again: bool = False
    armed: int | None = None


class ProtocolBench(Bench):
    """The block beside one model a QP."""

    def __init__(self, dut: Any) -> None:
        super().__init__(dut)
        self.qps = [RcQp() for _ in range(QPS)]
        self.runs = [False] * QPS
        self.seen: dict[str, int] = {}
        self.notes: list[RcNote] = []
        self.taken: Taken | None = None
        """To be decided in the next cycle."""
        self.timers: list[tuple[int, int, int | None]] = []
        """Cycle, QP and ticks of what is on its way to the timers."""
        self.asked = False
        self.event: Event | None = None
        """On offer until it is taken; so is an end of the timer of the QP `expired`, unless it is taken back."""
        self.expired: int | None = None
        self.waited = 0
        """Cycles that it has been on offer without a command."""
        self.leaving = 0
        """QPs of which packets are under way when what is taken now is decided."""
        self.under_way = 0
        for name in ("ask_i", "s_axis_command_tvalid", "s_axis_event_tvalid", "expired_valid_i", "under_way_i"):
            getattr(dut, name).value = 0
        dut.look_qp_i.value = dut.status_qp_i.value = 0
        self.answer(self._limits)
        self.watch(self._sample)

    def _limits(self) -> None:
        for port, qp in (("limits_i", "limits_qp_o"), ("ask_limits_i", "ask_qp_i")):
            limits = self.qps[now(getattr(self.dut, qp)) % QPS].limits
            getattr(self.dut, port).value = LIMITS_T.pack(asdict(limits))

    def _sample(self) -> None:
        self.seen = {name: now(getattr(self.dut, name)) for name in OUTPUTS}

    def check(self, taken: Taken | None) -> None:
        """The outputs of the cycle that was just sampled: what was taken in the one before."""
        seen = self.seen
        if taken is None:
            assert not seen["note_o"] | seen["back_o"] | seen["arm_o"] | seen["wake_o"] | seen["again_o"]
            return
        decision = taken.decision
        assert seen["qp_o"] == taken.index
        assert RcNote(seen["note_o"]) is decision.note
        assert bool(seen["back_o"]) == decision.back
        assert bool(seen["wake_o"]) == (taken.packets is None)
        assert seen["again_o"] == taken.again
        assert seen["arm_o"] == (taken.armed is not None)
        if taken.armed is not None:
            assert seen["arm_psn_o"] == taken.armed
        if taken.packets is not None:
            assert RcAnswer(seen["answer_o"]) is decision.answer
        if decision.answer is RcAnswer.SEND:
            assert (seen["answer_psn_o"], seen["answer_skip_o"]) == (decision.psn, decision.skip)
        self.timers.append((self.cycle + TIMER_AFTER, taken.index, decision.timer))
        if decision.note:
            self.notes.append(decision.note)

    def check_timer(self) -> None:
        """What the timers are told, for the operation of two cycles before."""
        seen = self.seen
        if not self.timers or self.timers[0][0] != self.cycle:
            assert not seen["timer_write_o"], "a timer is written for no operation"
            return
        _, index, ticks = self.timers.pop(0)
        assert not seen["timer_write_o"] or seen["timer_qp_o"] == index
        if ticks:
            assert seen["timer_write_o"] & seen["timer_run_o"], "a timer is not started"
            assert seen["timer_ticks_o"] == ticks
        elif ticks == 0:
            assert seen["timer_write_o"], "a timer is not stopped"
        if not ticks and seen["timer_write_o"]:
            assert not seen["timer_run_o"]
            assert ticks == 0 or not self.runs[index], "a timer is stopped"
        if seen["timer_write_o"]:
            self.runs[index] = bool(ticks)
            if self.expired == index:
                self.expired = None

    async def operate(self) -> None:
        """One cycle with some of all that may come."""
        draw = self.random.randrange
        question = self._question() if not self.asked and draw(3) else None
        command = None if draw(25) else self._command()
        if self.event is None and draw(3):
            index = draw(QPS)
            self.event = self._some_event(index, self.qps[index])
        if self.expired is None and any(self.runs) and not draw(12):
            self.expired = self.random.choice([k for k in range(QPS) if self.runs[k]])
        self.leaving = self.random.getrandbits(QPS) & self.random.getrandbits(QPS)
        await self.offer(question, command)

    async def offer(self, question: Question | None = None, command: Command | None = None) -> None:
        """One cycle with these, `event` and `expired`; what is taken is what the model does, in this order."""
        dut = self.dut
        before, self.taken = self.taken, None
        dut.ask_i.value = question is not None
        if question:
            dut.ask_qp_i.value, dut.ask_psn_i.value = question.index, question.first
        decided = before.packets if before else None
        dut.ask_packets_i.value = self.random.getrandbits(16) if decided is None else decided
        dut.s_axis_command_tvalid.value = command is not None
        if command:
            dut.s_axis_command_tdata.value = COMMAND_T.pack(asdict(command))
        dut.s_axis_event_tvalid.value = self.event is not None
        if self.event:
            dut.s_axis_event_tdata.value = EVENT_T.pack(asdict(self.event))
        dut.expired_valid_i.value = self.expired is not None
        dut.expired_qp_i.value = self.expired or 0
        dut.under_way_i.value = self.under_way
        await self.step()
        self.check(before)
        self.waited = 0 if command else self.waited + 1
        assert self.waited <= PATIENCE, "an end of a timer waits for ever"
        self._take(question, command)
        self.check_timer()
        if self.expired is None:
            self.waited = 0
        self.still()

    def _take(self, question: Question | None, command: Command | None) -> None:
        seen = self.seen
        offers = question, command, self.event, self.expired
        ready = [seen[name] for name in READY]
        took = [bool(r and offer is not None) for r, offer in zip(ready, offers, strict=True)]
        assert sum(took) <= 1
        self.asked = took[0]
        if took[0] and question:
            qp = self.qps[question.index]
            fresh = question.first == qp.nxt
            decision = qp.ask(question.first, question.packets)
            again = decision.answer is RcAnswer.SEND and not fresh
            self.taken = Taken("ask", question.index, decision, question.packets, again)
        elif took[1] and command:
            qp = self.qps[command.qp]
            decision = qp.arm(command.psn) if command.arm else qp.close(command.reason)
            self.taken = Taken("command", command.qp, decision, armed=command.psn if command.arm else None)
        elif took[2] and self.event:
            event, self.event = self.event, None
            self.taken = Taken("event", event.qp, self.qps[event.qp].event(event.kind, event.psn, event.value))
        elif took[3] and self.expired is not None:
            index, self.expired = self.expired, None
            self.runs[index] = False
            self.taken = Taken("expired", index, self.qps[index].expired(bool(self.leaving >> index & 1)))
        self.under_way = self.leaving

    def _question(self) -> Question:
        draw = self.random.randrange
        index = draw(QPS)
        qp = self.qps[index]
        packets = self.random.choice((1, 1, 2, 5, draw(1, 40)))
        first = qp.nxt
        if qp.outstanding and draw(2):
            back = draw(0, qp.outstanding + 3)
            first = (qp.nxt - back) % PSNS
            packets = min(packets, max(back, 1))  # a message that was sent ends before nxt
        elif not draw(40):
            packets = self.random.choice((0, 0xFFFF, qp.limits.window + 1, 0xFFFE))
        return Question(index, first, packets)

    def _command(self) -> Command:
        index = self.random.randrange(QPS)
        arm = self.qps[index].state is RcState.ERROR
        psn = self.random.choice((PSNS - 3, self.random.getrandbits(24)))
        return Command(arm, index, self.random.choice((RcReason.REWRITTEN, RcReason.CLOSED)), psn)

    def _some_event(self, index: int, qp: RcQp) -> Event:
        draw = self.random.randrange
        kinds = [EventKind.ACK] * 12 + [EventKind.NAK_SEQUENCE] * 6 + [EventKind.RNR] * 4
        kind = self.random.choice([*kinds, EventKind.NAK_INVALID, EventKind.NAK_ACCESS, EventKind.NAK_OPERATION])
        psn = (qp.una + draw(-3, qp.outstanding + 3)) % PSNS
        if not draw(30):
            psn = self.random.getrandbits(24)
        return Event(index, kind, psn, draw(32))

    async def take(
        self,
        *events: Event,
        question: Question | None = None,
        command: Command | None = None,
        expired: int | None = None,
    ) -> list[str]:
        """Offer these until each is taken, or taken back. Return what was taken, cycle by cycle: "" is nothing."""
        waiting, taken = list(events), list[str]()
        self.expired = expired
        while question or command or waiting or self.event or self.expired is not None:
            self.event = self.event or (waiting.pop(0) if waiting else None)
            await self.offer(question, command)
            taken.append(self.taken.what if self.taken else "")
            question = None if taken[-1] == "ask" else question
            command = None if taken[-1] == "command" else command
            assert len(taken) < 10, "something is never taken"
        return taken

    async def settle(self) -> None:
        """Nothing more comes, and all is decided."""
        self.still()
        while self.taken or self.timers:
            before, self.taken = self.taken, None
            self.dut.ask_packets_i.value = before.packets if before and before.packets is not None else 0
            self.dut.under_way_i.value = self.under_way
            await self.step()
            self.check(before)
            self.check_timer()
        self.asked = False

    def still(self) -> None:
        for name in ("ask_i", "s_axis_command_tvalid", "s_axis_event_tvalid", "expired_valid_i"):
            getattr(self.dut, name).value = 0

    async def check_states(self) -> None:
        """What can be looked up."""
        await self.settle()
        for index, qp in enumerate(self.qps):
            self.dut.status_qp_i.value = self.dut.look_qp_i.value = index
            await self.step()
            want = {"state": qp.state, "reason": qp.reason, "una": qp.una, "nxt": qp.nxt}
            assert STATUS_T.unpack(self.seen["status_o"]) == want
            if qp.reason is not RcReason.NOT_ARMED:
                assert self.seen["look_una_o"] == qp.una
            assert self.seen["failing_o"] >> index & 1 == (qp.state is RcState.ERROR)
            running = qp.state in (RcState.SETTLE, RcState.WAIT) or (qp.state is RcState.RUN and qp.outstanding > 0)
            assert self.runs[index] == running
