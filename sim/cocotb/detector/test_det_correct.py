"""det_correct: each packet gets the constants of its own pixels, in any order and however slow the memory is."""

from typing import Any

import cocotb
import pytest

from bench import ALL_STALLS, Bench, Stalls, run
from core_bench import BYTES, MODULES, PACKETS, PARAMETERS, SMALL
from correct_bench import any_correction, break_beat, constants_of, settings
from det_packets import head_bits
from framelane.models.cells import axis
from framelane.models.detector.det_header import DetHeader, Head
from signals import now
from widths import some_widths

MOST = 16
"""Packets under way, at most: det_place and det_send have room for about as many."""


class Block:
    """The block between the queue, the memory and det_send."""

    def __init__(self, dut: Any, stalls: Stalls, high_gain: bool = False) -> None:
        self.bench, self.dut, self.width = Bench(dut, stalls), dut, len(dut.s_axis_pixel_tdata)
        self.header = DetHeader(SMALL, MODULES)
        self.correct = any_correction(self.bench, self.header, high_gain)
        self.memory = constants_of(self.bench, self.correct, self.width, stalls.source)
        self.pixel, self.out = self.bench.source("s_axis_pixel"), self.bench.sink("m_axis_pixel")
        dut.correction_i.value, dut.head_valid_i.value = settings(self.correct), 0
        self.expected: list[tuple[bytes, int]] = []
        self.errors = 0
        self.bench.watch(self._count)

    def _count(self) -> None:
        self.errors += now(self.dut.constant_error_o)

    def set(self, enabled: int) -> None:
        self.dut.correction_i.value = settings(self.correct, enabled)

    async def start(self) -> None:
        await self.bench.reset()
        for _ in range(6):
            await self.bench.step()

    async def packet(self, packet: int, module: int, cut: int = 0, raw: bool = False) -> None:
        """A packet's head, then its pixels: `cut` of its bytes are missing; `raw`: it has to pass as it is."""
        while not now(self.dut.room_o) or len(self.out_lasts()) + MOST <= len(self.expected):
            await self.bench.step()
        head = Head(0, 0, 0, 1, packet, 0, module)
        self.dut.head_i.value, self.dut.head_valid_i.value = head_bits(head), 1
        await self.bench.step()
        self.dut.head_valid_i.value = 0
        words = self.header.pixels(bytes(48) + self.bench.random.randbytes(BYTES - cut))[0]
        self.pixel.send(words, self.width, tuser=0)
        self.pixel.items[-1]["tuser"] = int(cut > 0)
        self.expected.append((words if raw else self.correct.pixels(head, words), int(cut > 0)))

    def out_lasts(self) -> list[int]:
        return [item["tuser"] for item in self.out.items if item["tlast"]]

    async def finish(self) -> None:
        """Run until all is through, and compare."""
        beats = sum(axis.n_beats(len(data), self.width) for data, _ in self.expected)
        await self.bench.until(lambda: len(self.out.items) >= beats)
        await self.bench.until(lambda: bool(now(self.dut.idle_o)))
        await self.bench.drain(self.out, beats)
        assert self.out.packets(self.width) == [data for data, _ in self.expected]
        assert self.out_lasts() == [bad for _, bad in self.expected]


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS, high_gain=[False, True], latency=[0, 200])
async def each_packet_gets_its_own_constants(dut: Any, stalls: Stalls, high_gain: bool, latency: int) -> None:
    block = Block(dut, stalls, high_gain)
    chance = block.bench.random
    block.memory.latency = lambda: chance.randrange(latency + 1)
    await block.start()
    for _ in range(40):
        cut = chance.randrange(2, BYTES, 2) if chance.random() < 0.2 else 0
        await block.packet(chance.randrange(PACKETS), chance.randrange(MODULES), cut)
    await block.finish()
    assert block.errors == 0


@cocotb.test()
async def a_beat_leaves_every_cycle_though_memory_takes_its_time(dut: Any) -> None:
    block = Block(dut, Stalls.NONE)
    block.memory.latency = lambda: BYTES * 8 // block.width  # a packet's length
    await block.start()
    for packet in range(PACKETS):
        await block.packet(PACKETS - 1 - packet, packet % MODULES)
    await block.finish()
    taken = block.out.taken
    assert taken[-1] - taken[0] == len(taken) - 1


@cocotb.test()
async def constants_are_asked_for_before_the_pixels_come(dut: Any) -> None:
    block = Block(dut, Stalls.NONE)
    await block.start()
    dut.head_i.value, dut.head_valid_i.value = head_bits(Head(0, 0, 0, 1, 5, 0, 1)), 1
    await block.bench.step()
    dut.head_valid_i.value = 0
    for _ in range(6):
        await block.bench.step()
    assert all(port.bursts[0][0] == block.correct.base + k * block.correct.pitch + (PACKETS + 5) * BYTES
               for k, port in enumerate(block.memory.ports))  # fmt: skip


@cocotb.test()
async def pixels_whose_constants_came_with_an_error_are_masked_and_their_packet_counts(dut: Any) -> None:
    block = Block(dut, Stalls.BOTH)
    await block.start()
    block.correct = break_beat(block.memory, block.correct, 2 * PACKETS + 3, BYTES * 8 // block.width - 1, block.width)
    block.correct = break_beat(block.memory, block.correct, 2 * PACKETS + 3, 0, block.width)
    for packet in (2, 3, 4, 3, 3):
        await block.packet(packet, 2)
    await block.packet(3, 2, cut=BYTES // 2)
    await block.packet(4, 2)
    await block.finish()
    assert block.errors == 4


@cocotb.test()
@cocotb.parametrize(stalls=[Stalls.NONE, Stalls.BOTH])
async def switched_off_packets_pass_as_they_are_and_nothing_is_read(dut: Any, stalls: Stalls) -> None:
    block = Block(dut, stalls)
    block.set(enabled=0)
    await block.start()
    for packet in range(12):
        await block.packet(packet, packet % MODULES, cut=2 * (packet == 5), raw=True)
    await block.finish()
    assert not any(port.bursts for port in block.memory.ports)


@cocotb.test()
async def it_is_switched_only_between_packets(dut: Any) -> None:
    block = Block(dut, Stalls.BOTH)
    await block.start()
    for round_ in range(12):
        raw = bool(round_ % 2)
        block.set(enabled=not raw)
        for _ in range(3):
            await block.bench.step()
        for packet in range(3):
            await block.packet(packet, round_ % MODULES, raw=raw)
            block.set(enabled=block.bench.random.getrandbits(1))
        await block.finish()


@pytest.mark.parametrize("width", some_widths("det_correct"))
def test_det_correct(width: int) -> None:
    run("det_correct", flat=True, DataW=width, Depth=4096 // width * 4, **PARAMETERS)
