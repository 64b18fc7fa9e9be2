"""rc_protocol: operation by operation as the model, whatever comes in whatever order; one a cycle."""

from dataclasses import asdict
from typing import Any

import cocotb

from bench import Bench, run
from framelane.models.rc_protocol import PSNS, Decision, RcAnswer, RcLimits, RcNote, RcQp, RcReason, RcState
from framelane.models.roce_rx import EventKind
from rc_ports import COMMAND_T, EVENT_T, LIMITS_T, STATUS_T

QPS = 4
OUTPUTS = ("answer_o", "answer_psn_o", "answer_skip_o", "back_o", "arm_o", "note_o", "wake_o", "again_o",
           "timer_write_o", "timer_run_o", "timer_ticks_o", "failing_o", "qp_o", "status_o", "look_una_o",
           "s_axis_command_tready", "s_axis_event_tready", "expired_ready_o")  # fmt: skip


class ProtocolBench(Bench):
    """The block beside one model a QP."""

    def __init__(self, dut: Any) -> None:
        super().__init__(dut)
        self.qps = [RcQp() for _ in range(QPS)]
        self.runs = [False] * QPS
        self.seen: dict[str, int] = {}
        self.notes: list[RcNote] = []
        for name in ("ask_i", "s_axis_command_tvalid", "s_axis_event_tvalid", "expired_valid_i", "under_way_i"):
            getattr(dut, name).value = 0
        dut.look_qp_i.value = dut.status_qp_i.value = 0
        self.answer(self._limits)
        self.watch(self._sample)

    def _limits(self) -> None:
        self.dut.limits_i.value = LIMITS_T.pack(asdict(self.qps[int(self.dut.qp_o.value) % QPS].limits))

    def _sample(self) -> None:
        self.seen = {name: int(getattr(self.dut, name).value) for name in OUTPUTS}

    def check(self, index: int, decision: Decision, ask: bool = False) -> None:
        """The outputs of the cycle that was just sampled."""
        seen = self.seen
        assert seen["qp_o"] == index
        assert RcNote(seen["note_o"]) is decision.note
        assert bool(seen["back_o"]) == decision.back
        assert seen["wake_o"] == (not ask or decision.note is RcNote.FAILED)
        if ask:
            assert RcAnswer(seen["answer_o"]) is decision.answer
        if decision.answer is RcAnswer.SEND:
            assert (seen["answer_psn_o"], seen["answer_skip_o"]) == (decision.psn, decision.skip)
        before = self.runs[index]
        if decision.timer:
            assert seen["timer_write_o"] & seen["timer_run_o"], "a timer is not started"
            assert seen["timer_ticks_o"] == decision.timer
            self.runs[index] = True
        elif decision.timer == 0:
            assert seen["timer_write_o"], "a timer is not stopped"
            self.runs[index] = False
        if not decision.timer and seen["timer_write_o"]:
            assert not seen["timer_run_o"]
            assert decision.timer == 0 or not before, "a timer is stopped"
        if decision.note:
            self.notes.append(decision.note)

    async def operate(self) -> None:
        """One cycle with a random choice of inputs at once; the one that goes first is what the model does."""
        dut, chance = self.dut, self.random.random
        index = self.random.randrange(QPS)
        qp = self.qps[index]
        under_way = self.random.getrandbits(QPS) & self.random.getrandbits(QPS)
        dut.under_way_i.value = under_way
        if chance() < 0.5:
            await self._ask(index, qp)
        elif chance() < 0.08:
            await self._command(index, qp)
        elif self.runs[index] and chance() < 0.1:
            dut.expired_valid_i.value, dut.expired_qp_i.value = 1, index
            await self.step()
            dut.expired_valid_i.value = 0
            if self.seen["expired_ready_o"]:
                self.runs[index] = False
                self.check(index, qp.expired(bool(under_way >> index & 1)))
        else:
            await self._event(index, qp)

    async def _ask(self, index: int, qp: RcQp) -> None:
        draw = self.random.randrange
        packets = self.random.choice((1, 1, 2, 5, draw(1, 40)))
        first = qp.nxt
        if qp.outstanding and draw(2):
            back = draw(0, qp.outstanding + 3)
            first = (qp.nxt - back) % PSNS
            packets = min(packets, max(back, 1))  # a message that was sent ends before nxt
        elif not draw(40):
            packets = self.random.choice((0, 0xFFFF, qp.limits.window + 1, 0xFFFE))
        dut = self.dut
        dut.ask_i.value, dut.ask_qp_i.value, dut.ask_psn_i.value, dut.ask_packets_i.value = 1, index, first, packets
        # others wait
        dut.s_axis_event_tvalid.value, dut.s_axis_event_tdata.value = draw(2), self._some_event(index, qp)[0]
        dut.expired_valid_i.value = 0
        await self.step()
        assert not self.seen["s_axis_event_tready"]
        assert not self.seen["s_axis_command_tready"]
        dut.ask_i.value = dut.s_axis_event_tvalid.value = 0
        fresh = first == qp.nxt
        decision = qp.ask(first, packets)
        self.check(index, decision, ask=True)
        assert self.seen["again_o"] == (decision.answer is RcAnswer.SEND and not fresh)

    async def _command(self, index: int, qp: RcQp) -> None:
        arm, psn = qp.state is RcState.ERROR, self.random.choice((PSNS - 3, self.random.getrandbits(24)))
        reason = self.random.choice((RcReason.REWRITTEN, RcReason.CLOSED))
        self.dut.s_axis_command_tdata.value = COMMAND_T.pack({"arm": arm, "qp": index, "reason": reason, "psn": psn})
        self.dut.s_axis_command_tvalid.value = 1
        await self.step()
        self.dut.s_axis_command_tvalid.value = 0
        assert self.seen["s_axis_command_tready"]
        assert self.seen["arm_o"] == arm
        self.check(index, qp.arm(psn) if arm else qp.close(reason))

    def _some_event(self, index: int, qp: RcQp) -> tuple[int, EventKind, int, int]:
        draw = self.random.randrange
        kinds = [EventKind.ACK] * 12 + [EventKind.NAK_SEQUENCE] * 6 + [EventKind.RNR] * 4
        kind = self.random.choice([*kinds, EventKind.NAK_INVALID, EventKind.NAK_ACCESS, EventKind.NAK_OPERATION])
        psn = (qp.una + draw(-3, qp.outstanding + 3)) % PSNS
        if not draw(30):
            psn = self.random.getrandbits(24)
        value = draw(32)
        return EVENT_T.pack({"qp": index, "kind": kind, "psn": psn, "value": value, "msn": 0}), kind, psn, value

    async def _event(self, index: int, qp: RcQp) -> None:
        bits, kind, psn, value = self._some_event(index, qp)
        self.dut.s_axis_event_tvalid.value, self.dut.s_axis_event_tdata.value = 1, bits
        await self.step()
        assert self.seen["s_axis_event_tready"]
        self.dut.s_axis_event_tvalid.value = 0
        self.check(index, qp.event(kind, psn, value))

    async def check_states(self) -> None:
        """What can be looked up."""
        for index, qp in enumerate(self.qps):
            self.dut.status_qp_i.value = self.dut.look_qp_i.value = index
            await self.step()
            want = {"state": qp.state, "reason": qp.reason, "una": qp.una, "nxt": qp.nxt}
            assert STATUS_T.unpack(self.seen["status_o"]) == want
            assert self.seen["look_una_o"] == qp.una
            assert self.seen["failing_o"] >> index & 1 == (qp.state is RcState.ERROR)
            running = qp.state in (RcState.SETTLE, RcState.WAIT) or (qp.state is RcState.RUN and qp.outstanding > 0)
            assert self.runs[index] == running


@cocotb.test()
@cocotb.parametrize(retries=[0, 1, 7], rnr_retries=[0, 3, 7])
async def every_operation_is_the_models(dut: Any, retries: int, rnr_retries: int) -> None:
    bench = ProtocolBench(dut)
    await bench.reset()
    draw = bench.random.randrange
    for index, qp in enumerate(bench.qps):
        qp.limits = RcLimits((16, 64, 5000, 0xFFFE)[index], draw(32), draw(16), retries, rnr_retries)
    for n in range(4000):
        await bench.operate()
        if n % 100 == 0:
            await bench.check_states()
    missing = set(RcNote) - set(bench.notes)
    few = {RcNote.WENT_BACK, RcNote.TIMED_OUT, RcNote.NOT_READY, RcNote.RESUMED, RcNote.REPEATED}
    assert missing <= {RcNote.NONE} | (few if retries == 0 or rnr_retries == 0 else set())


@cocotb.test()
async def events_and_ends_of_timers_take_turns(dut: Any) -> None:
    bench = ProtocolBench(dut)
    await bench.reset()
    dut.expired_valid_i.value, dut.expired_qp_i.value = 1, 1
    dut.s_axis_event_tvalid.value = 1
    dut.s_axis_event_tdata.value = EVENT_T.pack({"qp": 2, "kind": 0, "psn": 0, "value": 0, "msn": 0})
    taken = []
    for _ in range(20):
        await bench.step()
        taken.append(bench.seen["expired_ready_o"])
        assert bench.seen["expired_ready_o"] != bench.seen["s_axis_event_tready"]
    assert sum(taken) == 10


@cocotb.test()
async def after_a_reset_all_qps_are_in_error_and_not_armed(dut: Any) -> None:
    bench = ProtocolBench(dut)
    await bench.reset()
    for index, qp in enumerate(bench.qps):
        dut.s_axis_command_tdata.value = COMMAND_T.pack({"arm": 1, "qp": index, "reason": 0, "psn": 77})
        dut.s_axis_command_tvalid.value = 1
        await bench.step()
        qp.arm(77)
    dut.s_axis_command_tvalid.value = 0
    bench.runs = [True] * QPS
    await bench.check_states()
    await bench.reset(cycles=1)
    bench.qps, bench.runs = [RcQp() for _ in range(QPS)], [False] * QPS
    await bench.check_states()


def test_rc_protocol() -> None:
    run("rc_protocol", RcQps=QPS)
