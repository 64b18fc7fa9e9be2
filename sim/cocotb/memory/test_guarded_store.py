"""guarded_store: frames and their corrected images lie in memory; memory that stands still holds up no end."""

from typing import Any

import cocotb
import numpy as np
import pytest

from bench import ALL_STALLS, Bench, Stalls, run
from framelane.driver.simulated.ports import FRAME_T, Struct, correction_t, frame_info_t
from framelane.models.jungfrau import jf_constants
from framelane.models.jungfrau.jf_fixed import FixedCalibration
from framelane.models.memory.frame_store import FrameInfo
from framelane.models.memory.image_writer import Correction
from plane_memory import PlaneMemory
from signals import now
from widths import some_widths
from write_memory import WriteMemory

CONTROL = Struct(rst=1, armed=1, aborting=1, drain=1, memory_limit=16, base=64, slot_bytes=32, slots=16, correction=178)
"""hw/rtl/framelane_pkg.sv: store_control_t."""
REPORT = Struct(
    **{"idle": 1, "lost": 1, "bad": 1, "ignored": 1, "mismatch": 1, "constant_error": 1, "stall": 1, "stuck": 1},
    **{"owes": 1, "left": 1, "timeout": 1},
)
"""Likewise: store_report_t."""
IMAGE, OFFSET = 3002, 4096
SLOT, SLOTS, BASE, CONSTANTS = 2 * OFFSET, 4, 5 << 32, 1 << 34
MOST_WAITS = 3 << 16
"""Cycles in which a limit of one unit, 2^16 cycles, must have been noticed."""


class GuardedBench(Bench):
    """A detector, two kinds of images and the constants, each with its memory; events are released at once."""

    def __init__(self, dut: Any, stalls: Stalls = Stalls.NONE) -> None:
        super().__init__(dut, stalls)
        self.width = len(dut.s_axis_pixel_tdata)
        self.pixels, self.events = self.source("s_axis_pixel"), self.sink("m_axis_frame")
        self.raw = WriteMemory(self, BASE, bytes(SLOTS * SLOT), stalls.sink)
        self.corrected = WriteMemory(self, BASE, b"", stalls.sink, "m_axi_corrected")
        self.corrected.data = self.raw.data
        words = np.random.default_rng(7).integers(0, 0x10000, (2, 3, 1, IMAGE // 2), np.uint16)
        self.correction = Correction(FixedCalibration(words[0], words[1], (17, 25, 14)), OFFSET, CONSTANTS, 4096)
        packed = jf_constants.pack(self.correction.fixed, 4096)
        self.planes = PlaneMemory(self, "m_axi_constant", self.width, CONSTANTS, packed, stalls.source)
        self.stands = False
        self.counts = dict.fromkeys(REPORT.fields, 0)
        """Cycles in which each bit of the report was set."""
        self._released = 0
        dut.pixel_cut_i.value = dut.pixel_restart_i.value = 0
        self.tell(rst=1)
        self.answer(self._release)
        self.watch(self._count)

    def tell(self, **bits: int) -> None:
        """What the transmitter says; all else as it stays."""
        told = {"rst": 0, "armed": 0, "aborting": 0, "drain": 0, "memory_limit": 1} | bits
        place = {"base": BASE, "slot_bytes": SLOT, "slots": SLOTS, "correction": correction_t(self.correction)}
        self.dut.store_i.value = CONTROL.pack(told | place)

    @property
    def report(self) -> dict[str, int]:
        return REPORT.unpack(now(self.dut.store_o))

    def _count(self) -> None:
        for name, bit in self.report.items():
            self.counts[name] += bit

    def _release(self) -> None:
        due = self._released < len(self.events.items)
        self.dut.release_i.value = due
        self._released += due

    async def start(self) -> None:
        await self.reset()
        self.tell()
        await self.step()
        await self.step()
        self.tell(armed=1)
        await self.step()

    def detect(self, number: int) -> bytes:
        pixels = self.random.randbytes(IMAGE)
        self.pixels.send(pixels, self.width, tuser=frame_info_t(FrameInfo(number, 2 * number, 3 * number)))
        return pixels

    async def arrives(self, number: int, pixels: bytes) -> None:
        """Event `number`, counted from 0, comes, and both images lie where it says."""
        await self.until(lambda: len(self.events.items) > number, 20_000)
        event = FRAME_T.unpack(int(self.events.items[number]["tdata"]))
        raw, corrected = self.correction.images(pixels)
        assert self.raw.read(event["address"], IMAGE) == raw
        assert self.raw.read(event["address"] + OFFSET, IMAGE) == corrected
        assert event["timestamp_ns"] == 2 * event["number"]

    def stand(self, which: str) -> None:
        """From now on, until `stands` is False, no channel of this memory moves."""
        self.stands = True
        if which == "planes":
            self.planes.delay = 100
            return
        port: WriteMemory = getattr(self, which)
        for channel in port.channels:
            channel.set_pause_generator(iter(lambda: self.stands, None))

    def move(self) -> None:
        """All move again."""
        self.stands = False
        self.planes.delay = 0


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def both_images_of_each_frame_are_in_memory_before_its_event(dut: Any, stalls: Stalls) -> None:
    bench = GuardedBench(dut, stalls)
    await bench.start()
    for number in range(9):
        await bench.arrives(number, bench.detect(number))
    await bench.until(lambda: bool(bench.report["idle"]) and not bench.report["owes"], 2000)
    wrong = ("lost", "bad", "ignored", "mismatch", "constant_error", "stuck", "left", "timeout")
    assert {name: bench.counts[name] for name in wrong} == dict.fromkeys(wrong, 0)


@cocotb.test()
@cocotb.parametrize(which=["raw", "corrected", "planes"])
async def memory_that_stands_still_is_said_once_and_spoils_its_frame(dut: Any, which: str) -> None:
    bench = GuardedBench(dut)
    await bench.start()
    await bench.arrives(0, bench.detect(0))
    bench.stand(which)
    for number in range(1, 3):
        bench.detect(number)
    await bench.until(lambda: bool(bench.report["stuck"]), MOST_WAITS)
    assert bench.counts["timeout"] == 1
    assert bench.report["owes"]
    wrong = "constant_error" if which == "planes" else "bad"
    await bench.until(lambda: bench.counts[wrong] > 0, 20_000)
    bench.move()
    await bench.until(lambda: not bench.report["stuck"] and not bench.report["owes"], 20_000)
    assert bench.counts["timeout"] == 1


@cocotb.test()
@cocotb.parametrize(which=["raw", "corrected", "planes"])
async def an_abort_ends_while_memory_stands_still_and_says_what_it_has_left(dut: Any, which: str) -> None:
    bench = GuardedBench(dut)
    await bench.start()
    bench.stand(which)
    bench.detect(0)
    for _ in range(300):
        await bench.step()
    assert bench.report["owes"]
    assert bench.report["left"] == 0
    bench.tell(aborting=1, drain=1)
    await bench.until(lambda: bool(bench.report["idle"]), 2000)
    assert bench.report["left"] == 1
    bench.move()
    await bench.until(lambda: not bench.report["owes"] and not bench.report["left"], 2000)
    bench.tell(rst=1)
    await bench.step()
    bench.tell()
    await bench.until(lambda: not bench.pixels.items, 2000)
    bench.tell(armed=1)
    await bench.step()
    seen = len(bench.events.items)
    await bench.arrives(seen, bench.detect(1))


@pytest.mark.parametrize("width", some_widths("guarded_store"))
def test_guarded_store(width: int) -> None:
    run("guarded_store", DataW=width)
