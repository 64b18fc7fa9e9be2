"""rc_protocol: operation by operation as the model, whatever comes in whatever order; one a cycle, of a QP each 2nd."""

from dataclasses import replace
from typing import Any

import cocotb

from bench import run
from framelane.models.rc.rc_protocol import PSNS, RcAnswer, RcLimits, RcNote, RcQp, RcState
from framelane.models.station.roce_rx import Event, EventKind
from rc_ports import COMMAND_T, EVENT_T
from rc_protocol_bench import QPS, Command, ProtocolBench, Question


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
    assert taken in ([0, 1] * 10, [1, 0] * 10)


@cocotb.test()
async def questions_and_events_of_one_qp_take_turns(dut: Any) -> None:
    bench = ProtocolBench(dut)
    await bench.reset()
    dut.s_axis_event_tvalid.value = 1
    dut.s_axis_event_tdata.value = EVENT_T.pack({"qp": 2, "kind": 0, "psn": 0, "value": 0, "msn": 0})
    dut.ask_qp_i.value = 2
    taken = ""
    for _ in range(40):
        dut.ask_i.value = not taken.endswith("a")
        await bench.step()
        asked = taken[-1:] != "a" and bench.seen["ask_ready_o"]
        assert not (asked and bench.seen["s_axis_event_tready"])
        taken += "a" if asked else "e" if bench.seen["s_axis_event_tready"] else "-"
    assert taken[4:] in (("a-e-" * 10)[:36], ("e-a-" * 10)[:36])


FIRST = PSNS - 6
AT = 1
"""The QP on which operations meet."""


def _ack(packet: int) -> Event:
    return Event(AT, EventKind.ACK, (FIRST + packet) % PSNS)


async def _three_messages(dut: Any) -> ProtocolBench:
    """A QP with three messages of four packets outstanding, a window of 16, one retry; an event has the next turn."""
    bench = ProtocolBench(dut)
    await bench.reset()
    bench.qps[AT].limits = RcLimits(window=16, timeout=2, backoff=3, retries=1)
    assert await bench.take(command=Command(True, AT, psn=FIRST)) == ["command"]
    await bench.settle()
    assert await bench.take(expired=AT) == ["expired"]
    for k in range(3):
        await bench.settle()
        assert await bench.take(question=Question(AT, (FIRST + 4 * k) % PSNS, 4)) == ["ask"]
    await bench.settle()
    await bench.check_states()
    bench.notes.clear()
    return bench


async def _timers_turn(bench: ProtocolBench) -> None:
    """An end of a timer has the next turn: an event was before it."""
    await bench.take(Event(AT + 1, EventKind.ACK, 0))
    await bench.settle()
    bench.notes.clear()


@cocotb.test()
async def an_acknowledgement_directly_behind_a_later_one_takes_nothing_back(dut: Any) -> None:
    bench = await _three_messages(dut)
    assert await bench.take(_ack(7), _ack(3)) == ["event", "", "event"]
    await bench.check_states()
    assert bench.notes == [RcNote.ACKED, RcNote.STALE]
    assert bench.qps[AT].una == (FIRST + 8) % PSNS


@cocotb.test()
async def a_nak_directly_behind_progress_has_all_its_retries(dut: Any) -> None:
    bench = await _three_messages(dut)
    assert await bench.take(expired=AT) == ["expired"]
    await bench.settle()
    assert await bench.take(_ack(3), replace(_ack(4), kind=EventKind.NAK_SEQUENCE)) == ["event", "", "event"]
    await bench.check_states()
    assert bench.notes == [RcNote.TIMED_OUT, RcNote.ACKED, RcNote.WENT_BACK]


@cocotb.test()
async def an_acknowledgement_without_news_directly_behind_a_nak_lets_no_other_one_go_back(dut: Any) -> None:
    bench = await _three_messages(dut)
    nak = replace(_ack(0), kind=EventKind.NAK_SEQUENCE)
    assert await bench.take(nak, _ack(-1)) == ["event", "", "event"]
    await bench.settle()
    assert await bench.take(nak) == ["event"]
    await bench.check_states()
    assert bench.notes == [RcNote.WENT_BACK, RcNote.ACKED, RcNote.REPEATED]


@cocotb.test()
async def an_end_of_the_timer_beside_progress_is_taken_back(dut: Any) -> None:
    """It is on offer until the timer is started anew, three cycles after the acknowledgement was taken."""
    bench = await _three_messages(dut)
    assert await bench.take(_ack(3), expired=AT) == ["event", "", "", ""]
    await bench.check_states()
    assert bench.notes == [RcNote.ACKED]


@cocotb.test()
async def an_acknowledgement_without_news_directly_behind_a_time_out_leaves_its_retry_spent(dut: Any) -> None:
    bench = await _three_messages(dut)
    await _timers_turn(bench)
    assert await bench.take(_ack(-1), expired=AT) == ["expired", "", "event"]
    await bench.settle()
    assert await bench.take(expired=AT) == ["expired"]
    await bench.check_states()
    assert bench.notes == [RcNote.TIMED_OUT, RcNote.ACKED, RcNote.FAILED]


@cocotb.test()
async def an_acknowledgement_of_the_life_before_beside_the_arming_changes_nothing(dut: Any) -> None:
    bench = await _three_messages(dut)
    assert await bench.take(command=Command(False, AT)) == ["command"]
    await bench.settle()
    assert await bench.take(_ack(7), command=Command(True, AT, psn=100)) == ["command", "", "event"]
    await bench.check_states()
    assert bench.notes == [RcNote.FAILED, RcNote.STALE]
    assert (bench.qps[AT].state, bench.qps[AT].una) == (RcState.SETTLE, 100)
    assert await bench.take(command=Command(False, AT)) == ["command"]
    await bench.settle()
    await bench.offer()
    assert await bench.take(_ack(7)) == ["event"]
    assert await bench.take(command=Command(True, AT, psn=200)) == ["", "command"]
    await bench.check_states()
    assert bench.qps[AT].una == 200


@cocotb.test()
async def psns_that_are_given_out_directly_before_or_behind_a_time_out_are_not_given_out_again(dut: Any) -> None:
    for question_first in (False, True):
        bench = await _three_messages(dut)
        question = Question(AT, (FIRST + 12) % PSNS, 4)
        if question_first:
            assert await bench.take(question=question) == ["ask"]
            assert await bench.take(expired=AT) == ["", "expired"]
        else:
            assert await bench.take(question=question, expired=AT) == ["expired", "", "ask"]
        await bench.check_states()
        assert bench.notes == [RcNote.TIMED_OUT]
        assert bench.qps[AT].nxt == (FIRST + 16) % PSNS
        assert await bench.take(expired=AT) == ["expired"]
        await bench.check_states()
        assert bench.notes == [RcNote.TIMED_OUT, RcNote.FAILED]


@cocotb.test()
async def a_message_fits_at_once_where_the_acknowledgement_before_it_makes_room(dut: Any) -> None:
    """Else its QP would wait for something to happen, which has happened."""
    bench = await _three_messages(dut)
    question = Question(AT, (FIRST + 12) % PSNS, 8)
    assert await bench.take(_ack(3), question=question) == ["event", "", "ask"]
    assert bench.taken
    assert bench.taken.decision.answer is RcAnswer.SEND
    await bench.check_states()
    assert bench.qps[AT].outstanding == 16


@cocotb.test()
async def a_message_without_room_is_woken_by_the_acknowledgement_behind_it(dut: Any) -> None:
    bench = await _three_messages(dut)
    assert await bench.take(question=Question(AT, (FIRST + 12) % PSNS, 8)) == ["ask"]
    assert bench.taken
    assert bench.taken.decision.answer is RcAnswer.WAIT
    assert await bench.take(_ack(3)) == ["", "event"]
    await bench.settle()
    assert await bench.take(question=Question(AT, (FIRST + 12) % PSNS, 8)) == ["ask"]
    await bench.check_states()
    assert bench.qps[AT].outstanding == 16


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
    for _ in range(4):
        await bench.step()
    bench.runs = [True] * QPS
    await bench.check_states()
    await bench.reset(cycles=1)
    bench.qps, bench.runs = [RcQp() for _ in range(QPS)], [False] * QPS
    await bench.check_states()


def test_rc_protocol() -> None:
    run("rc_protocol", RcQps=QPS)
