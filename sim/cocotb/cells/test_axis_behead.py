"""axis_behead: what is behind the first bytes of a packet comes out from lane 0 on, one beat a clock."""

from typing import Any

import cocotb
import pytest

from bench import Bench, Sink, Source, Stalls, assert_same_packets, run
from framelane.models.cells import axis
from receive_bench import line
from widths import some_widths

BYTES, MORE = 42, 4
GAPS = [Stalls.NONE, Stalls.SOURCE]


def cut(packet: bytes, more: bool) -> bytes:
    return packet[BYTES + MORE * more :]


def send(bench: Bench, source: Source, packet: bytes, more: bool, bad: bool) -> None:
    """`more` counts from the last beat on that has bytes to be taken off: before it is anything."""
    width = len(bench.dut.s_axis_tdata)
    beats = axis.n_beats(len(packet), width)
    source.send(packet, width)
    for index, item in enumerate(list(source.items)[-beats:]):
        item["tuser"] = int(bad) if index == beats - 1 else bench.random.getrandbits(1)
        told = index >= (BYTES - 1) // (width // 8)
        item["more"] = int(more) if told else bench.random.getrandbits(1)


class Behead(Bench):
    def __init__(self, dut: Any, stalls: Stalls = Stalls.NONE) -> None:
        super().__init__(dut, stalls)
        self.beats, self.out = line(self, stalls), Sink(dut, "m_axis", lambda: False)
        self.beats._signals["more"] = dut.more_i
        self._sinks.append(self.out)
        dut.more_i.value = 0

    async def check(self, sent: list[tuple[bytes, bool, bool]]) -> None:
        for packet in sent:
            send(self, self.beats, *packet)
        await self.until(lambda: not self.beats.items, 1_000_000)
        for _ in range(4):
            await self.step()
        left = [(cut(packet, more), bad) for packet, more, bad in sent if cut(packet, more)]
        assert_same_packets(self.out.packets(len(self.dut.s_axis_tdata)), [packet for packet, _ in left])
        assert [bool(item["tuser"]) for item in self.out.items if item["tlast"]] == [bad for _, bad in left]


@cocotb.test()
@cocotb.parametrize(stalls=GAPS)
async def packets_of_every_length_lose_their_first_bytes_and_nothing_else(dut: Any, stalls: Stalls) -> None:
    bench = Behead(dut, stalls)
    await bench.reset()
    lengths = [*range(1, 200), 700, 1518] * 2
    bench.random.shuffle(lengths)
    chance = bench.random
    await bench.check([(chance.randbytes(n), chance.random() < 0.5, chance.random() < 0.3) for n in lengths])


@cocotb.test()
async def the_first_beat_comes_two_cycles_behind_what_fills_it_and_there_is_no_bubble(dut: Any) -> None:
    bench = Behead(dut)
    await bench.reset()
    lanes = len(dut.s_axis_tdata) // 8
    beats = 20 + BYTES // lanes
    await bench.check([(bytes(beats * lanes), False, False)] * 5)
    assert bench.beats.accepted[-1] - bench.beats.accepted[0] == len(bench.beats.accepted) - 1
    first = (BYTES - 1) // lanes + 1
    per = beats - first
    assert per * 5 <= len(bench.out.taken) <= (per + 1) * 5
    assert bench.out.taken[0] == bench.beats.accepted[first] + 2


@cocotb.test()
async def a_reset_leaves_nothing_of_the_packet_under_way(dut: Any) -> None:
    bench = Behead(dut)
    for cycles in range(1, 14):
        await bench.reset(cycles=1)
        send(bench, bench.beats, bytes(300), True, True)
        for _ in range(cycles):
            await bench.step()
        await bench.reset(cycles=1)
        await bench.check([(bench.random.randbytes(90), False, False)])


@pytest.mark.parametrize("width", some_widths("axis_behead"))
def test_axis_behead(width: int) -> None:
    run("axis_behead", DataW=width, Bytes=BYTES, More=MORE)
