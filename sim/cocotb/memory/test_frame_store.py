"""frame_store: a frame that lies whole in memory is an event, and stays until its release; the others are counted."""

from dataclasses import replace
from typing import Any

import cocotb
import pytest
from cocotbext.axi import AxiResp

from bench import ALL_STALLS, Stalls, run
from framelane.models.placement.slot_ring import SlotRing
from signals import now
from store_bench import BASE, SLOT_BEATS, StoreBench
from widths import some_widths

BUFFERED = 513
"""Beats that wait for the memory: the Depth of s2mm, and one."""


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def frames_of_any_length_are_in_memory_before_their_event(dut: Any, stalls: Stalls) -> None:
    bench = StoreBench(dut, 16, stalls)
    await bench.reset()
    lanes, slot = bench.width // 8, bench.slot
    lengths = (1, lanes - 1, lanes, lanes + 1, 1500, 1537, slot // 3, slot - 1, slot, 1, 2, 3, slot // 2 + 1)
    for length in lengths:
        bench.frame(length)
    await bench.finish()
    assert len(bench.events.items) == len(lengths)


@cocotb.test()
@cocotb.parametrize(slots=[1, 3], stalls=ALL_STALLS)
async def frames_that_find_the_ring_full_are_lost_whole_and_the_others_stay(
    dut: Any, slots: int, stalls: Stalls
) -> None:
    bench = StoreBench(dut, slots, stalls)
    await bench.reset()
    for lost in (5, 1, 8):
        bench.releases = 0
        before = dict(bench.counts)
        for _ in range(slots + lost):
            bench.frame(bench.random.randrange(1, bench.slot))
        await bench.taken()
        await bench.run(3)
        assert bench.counts == before | {"lost": before["lost"] + lost}
        bench.releases = 0.01
        await bench.finish()
    assert len(bench.events.items) == 3 * slots


@cocotb.test()
@cocotb.parametrize(beats=[1, 7, 64, 137, SLOT_BEATS])
async def the_detector_never_waits_for_a_memory_that_is_always_ready(dut: Any, beats: int) -> None:
    bench = StoreBench(dut, 32)
    await bench.reset()
    length = beats * bench.width // 8
    for _ in range(-(-2000 // beats)):
        bench.frame(length)
    bench.releases = 1
    await bench.finish()
    for cycles in (bench.pixels.accepted, bench.memory.beats):
        assert cycles[-1] - cycles[0] + 1 == len(cycles) >= 2000
    assert not bench.counts["lost"]


@cocotb.test()
async def a_frame_waits_for_a_slow_memory_and_loses_nothing(dut: Any) -> None:
    bench = StoreBench(dut, 4)
    await bench.reset()
    bench.memory.slave.w_channel.pause = True
    for _ in range(4):
        bench.frame(bench.slot)
    await bench.run(1000)
    assert len(bench.pixels.accepted) == BUFFERED
    bench.memory.slave.w_channel.pause = False
    await bench.finish()
    assert not bench.counts["lost"]


@cocotb.test()
async def a_lost_frame_waits_for_nothing(dut: Any) -> None:
    """Not even while no beat more fits the buffer."""
    bench = StoreBench(dut, 3)
    await bench.reset()
    bench.memory.slave.w_channel.pause = True
    for beats in (SLOT_BEATS, SLOT_BEATS, BUFFERED - 2 * SLOT_BEATS):
        bench.frame(beats * bench.width // 8)
    for _ in range(5):
        bench.frame(bench.slot)
    beats = len(bench.pixels.items)
    await bench.taken()
    assert bench.pixels.accepted[-1] - bench.pixels.accepted[0] + 1 == beats
    assert bench.counts["lost"] == 5
    bench.memory.slave.w_channel.pause = False
    await bench.finish()


@cocotb.test()
@cocotb.parametrize(slots=[1, 4])
async def a_frame_longer_than_its_slot_is_swallowed_to_its_end_and_the_others_stay(dut: Any, slots: int) -> None:
    bench = StoreBench(dut, slots)
    await bench.reset()
    slot = bench.slot
    for length in (100, slot + 1, slot, slot + bench.width // 8, 3 * slot, 3 * slot, 1):
        bench.frame(length)
        if slots == 1:
            await bench.finish()
    await bench.finish()
    assert bench.counts == {"lost": 0, "bad": 4, "ignored": 0}


@cocotb.test()
@cocotb.parametrize(answer=[AxiResp.SLVERR, AxiResp.DECERR], slots=[1, 3])
async def a_frame_that_the_memory_refuses_is_no_event_and_leaves_its_slot(
    dut: Any, answer: AxiResp, slots: int
) -> None:
    bench = StoreBench(dut, slots)
    await bench.reset()
    bench.memory.refusal = answer
    last = bench.slot - 10
    for refused in (None, 0, None, last, last // 2, 0, 0, 0, 0, None):
        bench.frame(last + 1, refused)
        if slots == 1:
            await bench.finish()
    await bench.finish()
    assert bench.counts == {"lost": 0, "bad": 7, "ignored": 0}


@cocotb.test()
async def only_frames_that_begin_while_armed_count_and_those_end_as_they_began(dut: Any) -> None:
    bench = StoreBench(dut, 4)
    await bench.reset()
    bench.releases = 1
    for armed in (1, 0, 1, 1, 0, 0, 1):
        dut.armed_i.value = armed
        bench.frame(bench.slot // 2, kind=1)
        await bench.until(lambda: bench.in_packet)
        dut.armed_i.value = 1 - armed
        await bench.taken()
    await bench.finish()
    assert bench.counts == {"lost": 0, "bad": 0, "ignored": 3}


@cocotb.test()
@cocotb.parametrize(waits=[False, True])
async def a_frame_that_is_given_up_is_bad_and_those_around_it_stay(dut: Any, waits: bool) -> None:
    """Its end reaches the memory even where that `waits`, its buffer full, as the frame is given up."""
    bench = StoreBench(dut, 4)
    await bench.reset()
    bench.memory.slave.w_channel.pause = waits
    for _ in range(3):
        bench.frame(bench.slot)
    await bench.until(lambda: len(bench.pixels.accepted) == (BUFFERED if waits else 2 * SLOT_BEATS + 50))
    await bench.run(10 * waits)
    assert bench.in_packet
    assert bench.frames == 3
    dut.abort_i.value = 1
    bench.cut()
    await bench.run(10)
    bench.memory.slave.w_channel.pause = False
    await bench.taken()
    dut.abort_i.value = 0
    for _ in range(2):
        bench.frame(bench.slot)
    await bench.finish()
    assert bench.counts == {"lost": 0, "bad": 1, "ignored": 0}
    assert len(bench.events.items) == 4


@cocotb.test()
@cocotb.parametrize(beats=[1, SLOT_BEATS // 2])
async def a_frame_whose_packet_was_cut_on_its_way_is_bad(dut: Any, beats: int) -> None:
    bench = StoreBench(dut, 4)
    await bench.reset()
    bench.frame(bench.slot)
    bench.frame(beats * bench.width // 8)
    bench.queued[-1] = replace(bench.queued[-1], cut=True)
    bench.frame(bench.slot)

    def mark() -> None:
        cut = len(bench.pixels.accepted) == SLOT_BEATS + beats - 1 and now(dut.s_axis_pixel_tvalid)
        dut.pixel_cut_i.value = int(cut)

    bench.answer(mark)
    await bench.finish()
    assert bench.counts == {"lost": 0, "bad": 1, "ignored": 0}
    assert len(bench.events.items) == 2


@cocotb.test()
async def frames_are_numbered_by_kind_lost_ones_included(dut: Any) -> None:
    bench = StoreBench(dut, 2)
    await bench.reset()
    bench.releases = 0.05
    for _ in range(300):
        bench.frame(bench.width // 2)
    await bench.finish()
    assert bench.counts["lost"] > 100
    assert len(bench.events.items) > 20


@cocotb.test()
@cocotb.parametrize(before=["taken", "lost", "ignored"], during=[False, True])
async def the_rest_of_a_frame_that_a_reset_has_cut_is_swallowed_and_not_counted(
    dut: Any, before: str, during: bool
) -> None:
    """Whatever it was before the reset, and whether the detector goes on meanwhile."""
    bench = StoreBench(dut, 1)
    await bench.reset()
    bench.releases = 0
    if before == "lost":
        bench.frame(100)
        await bench.until(lambda: bool(bench.held))
    dut.armed_i.value = before != "ignored"
    bench.frame(200 * bench.width // 8)
    await bench.until(lambda: len(bench.pixels.items) == 100)
    rest = list(bench.pixels.items)
    if during:
        dut.rst.value = 1
        await bench.run(5)
        dut.rst.value = 0
    else:
        await bench.reset()
        bench.pixels.items.extend(rest)
    bench.start()
    dut.armed_i.value = 1
    await bench.taken()
    assert not any(bench.counts.values())
    bench.frame(200)
    bench.releases = 1
    await bench.finish()
    assert (bench.frames, len(bench.events.items)) == (1, 1)


@cocotb.test()
async def behind_a_restart_of_the_stream_the_next_packet_is_a_frame(dut: Any) -> None:
    """Where a crossing has swallowed the rest of the one that the reset cut."""
    bench = StoreBench(dut, 1)
    await bench.reset()
    bench.frame(200 * bench.width // 8)
    await bench.until(lambda: len(bench.pixels.items) == 100)
    dut.pixel_restart_i.value = 1
    await bench.reset()
    dut.pixel_restart_i.value = 0
    bench.in_packet = False
    bench.start()
    bench.frame(200)
    bench.releases = 1
    await bench.finish()
    assert (bench.frames, len(bench.events.items)) == (1, 1)


@cocotb.test()
async def a_new_ring_begins_at_its_base_without_a_reset(dut: Any) -> None:
    bench = StoreBench(dut, 5)
    await bench.reset()
    for slots in (5, 2, 3, 1):
        bench.slots = slots
        bench.store.ring = SlotRing(BASE, bench.slot, slots)
        dut.slots_i.value, dut.armed_i.value = slots, 0
        await bench.step()
        dut.armed_i.value = 1
        for _ in range(4):
            bench.frame(bench.slot // 4)
            await bench.finish()


@cocotb.test()
@cocotb.parametrize(slots=[1, 3], stalls=ALL_STALLS)
async def whatever_happens_every_frame_is_an_event_or_counted(dut: Any, slots: int, stalls: Stalls) -> None:
    bench = StoreBench(dut, slots, stalls)
    await bench.reset()
    chance = bench.random
    slot = bench.slot
    for bench.releases in (0.002, 0.02, 1, 0.3):
        for _ in range(20):
            length = chance.choice((1, slot // 8, slot // 4, slot, slot + 1, 5 * slot // 4)) + chance.randrange(50)
            refused = chance.randrange(min(length, slot)) if chance.random() < 0.2 else None
            bench.frame(length, refused)
        while bench.pixels.items:
            dut.armed_i.value = chance.random() < 0.8
            await bench.run(chance.randrange(1, 200))
    await bench.finish()
    assert all(bench.counts.values())


@pytest.mark.parametrize("width", some_widths("frame_store"))
def test_frame_store(width: int) -> None:
    run("frame_store", flat=True, DataW=width, MaxSlots=32, TimeFlags=1)
