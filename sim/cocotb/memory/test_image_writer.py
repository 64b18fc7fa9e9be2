"""image_writer: the raw image and the corrected one are both in memory before a frame is done, each in its place."""

from typing import Any

import cocotb
import numpy as np
import pytest
from numpy.typing import NDArray

from bench import ALL_STALLS, Bench, Stalls, run
from framelane.driver.simulated.ports import correction_t
from framelane.models.jungfrau import jf_constants
from framelane.models.jungfrau.jf_fixed import FixedCalibration
from framelane.models.memory.image_writer import Correction
from plane_memory import PlaneMemory
from signals import now
from widths import some_widths
from write_memory import WriteMemory

SLOT = 16_384
OFFSET = 8192
BASE = (5 << 32) - 3 * SLOT
"""The slots cross a boundary of 4 GiB."""
CONSTANTS = 1 << 33


class Writer:
    """The block between pixels, two memories for images, and one for constants."""

    def __init__(self, dut: Any, stalls: Stalls = Stalls.NONE, slots: int = 16) -> None:
        self.bench, self.dut = Bench(dut, stalls), dut
        self.width = len(dut.s_axis_tdata)
        self.n = 5 * self.width + 440  # pixels of an image, no whole number of beats
        self.pixels = self.bench.source("s_axis")
        empty = bytes(slots * SLOT)
        self.raw = WriteMemory(self.bench, BASE, empty, stalls.sink)
        self.corrected = WriteMemory(self.bench, BASE, empty, stalls.sink, "m_axi_corrected")
        rng = np.random.default_rng(self.bench.random.getrandbits(32))
        words = rng.integers(0, 0x10000, (2, 3, 1, self.n), np.uint16)
        fixed = FixedCalibration(words[0], words[1], (17, 25, 14))
        self.correction = Correction(fixed, OFFSET, CONSTANTS, 8192)
        packed = jf_constants.pack(fixed, 8192)
        self.planes = PlaneMemory(self.bench, "m_axi_constant", self.width, CONSTANTS, packed, stalls.source)
        self.expected_raw, self.expected_corrected = bytearray(empty), bytearray(empty)
        self.frames = 0
        self.done: list[bool] = []
        self.constant_errors = 0
        dut.abort_i.value, dut.run_i.value = 0, 0
        self.enable(True)
        self.bench.watch(self._watch)

    def enable(self, on: bool) -> None:
        self.on = on
        self.dut.correction_i.value = correction_t(self.correction) if on else 0

    def _watch(self) -> None:
        self.constant_errors += now(self.dut.constant_error_o)
        if not now(self.dut.done_o):
            return
        frame = len(self.done)
        self.done.append(bool(now(self.dut.failed_o)))
        if not self.done[-1]:
            place = slice(frame * SLOT, (frame + 1) * SLOT)
            assert self.raw.data[place] == self.expected_raw[place], f"frame {frame} is done, its raw image is not"
            assert self.corrected.data[place] == self.expected_corrected[place], f"corrected image {frame} is not there"

    def frame(self, words: NDArray[np.uint16] | None = None, spoiled: bool = False) -> None:
        """Queue a frame for the next slot."""
        if words is None:
            words = np.frombuffer(self.bench.random.randbytes(2 * self.n), "<u2")
        pixels, place = words.astype("<u2").tobytes(), self.frames * SLOT
        first = len(self.pixels.items)
        self.pixels.send(pixels, self.width)
        beats = list(self.pixels.items)[first:]
        for beat in beats:
            beat["tuser"] = self.bench.random.getrandbits(64)
        beats[0]["tuser"] = BASE + place
        beats[-1]["tuser"] = beats[-1]["tuser"] % (1 << 64) | int(spoiled) << 64
        if self.on:
            pixels, corrected = self.correction.images(pixels)
            self.expected_corrected[place + OFFSET : place + OFFSET + len(pixels)] = corrected
        self.expected_raw[place : place + len(pixels)] = pixels
        self.frames += 1

    async def start(self) -> None:
        await self.bench.reset()
        self.dut.run_i.value = 1

    async def finish(self) -> None:
        """Run until all frames are done; nothing was written but them."""
        await self.bench.until(lambda: len(self.done) == self.frames)
        assert self.raw.data == self.expected_raw
        assert self.corrected.data == self.expected_corrected


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def both_images_are_in_memory_when_a_frame_is_done(dut: Any, stalls: Stalls) -> None:
    writer = Writer(dut, stalls)
    await writer.start()
    for _ in range(12):
        writer.frame()
    await writer.finish()
    assert writer.done == [False] * 12
    assert writer.constant_errors == 0


@cocotb.test()
async def pixels_pass_at_a_beat_a_clock_once_the_constants_are_there(dut: Any) -> None:
    writer = Writer(dut)
    await writer.start()
    for _ in range(400):
        await writer.bench.step()
    for _ in range(10):
        writer.frame()
    await writer.finish()
    accepted = writer.pixels.accepted
    assert accepted[-1] - accepted[0] == len(accepted) - 1


@cocotb.test()
@cocotb.parametrize(stalls=[Stalls.NONE, Stalls.BOTH])
async def short_frames_spoil_no_other(dut: Any, stalls: Stalls) -> None:
    writer = Writer(dut, stalls)
    await writer.start()
    n = writer.n
    lengths = [n, 40, n // 3, 1, n, n - 1, 32, n]
    for pixels in lengths:
        writer.frame(np.frombuffer(writer.bench.random.randbytes(2 * pixels), "<u2"))
    await writer.finish()


@cocotb.test()
async def without_the_correction_nothing_is_read_nor_written_for_it(dut: Any) -> None:
    writer = Writer(dut)
    writer.enable(False)
    await writer.start()
    for _ in range(5):
        writer.frame()
    await writer.finish()
    assert not writer.corrected.bursts
    assert not any(port.bursts for port in writer.planes.ports)


@cocotb.test()
async def words_that_would_pass_for_holes_are_errors_in_both_images(dut: Any) -> None:
    writer = Writer(dut)
    await writer.start()
    words = np.full(writer.n, 0x8000, np.uint16)
    words[7:] = 0xBFFF
    writer.frame(words)
    await writer.finish()
    size = 2 * writer.n
    assert set(writer.raw.data[:size]) == {0xFF}
    assert set(np.frombuffer(writer.corrected.data[OFFSET : OFFSET + size], "<i2").tolist()) == {-32766}


@cocotb.test()
@cocotb.parametrize(which=["raw", "corrected"])
async def a_memory_that_refuses_either_image_fails_the_frame_alone(dut: Any, which: str) -> None:
    writer = Writer(dut, Stalls.BOTH)
    await writer.start()
    memory = getattr(writer, which)
    bad = BASE + 3 * SLOT + (OFFSET if which == "corrected" else 0)
    memory.refuses = lambda address: bad <= address < bad + 64
    for _ in range(7):
        writer.frame()
    await writer.bench.until(lambda: len(writer.done) == 7)
    assert writer.done == [False] * 3 + [True] + [False] * 3


@cocotb.test()
async def a_frame_that_was_spoiled_before_fails(dut: Any) -> None:
    writer = Writer(dut)
    await writer.start()
    for k in range(4):
        writer.frame(spoiled=k == 1)
    await writer.bench.until(lambda: len(writer.done) == 4)
    assert writer.done == [False, True, False, False]


@cocotb.test()
async def pixels_whose_constants_cannot_be_read_are_masked_and_counted(dut: Any) -> None:
    writer = Writer(dut, Stalls.BOTH)
    await writer.start()
    lanes = writer.width // 8
    writer.planes.broken = {CONSTANTS + 2 * 8192 + 3 * lanes}
    words = np.full(writer.n, 0x1000, np.uint16)
    writer.frame(words)
    fixed = writer.correction.fixed
    place = OFFSET + 3 * lanes
    writer.expected_corrected[place : place + lanes] = np.full(lanes // 2, -32767, "<i2").tobytes()
    await writer.finish()
    assert writer.constant_errors == 1
    assert (fixed.mantissa[0, 0, 3 * lanes // 2 :][: lanes // 2] != 0).any(), "all are masked in any case"


@cocotb.test()
async def a_memory_of_constants_that_is_dead_does_not_hold_up_an_abort(dut: Any) -> None:
    writer = Writer(dut)
    await writer.bench.reset()
    dut.m_axi_constant_arready.value = 0
    writer.planes._drive = lambda: None  # type: ignore[method-assign]
    writer.bench._answers.clear()
    dut.run_i.value = 1
    writer.frame(np.full(writer.n, 0x1000, np.uint16))
    for _ in range(500):
        await writer.bench.step()
    assert not writer.done
    dut.abort_i.value = 1
    await writer.bench.until(lambda: len(writer.done) == 1)
    assert writer.done == [True]


@cocotb.test()
@cocotb.parametrize(after=[0, 1, 2, 3, 10, 40, 100, 333])
async def a_frame_that_an_abort_meets_fails_or_is_right(dut: Any, after: int) -> None:
    """Constants come slower than pixels, so that some of a frame's beats wait for theirs at every moment."""
    writer = Writer(dut)
    writer.planes.delay = 60
    await writer.start()
    for _ in range(3):
        writer.frame()
    beats = -(-2 * writer.n * 8 // writer.width)
    await writer.bench.until(lambda: len(writer.pixels.accepted) >= 2 * beats)
    for _ in range(after):
        await writer.bench.step()
    dut.abort_i.value = 1
    await writer.bench.until(lambda: len(writer.done) == 3)
    assert writer.done[2] or after > 40, "nothing was left to abort"


@cocotb.test()
@cocotb.parametrize(before=list(range(5)))
async def a_reset_of_one_cycle_leaves_no_frame_done_behind_it(dut: Any, before: int) -> None:
    """Whether a frame is done waits in queues that are reset a cycle later."""
    writer = Writer(dut)
    writer.enable(False)
    await writer.start()
    writer.frame()
    await writer.bench.until(lambda: bool(writer.pixels.accepted))
    first = writer.bench.cycle
    await writer.finish()
    took = writer.bench.cycle - first
    writer.pixels.accepted.clear()
    writer.frame()
    await writer.bench.until(lambda: bool(writer.pixels.accepted))
    for _ in range(took - 1 - before):
        await writer.bench.step()
    assert writer.done == [False], "the frame is done: there is nothing to reset"
    await writer.bench.reset(cycles=1)
    for _ in range(20):
        await writer.bench.step()
    assert writer.done == [False]


@pytest.mark.parametrize("width", some_widths("image_writer"))
def test_image_writer(width: int) -> None:
    run("image_writer", flat=True, DataW=width, Correct=1, MaxFrames=16)
