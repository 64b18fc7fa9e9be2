"""pcie_tx: frames in memory to slots in two hosts' memories, each with its event; told by registers by their names."""

from typing import Any

import cocotb
import pytest
from cocotb.triggers import ClockCycles

from bench import Stalls, run
from framelane.driver.board.watchdogs import WATCHDOG_CYCLES
from framelane.models.pcie import pcie_core
from framelane.models.pcie.event_queue import EventQueue
from framelane.models.pcie.pcie_core import Lane, PcieTx
from framelane.models.pcie.pcie_wr import Engine
from framelane.models.pcie.tlp_split import Status
from framelane.models.placement.flow import FrameEvent
from pcie_tx_bench import COLUMNS, ENGINES, EVENT_LOG2, IMAGE, PAGE_LOG2, PAGES, ROWS, STRIDE, PcieTxBench
from signals import now
from widths import some_widths


@cocotb.test()
@cocotb.parametrize(stalls=[Stalls.NONE, Stalls.BOTH])
async def frames_alternate_between_the_engines_and_each_has_its_event(dut: Any, stalls: Stalls) -> None:
    bench = PcieTxBench(dut, stalls)
    await bench.start()
    images = [bench.offer(number) for number in range(4)]
    for number in range(12):
        engine = number % ENGINES
        trailer, status = await bench.next_event(engine)
        assert status is Status.OK
        assert (trailer.detector_frame, trailer.frame_number) == (number, number // ENGINES)
        slot = bench.slot(engine, number // ENGINES)
        assert slot[:IMAGE] == images[number]
        assert slot[-64:] == trailer.pack()[:12] + bytes(4) + trailer.pack()[16:]
        if len(images) < 12:
            images.append(bench.offer(len(images)))
    await bench.quiet()
    assert bench.released == 12
    assert await bench.destinations("sent") == [6, 6]
    for engine in range(ENGINES):
        # Rows are contiguous: one descriptor an image, one a trailer.
        known = {"descriptors": 12, "events": 6, "dropped": 0, "poisoned": 0, "events_lost": 0}
        known["tlps"] = len(bench.hosts[engine].arrived)
        assert await bench.counters(engine, *known) == known
        assert await bench.get(f"pcie[{engine}].event_produced") == 6
        assert await bench.get(f"pcie[{engine}].errors") == 0
    assert await bench.get("errors") == 0


@cocotb.test()
@cocotb.parametrize(mps=[128, 512])
async def tlps_are_those_of_the_model(dut: Any, mps: int) -> None:
    """Also where the endpoint's Max_Payload_Size is below that of the register: the least counts."""
    bench = PcieTxBench(dut, mps=512)
    dut.mps_i.value = 0b0000 if mps == 128 else 0b1010
    await bench.start()

    def read(address: int, length: int) -> bytes:
        return bench.images[address // STRIDE][address % STRIDE :][:length]

    lanes = [
        Lane(Engine(bench.maps[e], mps, bench.width // 8), EventQueue(PAGES << PAGE_LOG2, EVENT_LOG2))
        for e in range(ENGINES)
    ]
    model = PcieTx((bench.flow(),), tuple(bench.destination(e) for e in range(ENGINES)), lanes, read)
    expected: list[list[Any]] = [[] for _ in range(ENGINES)]
    for number in range(6):
        bench.offer(number)
        event = FrameEvent(number, number * 7, number * 9, number * STRIDE)
        for engine, sent in model.frame(event):
            expected[engine] += sent
    await bench.quiet()
    for engine in range(ENGINES):
        arrived = bench.hosts[engine].arrived
        # Frames are ahead of the events of those before: each kind is in its order.
        queue = bench.addresses(engine)[PAGES]
        for events in (False, True):
            assert [s for s in arrived if (s.tlp.address >> PAGE_LOG2 << PAGE_LOG2 == queue) == events] == [
                s for s in expected[engine] if (s.tlp.address >> PAGE_LOG2 << PAGE_LOG2 == queue) == events
            ]
    assert model.sent == sum(await bench.destinations("sent")) == 6
    assert await bench.get("pcie[0].status.mps") == (0 if mps == 128 else 2)


@cocotb.test()
async def a_destination_of_no_engine_fails_and_says_why(dut: Any) -> None:
    bench = PcieTxBench(dut)
    await bench.start()
    await bench.put("destination[1].control", enabled=1, qp=2)
    for number in range(4):
        bench.offer(number)
    await bench.quiet()
    assert await bench.destinations("sent") == [2, 0]
    assert await bench.destinations("failed") == [0, 2]
    assert await bench.get("pcie[0].errors.outside") == 1
    assert bench.released == 4
    assert bench.hosts[1].arrived == []
    assert [status for _, status in [await bench.next_event(0) for _ in range(4)]] == [
        *(Status.OK, Status.OUTSIDE) * 2,
    ]


@cocotb.test()
async def interrupts_come_behind_their_events(dut: Any) -> None:
    bench = PcieTxBench(dut)
    at, data = 0xFEE0_1000, 0x4042
    seen = [0] * ENGINES
    for engine, host in enumerate(bench.hosts):

        def took(sent: Any, engine: int = engine) -> bool:
            if sent != pcie_core.message(at, data):
                return False
            while bench.event(engine):
                seen[engine] += 1
            bench.hosts[engine].interrupts.append(seen[engine])
            return True

        host.on_message = took
    await bench.start(interrupts=1)
    for engine in range(ENGINES):
        await bench.put(f"pcie[{engine}].msix_address", value=at)
        await bench.put(f"pcie[{engine}].msix_data", value=data)
        await bench.put(f"pcie[{engine}].moderation", events=2, delay=8)
        await bench.put(f"pcie[{engine}].msix_control", masked=0)
    for number in range(10):
        bench.offer(number)
    await bench.quiet()
    for _ in range(8 * 256 + 300):
        await bench.step()
    for engine in range(ENGINES):
        assert bench.hosts[engine].interrupts[-1] == 5
        assert len(bench.hosts[engine].interrupts) in (3, 2)
        counted = await bench.counters(engine, "interrupts")
        assert counted == {"interrupts": len(bench.hosts[engine].interrupts)}
    assert ROWS * COLUMNS * 2 == IMAGE
    assert now(dut.idle_o)


@cocotb.test()
async def memory_that_stands_still_is_said_whichever_it_is(dut: Any) -> None:
    """The frame store's, by each of its two words; what an abort has left to it; and frame memory itself."""
    bench = PcieTxBench(dut)
    await bench.start()
    idle = 1 << 10
    for name, bit in {"stuck": 1 << 3, "left": 1 << 1}.items():
        dut.store_i.value = idle | bit
        assert await bench.get("status.memory_stuck") == 1, name
        dut.store_i.value = idle
        assert await bench.get("status.memory_stuck") == 0
    bench.silent = True
    bench.offer(0)
    await bench.until(lambda: bool(now(dut.m_axi_arvalid)), 500)
    for _ in range(20):
        await bench.step()
    assert await bench.get("status.memory_stuck") == 0, "it may be slow"
    await bench.put("command", abort=1)
    while await bench.get("status.resetting"):
        pass
    assert await bench.get("status.memory_stuck") == 1, "it owes what the abort has given up"
    bench.silent = False
    await bench.quiet()
    assert await bench.get("status.memory_stuck") == 0


@cocotb.test()
async def memory_that_is_too_late_is_counted_whichever_it_is(dut: Any) -> None:
    """The frame memory behind an engine, and what the frame store tells of its own."""
    bench = PcieTxBench(dut)
    await bench.start()
    assert await bench.get("capabilities.frame_store") == 0
    await bench.put("watchdog", memory=1)
    bench.silent, bench.dead = True, [True] * ENGINES
    bench.offer(0)
    for _ in range(300):  # until all that may be asked for is
        await bench.step()
    await ClockCycles(dut.clk, 2 * WATCHDOG_CYCLES)
    bench.dead = [False] * ENGINES
    _, status = await bench.next_event(0)
    assert status is Status.BAD_PAYLOAD
    assert await bench.counter("memory_timeouts") == 1
    bench.silent = False
    await bench.quiet()
    idle, timeout = 1 << 10, 1
    dut.store_i.value = idle | timeout
    await bench.step()
    dut.store_i.value = idle
    assert await bench.counter("memory_timeouts") == 2
    assert await bench.get("errors.memory_timeout") == 1


@pytest.mark.parametrize("width", some_widths("pcie_tx", (128, 256, 512)))
def test_pcie_tx(width: int) -> None:
    run("pcie_tx", DataW=width, Entries=16)
