"""pcie_engine: software that reads the event queue in host memory finds each frame whole, and knows which is not."""

from typing import Any

import cocotb
import pytest

from bench import Stalls, run
from framelane.models.pcie import page_map
from framelane.models.pcie.event_queue import Consumer
from framelane.models.pcie.tlp_split import Status
from framelane.models.placement.trailer import TRAILER_BYTES, Trailer
from link_bench import LinkBench
from widths import some_widths

SLOT = 8192
SLOTS = 6
PAGE_LOG2 = 12
PAGES = SLOT * SLOTS // 4096
"""Of the frames; the page behind them has the events."""
LOG2 = 4


class EngineBench(LinkBench):
    """The engine with a host that reads events while frames come."""

    async def start_engine(self, hole: int | None = None) -> None:
        """With events on; without the frames' page `hole`."""
        await self.start(PAGE_LOG2, PAGES + 1)
        if hole is not None:
            entries = list(self.engine.pages.entries)
            entries[hole] = page_map.entry(None)
            await self.load(page_map.PageMap(PAGE_LOG2, entries))
        self.dut.event_base_i.value, self.dut.event_log2_i.value = PAGES << PAGE_LOG2, LOG2
        self.dut.event_consumed_i.value, self.dut.event_enabled_i.value = 0, 1
        self.link.memory.fill(PAGES, bytes(1 << PAGE_LOG2))
        self.consumer = Consumer(LOG2)
        self.frames: list[tuple[Trailer, bytes]] = []

    def frame(self, number: int) -> None:
        """A frame of some rows to its slot, with its trailer."""
        slot = number % SLOTS
        image = self.random.randbytes(self.random.randrange(1, SLOT - TRAILER_BYTES))
        for at in range(0, len(image), 3000):
            self.write(slot * SLOT + at, image[at : at + 3000])
        trailer = Trailer(3, slot, number, number * 7, number * 9, len(image), 0, 0, number)
        self.write(slot * SLOT + SLOT - TRAILER_BYTES, trailer.pack(), last=True)
        self.frames.append((trailer, image))

    async def next_event(self) -> tuple[Trailer, Status]:
        """Poll host memory as software does."""
        for _ in range(20_000):
            if found := self.consumer.next(self.link.memory.page(PAGES)):
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


@pytest.mark.parametrize("width", some_widths("pcie_engine", (128, 256, 512)))
def test_pcie_engine(width: int) -> None:
    run("pcie_engine", DataW=width, Entries=32)
