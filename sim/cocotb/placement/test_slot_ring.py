"""slot_ring: no slot is given out twice, every frame that came whole is an event, and releases free slots in order."""

from collections import deque
from dataclasses import replace
from typing import Any

import cocotb
import pytest

from bench import ALL_STALLS, Bench, Stalls, run
from detector import any_info
from framelane.driver.simulated.ports import frame_info_t, frame_t
from framelane.models.placement.flow import FrameEvent
from framelane.models.placement.slot_ring import SlotRing
from signals import now

BASE = 0xFFFF_FFFF_F000
"""The ring crosses a boundary of 48 bits."""
SLOT = 0x8001_1000
LATENCY = 4
"""Cycles from a release to the free slot."""


class RingBench(Bench):
    """The ring, and frames that begin, end and are released at random, with these chances a cycle."""

    def __init__(self, dut: Any, slots: int, stalls: Stalls = Stalls.NONE) -> None:
        super().__init__(dut, stalls)
        self.begins, self.ends, self.fails, self.releases = 0.5, 0.5, 0.2, 0.5
        self.strays = 0.0
        """Releases that answer no event."""
        self.events = self.sink("m_axis_frame")
        self.under_way: deque[FrameEvent] = deque()
        self.expected: list[int] = []
        self.answer(self._drive)
        self.watch(self._watch)
        self.dut.restart_i.value = 0
        self.configure(BASE, SLOT, slots)

    def configure(self, base: int, slot_bytes: int, slots: int) -> None:
        """A new ring; only where no slot is in use."""
        self.dut.base_i.value, self.dut.slot_bytes_i.value, self.dut.slots_i.value = base, slot_bytes, slots
        self.model = SlotRing(base, slot_bytes, slots, int(self.dut.MaxSlots.value))
        self.unreleased = self.quiet = self.most = 0
        """Events that wait for their release; cycles since a slot became free; most slots in use."""
        self.under_way.clear()

    def _drive(self) -> None:
        dut, chance = self.dut, self.random.random
        self.info, self.kind_index = any_info(self.random), self.random.getrandbits(64)
        dut.info_i.value, dut.kind_index_i.value = frame_info_t(self.info), self.kind_index
        self.take = bool(now(dut.free_o)) and chance() < self.begins
        self.done, self.failed = bool(self.under_way) and chance() < self.ends, chance() < self.fails
        self.released = chance() < (self.releases if self.unreleased else self.strays)
        dut.take_i.value, dut.done_i.value, dut.failed_i.value = self.take, self.done, self.failed
        dut.release_i.value = self.released

    def _watch(self) -> None:
        if now(self.dut.rst):
            return
        free, idle = now(self.dut.free_o), now(self.dut.idle_o)
        assert not free or self.model.free, "a slot is given out while it is in use"
        assert free or not self.model.free or self.quiet < LATENCY, "a slot that was released is not free"
        assert not idle or not self.model.in_use, "idle while a slot is in use"
        assert idle or self.model.in_use or self.quiet < LATENCY + self.model.max_slots, "never idle"
        before = self.model.in_use
        if self.released and self.unreleased:
            self.model.release()
            self.unreleased -= 1
        if now(self.dut.m_axis_frame_tvalid) and now(self.dut.m_axis_frame_tready):
            self.model.hand_over()
            self.unreleased += 1
        if self.done:
            event = self.under_way.popleft()
            self.model.finish(self.failed)
            if not self.failed:
                self.expected.append(frame_t(event))
        self.quiet = self.quiet + 1 if self.model.in_use == before else 0
        if self.take:
            address = self.model.take()
            assert now(self.dut.address_o) == address
            event = self.info.event(address, self.kind_index)
            self.under_way.append(event if int(self.dut.TimeFlags.value) else replace(event, time_flags=0))
        self.most = max(self.most, self.model.in_use)

    async def run(self, cycles: int) -> None:
        for _ in range(cycles):
            await self.step()

    async def finish(self) -> None:
        """Let everything come to its end: the events are those of the frames that did not fail."""
        self.begins, self.ends, self.releases = 0.0, 0.5, 0.5
        await self.until(lambda: bool(now(self.dut.idle_o)), limit=1000)
        await self.run(LATENCY)
        assert [item["tdata"] for item in self.events.items] == self.expected


@cocotb.test()
@cocotb.parametrize(slots=[1, 2, 5], stalls=ALL_STALLS)
async def every_frame_that_came_whole_is_an_event_in_a_slot_of_its_own(dut: Any, slots: int, stalls: Stalls) -> None:
    bench = RingBench(dut, slots, stalls)
    await bench.reset()
    for bench.begins, bench.ends, bench.fails, bench.releases in (
        *((0.5, 0.5, 0.2, 0.5), (1, 1, 0, 1), (1, 1, 0.5, 1), (1, 1, 1, 0), (0.1, 1, 0.5, 0.1)),
        *((1, 0.1, 0.5, 1), (1, 1, 0.8, 0.05), (1, 1, 0, 0)),
    ):
        await bench.run(300)
    assert bench.most == slots
    await bench.finish()
    assert len(bench.expected) > 100


@cocotb.test()
async def a_ring_larger_than_its_books_uses_no_more_slots_than_they_hold(dut: Any) -> None:
    books = int(dut.MaxSlots.value)
    bench = RingBench(dut, 2 * books + 1)
    await bench.reset()
    bench.releases = 0
    await bench.run(10 * books)
    assert bench.most == books
    bench.releases = 0.3
    await bench.run(1000)
    await bench.finish()


@cocotb.test()
@cocotb.parametrize(ring=[(0, 4), (SLOT, 0), (7, 4)])
async def a_ring_without_room_has_no_free_slot(dut: Any, ring: tuple[int, int]) -> None:
    slot_bytes, slots = ring
    bench = RingBench(dut, slots)
    bench.configure(BASE, 0, slots)
    dut.slot_bytes_i.value = slot_bytes
    await bench.reset()
    await bench.run(20)
    assert not bench.most


@cocotb.test()
async def a_release_that_answers_no_event_frees_nothing(dut: Any) -> None:
    bench = RingBench(dut, 3)
    await bench.reset()
    bench.strays = 0.5
    await bench.run(1000)
    await bench.finish()
    assert len(bench.expected) > 100


@cocotb.test()
async def a_release_behind_failed_frames_is_not_forgotten(dut: Any) -> None:
    bench = RingBench(dut, int(dut.MaxSlots.value))
    await bench.reset()
    for _ in range(20):
        bench.begins, bench.ends, bench.releases = 1, 0, 0
        await bench.run(bench.model.max_slots + 2)
        assert bench.model.in_use == bench.model.max_slots
        bench.begins, bench.ends, bench.fails = 0, 1, 1
        await bench.until(lambda: len(bench.under_way) == 1)
        bench.fails, bench.releases = 0, 1
        await bench.until(lambda: not bench.model.in_use, limit=20)
        await bench.until(lambda: bool(now(dut.idle_o)), limit=LATENCY + bench.model.max_slots)
    await bench.finish()


@cocotb.test()
async def a_ring_starts_again_only_when_no_slot_is_in_use(dut: Any) -> None:
    bench = RingBench(dut, 5)
    await bench.reset()
    for base, slots in ((4096, 2), (BASE, 5), (1 << 40, 1), (1 << 62, 3)):
        for _ in range(10):
            bench.begins, bench.releases = 0.5, 0.1
            await bench.run(17)
            bench.begins, dut.restart_i.value = 0, bench.model.in_use > 1
            await bench.step()
            dut.restart_i.value = 0
        await bench.finish()
        bench.configure(base, 4096, slots)
        dut.restart_i.value = 1
        await bench.step()
        dut.restart_i.value = 0


@cocotb.test()
async def a_reset_frees_all_slots_and_forgets_all_events(dut: Any) -> None:
    bench = RingBench(dut, 4)
    bench.strays = 0.3
    for cycles in (1, 3, 5, 11, 30, 200):
        bench.releases = 0.1
        await bench.reset()
        bench.configure(BASE, SLOT, 4)
        bench.expected.clear()
        assert not bench.events.items
        bench.begins = 0.8
        await bench.run(cycles)
    await bench.finish()


@pytest.mark.parametrize(("width", "slots"), [(64, 8), (512, 16)])
def test_slot_ring(width: int, slots: int) -> None:
    run("slot_ring", DataW=width, MaxSlots=slots, TimeFlags=int(width == 64))
