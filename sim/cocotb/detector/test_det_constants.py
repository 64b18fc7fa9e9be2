"""det_constants: the planes of a packet's pixels leave together, packet after packet, however memory takes its time."""

from typing import Any

import cocotb
import numpy as np
import pytest

from bench import ALL_STALLS, Bench, Stalls, run
from framelane.models.jungfrau import jf_constants
from framelane.models.jungfrau.jf_fixed import FixedCalibration
from plane_memory import PlaneMemory
from signals import now
from widths import some_widths

BASE = (7 << 32) - 3 * 4096
"""The planes cross a boundary of 4 GiB."""
BYTES, INDEX_W = 1024, 5
PACKETS = 1 << INDEX_W


class Fetch:
    """The block between its memory, whoever names packets and whoever takes their constants."""

    def __init__(self, dut: Any, stalls: Stalls) -> None:
        self.bench, self.dut = Bench(dut, stalls), dut
        self.width = len(dut.m_axis_constant_tdata) // 6
        rng = np.random.default_rng(self.bench.random.getrandbits(32))
        words = rng.integers(0, 0x10000, (2, 3, PACKETS, BYTES // 2), np.uint16)
        self.fixed = FixedCalibration(words[0], words[1], (1, 2, 3))
        self.pitch = jf_constants.needed_pitch(PACKETS * BYTES) + 4096
        packed = jf_constants.pack(self.fixed, self.pitch)
        self.memory = PlaneMemory(self.bench, "m_axi", self.width, BASE, packed, stalls.source)
        self.index, self.out = self.bench.source("s_axis_index"), self.bench.sink("m_axis_constant")
        dut.base_i.value, dut.pitch_i.value = BASE, self.pitch
        self.expected: list[tuple[int, int]] = []

    async def start(self) -> None:
        """Reset, and wait until the planes' addresses are known."""
        await self.bench.reset()
        for _ in range(6):
            await self.bench.step()

    def packet(self, index: int) -> None:
        """Ask for the constants of a packet."""
        self.index.items.append({"tdata": index})
        planes = jf_constants.planes(self.fixed)[:, index].astype("<u2")
        parts = planes.reshape(6, -1, self.width // 16).transpose(1, 0, 2)
        data = [int.from_bytes(part.tobytes(), "little") for part in parts]
        self.expected += [(beat, int(k == len(data) - 1)) for k, beat in enumerate(data)]

    async def finish(self) -> None:
        """See the constants of all packets, in their order."""
        await self.bench.drain(self.out, len(self.expected), quiet=50)
        assert [(item["tdata"], item["tlast"]) for item in self.out.items] == self.expected
        assert now(self.dut.idle_o)


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS, latency=[0, 300])
async def constants_come_in_the_order_of_the_packets(dut: Any, stalls: Stalls, latency: int) -> None:
    fetch = Fetch(dut, stalls)
    fetch.memory.latency = lambda: fetch.bench.random.randrange(latency + 1)
    await fetch.start()
    for index in (0, PACKETS - 1, *(fetch.bench.random.randrange(PACKETS) for _ in range(20))):
        fetch.packet(index)
    await fetch.finish()
    assert not any(item["tuser"] for item in fetch.out.items)


@cocotb.test()
async def a_beat_leaves_every_clock_though_memory_takes_its_time(dut: Any) -> None:
    fetch = Fetch(dut, Stalls.NONE)
    fetch.memory.latency = lambda: int(dut.Depth.value) // 4
    await fetch.start()
    for index in range(PACKETS):
        fetch.packet(PACKETS - 1 - index)
    await fetch.finish()
    assert fetch.out.taken[-1] - fetch.out.taken[0] == len(fetch.expected) - 1


@cocotb.test()
async def an_error_of_one_plane_marks_its_beat_alone(dut: Any) -> None:
    fetch = Fetch(dut, Stalls.BOTH)
    lanes = fetch.width // 8
    fetch.memory.broken = {BASE + 4 * fetch.pitch + 7 * BYTES + 2 * lanes}
    await fetch.start()
    for index in (6, 7, 8, 7):
        fetch.packet(index)
    await fetch.finish()
    beats = BYTES // lanes
    assert [k for k, item in enumerate(fetch.out.items) if item["tuser"]] == [beats + 2, 3 * beats + 2]


@cocotb.test()
async def it_is_idle_only_when_nothing_is_under_way(dut: Any) -> None:
    fetch = Fetch(dut, Stalls.BOTH)
    fetch.memory.latency = lambda: fetch.bench.random.randrange(100)
    await fetch.start()
    for _ in range(10):
        assert now(dut.idle_o)
        fetch.packet(fetch.bench.random.randrange(PACKETS))
        await fetch.bench.until(lambda: not fetch.index.items)
        await fetch.bench.step()
        while len(fetch.out.items) < len(fetch.expected):
            assert not now(dut.idle_o)
            await fetch.bench.step()
        for _ in range(3):
            await fetch.bench.step()
        assert not any(port.beats for port in fetch.memory.ports), "idle, but a read is outstanding"
    await fetch.finish()


@pytest.mark.parametrize("width", some_widths("det_constants"))
def test_det_constants(width: int) -> None:
    run("det_constants", flat=True, DataW=width, PacketBytes=BYTES, IndexW=INDEX_W, Depth=4096 // width * 8)
