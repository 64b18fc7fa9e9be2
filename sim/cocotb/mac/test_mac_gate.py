"""mac_gate: packets leave when they are whole, or with a threshold earlier; one that runs dry is spoiled."""

from collections.abc import Callable
from typing import Any

import cocotb
import pytest

from bench import ALL_STALLS, Bench, Sink, Source, Stalls, run
from framelane.models.cells import axis
from gap_rule import GapRule
from signals import now


class GateBench(Bench):
    """The gate behind a queue that this bench plays: its level and whether the end of its first packet is inside."""

    def __init__(self, dut: Any, stalls: Stalls = Stalls.NONE) -> None:
        super().__init__(dut, stalls)
        self.width, self.depth = len(dut.s_axis_tdata), int(dut.Depth.value)
        self.queue: Source = self.source("s_axis", stalls=False)
        self.out: Sink = self.sink("m_axis")
        self.gap = GapRule(self)
        self.pulses = {"underrun": 0, "too_long": 0}
        self.arriving: list[dict[str, int]] = []
        """Beats that come to the queue, one a cycle, while `arrives` says so."""
        self.arrives: Callable[[], bool] = lambda: True
        dut.threshold_i.value, dut.restart_i.value = 0, 0
        self.answer(self._play)
        self.watch(self._count)

    def _play(self) -> None:
        if self.arriving and len(self.queue.items) < self.depth and self.arrives():
            self.queue.items.append(self.arriving.pop(0))
        self.dut.whole_i.value = int(any(item["tlast"] for item in self.queue.items))
        self.dut.level_i.value = len(self.queue.items)

    def _count(self) -> None:
        for name in self.pulses:
            self.pulses[name] += now(getattr(self.dut, f"{name}_o"))

    def packet(self, beats: int) -> bytes:
        """Let a packet of so many beats arrive."""
        packet = self.random.randbytes(beats * self.width // 8 - self.random.randrange(self.width // 8))
        self.arriving += [
            {"tdata": beat.data, "tkeep": beat.keep, "tlast": int(beat.last), "tuser": 0}
            for beat in axis.beats(packet, self.width)
        ]
        return packet

    async def finish(self, limit: int = 20_000) -> None:
        await self.until(lambda: not self.arriving and not self.queue.items, limit)
        for _ in range(20):
            await self.step()

    def ends(self) -> list[int]:
        return [item["tuser"] for item in self.out.items if item["tlast"]]


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def whole_packets_pass_without_a_gap_however_slowly_they_come(dut: Any, stalls: Stalls) -> None:
    bench = GateBench(dut, stalls)
    bench.arrives = lambda: not stalls.source or bench.random.random() < 0.2
    await bench.reset()
    packets = [bench.packet(bench.random.randint(1, bench.depth)) for _ in range(40)]
    await bench.finish()
    assert bench.out.packets(bench.width) == packets
    assert not any(bench.ends())
    assert bench.pulses == {"underrun": 0, "too_long": 0}


@cocotb.test()
async def packets_follow_each_other_without_a_bubble(dut: Any) -> None:
    bench = GateBench(dut)
    await bench.reset()
    for beats in (1, 1, 2, 3, 1):
        bench.packet(beats)
    bench.queue._stall = lambda: len(bench.arriving) > 0
    await bench.finish()
    assert bench.out.taken[-1] - bench.out.taken[0] == len(bench.out.taken) - 1


@cocotb.test()
async def with_a_threshold_a_packet_starts_early_and_ends_right_if_its_source_keeps_up(dut: Any) -> None:
    bench = GateBench(dut)
    dut.threshold_i.value = 3
    await bench.reset()
    packets = [bench.packet(3 * bench.depth) for _ in range(3)]
    await bench.finish()
    assert bench.out.packets(bench.width) == packets
    assert bench.pulses == {"underrun": 0, "too_long": 0}


@cocotb.test()
@cocotb.parametrize(stalls=[Stalls.NONE, Stalls.SINK])
async def one_whose_source_does_not_keep_up_ends_at_once_marked_as_wrong(dut: Any, stalls: Stalls) -> None:
    bench = GateBench(dut, stalls)
    dut.threshold_i.value = 2
    bench.arrives = lambda: bench.cycle % 9 == 0
    await bench.reset()
    packets = [bench.packet(6) for _ in range(5)]
    await bench.finish()
    got = bench.out.packets(bench.width)
    assert bench.ends() == [1] * 5
    assert bench.pulses == {"underrun": 5, "too_long": 0}
    for cut, packet in zip(got, packets, strict=True):
        assert len(cut) < len(packet)
        assert packet.startswith(cut[:-1])


@cocotb.test()
async def one_that_never_fits_is_left_out_and_the_others_pass(dut: Any) -> None:
    bench = GateBench(dut)
    await bench.reset()
    packets = [bench.packet(beats) for beats in (2, bench.depth, 3 * bench.depth, 1, bench.depth + 1, 2)]
    await bench.finish()
    assert bench.out.packets(bench.width) == [packets[k] for k in (0, 1, 3, 5)]
    assert bench.pulses == {"underrun": 0, "too_long": 2}


@cocotb.test()
async def a_restart_forgets_that_a_packet_is_left_out(dut: Any) -> None:
    bench = GateBench(dut)
    await bench.reset()
    bench.packet(3 * bench.depth)
    await bench.until(lambda: bench.pulses["too_long"] == 1)
    bench.queue.clear()
    bench.arriving.clear()
    dut.restart_i.value = 1
    await bench.step()
    dut.restart_i.value = 0
    packet = bench.packet(2)
    await bench.finish()
    assert bench.out.packets(bench.width) == [packet]


@pytest.mark.parametrize("width", [64])
def test_mac_gate(width: int) -> None:
    run("mac_gate", DataW=width, Depth=8)
