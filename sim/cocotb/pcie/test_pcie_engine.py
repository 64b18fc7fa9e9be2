"""pcie_engine: software that reads the event queue in host memory finds each frame whole, and knows which is not."""

import itertools
import os
from typing import Any

import cocotb
import pytest

from bench import Stalls, run
from framelane.models.pcie import page_map
from framelane.models.pcie.event_queue import Consumer
from framelane.models.pcie.tlp_split import Status
from framelane.models.placement.trailer import TRAILER_BYTES, Trailer
from link import HIGH
from link_bench import LinkBench
from signals import now
from widths import some_widths

SLOT = 8192
SLOTS = 6
PAGE_LOG2 = 12
PAGES = SLOT * SLOTS // 4096
"""Pages with frames; the page behind them has the events."""
LOG2 = 4
FRAMES = int(os.environ.get("FRAMELANE_EVENTS", "150"))
"""Small ones behind the switch, 20,000 in `make nightly`."""


class EngineBench(LinkBench):
    """The engine with a host that reads events while frames come."""

    def __init__(self, dut: Any, stalls: Stalls = Stalls.NONE, **link: bool) -> None:
        super().__init__(dut, stalls, **link)
        dut.fence_i.value, dut.fence_limit_i.value = 0, 100_000
        dut.event_enabled_i.value, dut.event_consumed_i.value = 1, 0
        dut.failed_i.value, dut.completion_bad_i.value = 0, 0
        self.unanswered = 0
        self.answer(self._complete)

    def _complete(self) -> None:
        """Give the engine the completions of its reads."""
        self.unanswered += now(self.dut.unanswered_o)
        self.dut.completion_i.value = int(bool(self.link.completions))
        if self.link.completions:
            tag, bad = self.link.completions.popleft()
            self.dut.completion_tag_i.value, self.dut.completion_bad_i.value = tag, int(bad)

    async def start_engine(self, hole: int | None = None) -> None:
        """With all pages in host memory, but the frames' page `hole`."""
        await self.start(PAGE_LOG2, PAGES + 1)
        if hole is not None:
            entries = list(self.engine.pages.entries)
            entries[hole] = page_map.entry(None)
            await self.load(page_map.PageMap(PAGE_LOG2, entries))
        self._start_events(PAGES)

    async def start_with_gpu(self) -> None:
        """With the frames' pages in a GPU behind a switch, that of the events in host memory."""
        assert self.link.peer is not None
        base = await self.link.peer.enumerate()
        await self.reset()
        frames = [base + (index << PAGE_LOG2) for index in range(PAGES)]
        await self.load(page_map.of_pages(PAGE_LOG2, [*frames, *self.link.memory.pages(1, 1 << PAGE_LOG2)]))
        self._start_events(0)

    def _start_events(self, page: int) -> None:
        """The queue is in this page of host memory, behind those of the frames."""
        self.dut.event_base_i.value, self.dut.event_log2_i.value = PAGES << PAGE_LOG2, LOG2
        self.link.memory.fill(page, bytes(1 << PAGE_LOG2))
        self._page = page
        self.consumer = Consumer(LOG2)
        self.frames: list[tuple[Trailer, bytes]] = []

    def frame(self, number: int, longest: int = SLOT - TRAILER_BYTES) -> None:
        """A frame of some rows to its slot, with its trailer."""
        slot = number % SLOTS
        image = self.random.randbytes(self.random.randrange(1, longest))
        for at in range(0, len(image), 3000):
            self.write(slot * SLOT + at, image[at : at + 3000])
        trailer = Trailer(3, slot, number, number * 7, number * 9, len(image), 0, 0, number)
        self.write(slot * SLOT + SLOT - TRAILER_BYTES, trailer.pack(), last=True)
        self.frames.append((trailer, image))

    async def next_event(self) -> tuple[Trailer, Status]:
        """Poll host memory as software does."""
        for _ in range(20_000):
            if found := self.consumer.next(self.link.memory.page(self._page)):
                self.dut.event_consumed_i.value = self.consumer.consumed
                return found
            await self.step()
        raise AssertionError("no event came in 20,000 cycles")

    def slot(self, number: int) -> bytes:
        """What lies in a frame's slot now."""
        each = SLOT >> PAGE_LOG2
        return b"".join(self.link.memory.page(number % SLOTS * each + k) for k in range(each))


@cocotb.test()
@cocotb.parametrize(stalls=[Stalls.NONE, Stalls.SOURCE])
async def a_frame_is_whole_when_its_event_is_there(dut: Any, stalls: Stalls) -> None:
    """More frames than the queue has entries: the phase changes, and software gives entries back."""
    bench = EngineBench(dut, stalls)
    await bench.start_engine()
    for number in range(50):
        bench.frame(number)
        if number >= SLOTS - 1:
            trailer, status = await bench.next_event()
            expected, image = bench.frames[trailer.frame_number]
            assert (trailer, status) == (expected, Status.OK)
            assert trailer.frame_number == number - SLOTS + 1
            slot = bench.slot(trailer.frame_number)
            assert slot[: len(image)] == image
            assert slot[-TRAILER_BYTES:] == expected.pack()


@cocotb.test()
async def a_frame_with_a_page_missing_says_so_and_the_next_is_whole(dut: Any) -> None:
    bench = EngineBench(dut)
    await bench.start_engine(hole=2)
    for number in range(SLOTS):
        bench.frame(number)
    for number in range(SLOTS):
        trailer, status = await bench.next_event()
        assert trailer.frame_number == number
        assert status == (Status.NO_PAGE if number == 1 else Status.OK)
        image = bench.frames[number][1]
        if number == 1:
            image = b"\xa5" * min(len(image), 4096) + image[4096:]
        assert bench.slot(number)[: len(image)] == image


async def early_events(bench: EngineBench, frames: int) -> int:
    """How many events software sees before all bytes of their frame are in the GPU, where a switch delays these."""
    await bench.start_with_gpu()
    assert bench.link.peer is not None
    bench.link.peer.delay(lambda: bench.random.choice([1, 1, 1, 100, 1000]))
    early = 0
    for number in range(frames + SLOTS - 1):
        if number < frames:
            bench.frame(number, 600)
        if number < SLOTS - 1:
            continue
        trailer, status = await bench.next_event()
        assert status is Status.OK
        assert trailer.frame_number == number - SLOTS + 1
        image = bench.frames[trailer.frame_number][1]
        at = trailer.slot * SLOT
        slot = bench.link.peer.contents(at, SLOT)
        early += slot[: len(image)] != image or slot[-TRAILER_BYTES:] != bench.frames[trailer.frame_number][0].pack()
    return early


@cocotb.test()
async def behind_a_switch_that_delays_the_gpu_no_event_comes_before_its_data(dut: Any) -> None:
    bench = EngineBench(dut, peer=True)
    dut.fence_i.value = 1
    assert await early_events(bench, FRAMES) == 0
    assert bench.unanswered == 0


@cocotb.test()
async def without_fences_that_switch_lets_events_overtake(dut: Any) -> None:
    """So the test above can fail."""
    bench = EngineBench(dut, peer=True)
    assert await early_events(bench, 40) > 0


@cocotb.test()
async def behind_an_iommu_that_answers_late_events_wait_and_poisoned_answers_are_said(dut: Any) -> None:
    """Each frame is whole at its event; the answer of every third is poisoned, and its event says so."""
    bench = EngineBench(dut, iommu=True)
    dut.fence_i.value = 1
    await bench.start_engine()
    table = bench.link.complex.table
    table |= {(HIGH >> 12) + page: (HIGH >> 12) + page for page in range(PAGES + 1)}
    answers = itertools.count(1)
    bench.link.complex.delay = lambda: bench.random.choice([0, 40, 400, 3000])
    bench.link.complex.poisons = lambda: next(answers) % 3 == 0
    for number in range(24 + SLOTS - 1):
        if number < 24:
            bench.frame(number)
        if number < SLOTS - 1:
            continue
        trailer, status = await bench.next_event()
        assert trailer.frame_number == number - SLOTS + 1
        assert status == (Status.FENCE_REFUSED if trailer.frame_number % 3 == 2 else Status.OK)
        image = bench.frames[trailer.frame_number][1]
        assert bench.slot(trailer.frame_number)[: len(image)] == image
    assert bench.unanswered == 0
    assert not bench.link.complex.faults


@cocotb.test()
async def a_device_that_answers_no_reads_costs_the_status_and_nothing_hangs(dut: Any) -> None:
    bench = EngineBench(dut)
    dut.fence_i.value, dut.fence_limit_i.value = 1, 300
    await bench.start_engine()
    bench.link.mute = True
    for number in range(SLOTS):
        bench.frame(number)
    for number in range(SLOTS):
        trailer, status = await bench.next_event()
        assert (trailer.frame_number, status) == (number, Status.UNANSWERED)
    assert bench.unanswered == SLOTS


@cocotb.test()
async def what_ends_while_the_port_has_failed_says_so_and_keeps_a_reason_of_its_own(dut: Any) -> None:
    bench = EngineBench(dut)
    await bench.start_engine(hole=2)
    dut.failed_i.value = 1
    for offset, payload in ((0, bytes(500)), (0, b""), (2 << PAGE_LOG2, bytes(64)), (64, bytes(64))):
        bench.write(offset, payload)
    await bench.until(lambda: len(bench.statuses) == 4)
    assert bench.statuses == [Status.LINK_DOWN, Status.BAD_LENGTH, Status.NO_PAGE, Status.LINK_DOWN]


@pytest.mark.parametrize("width", some_widths("pcie_engine", (128, 256, 512)))
def test_pcie_engine(width: int) -> None:
    run("pcie_engine", DataW=width, Entries=32)
