"""pcie_core, in pcie_tx: an engine whose link is gone, or slow, keeps no frame of the other, and no frame for ever."""

from typing import Any

import cocotb
import pytest

from bench import Stalls, run
from framelane.models.pcie.tlp_split import MPS, Status
from pcie_tx_bench import ENGINES, IMAGE, SLOTS, PcieTxBench
from signals import now
from widths import some_widths

DEAD, ALIVE = 0, 1


@cocotb.test()
async def the_link_of_one_engine_goes_down_in_mid_frame_and_comes_back(dut: Any) -> None:
    """Every frame is one of: whole with its event, or failed and never announced as whole."""
    bench = PcieTxBench(dut)
    await bench.start()
    images = [bench.offer(number) for number in range(SLOTS * ENGINES)]
    await bench.until(lambda: len(bench.hosts[DEAD].arrived) == 30, 2000)
    bench.dead[DEAD] = True
    dut.link_up_i.value = 1 << ALIVE
    for number in range(ALIVE, 12, ENGINES):
        trailer, status = await bench.next_event(ALIVE)
        assert (trailer.detector_frame, status) == (number, Status.OK)
        assert bench.slot(ALIVE, number // ENGINES)[:IMAGE] == images[number]
        if len(images) < 12:  # the next one of each engine, into the slot that has been looked at
            images += [bench.offer(len(images) + engine) for engine in range(ENGINES)]
    await bench.quiet()
    assert bench.released == 12
    whole = []
    while found := bench.event(DEAD):
        assert found[1] is Status.OK
        whole.append(found[0].detector_frame)
    assert whole == list(range(0, 2 * len(whole), ENGINES))
    assert len(whole) < 6
    sent, failed = await bench.destinations("sent"), await bench.destinations("failed")
    assert sent[ALIVE] == 6
    assert sent[DEAD] + failed[DEAD] == 6
    assert len(whole) <= sent[DEAD] <= len(whole) + 2, "more than what was on its way is counted as sent"
    assert await bench.get(f"pcie[{DEAD}].status.failed") == 1
    assert await bench.get(f"pcie[{DEAD}].status.link") == 0
    assert await bench.get(f"pcie[{ALIVE}].status.failed") == 0
    assert await bench.get(f"pcie[{DEAD}].errors.link_down") == 1
    counted = await bench.counters(DEAD, "link_down", "dropped")
    assert counted["link_down"] >= 1
    assert counted["dropped"] >= 1

    # It comes back: nothing is sent before the restart, all after it.
    bench.dead[DEAD], dut.link_up_i.value = False, 3
    for _ in range(50):
        await bench.step()
    assert await bench.get(f"pcie[{DEAD}].status.failed") == 1
    assert not bench.event(DEAD), "what was given up was announced"
    await bench.put(f"pcie[{DEAD}].command", restart=1)
    while await bench.get(f"pcie[{DEAD}].status.restarting"):
        pass
    assert await bench.get(f"pcie[{DEAD}].status.failed") == 0
    assert await bench.get(f"pcie[{DEAD}].event_produced") == 0
    await bench.start_engine(DEAD)
    bench.images.clear()
    images = [bench.offer(12 + number) for number in range(4)]
    for number in range(4):
        trailer, status = await bench.next_event(number % ENGINES)
        assert (trailer.detector_frame, status) == (12 + number, Status.OK)
        assert bench.slot(number % ENGINES, (12 + number) // ENGINES)[:IMAGE] == images[number]


@cocotb.test()
async def a_link_without_credit_for_long_holds_its_own_frames_and_loses_none(dut: Any) -> None:
    bench = PcieTxBench(dut, Stalls.SINK)
    await bench.start()
    images = [bench.offer(number) for number in range(8)]
    bench.dead[DEAD] = True
    for number in range(ALIVE, 6, ENGINES):  # as far as the queues of the other hold
        trailer, status = await bench.next_event(ALIVE)
        assert (trailer.detector_frame, status) == (number, Status.OK)
    for _ in range(2000):
        await bench.step()
    assert not now(dut.idle_o)
    assert bench.event(DEAD) is None
    bench.dead[DEAD] = False
    for number in range(0, 8, ENGINES):
        trailer, status = await bench.next_event(DEAD)
        assert (trailer.detector_frame, status) == (number, Status.OK)
    await bench.quiet()
    assert bench.slot(DEAD, 3)[:IMAGE] == images[6]
    assert await bench.destinations("sent") == [4, 4]
    assert bench.released == 8


@cocotb.test()
@cocotb.parametrize(abort=[False, True])
async def a_reset_does_not_end_before_what_is_under_way_but_an_abort_does(dut: Any, abort: bool) -> None:
    bench = PcieTxBench(dut)
    await bench.start()
    for number in range(4):
        bench.offer(number)
    await bench.until(lambda: len(bench.hosts[DEAD].arrived) == 5, 2000)
    bench.dead[DEAD] = True
    await bench.put("command", **{"abort" if abort else "reset": 1})
    for _ in range(3000):
        await bench.step()
    assert await bench.get("status.resetting") == (0 if abort else 1)
    bench.dead[DEAD] = False
    await bench.until(lambda: bool(now(dut.idle_o)), 5000)
    while await bench.get("status.resetting"):
        pass
    for engine in range(ENGINES):
        assert await bench.get(f"pcie[{engine}].status.failed") == 0
        await bench.start_engine(engine)
    counted = await bench.counters(DEAD, "descriptors", "tlps")
    assert counted["descriptors"] == 0
    assert counted["tlps"] <= 1, "the beat that was left on offer"
    await bench.put("control", arm=1)
    bench.frames.items.clear()
    images = [bench.offer(10 + number) for number in range(2)]
    for engine in range(ENGINES):
        trailer, status = await bench.next_event(engine)
        assert (trailer.detector_frame, status) == (10 + engine, Status.OK)
        assert bench.slot(engine, (10 + engine) // ENGINES)[:IMAGE] == images[engine]


@cocotb.test()
async def a_trailer_counts_packets_of_its_own_engine_s_max_payload_size(dut: Any) -> None:
    bench = PcieTxBench(dut)
    sizes = (128, 512)
    await bench.start()
    for engine, size in enumerate(sizes):
        await bench.put(f"pcie[{engine}].link", mps=MPS.index(size))
    for number in range(4):
        bench.offer(number)
    for number in range(4):
        trailer, status = await bench.next_event(number % ENGINES)
        assert status is Status.OK
        assert trailer.packets == -(-IMAGE // sizes[number % ENGINES])


@pytest.mark.parametrize("width", some_widths("pcie_tx", (128, 256, 512)))
def test_pcie_core(width: int) -> None:
    run("pcie_core", top="pcie_tx", DataW=width, Entries=16)
