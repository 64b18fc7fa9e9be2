"""detector_core: of impaired packets memory is as by the model, each packet there at most once, every mask exact."""

import os
from collections import Counter
from typing import Any

import cocotb
import pytest

from bench import Stalls, run
from core_bench import BYTES, IMAGE, MODULES, PACKETS, PARAMETERS, TARGET, CoreBench, memory_of
from det_packets import frame_of
from framelane.models.detector.det_header import DetFate
from framelane.models.placement import trailer
from receive_bench import ANSWERS_OF_RXE
from widths import WIDTHS, some_of

IMPAIRED = int(os.environ.get("FRAMELANE_IMPAIRED_PACKETS", "600"))
RESETS = int(os.environ.get("FRAMELANE_PHASES", "60"))
GAPS = [Stalls.NONE, Stalls.SOURCE]


def storm(bench: CoreBench, count: int) -> list[tuple[bytes, bool]]:
    """Frames of the line: packets out of order, lost, twice, cut, foreign; modules that leap and fall back."""
    chance = bench.random
    sent: list[tuple[bytes, bool]] = []
    newest = [1 + chance.randrange(3) for _ in range(MODULES)]
    waiting: list[bytes] = []
    while len(sent) < count:
        for module in range(MODULES):
            if chance.random() < 0.03:
                newest[module] += chance.choice((2, 3, 50, 999, 1000, 1001, 5000))
            if chance.random() < 0.02:
                newest[module] = chance.choice((1, max(1, newest[module] - 2)))
            for packet in range(PACKETS):
                if chance.random() > 0.05:
                    waiting.append(bench.packet(newest[module], packet, module))
            newest[module] += 1
        waiting.append(bench.packet(newest[0], 1, 0, module_id=77))
        waiting.append(bench.packet(newest[0], PACKETS, 0))
        waiting.append(bench.packet(newest[0], 1, 0, version=3))
        waiting.append(frame_of(chance.randbytes(chance.randrange(1, 700)), chance.randrange(MODULES + 1)))
        waiting.append(chance.choice(list(ANSWERS_OF_RXE)))
        block = waiting[-2 * MODULES * PACKETS :]
        waiting[-len(block) :] = chance.sample(block, len(block))
        while len(waiting) > 3 * MODULES * PACKETS:
            frame, kind = waiting.pop(0), chance.random()
            if kind < 0.04:
                waiting.insert(chance.randrange(60), frame)
            if 0.04 < kind < 0.08:
                sent.append((frame[: chance.randrange(1, len(frame))], chance.random() < 0.5))
            elif 0.08 < kind < 0.10:
                sent.append((frame + bytes(chance.randrange(1, 200)), False))
            else:
                sent.append((frame, 0.10 < kind < 0.13))
    return sent


@cocotb.test()
@cocotb.parametrize(stalls=GAPS)
async def what_is_sent_of_impaired_packets_is_the_models(dut: Any, stalls: Stalls) -> None:
    bench = CoreBench(dut, stalls)
    total: Counter[DetFate] = Counter()
    for _ in range(max(1, IMPAIRED // 2000)):
        await bench.reset()
        bench.begin()
        for frame, bad in storm(bench, min(IMPAIRED, 2000)):
            bench.send(frame, bad)
        await bench.settle()
        if DetFate.FULL not in bench.fates():  # a line without a gap may bring cut packets faster than they are judged
            await bench.check()
        assert exact_masks(bench) > 2
        total += bench.fates()
    assert total[DetFate.FULL] < (0.01 * sum(total.values()) if stalls is Stalls.NONE else 1)
    assert set(total) >= set(DetFate) - {DetFate.FULL, DetFate.NUMBER, DetFate.CREDIT, DetFate.MODULE}


def exact_masks(bench: CoreBench) -> int:
    """Without the model: no packet of a frame is placed twice, and each mask has those of its frame that were whole."""
    placed: dict[tuple[int, int], Counter[int]] = {}
    ends = 0
    for write in bench.writes():
        place = (write.address - TARGET.base) % TARGET.slot_bytes
        slot = (write.address - TARGET.base) // TARGET.slot_bytes
        if place < IMAGE:
            module, packet = place // (PACKETS * BYTES), place // BYTES % PACKETS
            frame = placed.setdefault((slot, module), Counter())
            holes = len(write.payload) == BYTES and write.payload == b"\0\x80" * (BYTES // 2)
            if not write.bad and not holes:
                frame[packet] += 1
        elif place < IMAGE + 64 * MODULES:
            module = (place - IMAGE) // 64
            mask = int.from_bytes(write.payload[32:], "little")
            frame = placed.pop((slot, module))
            assert {1} == set(frame.values())
            assert mask == sum(1 << packet for packet in frame)
            assert int.from_bytes(write.payload[12:14], "little") == len(frame)
            ends += 1
        else:
            found = trailer.unpack(write.payload)
            assert found
            assert found.slot == slot
    return ends


@cocotb.test()
async def what_has_no_room_is_lost_whole_and_masks_say_so(dut: Any) -> None:
    bench = CoreBench(dut, Stalls.SINK)
    await bench.reset()
    for frame in range(1, 9):
        for packet in range(PACKETS):
            for module in range(MODULES):
                bench.send(bench.packet(frame, packet, module))
    await bench.settle()
    dut.flush_i.value = 1
    await bench.settle()
    dut.flush_i.value = 0
    fates = bench.fates()
    assert fates[DetFate.FULL] > 10
    assert fates[DetFate.PLACED] + fates[DetFate.FULL] == 8 * PACKETS * MODULES
    assert exact_masks(bench) == 8 * MODULES
    written, wanted = memory_of(bench.writes()), memory_of(bench.expected)
    pixels = {a: data for a, data in written.items() if (a - TARGET.base) % TARGET.slot_bytes < IMAGE}
    assert all(wanted[address] == data for address, data in pixels.items())


@cocotb.test()
async def the_first_message_comes_the_same_time_behind_the_header_after_any_reset(dut: Any) -> None:
    bench = CoreBench(dut)
    bench.messages.clear()
    lanes, times = bench.width // 8, set()
    for _ in range(RESETS):
        await bench.reset(cycles=2)
        bench.begin()
        for _ in range(bench.random.randrange(40)):
            await bench.step()
        bench.send(bench.packet(1, bench.random.randrange(PACKETS), bench.random.randrange(MODULES)))
        await bench.until(lambda: bool(bench.messages.taken))
        header = bench.line.accepted[(42 + 48 - 1) // lanes]
        times.add(bench.messages.taken[0] - header)
    assert times == {9}


@cocotb.test()
async def packets_back_to_back_leave_without_a_bubble(dut: Any) -> None:
    bench = CoreBench(dut)
    await bench.reset()
    for packet in range(PACKETS - 1):
        bench.send(bench.packet(1, packet))
    await bench.check()
    accepted, taken = bench.line.accepted, bench.payload.taken
    assert accepted[-1] - accepted[0] == len(accepted) - 1
    assert taken[-1] - taken[0] <= accepted[-1] - accepted[0] + 1
    beats = BYTES // (bench.width // 8)
    assert all(taken[k + beats - 1] - taken[k] == beats - 1 for k in range(0, len(taken), beats))


@cocotb.test()
async def unarmed_it_takes_nothing(dut: Any) -> None:
    bench = CoreBench(dut)
    await bench.reset()
    dut.armed_i.value = 0
    for packet in range(4):
        bench.line.send(bench.packet(1, packet), bench.width, tuser=0)
    await bench.settle()
    assert not bench.messages.items
    assert not bench.fates()


CASES = [(width, correct) for width in WIDTHS for correct in (0, 1)]


@pytest.mark.parametrize(("width", "correct"), some_of("detector_core", CASES))
def test_detector_core(width: int, correct: int) -> None:
    ahead = {"ConstantDepth": 256 if correct else 0}
    run("detector_core", flat=bool(correct), DataW=width, Correct=correct, **PARAMETERS | ahead)
