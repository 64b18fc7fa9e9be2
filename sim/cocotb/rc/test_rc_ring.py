"""rc_ring: what is asked for, sent and ended is the model's, whatever acknowledgements say and whoever stalls."""

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import Any

import cocotb

from bench import ALL_STALLS, Bench, Stalls, run
from framelane.driver.simulated.ports import BD_T, TRAILER_T
from framelane.models.placement.bd_rows import Descriptor
from framelane.models.placement.trailer import Trailer
from framelane.models.rc.rc_protocol import PSNS, Decision, RcLimits, RcQp, RcReason, RcState
from framelane.models.rc.rc_ring import Entry, Issue, RcRing, Retired
from framelane.models.station.roce_rx import EventKind
from rc_ports import ENTRY_T, ISSUE_T, RETIRED_T, has_room
from signals import now

QPS, DEPTH = 4, 8


Act = Callable[[int, RcQp], Decision | None]
"""What happens to a QP in a cycle, or nothing."""


def _nothing(index: int, qp: RcQp) -> Decision | None:
    return None


def _at_once(index: int, qp: RcQp) -> Decision | None:
    """Acknowledges all, in cycles that are left over."""
    return qp.event(EventKind.ACK, (qp.nxt - 1) % PSNS) if qp.outstanding else None


def _in_fours(index: int, qp: RcQp) -> Decision | None:
    """Acknowledges four at least: each costs its QP a cycle."""
    return _at_once(index, qp) if qp.outstanding >= 4 else None


def _only(index: int) -> Act:
    """Acknowledges all of one QP."""
    return lambda at, qp: _at_once(at, qp) if at == index else None


def _trailer(trailer: Trailer | None) -> int:
    return TRAILER_T.pack(asdict(trailer)) if trailer else 0


class RingBench(Bench):
    """The ring beside its model; the protocol is the model of rc_protocol, `act` what its receiver says."""

    def __init__(self, dut: Any, stalls: Stalls, window: int = 20) -> None:
        super().__init__(dut, stalls)
        self.entries = self.source("s_axis_entry")
        self.issues, self.ends = self.sink("m_axis_issue"), self.sink("m_axis_retired")
        self.qps = [RcQp(RcLimits(window=window, retries=3)) for _ in range(QPS)]
        self.rings = [RcRing(DEPTH) for _ in range(QPS)]
        self.offered: list[Entry] = []
        self.taken = 0
        self.expected: list[Issue] = []
        self.retired: list[list[Retired]] = [[] for _ in range(QPS)]
        self.question: tuple[int, int] | None = None
        """QP and PSN of the one taken in the cycle before."""
        self.arming: tuple[int, int] | None = None
        """QP and PSN."""
        self.fair = False
        """The QP with the most outstanding packets is acknowledged next, else any."""
        self.delays: Callable[[int], bool] = lambda index: False
        """Whether a question of a QP waits for a cycle."""
        self._new_end = False
        for name in ("qp_i", "wake_i", "back_i", "arm_i", "arm_psn_i", "admit_i", "room_qp_i", "room_wanted_i",
                     "ask_ready_i"):  # fmt: skip
            getattr(dut, name).value = 0
        dut.wanted_i.value = 1
        self.act: Act = _nothing
        self.answer(self._answer)
        self.watch(self._accept)

    def entry(self, index: int, last: bool, packets: int) -> None:
        """Queue one descriptor."""
        bits = self.random.getrandbits
        bd = Descriptor(bits(64), bits(64), bits(32), index, index, last, bits(32))
        widths = {"time_flags": 32, "source": 16, "slot": 32, "payload_bytes": 32, "packets": 32}
        trailer = Trailer(**{n: bits(widths.get(n, 64)) for n in TRAILER_T.fields}) if last else None
        entry = Entry(bd, trailer, packets, bits(8))
        fields = {"tag": entry.tag, "packets": packets, "trailer": _trailer(trailer), "bd": BD_T.pack(asdict(bd))}
        self.entries.items.append({"tdata": ENTRY_T.pack(fields)})
        self.offered.append(entry)

    def frames(self, count: int, packets: int = 6) -> None:
        """Queue frames for QPs at random."""
        draw = self.random.randrange
        for _ in range(count):
            index = draw(QPS)
            for row in range(rows := draw(2, 5)):
                self.entry(index, row == rows - 1, draw(1, packets))

    def _accept(self) -> None:
        if len(self.entries.accepted) > self.taken:
            entry = self.offered[self.taken]
            self.rings[entry.bd.qp].enqueue(entry)
            self.taken += 1

    def _answer(self) -> None:
        """The protocol's part of this cycle. What is looked at is the state before it."""
        dut = self.dut
        dut.look_una_i.value = self.qps[now(dut.look_qp_o)].una
        dut.failing_i.value = sum((qp.state is RcState.ERROR) << k for k, qp in enumerate(self.qps))
        self._note_end()
        dut.wake_i.value = dut.back_i.value = dut.arm_i.value = dut.ask_ready_i.value = 0
        if self.question:
            self._asked(*self.question)
            self.question = None
            return
        happens = self._arm() if self.arming else self._act()
        asked = now(dut.ask_qp_o)
        if asked != happens and not now(dut.rst) and not self.delays(asked):
            dut.ask_ready_i.value = 1
            if now(dut.ask_o):
                self.question = asked, now(dut.ask_psn_o)

    def _act(self) -> int | None:
        """What happens to a QP, if anything does: to which."""
        dut = self.dut
        index = max(range(QPS), key=self._outstanding) if self.fair else self.random.randrange(QPS)
        decision = self.act(index, self.qps[index])
        if decision is None:
            return None
        dut.qp_i.value, dut.wake_i.value, dut.back_i.value = index, 1, decision.back
        if decision.back:
            self.rings[index].back()
        return index

    def _arm(self) -> int | None:
        assert self.arming
        dut, (index, psn) = self.dut, self.arming
        self.qps[index].arm(psn)
        self.qps[index].expired(False)
        self.rings[index].arm(psn)
        dut.qp_i.value, dut.wake_i.value, dut.arm_i.value, dut.arm_psn_i.value = index, 1, 1, psn
        self.arming = None
        return index

    def is_acked(self, index: int) -> bool:
        return not self.qps[index].outstanding

    def _outstanding(self, index: int) -> int:
        return self.qps[index].outstanding

    def _note_end(self) -> None:
        """An end that is new on the output was decided in the cycle before."""
        valid = now(self.dut.m_axis_retired_tvalid)
        if valid and self._new_end:
            fields = RETIRED_T.unpack(now(self.dut.m_axis_retired_tdata))
            index = fields["destination_index"]
            state = self.qps[index]
            end = self.rings[index].retire(state.una, state.state is RcState.ERROR)
            assert end is not None, f"QP {index}: an end that is none"
            assert fields == asdict(end)
            self.retired[index].append(end)
        self._new_end = not valid or self.ends._is_ready

    def _asked(self, index: int, psn: int) -> None:
        dut, ring, qp = self.dut, self.rings[index], self.qps[index]
        assert ring.waiting, f"QP {index}: asked for nothing"
        got = psn, now(dut.ask_packets_o)
        assert got[1] == ring.waiting.packets
        assert got[0] == ring.next_psn or qp.state is RcState.ERROR
        decision = qp.ask(*got)
        dut.answer_i.value, dut.qp_i.value = decision.answer, index
        dut.answer_psn_i.value, dut.answer_skip_i.value = decision.psn, decision.skip
        if issue := ring.answered(decision):
            self.expected.append(issue)

    async def arm(self, index: int, psn: int) -> None:
        """Arm a QP that is in error and empty, and let it run at once."""
        self.arming = index, psn
        await self.until(lambda: not self.arming)

    async def start(self) -> None:
        """Reset, and arm all."""
        await self.reset()
        for index in range(QPS):
            await self.arm(index, self.random.choice((PSNS - 20, self.random.getrandbits(24))))

    def impaired(self, index: int, qp: RcQp) -> Decision | None:
        """Acknowledgements, NAKs and waits at random; now and then the end of all."""
        draw = self.random.randrange
        if draw(4):
            return None
        if qp.state is RcState.WAIT:
            return qp.expired(False)
        if not qp.outstanding or qp.state is not RcState.RUN:
            return None
        psn = (qp.una + draw(qp.outstanding)) % PSNS
        match draw(12):
            case 0:
                return qp.event(EventKind.NAK_SEQUENCE, psn)
            case 1:
                return qp.event(EventKind.RNR, psn, 1)
            case 2:
                return qp.expired(draw(2) == 0)
            case 3 if not draw(6):
                return qp.event(EventKind.NAK_ACCESS, psn)
        return qp.event(EventKind.ACK, psn)

    def check(self) -> None:
        """What was sent, and that everything has ended once."""
        for got, issue in zip(self.issues.items, self.expected, strict=True):
            entry = issue.entry
            fields = ISSUE_T.unpack(got["tdata"])
            assert BD_T.unpack(fields.pop("bd")) == asdict(entry.bd)
            if trailer := fields.pop("trailer") if entry.trailer else fields.pop("trailer") * 0:
                assert trailer == _trailer(entry.trailer)
            assert fields == {"tag": entry.tag, "rc": 1, "psn": issue.psn, "skip": issue.skip}
        ended = sum(map(len, self.retired))
        assert ended == len(self.ends.items) == len(self.offered)


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS, window=[6, 40])
async def all_is_sent_and_ended_as_the_model_does(dut: Any, stalls: Stalls, window: int) -> None:
    bench = RingBench(dut, stalls, window)
    await bench.start()
    bench.act = bench.impaired
    errors = 0
    for _ in range(60):
        bench.frames(4)
        for _ in range(150):
            await bench.step()
        for index, qp in enumerate(bench.qps):
            if qp.state is RcState.ERROR and now(dut.drained_o) >> index & 1 and not bench.random.randrange(3):
                errors += 1
                await bench.arm(index, bench.random.getrandbits(24))
    await bench.until(lambda: len(bench.ends.items) == len(bench.offered), limit=30_000)
    for _ in range(20):
        await bench.step()
    bench.check()
    assert errors
    assert now(dut.drained_o) == (1 << QPS) - 1
    assert any(issue.skip for issue in bench.expected)
    assert any(end.failed for ends in bench.retired for end in ends)


@cocotb.test()
@cocotb.parametrize(qps=[1, 4])
async def a_message_is_sent_every_two_cycles(dut: Any, qps: int) -> None:
    bench = RingBench(dut, Stalls.NONE, window=1000)
    await bench.start()
    bench.act, bench.fair = _at_once if qps > 1 else _in_fours, True
    for n in range(400):
        bench.entry(n // 2 % qps, n % 2 == 1, 1)
    await bench.until(lambda: len(bench.ends.items) == 400)
    bench.check()
    steady = bench.issues.taken[20:380]
    cycles = steady[-1] - steady[0]
    assert cycles == 2 * (len(steady) - 1) if qps > 1 else cycles <= 2.25 * len(steady)


@cocotb.test()
async def a_qp_of_which_the_question_waits_keeps_its_turn(dut: Any) -> None:
    bench = RingBench(dut, Stalls.NONE, window=1000)
    await bench.start()
    delayed: list[bool] = []

    def always_first(index: int) -> bool:
        """Every question of one QP waits for a cycle."""
        delayed.append(index == 2 and bool(now(dut.ask_o)) and not (delayed and delayed[-1]))
        return delayed[-1]

    for index in range(QPS):
        for k in range(DEPTH):
            bench.entry(index, k % 2 == 1, 1)
    bench.delays = lambda index: True
    await bench.until(lambda: not bench.entries.items)
    bench.delays = always_first
    await bench.until(lambda: len(bench.issues.items) == QPS * DEPTH)
    assert sum(delayed) == DEPTH
    order = [issue.entry.bd.qp for issue in bench.expected]
    assert order == [*range(QPS)] * DEPTH


@cocotb.test()
@cocotb.parametrize(period=[3, 4, 8, 12])
async def qps_take_turns_however_seldom_a_message_is_wanted(dut: Any, period: int) -> None:
    bench = RingBench(dut, Stalls.NONE, window=1000)
    await bench.start()
    for index in range(QPS):
        for k in range(DEPTH):
            bench.entry(index, k % 2 == 1, 1)
    dut.wanted_i.value = 0
    await bench.until(lambda: not bench.entries.items)
    while len(bench.issues.items) < QPS * DEPTH:
        dut.wanted_i.value = int(bench.cycle % period == 0)
        await bench.step()
    order = [issue.entry.bd.qp for issue in bench.expected]
    assert [sorted(order[k : k + QPS]) for k in range(0, len(order), QPS)] == [list(range(QPS))] * DEPTH


@cocotb.test()
async def a_qp_that_waits_costs_the_others_nothing(dut: Any) -> None:
    bench = RingBench(dut, Stalls.NONE, window=1000)
    await bench.start()
    for index in (1, 2, 3):
        bench.qps[index].state = RcState.WAIT
        for k in range(DEPTH):
            bench.entry(index, k % 2 == 1, 1)
    bench.act, bench.fair = _in_fours, True
    for n in range(200):
        bench.entry(0, n % 2 == 1, 1)
    await bench.until(lambda: len(bench.ends.items) == 200)
    steady = bench.issues.taken[20:180]
    assert steady[-1] - steady[0] <= 2.25 * len(steady)


@cocotb.test()
async def room_is_that_of_the_model(dut: Any) -> None:
    bench = RingBench(dut, Stalls.NONE)
    await bench.start()
    draw = bench.random.randrange
    answers = set()
    for _ in range(3000):
        index, wanted = draw(QPS), draw(1, DEPTH + 4)
        match draw(6):
            case 0 if bench.rings[index].has_room(wanted):
                dut.room_qp_i.value, dut.room_wanted_i.value, dut.admit_i.value = index, wanted, 1
                await bench.step()
                dut.admit_i.value = 0
                bench.rings[index].admit(wanted)
            case 1 | 2 if bench.rings[index].free:
                bench.entry(index, not bench.rings[index].whole_frames and draw(3) == 0, 1)
                await bench.until(lambda: not bench.entries.items)
            case 3 if bench.qps[index].outstanding:
                bench.act = _only(index)
                await bench.until(partial(bench.is_acked, index))
                bench.act = _nothing
        for _ in range(40):
            await bench.step()
            if bench.rings[index].head == bench.rings[index].next:
                break
        for _ in range(6):
            await bench.step()
        answer = await has_room(bench, index, wanted)
        assert answer == bench.rings[index].has_room(wanted)
        assert now(dut.expects_o) == sum(ring.expects << k for k, ring in enumerate(bench.rings))
        answers.add(answer)
    assert answers == {True, False}


@cocotb.test()
async def a_small_frame_does_not_take_the_room_of_a_large_one_that_was_let_in(dut: Any) -> None:
    """Flows with frames of different sizes may share a QP: all that was let in fits, so that no frame waits."""
    bench = RingBench(dut, Stalls.NONE)
    await bench.start()
    answers = []
    for wanted in (DEPTH - 2, 2, 2):
        answers.append(await has_room(bench, 1, wanted))
        assert answers[-1] == bench.rings[1].has_room(wanted)
        if answers[-1]:
            dut.admit_i.value = 1
            await bench.step()
            dut.admit_i.value = 0
            bench.rings[1].admit(wanted)
    assert sum(wanted for wanted, room in zip((DEPTH - 2, 2, 2), answers, strict=True) if room) <= DEPTH
    assert answers == [True, True, False]


@cocotb.test()
async def a_qp_in_error_has_no_room_and_its_messages_end_at_once(dut: Any) -> None:
    bench = RingBench(dut, Stalls.NONE)
    await bench.reset()
    dut.room_qp_i.value, dut.room_wanted_i.value = 2, 1
    for n in range(100):
        bench.entry(2, n % 5 == 4, 3)
    await bench.until(lambda: len(bench.ends.items) == 100, limit=500)
    bench.check()
    assert not now(dut.room_o)
    assert not bench.expected
    assert all(end.failed for end in bench.retired[2])
    assert bench.qps[2].reason is RcReason.NOT_ARMED


def test_rc_ring() -> None:
    run("rc_ring", RcQps=QPS, Depth=DEPTH)
