"""pcie_lane, in pcie_tx: what goes wrong costs its own bytes, is said of its frame; the other engine goes on."""

from typing import Any

import cocotb
import pytest

from bench import Stalls, run
from framelane.models.pcie import page_map
from framelane.models.pcie.page_map import PageMap
from framelane.models.pcie.tlp_split import Status
from pcie_tx_bench import ENGINES, IMAGE, PAGE_LOG2, STRIDE, PcieTxBench
from widths import some_widths

PAGE = 1 << PAGE_LOG2
UNTOUCHED = 0xA5
GOOD, BAD = 1, 0
"""Engines: nothing is wrong with the one."""


async def frames(bench: PcieTxBench, count: int, status: Status) -> list[bytes]:
    """Frames to both engines: those of the good one are whole, those of the other end as told, but none is lost."""
    images = [bench.offer(number) for number in range(count)]
    for number in range(count):
        engine = number % ENGINES
        trailer, found = await bench.next_event(engine)
        assert trailer.detector_frame == number
        assert found is (Status.OK if engine == GOOD else status), f"frame {number}"
        if engine == GOOD:
            assert bench.slot(engine, number // ENGINES)[:IMAGE] == images[number]
    await bench.quiet()
    good = status is Status.OK or status >= Status.UNANSWERED  # a fence is the event's alone
    each = count // ENGINES
    assert await bench.destinations("sent") == [each if good else 0, each]
    assert await bench.destinations("failed") == [0 if good else each, 0]
    assert bench.released == count
    return images


def holes(image: bytes, start: int, end: int) -> bytes:
    """An image of which some bytes were never written."""
    return image[:start] + bytes([UNTOUCHED]) * (end - start) + image[end:]


@cocotb.test()
@cocotb.parametrize(what=["hole", "parity"])
async def a_page_that_is_not_there_is_a_hole_of_its_own_bytes(dut: Any, what: str) -> None:
    bench = PcieTxBench(dut, Stalls.BOTH)
    entries = list(bench.maps[BAD].entries)
    for page in (1, 3, 5):  # the second of each slot
        entries[page] = page_map.entry(None) if what == "hole" else entries[page] ^ 1 << bench.random.randrange(45)
    bench.maps[BAD] = PageMap(PAGE_LOG2, entries)
    await bench.start()
    images = await frames(bench, 6, Status.NO_PAGE if what == "hole" else Status.BAD_PARITY)
    for number in range(0, 6, ENGINES):
        assert bench.slot(BAD, number // ENGINES)[:IMAGE] == holes(images[number], PAGE, IMAGE)
    counter = "no_page" if what == "hole" else "bad_parity"
    assert await bench.counters(BAD, counter, "poisoned") == {counter: 6, "poisoned": 0}  # the trailer lies there too
    assert await bench.counters(GOOD, counter) == {counter: 0}
    assert await bench.get(f"pcie[{BAD}].errors.{counter}") == 1


@cocotb.test()
async def memory_that_answers_with_errors_nullifies_the_tlps_of_its_bytes(dut: Any) -> None:
    bench = PcieTxBench(dut)
    await bench.start()
    beat = bench.width // 8
    at = 2048
    bench.bad_reads = {number * STRIDE + at for number in range(0, 4, 2)}
    images = await frames(bench, 4, Status.BAD_PAYLOAD)
    for number in range(0, 4, ENGINES):
        slot = bench.slot(BAD, number // ENGINES)[:IMAGE]
        assert slot == holes(images[number], at, at + 256)
        assert at % 256 == 0
        assert beat <= 256
    assert await bench.counters(BAD, "poisoned", "bad_payload") == {"poisoned": 2, "bad_payload": 2}
    assert await bench.get("errors.read_error") == 1


@cocotb.test()
async def an_iommu_that_refuses_a_page_is_known_by_the_fence(dut: Any) -> None:
    """What is written to it is lost without a word; the read behind it is not."""
    bench = PcieTxBench(dut)
    for page in (1, 3, 5):
        del bench.hosts[BAD].pages[bench.addresses(BAD)[page]]
    await bench.start(fence=1)
    images = await frames(bench, 6, Status.FENCE_REFUSED)
    for number in range(0, 6, ENGINES):
        assert bench.slot(BAD, number // ENGINES)[:IMAGE] == holes(images[number], PAGE, IMAGE)
    assert bench.hosts[BAD].faults
    assert await bench.counters(BAD, "fences_refused", "unanswered") == {"fences_refused": 3, "unanswered": 0}
    assert await bench.get(f"pcie[{BAD}].errors.fence_refused") == 1


@cocotb.test()
async def completions_that_never_come_cost_the_status_and_no_time_without_end(dut: Any) -> None:
    bench = PcieTxBench(dut)
    await bench.start(fence=1)
    await bench.put(f"pcie[{BAD}].fence_limit", value=300)
    bench.hosts[BAD].delay = lambda: 0
    await frames(bench, 6, Status.UNANSWERED)
    assert await bench.counters(BAD, "unanswered", "unexpected") == {"unanswered": 3, "unexpected": 0}


@cocotb.test()
async def completions_for_which_nobody_waits_are_counted_and_change_nothing(dut: Any) -> None:
    bench = PcieTxBench(dut)
    await bench.start(fence=1)
    for k in range(8):
        bench.hosts[BAD].answers.append((bench.cycle + 1 + k, 17 + k, bool(k % 2)))
    await frames(bench, 6, Status.OK)
    assert await bench.counters(BAD, "unexpected", "fences_refused") == {"unexpected": 8, "fences_refused": 0}
    assert await bench.get(f"pcie[{BAD}].errors.unexpected") == 1
    assert await bench.get(f"pcie[{GOOD}].errors.unexpected") == 0


@cocotb.test()
async def another_max_payload_size_counts_from_the_next_descriptor_on(dut: Any) -> None:
    bench = PcieTxBench(dut)
    await bench.start()
    sizes: list[int] = []
    for size in (2, 0, 1):
        for engine in range(ENGINES):
            await bench.put(f"pcie[{engine}].link", mps=size)
            bench.hosts[engine].arrived.clear()
        number = len(sizes)
        image = bench.offer(number)
        await bench.next_event(number % ENGINES)
        await bench.quiet()
        assert bench.slot(number % ENGINES, number // ENGINES)[:IMAGE] == image
        sizes.append(max(sent.tlp.length for sent in bench.hosts[number % ENGINES].arrived))
    assert sizes == [512, 128, 256]


@cocotb.test()
async def cycles_in_which_the_port_waits_are_counted(dut: Any) -> None:
    bench = PcieTxBench(dut, Stalls.SINK)
    await bench.start()
    await frames(bench, 2, Status.OK)
    assert min(bench.stalled) > 10
    for engine in range(ENGINES):
        assert await bench.counters(engine, "stall_cycles") == {"stall_cycles": bench.stalled[engine]}


@cocotb.test()
async def interrupts_that_are_masked_wait(dut: Any) -> None:
    bench = PcieTxBench(dut)
    await bench.start(interrupts=1)
    await bench.put("pcie[0].moderation", events=1)
    bench.offer(0)
    await bench.next_event(0)
    await bench.quiet()
    assert await bench.get("pcie[0].msix_pending.pending") == 1
    assert await bench.get("pcie[1].msix_pending.pending") == 0
    before = len(bench.hosts[0].arrived)
    at = bench.addresses(0)[0]
    await bench.put("pcie[0].msix_address", value=at & 0xFFFF_FFFF)
    await bench.put("pcie[0].msix_address_high", value=at >> 32)
    await bench.put("pcie[0].msix_data", value=0x1234_5678)
    await bench.put("pcie[0].msix_control", masked=0)
    await bench.until(lambda: len(bench.hosts[0].arrived) > before, 50)
    assert bench.slot(0, 0)[:4] == bytes.fromhex("78563412")
    assert await bench.get("pcie[0].msix_pending.pending") == 0


@pytest.mark.parametrize("width", some_widths("pcie_tx", (128, 256, 512)))
def test_pcie_lane(width: int) -> None:
    run("pcie_lane", top="pcie_tx", DataW=width, Entries=16)
