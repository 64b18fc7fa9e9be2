"""rc_requester: whatever software, a pause or a receiver does to a QP while it is busy, all ends and nothing stays."""

from dataclasses import replace
from functools import partial
from typing import Any

import cocotb

from bench import Stalls, run
from framelane.driver.simulated.ports import BD_T
from framelane.models.placement.bd_rows import Descriptor
from framelane.models.rc.lossy_network import LinkImpairments
from framelane.models.rc.rc_protocol import PSNS, RcLimits, RcNote
from framelane.models.rc.rc_responder import Manner, RcResponder
from framelane.models.roce_tx.roce_qp import AckPolicy, Segmentation, Service
from framelane.models.station.roce_rx import Event, EventKind
from rc_ports import COMMAND_T, ITEM_T, has_room
from rc_requester_bench import BASE, DEPTH, IMPAIRMENTS, LIMITS, MTU, TICK, RequesterBench
from signals import now

QPS = 4


def _has_armed(bench: RequesterBench, before: int) -> bool:
    return bench.notes[0, RcNote.ARMED] > before


@cocotb.test()
async def a_message_that_has_ended_is_under_way_until_its_packets_have_left(dut: Any) -> None:
    """No time-out counts, and nothing is armed; packets behind them, and an empty line, let it go."""
    bench = RequesterBench(dut)
    peer = bench.peer(0, 1)
    await bench.start(replace(LIMITS, timeout=0, backoff=0, retries=1))
    bench.silent.add(0)
    for empties in (False, True):
        failed = bench.notes.get((0, RcNote.FAILED), 0)
        dut.in_line_i.value = 3
        peer.bds[:], peer.ends[:] = [Descriptor(0, BASE, 64, 0, 0, True, 0)], []
        bench.frame(0, peer.bds[0])
        for _ in range(600):
            await bench.step()
        assert bench.notes[0, RcNote.DEFERRED] > 3
        assert bench.notes.get((0, RcNote.FAILED), 0) == failed
        assert not now(dut.idle_o)
        await bench.command(0, 0, arm=False)
        await bench.until(lambda: bool(peer.ends))
        bench.commands.items.append({"tdata": COMMAND_T.pack({"arm": 1, "qp": 0, "reason": 0, "psn": 9})})
        for left in range(3):
            for _ in range(30):
                await bench.step()
            assert bench.outcomes.count("done") == 2 + 2 * empties, f"armed when {left} packets of three had left"
            if empties:
                dut.in_line_i.value = 0
                break
            dut.left_i.value = 1
            await bench.step()
            dut.left_i.value = 0
        await bench.until(partial(_has_armed, bench, bench.notes[0, RcNote.ARMED]))
        assert bench.outcomes.count("done") == 3 + 2 * empties
    assert now(dut.idle_o)


@cocotb.test()
async def a_time_out_counts_from_when_the_last_packet_has_left_the_line(dut: Any) -> None:
    bench = RequesterBench(dut)
    peer = bench.peer(0, 1)
    await bench.start(replace(LIMITS, timeout=3, backoff=0))
    bench.silent.add(0)
    peer.bds[:] = [Descriptor(0, BASE, 64, 0, 0, True, 0)]
    dut.in_line_i.value = 1
    bench.frame(0, peer.bds[0])
    await bench.until(lambda: bench.notes.get((0, RcNote.DEFERRED), 0) == 3, 5000)
    for _ in range(16 * TICK):
        await bench.step()
    left, dut.in_line_i.value = bench.cycle, 0
    await bench.until(lambda: (0, RcNote.TIMED_OUT) in bench.notes, 3000)
    assert bench.cycle - left >= 32 * TICK


async def _idle(bench: RequesterBench) -> None:
    """Until nothing is kept or under way: without it, a reset of the core would wait for ever."""
    await bench.until(lambda: bool(now(bench.dut.idle_o)) and not bench._queue and not bench.bds.items, 5000)
    for _ in range(10):
        await bench.step()
    assert now(bench.dut.idle_o)


@cocotb.test()
@cocotb.parametrize(to_rc=[False, True])
async def a_qp_that_changes_its_service_in_the_middle_of_a_frame_leaves_nothing_behind(dut: Any, to_rc: bool) -> None:
    """The frame goes on as it began, and the QP can be armed and idle behind it."""
    bench = RequesterBench(dut)
    peer = bench.peer(1, 1)
    rc, uc = peer.qp, replace(peer.qp, service=Service.UC, ack_policy=AckPolicy.NEVER)
    peer.bds[:] = [Descriptor(k, BASE, 64, 1, 1, k == 2, 0) for k in range(3)]
    await bench.start()
    bench.silent.add(1)
    if to_rc:
        await bench.write(1, uc)
    for bd in peer.bds[:2]:
        bench.frame(1, bd)
    await bench.until(lambda: not bench.bds.items)
    await bench.write(1, rc if to_rc else uc)
    bench.frame(1, peer.bds[2])
    await _idle(bench)
    assert len(peer.ends) == (0 if to_rc else 3)
    assert all(peer.ends)
    await bench.write(1, rc)
    assert await bench.command(1, 7) == "done"


@cocotb.test()
async def frames_that_were_let_in_before_their_qp_left_rc_take_no_room_for_ever(dut: Any) -> None:
    bench = RequesterBench(dut)
    peer = bench.peer(1, 1)
    uc = replace(peer.qp, service=Service.UC, ack_policy=AckPolicy.NEVER)
    peer.bds[:] = [Descriptor(k, BASE, 64, 1, 1, True, 0) for k in range(3)]
    await bench.start()
    for n, bd in enumerate(peer.bds):
        assert await has_room(bench, 1, DEPTH), f"no room any more for frame {n}"
        dut.admit_i.value = 1
        await bench.step()
        dut.admit_i.value = 0
        await bench.write(1, uc)
        bench.frame(1, bd)
        await _idle(bench)
        await bench.write(1, peer.qp)
        assert await bench.command(1, n) == "done"
    assert peer.ends == [True] * 3, "they fail with the QP for which they were let in"


@cocotb.test()
async def a_message_that_waits_to_be_sent_again_stays_within_its_descriptor_when_its_mtu_changes(dut: Any) -> None:
    bench = RequesterBench(dut)
    peer = bench.peer(0, 1, segmentation=Segmentation.MESSAGE)
    peer.bds[:] = [Descriptor(k * 4 * MTU, BASE + k * 4 * MTU, 4 * MTU, 0, 0, k == 2, 0) for k in range(3)]
    await bench.start()
    bench.silent.add(0)
    bench.frame(0, peer.bds[0])
    await bench.until(lambda: len(bench.items.items) == 1 and not bench._queue)
    bench.items._stall = lambda: True
    bench.frame(0, peer.bds[1])
    bench.frame(0, peer.bds[2])
    for _ in range(20):
        await bench.step()
    bench.hear(Event(0, EventKind.NAK_SEQUENCE, (peer.qp.psn + 3) % PSNS))
    for _ in range(20):
        await bench.step()
    await bench.write(0, replace(peer.qp, mtu=4096))
    bench.items._stall = lambda: False
    bench._send = lambda item: None  # type: ignore[method-assign]
    await bench.until(lambda: len(bench.items.items) >= 4)
    for item in bench.items.items:
        bd = BD_T.unpack(ITEM_T.unpack(item["tdata"])["bd"])
        (whole,) = (w for w in peer.bds if w.source <= bd["source"] < w.source + w.length)
        assert bd["source"] + bd["length"] <= whole.source + whole.length, f"{bd['length']} bytes of {whole.length}"


@cocotb.test()
async def a_receiver_that_is_not_ready_for_long_does_not_spend_the_retries_of_lost_packets(dut: Any) -> None:
    bench = RequesterBench(dut, impairments=LinkImpairments(loss=0.1, delay=60))
    peer = bench.peer(0, 1)
    peer.bds[:] = [Descriptor(0, BASE, 64, 0, 0, True, 0)]
    await bench.start(replace(LIMITS, timeout=0, backoff=1, retries=3, rnr_retries=7))
    peer.responder.receives = 0
    bench.feed()
    await bench.until(lambda: bench.notes.get((0, RcNote.TIMED_OUT), 0) > 12, 200_000)
    peer.responder.receives = 1
    await bench.finish()
    assert peer.ends == [False]


class CarelessBench(RequesterBench):
    """Software that writes whatever it likes whenever it likes. Ends are counted, not followed."""

    def __init__(self, dut: Any) -> None:
        super().__init__(dut, Stalls.BOTH, IMPAIRMENTS["lossy"], packet_cycles=3)
        self.accepted = self.kept = self.offered = 0

    def _world(self) -> None:
        self.taken_ends = len(self.retired.items)
        super()._world()
        accepted = now(self.dut.accepted_o)
        self.accepted += accepted
        self.kept += accepted & now(self.dut.accepted_rc_o)

    async def offer(self, index: int) -> None:
        """A frame, if there is room for it."""
        dut, draw = self.dut, self.random.randrange
        rows = draw(1, 6)
        if not await has_room(self, index, rows):
            return
        dut.admit_i.value = 1
        await self.step()
        dut.admit_i.value = 0
        for row in range(rows):
            while not draw(4):
                await self.step()
            if not draw(20):
                await self.rewrite(index)
            self.frame(index, Descriptor(0, BASE, draw(1, 1200), index, index, row == rows - 1, 0))
            self.offered += 1

    async def rewrite(self, index: int) -> None:
        """Change the QP's entry in the table."""
        draw = self.random.randrange
        service = (Service.RC, Service.RC, Service.UC)[draw(3)]
        policy = AckPolicy.LAST if service is Service.RC else AckPolicy.NEVER
        fields: dict[str, Any] = {"service": service, "ack_policy": policy, "mtu": (256, 512, 4096)[draw(3)]}
        form = (Segmentation.ONLY, Segmentation.MESSAGE)[draw(2)]
        await self.write(index, replace(self.peers[index].qp, segmentation=form, enabled=draw(8) > 0, **fields))

    async def careless(self, index: int) -> None:
        """One thing that software, or the receiver, does."""
        draw, peer = self.random.randrange, self.peers[index]
        match draw(12):
            case 0:
                await self.rewrite(index)
            case 1 | 2:
                psn = draw(40)
                peer.responder = RcResponder(psn, MTU, peer.region, qp=index, manner=list(Manner)[index])
                await self.command(index, psn)
            case 3:
                await self.command(index, 0, arm=False)
            case 4:
                window, times = (0, 1, 5, 24, 0xFFFE)[draw(5)], {"timeout": draw(4), "backoff": draw(3)}
                await self.limit(index, RcLimits(window, **times, retries=draw(4), rnr_retries=draw(8)))
            case 5:
                self.silent ^= {index}
            case 6:
                peer.responder.receives = draw(2) << 20
            case 7:
                self.hear(Event(index, EventKind(draw(6)), draw(60), draw(32)))
            case _:
                await self.offer(index)


@cocotb.test()
@cocotb.parametrize(seed=[1, 2, 3])
async def whatever_software_does_all_ends_and_nothing_stays(dut: Any, seed: int) -> None:
    bench = CarelessBench(dut)
    bench.random.seed(seed)
    for index in range(4):
        bench.peer(index, 300)
    await bench.start()
    for _ in range(400):
        await bench.careless(bench.random.randrange(4))
        for _ in range(bench.random.randrange(80)):
            await bench.step()
    for index in range(4):
        await bench.command(index, 0, arm=False)
    await bench.until(lambda: not bench.bds.items, 20_000)
    await _idle(bench)
    assert bench.accepted == bench.offered
    assert bench.kept == len(bench.retired.items)
    assert 0 < bench.kept < bench.offered
    for index in range(4):
        await bench.write(index, bench.peers[index].qp)
        assert await bench.command(index, 5) == "done"
        assert await has_room(bench, index, DEPTH), "room was lost for ever"


def test_rc_requester_careless() -> None:
    run("rc_requester_careless", top="rc_requester", RcQps=QPS, Depth=DEPTH, TickClocks=TICK)
