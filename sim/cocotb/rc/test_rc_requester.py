"""rc_requester: RC through a bad network, the receiver's and the network's models beside the block, cycle by cycle."""

from dataclasses import asdict, replace
from typing import Any

import cocotb

from bench import ALL_STALLS, Stalls, run
from framelane.driver.simulated.ports import TRAILER_T
from framelane.models.cells import axis
from framelane.models.placement.bd_rows import Descriptor
from framelane.models.rc.rc_protocol import RcNote, RcReason, RcState
from framelane.models.rc.rc_responder import Manner
from framelane.models.roce_tx.roce_qp import AckPolicy, QpContext, Segmentation, Service
from framelane.models.station.roce_rx import Event, EventKind
from rc_ports import has_room
from rc_requester_bench import BASE, DEPTH, IMPAIRMENTS, LIMITS, MTU, REMOTE, TICK, RequesterBench
from signals import now

QPS = 8
AHEAD = 96
"""Beats of 512 bits that may be ahead of the packets."""


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
                other = Descriptor(n, n, 100 + k, (5, int(dut.RcQps.value), 200)[n % 3], 9, k == 3, n)
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
    bench.watch(lambda: seen.append(now(dut.cnp_qp_o)) if now(dut.cnp_o) else None)
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

    assert await has_room(bench, 1, DEPTH)
    assert await has_room(bench, 6, 1000), "not of RC"
    assert await has_room(bench, 200, 1000), "not of RC"
    await bench.command(1, 0, arm=False)
    assert not await has_room(bench, 1, 1)


def test_rc_requester() -> None:
    run("rc_requester", RcQps=QPS, Depth=DEPTH, Ahead=AHEAD, TickClocks=TICK)
