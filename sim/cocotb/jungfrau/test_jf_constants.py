"""jf_constants: the six planes leave together, packet after packet, ahead of whoever takes them."""

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


class Fetch:
    """The block between its memory and whoever takes the constants of images of `pixels` pixels."""

    def __init__(self, dut: Any, stalls: Stalls, pixels: int) -> None:
        self.bench, self.dut = Bench(dut, stalls), dut
        self.width = len(dut.m_axis_constant_tdata) // 6
        rng = np.random.default_rng(self.bench.random.getrandbits(32))
        words = rng.integers(0, 0x10000, (2, 3, 1, pixels), np.uint16)
        self.fixed = FixedCalibration(words[0], words[1], (1, 2, 3))
        self.pitch = jf_constants.needed_pitch(2 * pixels) + 4096
        packed = jf_constants.pack(self.fixed, self.pitch)
        self.memory = PlaneMemory(self.bench, "m_axi", self.width, BASE, packed, stalls.source)
        self.out = self.bench.sink("m_axis_constant")
        dut.base_i.value, dut.pitch_i.value, dut.image_bytes_i.value = BASE, self.pitch, 2 * pixels
        dut.run_i.value = 0

    @property
    def beats(self) -> list[int]:
        """What one packet holds."""
        pixels, lanes = self.fixed.pedestal.size // 3, self.width // 16
        planes = np.zeros((6, -(-pixels // lanes) * lanes), "<u2")
        planes[:, :pixels] = jf_constants.planes(self.fixed).reshape(6, -1)
        parts = planes.reshape(6, -1, lanes).transpose(1, 0, 2)
        return [int.from_bytes(part.tobytes(), "little") for part in parts]

    async def take(self, items: int) -> list[dict[str, int]]:
        """Wait for so many beats in all."""
        await self.bench.until(lambda: len(self.out.items) >= items)
        return self.out.items[:items]


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS, pixels=[1, 33, 2048, 2049, 5000])
async def planes_come_again_and_again(dut: Any, stalls: Stalls, pixels: int) -> None:
    fetch = Fetch(dut, stalls, pixels)
    await fetch.bench.reset()
    dut.run_i.value = 1
    beats = fetch.beats
    items = await fetch.take(3 * len(beats))
    assert [item["tdata"] for item in items] == beats * 3
    assert [item["tlast"] for item in items] == ([0] * (len(beats) - 1) + [1]) * 3
    assert not any(item["tuser"] for item in items)


@cocotb.test()
async def a_beat_leaves_every_clock_where_memory_keeps_up(dut: Any) -> None:
    fetch = Fetch(dut, Stalls.NONE, 8192)
    await fetch.bench.reset()
    dut.run_i.value = 1
    await fetch.take(4 * len(fetch.beats))
    taken = fetch.out.taken[: 4 * len(fetch.beats)]
    assert taken[-1] - taken[0] == len(taken) - 1


@cocotb.test()
async def what_nobody_takes_is_read_ahead_as_far_as_the_buffers_reach(dut: Any) -> None:
    fetch = Fetch(dut, Stalls.NONE, 1 << 16)
    fetch.out._stall = lambda: True
    await fetch.bench.reset()
    dut.run_i.value = 1
    for _ in range(1500):
        await fetch.bench.step()
    for port in fetch.memory.ports:
        asked = sum(beats for _, beats in port.bursts)
        assert 512 - 256 < asked <= 512
        assert not port.beats, "a beat had no room"


@cocotb.test()
async def an_error_of_the_memory_marks_its_beat_alone(dut: Any) -> None:
    fetch = Fetch(dut, Stalls.BOTH, 3000)
    lanes = fetch.width // 8
    bad = {0: 0, 7: 3, 20: 5}
    fetch.memory.broken = {BASE + plane * fetch.pitch + beat * lanes for beat, plane in bad.items()}
    await fetch.bench.reset()
    dut.run_i.value = 1
    n = len(fetch.beats)
    items = await fetch.take(2 * n)
    assert [k % n for k, item in enumerate(items) if item["tuser"]] == sorted(bad) * 2


@cocotb.test()
@cocotb.parametrize(stalls=[Stalls.NONE, Stalls.BOTH])
async def a_stop_at_any_time_is_followed_by_a_fresh_start_with_other_constants(dut: Any, stalls: Stalls) -> None:
    fetch = Fetch(dut, stalls, 700)
    await fetch.bench.reset()
    for round_ in range(25):
        pixels = fetch.bench.random.choice((40, 700, 2500))
        fresh = np.random.default_rng(round_).integers(0, 0x10000, (2, 3, 1, pixels), np.uint16)
        fetch.fixed = FixedCalibration(fresh[0], fresh[1], (1, 2, 3))
        fetch.pitch = jf_constants.needed_pitch(2 * pixels)
        fetch.memory.data = bytearray(jf_constants.pack(fetch.fixed, fetch.pitch))
        dut.pitch_i.value, dut.image_bytes_i.value = fetch.pitch, 2 * pixels
        fetch.out.clear()
        dut.run_i.value = 1
        await fetch.take(20)
        for _ in range(fetch.bench.random.randrange(400)):
            await fetch.bench.step()
        beats = fetch.beats
        got = [item["tdata"] for item in fetch.out.items]
        assert got == [beats[k % len(beats)] for k in range(len(got))]
        dut.run_i.value = 0
        while True:
            await fetch.bench.step()
            fetch.out.clear()  # what was offered is withdrawn
            if now(dut.idle_o):
                break
        assert not any(port.beats for port in fetch.memory.ports), "idle, but a read is outstanding"


@pytest.mark.parametrize("width", some_widths("jf_constants"))
def test_jf_constants(width: int) -> None:
    run("jf_constants", flat=True, DataW=width)
