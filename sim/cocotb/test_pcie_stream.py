"""pcie_stream: a detector that does not wait; its frames are corrected on their way to memory, and go to two hosts."""

from dataclasses import replace
from typing import Any

import cocotb
import numpy as np
import pytest

from bench import Source, Stalls, run
from framelane.driver.simulated.ports import frame_info_t
from framelane.models.jungfrau import jf_constants
from framelane.models.jungfrau.jf_fixed import FixedCalibration
from framelane.models.memory.frame_store import FrameInfo
from framelane.models.memory.image_writer import Correction
from framelane.models.pcie.tlp_split import Status
from framelane.models.placement.flow import Flow
from framelane.models.registers import registers
from pcie_tx_bench import ENGINES, IMAGE, MAP, PcieTxBench
from plane_memory import PlaneMemory
from signals import now
from widths import some_widths
from write_memory import WriteMemory

BASE = 4096
OFFSET = 6144
"""Where the corrected image begins in a slot: whole beats of any width."""
STORE_SLOT = 2 * OFFSET
STORE_SLOTS = 3
CONSTANTS = 1 << 34


class PcieStreamBench(PcieTxBench):
    """The first flow is the raw image, to the first engine; the second the corrected one, to the other."""

    def feed(self) -> Source:
        """A detector, and a memory with slots and constants."""
        dut = self.dut
        self.memory = WriteMemory(self, BASE, bytes(STORE_SLOTS * STORE_SLOT), self._stalls.sink)
        self.corrected = WriteMemory(self, BASE, b"", self._stalls.sink, "m_axi_corrected")
        self.corrected.data = self.memory.data
        words = np.random.default_rng(5).integers(0, 0x10000, (2, 3, 1, IMAGE // 2), np.uint16)
        fixed = FixedCalibration(words[0], words[1], (17, 25, 14))
        self.correction = Correction(fixed, OFFSET, CONSTANTS, jf_constants.needed_pitch(IMAGE))
        packed = jf_constants.pack(fixed, self.correction.pitch)
        self.planes = PlaneMemory(self, "m_axi_constant", self.width, CONSTANTS, packed, self._stalls.source)
        self.sent: list[bytes] = []
        dut.pixel_cut_i.value = dut.pixel_restart_i.value = 0
        return self.source("s_axis_pixel")

    def memory_at(self, address: int, size: int) -> bytes:
        return self.memory.read(address, size)

    async def configure(self, **control: int) -> None:
        """Start, with the frame store and its correction."""
        await self.start(**control)
        await self.put("control")
        await self.put("store_base", value=BASE)
        await self.put("store_slot_bytes", value=STORE_SLOT)
        await self.put("store_slots", value=STORE_SLOTS)
        shift = {f"shift{stage}": bits for stage, bits in enumerate(self.correction.fixed.shift)}
        await self.put("corrected_offset", value=OFFSET)
        await self.put("constants_base", value=CONSTANTS)
        await self.put("constants_pitch", value=self.correction.pitch)
        await self.put("constants_bytes", value=IMAGE)
        await self.put("correction", enabled=1, guard=1, **shift)
        raw = replace(self.flow(), destinations=1)
        for index, flow in enumerate((raw, replace(raw, first_destination=1, source_offset=OFFSET))):
            await self.flow_of(index, flow)
        await self.put("control", arm=1)

    async def flow_of(self, index: int, flow: Flow) -> None:
        """Write a flow's registers."""
        for k, word in enumerate(registers.flow_words(flow)):
            await self.registers.write(MAP.find(f"flow[{index}].control").offset + 4 * k, word)

    def detect(self, length: int = IMAGE) -> bytes:
        """The detector sends its next frame, of any pixels."""
        pixels = self.random.randbytes(length)
        number = len(self.sent)
        self.sent.append(pixels)
        self.frames.send(pixels, self.width, tuser=frame_info_t(FrameInfo(number, 7 * number, 9 * number)))
        return pixels


@cocotb.test()
@cocotb.parametrize(stalls=[Stalls.NONE, Stalls.BOTH])
async def raw_and_corrected_images_lie_in_the_slots_of_their_engines(dut: Any, stalls: Stalls) -> None:
    bench = PcieStreamBench(dut, stalls)
    await bench.configure()
    for number in range(7):
        pixels = bench.detect()
        for engine, image in enumerate(bench.correction.images(pixels)):
            trailer, status = await bench.next_event(engine)
            assert status is Status.OK
            assert (trailer.detector_frame, trailer.frame_number) == (number, number)
            assert (trailer.timestamp_ns, trailer.bunch_id) == (7 * number, 9 * number)
            assert bench.slot(engine, number)[:IMAGE] == image
    await bench.quiet()
    assert await bench.get("capabilities.frame_store") == 1
    assert await bench.destinations("sent") == [7, 7]
    assert await bench.counter("frames") == 7
    assert await bench.get("errors") == 0


@cocotb.test()
async def a_detector_that_is_faster_than_the_links_loses_whole_frames_and_the_counts_add_up(dut: Any) -> None:
    bench = PcieStreamBench(dut)
    await bench.configure()
    bench.dead = [True] * ENGINES
    for _ in range(9):
        bench.detect()
    await bench.until(lambda: not bench.frames.items, 20_000)
    bench.dead = [False] * ENGINES
    await bench.quiet()
    lost = await bench.counter("frames_lost")
    assert 0 < lost == 9 - await bench.counter("frames")
    for engine in range(ENGINES):
        numbers = []
        while found := bench.event(engine):
            numbers.append(found[0].detector_frame)
        assert numbers == list(range(9 - lost)), "those that came first had a slot"
    bench.detect()
    trailer, _ = await bench.next_event(0)
    assert (trailer.detector_frame, trailer.frames_dropped) == (9, lost), "and the next one says how many are missing"
    await bench.quiet()


@cocotb.test()
async def a_frame_of_another_size_than_its_constants_is_counted_and_sent_to_nobody(dut: Any) -> None:
    bench = PcieStreamBench(dut)
    await bench.configure()
    bench.detect(IMAGE - 2)
    good = bench.detect()
    trailer, status = await bench.next_event(1)
    assert (trailer.detector_frame, status) == (1, Status.OK)
    assert bench.slot(1, trailer.frame_number)[:IMAGE] == bench.correction.images(good)[1]
    assert [await bench.counter(name) for name in ("frames", "frames_bad", "mismatches")] == [1, 1, 1]
    await bench.quiet()


@cocotb.test()
async def pixels_wait_for_constants_and_are_counted(dut: Any) -> None:
    bench = PcieStreamBench(dut)
    bench.planes.delay = 80
    await bench.configure()
    for _ in range(2):
        bench.detect()
    await bench.quiet()
    assert await bench.counter("pixel_stalls") > 20
    assert await bench.destinations("sent") == [2, 2]


@cocotb.test()
@cocotb.parametrize(prefix=["memory", "corrected"])
async def memory_that_takes_no_image_is_said_and_holds_up_no_abort(dut: Any, prefix: str) -> None:
    bench = PcieStreamBench(dut)
    await bench.configure()
    port: WriteMemory = getattr(bench, prefix)
    stands = True
    for channel in port.channels[:2]:
        channel.set_pause_generator(iter(lambda: stands, None))
    bench.detect()
    for _ in range(1500):
        await bench.step()
    assert not now(dut.idle_o)
    await bench.put("command", abort=1)
    for _ in range(400):
        if not await bench.get("status.resetting"):
            break
    assert not await bench.get("status.resetting"), "the abort does not end"
    assert await bench.get("status.memory_stuck")
    stands = False
    await bench.until(lambda: bool(now(dut.idle_o)) and not bench.frames.items, 4000)
    assert not await bench.get("status.memory_stuck")
    bench.sent.clear()
    await bench.configure()
    pixels = bench.detect()
    await bench.next_event(0)
    assert bench.slot(0, 0)[:IMAGE] == bench.correction.images(pixels)[0]
    await bench.quiet()


@pytest.mark.parametrize("width", some_widths("pcie_stream", (128, 512)))
def test_pcie_stream(width: int) -> None:
    run("pcie_stream", DataW=width, Entries=32)
