"""s2mm: packets come to lie in memory as they are, written over AXI4 into an independent slave model."""

from typing import Any

import cocotb
import pytest
from cocotbext.axi import AxiResp

from bench import ALL_STALLS, Bench, Stalls, run
from framelane.models.cells import axis
from framelane.models.memory import s2mm
from signals import now
from widths import some_of
from write_memory import WriteMemory

SIZE = 1 << 17
BASE = (5 << 32) - SIZE // 2
"""The memory crosses a boundary of 4 GiB."""
FAILED = 1 << 64
"""The mark in tuser, above the address."""


class S2mmBench(Bench):
    """The writer between a source of packets and cocotbext-axi's memory."""

    def __init__(self, dut: Any, stalls: Stalls = Stalls.NONE) -> None:
        super().__init__(dut, stalls)
        self.width, self.longest = len(dut.s_axis_tdata), int(dut.MaxBurst.value)
        self.packets = self.source("s_axis")
        self.memory = WriteMemory(self, BASE, self.random.randbytes(SIZE), stalls.sink)
        self.expected = bytearray(self.memory.data)
        self.expected_bursts: list[tuple[int, int]] = []
        self.failed: list[bool] = []
        """Whether each finished packet failed."""
        self.watch(self._note_end)

    def _note_end(self) -> None:
        if now(self.dut.done_o):
            self.failed.append(bool(now(self.dut.failed_o)))

    def write(self, offset: int, length: int, failed: bool = False) -> None:
        """Queue a packet. Its address is there with the first beat only, and the mark with the last one."""
        packet = self.random.randbytes(length)
        first = len(self.packets.items)
        self.packets.send(packet, self.width)
        beats = list(self.packets.items)[first:]
        for beat in beats:
            beat["tuser"] = self.random.getrandbits(65)
        beats[0]["tuser"] = beats[0]["tuser"] & FAILED | BASE + offset
        beats[-1]["tuser"] = beats[-1]["tuser"] & FAILED - 1 | failed * FAILED
        self.expected[offset : offset + length] = packet
        bursts = s2mm.bursts(BASE + offset, packet, self.width, self.longest)
        self.expected_bursts += [(b.address, len(b.beats)) for b in bursts]

    async def through(self, packets: int) -> None:
        """Run until so many packets are through; no more may come."""
        await self.until(lambda: len(self.failed) >= packets, limit=30_000)
        for _ in range(20):
            await self.step()
        assert len(self.failed) == packets

    def check(self) -> None:
        assert self.memory.bursts == self.expected_bursts
        assert self.memory.data == self.expected

    def check_bursts_are_whole(self) -> None:
        """A beat every cycle, from a burst's first to its last."""
        cycles = iter(self.memory.beats)
        for _, beats in self.memory.bursts:
            taken = [next(cycles) for _ in range(beats)]
            assert taken[-1] - taken[0] + 1 == beats


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def packets_of_any_length_lie_in_memory_and_nothing_beside_them(dut: Any, stalls: Stalls) -> None:
    bench = S2mmBench(dut, stalls)
    await bench.reset()
    lanes = bench.width // 8
    lengths = [1, lanes - 1, lanes, lanes + 1, 4095, 4096, 4097, 9001, 1, 1, 64, 10_000]
    lengths += [bench.random.randrange(1, 6 * lanes) for _ in range(60)]
    for length in lengths:
        bench.write(bench.random.randrange(0, SIZE - length, lanes), length)
    await bench.through(len(lengths))
    bench.check()
    assert not any(bench.failed)


@cocotb.test()
async def no_burst_crosses_4_kib(dut: Any) -> None:
    bench = S2mmBench(dut)
    await bench.reset()
    lanes = bench.width // 8
    starts = (4096 - lanes, 2048 - lanes, 0, 4096, 3 * lanes, SIZE // 2 - 4096)
    for start in starts:
        bench.write(start, 8192 + 3)
    await bench.through(len(starts))
    bench.check()
    assert all(address // 4096 == (address + beats * lanes - 1) // 4096 for address, beats in bench.memory.bursts)


@cocotb.test()
@cocotb.parametrize(length=[1, 1000, 4096, 20_000])
async def a_beat_is_taken_and_written_every_cycle(dut: Any, length: int) -> None:
    bench = S2mmBench(dut)
    await bench.reset()
    beats = axis.n_beats(length, bench.width)
    packets = -(-2000 // beats)
    for n in range(packets):
        bench.write(n % 2 * (SIZE // 2), length)
    await bench.through(packets)
    for cycles in (bench.packets.accepted, bench.memory.beats):
        assert cycles[-1] - cycles[0] + 1 == len(cycles) == packets * beats
    bench.check()


@cocotb.test()
async def a_burst_that_has_begun_never_waits_for_the_stream(dut: Any) -> None:
    bench = S2mmBench(dut, Stalls.SOURCE)
    await bench.reset()
    for n in range(5):
        bench.write(n * 16384, 12_000 + n)
    await bench.through(5)
    bench.check_bursts_are_whole()
    bench.check()


@cocotb.test()
async def bursts_are_asked_for_while_the_memory_has_not_answered(dut: Any) -> None:
    bench = S2mmBench(dut)
    await bench.reset()
    bench.memory.slave.b_channel.pause = True
    outstanding, lanes = int(dut.Outstanding.value), bench.width // 8
    assert outstanding >= 16
    for n in range(outstanding + 3):
        bench.write(n * lanes, lanes)
    for _ in range(200):
        await bench.step()
    assert len(bench.memory.bursts) == outstanding
    assert not bench.failed
    bench.memory.slave.b_channel.pause = False
    await bench.through(outstanding + 3)
    bench.check()


@cocotb.test()
@cocotb.parametrize(channel=["aw", "w"])
async def a_memory_that_takes_nothing_for_long_loses_nothing(dut: Any, channel: str) -> None:
    bench = S2mmBench(dut)
    await bench.reset()
    stopped = getattr(bench.memory.slave, f"{channel}_channel")
    stopped.pause = True
    depth = int(dut.Depth.value)
    length = (depth + 100) * bench.width // 8
    bench.write(0, length)
    bench.write(SIZE // 2, length)
    for _ in range(2 * depth):
        await bench.step()
    taken = len(bench.packets.accepted)
    asked = int(dut.Outstanding.value) * int(dut.MaxBurst.value)  # beats of waiting bursts
    assert taken == depth + 1 if channel == "w" else taken == asked or depth < taken < asked
    stopped.pause = False
    await bench.through(2)
    bench.check()
    assert not any(bench.failed)


@cocotb.test()
@cocotb.parametrize(answer=[AxiResp.SLVERR, AxiResp.DECERR])
async def a_packet_fails_where_any_of_its_bursts_is_refused_and_no_other_one(dut: Any, answer: AxiResp) -> None:
    bench = S2mmBench(dut)
    await bench.reset()
    bench.memory.refusal = answer
    bad = range(BASE + 20_480, BASE + 20_480 + 64)
    bench.memory.refuses = lambda address: address in bad
    for start, length in ((0, 100), (16_384, 12_000), (40_960, 12_000), (20_480, 64), (40_960, 1)):
        bench.write(start, length)
    await bench.through(5)
    assert bench.failed == [False, True, False, True, False]


@cocotb.test()
async def a_packet_with_the_mark_fails_and_no_other_one(dut: Any) -> None:
    bench = S2mmBench(dut)
    await bench.reset()
    marks = [bench.random.random() < 0.5 for _ in range(60)]
    for n, failed in enumerate(marks):
        bench.write(n % 20 * 4096, bench.random.choice((1, 200, 4000, 6000)), failed)
    await bench.through(len(marks))
    bench.check()
    assert bench.failed == marks


@cocotb.test()
async def a_reset_leaves_nothing_of_the_packet_under_way(dut: Any) -> None:
    """Not the bursts that were whole, and not the refusal of the first one."""
    bench = S2mmBench(dut, Stalls.SOURCE)
    bench.memory.refuses = lambda address: address < BASE + 4096
    for cycles in (1, 3, 20, 70, 300, 900):
        await bench.reset()
        bench.write(0, 600 * bench.width // 8)
        bench.write(65_536, 100, failed=True)
        for _ in range(cycles):
            await bench.step()
        await bench.reset()
        bench.expected[:] = bench.memory.data
        for record in (bench.memory.bursts, bench.memory.beats, bench.expected_bursts, bench.failed):
            record.clear()
        bench.write(65_536, 9001)
        await bench.through(1)
        bench.check()
        bench.check_bursts_are_whole()
        assert bench.failed == [False]


@pytest.mark.parametrize(("width", "burst"), some_of("s2mm", [(64, 256), (512, 256), (512, 16)]))
def test_s2mm(width: int, burst: int) -> None:
    run("s2mm", flat=True, DataW=width, MaxBurst=burst)
