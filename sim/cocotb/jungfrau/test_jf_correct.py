"""jf_correct, in SystemVerilog and as HLS C++: frames and their constants, whatever their lengths."""

from typing import Any

import cocotb
import numpy as np
import pytest
from numpy.typing import NDArray

from bench import ALL_STALLS, Bench, Stalls, run
from exact import exact
from framelane.models.jungfrau import jf_constants
from framelane.models.jungfrau.jf_correct import PixelCode, correct_int16
from framelane.models.jungfrau.jf_fixed import FixedCalibration
from hls_build import verilator_arguments
from signals import now
from widths import some_widths

USER_W = 8
TOPS = ("jf_correct", "jf_correct_hls")


def any_constants(bench: Bench, pixels: int, shift: tuple[int, int, int], high_gain: bool = False) -> FixedCalibration:
    """Random constants for `pixels` pixels in a row; some are masked in a stage."""
    rng = np.random.default_rng(bench.random.getrandbits(32))
    pedestal, mantissa = (rng.integers(0, 0x10000, (3, 1, pixels), np.uint16) for _ in range(2))
    mantissa[rng.random(mantissa.shape) < 0.05] = 0
    return FixedCalibration(pedestal, mantissa, shift, high_gain=high_gain)


class Correction:
    """The block under test, set up for one calibration of whole beats."""

    def __init__(self, dut: Any, stalls: Stalls, pixels: int, high_gain: bool = False) -> None:
        self.bench = Bench(dut, stalls)
        self.dut, self.width = dut, len(dut.s_axis_pixel_tdata)
        self.lanes = self.width // 16
        self.fixed = any_constants(self.bench, pixels, (17, 25, 14), high_gain)
        self.pixel, self.constant = self.bench.source("s_axis_pixel"), self.bench.source("s_axis_constant")
        self.out = self.bench.sink("m_axis_pixel")
        self.mismatches = 0
        self.expected: list[bytes] = []
        self.users: list[int] = []
        dut.shift_i.value = sum(s << 5 * k for k, s in enumerate(self.fixed.shift))
        dut.high_gain_i.value = int(high_gain)
        self.bench.watch(self._count)

    def _count(self) -> None:
        self.mismatches += now(self.dut.mismatch_o)

    def words(self, pixels: int) -> NDArray[np.uint16]:
        """Random words; every code is frequent among them."""
        rng = np.random.default_rng(self.bench.random.getrandbits(32))
        words = rng.integers(0, 0x10000, pixels, np.uint16)
        special = rng.choice(np.array([0x8000, 0x8001, 0xFFFF, 0x4000, 0xC000, 0x3FFF], np.uint16), pixels)
        return np.where(rng.random(pixels) < 0.1, special, words)

    def frame(self, words: NDArray[np.uint16], bad: frozenset[int] = frozenset()) -> None:
        """Queue a frame and its constants, of which some beats are `bad`; note what has to leave."""
        user = self.bench.random.randrange(1 << USER_W)
        self.pixel.send(words.astype("<u2").tobytes(), self.width, tuser=user)
        self._constants(bad)
        known = self.fixed.pedestal.shape[2]
        mantissa = np.zeros((3, 1, max(words.size, known)), np.uint16)
        pedestal = mantissa.copy()
        pedestal[:, :, :known], mantissa[:, :, :known] = self.fixed.pedestal, self.fixed.mantissa
        for beat in bad:
            mantissa[:, :, beat * self.lanes : (beat + 1) * self.lanes] = 0
        fixed = FixedCalibration(
            pedestal[:, :, : words.size], mantissa[:, :, : words.size], self.fixed.shift, high_gain=self.fixed.high_gain
        )
        self.expected.append(correct_int16(words[None], fixed).astype("<i2").tobytes())
        self.users.append(user)

    def _constants(self, bad: frozenset[int]) -> None:
        beats = jf_constants.planes(self.fixed).reshape(6, -1, self.lanes).astype("<u2")
        for k in range(beats.shape[1]):
            data = int.from_bytes(beats[:, k].tobytes(), "little")
            last = k == beats.shape[1] - 1
            self.constant.items.append({"tdata": data, "tlast": int(last), "tuser": int(k in bad)})

    async def finish(self) -> None:
        """Run until all is through, and compare."""
        beats = sum(-(-len(frame) * 8 // self.width) for frame in self.expected)
        await self.bench.drain(self.out, beats)
        assert self.out.packets(self.width) == self.expected
        lasts = [item["tuser"] for item in self.out.items if item["tlast"]]
        assert lasts == self.users


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS, high_gain=[False, True])
async def frames_are_corrected_one_behind_the_other(dut: Any, stalls: Stalls, high_gain: bool) -> None:
    lanes = len(dut.s_axis_pixel_tdata) // 16
    block = Correction(dut, stalls, 7 * lanes, high_gain)
    await block.bench.reset()
    for _ in range(12):
        block.frame(block.words(7 * lanes))
    await block.finish()
    assert block.mismatches == 0
    if stalls is Stalls.NONE:
        assert block.out.taken[-1] - block.out.taken[0] == 12 * 7 - 1, "not a beat a clock"
        assert block.pixel.accepted[-1] - block.pixel.accepted[0] == 12 * 7 - 1


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def a_frame_of_another_length_spoils_no_other(dut: Any, stalls: Stalls) -> None:
    lanes = len(dut.s_axis_pixel_tdata) // 16
    block = Correction(dut, stalls, 5 * lanes)
    await block.bench.reset()
    lengths = [5, 4, 5, 1, 1, 6, 5, 9, 2, 5, 7, 7, 3, 5]
    for beats in lengths:
        block.frame(block.words(beats * lanes - (block.bench.random.randrange(lanes) if beats != 1 else 0)))
    await block.finish()
    assert block.mismatches == sum(beats != 5 for beats in lengths)


@cocotb.test()
async def a_frame_of_one_beat_and_of_part_of_one(dut: Any) -> None:
    lanes = len(dut.s_axis_pixel_tdata) // 16
    block = Correction(dut, Stalls.BOTH, lanes)
    await block.bench.reset()
    for pixels in (lanes, 1, lanes - 1, lanes):
        block.frame(block.words(pixels))
    await block.finish()
    assert block.mismatches == 0


@cocotb.test()
async def pixels_behind_the_constants_are_masked(dut: Any) -> None:
    lanes = len(dut.s_axis_pixel_tdata) // 16
    block = Correction(dut, Stalls.NONE, lanes)
    await block.bench.reset()
    words = np.full(2 * lanes, 0x1234, np.uint16)
    words[-1] = 0x8000
    block.frame(words)
    await block.finish()
    values = np.frombuffer(block.out.packets(block.width)[0], "<i2")
    assert set(values[lanes:-1].tolist()) == {PixelCode.MASKED}
    assert values[-1] == PixelCode.HOLE


@cocotb.test()
async def pixels_whose_constants_came_with_an_error_are_masked(dut: Any) -> None:
    lanes = len(dut.s_axis_pixel_tdata) // 16
    block = Correction(dut, Stalls.NONE, 4 * lanes)
    await block.bench.reset()
    for bad in ({0}, {3}, {1, 2}, set()):
        block.frame(block.words(4 * lanes), frozenset(bad))
    await block.finish()
    assert block.mismatches == 0


@cocotb.test()
async def pixels_wait_for_their_constants(dut: Any) -> None:
    lanes = len(dut.s_axis_pixel_tdata) // 16
    block = Correction(dut, Stalls.NONE, 2 * lanes)
    await block.bench.reset()
    block.frame(block.words(2 * lanes))
    held = list(block.constant.items)
    block.constant.items.clear()
    for _ in range(40):
        await block.bench.step()
    assert not block.pixel.accepted
    assert not block.out.items
    block.constant.items.extend(held)
    await block.finish()


@cocotb.test()
@cocotb.parametrize(shift=[[26, 21, 18], [0, 31, 1]])
async def every_word_equals_exact_integers(dut: Any, shift: list[int]) -> None:
    block = Correction(dut, Stalls.NONE, 0x10000)
    block.fixed = any_constants(block.bench, 0x10000, (shift[0], shift[1], shift[2]))
    dut.shift_i.value = sum(s << 5 * k for k, s in enumerate(shift))
    await block.bench.reset()
    block.frame(np.arange(0x10000, dtype=np.uint16))
    await block.finish()
    pedestal, mantissa = (p[:, 0].T.tolist() for p in (block.fixed.pedestal, block.fixed.mantissa))
    got = np.frombuffer(block.out.packets(block.width)[0], "<i2").tolist()
    assert got == [exact(w, pedestal[w], mantissa[w], shift, False) for w in range(0x10000)]


@cocotb.test()
async def a_reset_forgets_what_was_under_way(dut: Any) -> None:
    lanes = len(dut.s_axis_pixel_tdata) // 16
    block = Correction(dut, Stalls.NONE, 3 * lanes)
    await block.bench.reset()
    for beats in (2, 5):
        block.frame(block.words(beats * lanes))  # one leaves constants to drop, one is in its masked part
        for _ in range(beats + 1):
            await block.bench.step()
        await block.bench.reset(cycles=1)
        block.expected.clear()
        block.users.clear()
    block.mismatches = 0
    block.frame(block.words(3 * lanes))
    await block.finish()
    assert block.mismatches == 0


@pytest.mark.parametrize("width", some_widths("jf_correct"))
@pytest.mark.parametrize("top", TOPS)
def test_jf_correct(top: str, width: int) -> None:
    arguments = verilator_arguments() if top == "jf_correct_hls" else ()
    run("jf_correct", top=top, build_args=arguments, DataW=width, UserW=USER_W)
