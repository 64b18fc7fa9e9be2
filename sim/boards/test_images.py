"""board_memory with its SDRAM: registers as the model has them, images and picture by AXI, frames in their order."""

import logging
import time
from typing import Any

import cocotb
import pattern
from board_runner import build_and_test_block
from cocotb.triggers import RisingEdge, with_timeout
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiMasterRead, AxiReadBus
from cocotbext.axi.constants import AxiResp

from bench import Bench
from framelane.models.remote.image_memory import (
    DELAY,
    IMAGE_BYTES,
    IMAGES,
    MEMORY,
    PAGE,
    READY,
    WINDOW,
    WINDOW_BYTES,
    ImageMemory,
)
from framelane.models.remote.udp_registers import read, write

UPPER = 1 << 31
"""The bit of an address of the image memory."""
LIMIT_US, LIMIT_S = 100, 300.0


class ImagesBench(Bench):
    """The design behind outside masters, and the model."""

    clock_ns = 16

    def __init__(self, dut: Any) -> None:
        super().__init__(dut)
        self.model = ImageMemory()
        self.deadline = time.monotonic() + LIMIT_S
        logging.getLogger(f"cocotb.{dut._name}").setLevel(logging.WARNING)
        dut.frame_ready_i.value = 0
        self.registers = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk, dut.rst)
        self.axi = AxiMasterRead(AxiReadBus.from_prefix(dut, "s_axi"), dut.clk, dut.rst, max_burst_len=16)
        self.look_when_busy()

    async def begin(self) -> None:
        for _ in range(4):
            await RisingEdge(self.dut.clk)
        self.dut.rst.value = 0
        assert not await self.read(MEMORY) & READY
        while not await self.read(MEMORY) & READY:
            assert time.monotonic() < self.deadline, "the memory does not get ready"
            for _ in range(500):
                await RisingEdge(self.dut.clk)

    async def read(self, address: int) -> int:
        answer = await with_timeout(self.registers.read(address, 4), LIMIT_US, "us")
        assert answer.resp == AxiResp.OKAY
        return int.from_bytes(answer.data, "little")

    async def write(self, address: int, data: int) -> None:
        answer = await with_timeout(self.registers.write(address, data.to_bytes(4, "little")), LIMIT_US, "us")
        assert answer.resp == AxiResp.OKAY
        self.model.access(write(address, data))

    async def check(self, address: int) -> None:
        assert await self.read(address) == self.model.access(read(address)).data, hex(address)

    async def burst(self, address: int, length: int) -> bytes:
        answer = await with_timeout(self.axi.read(address, length, arid=0), 10 * LIMIT_US, "us")
        data: bytes = answer.data
        return data

    async def until_frame(self) -> None:
        await RisingEdge(self.dut.clk)
        while not int(self.dut.frame_valid_o.value):
            assert time.monotonic() < self.deadline, "no frame comes"
            await RisingEdge(self.dut.clk)

    async def frame(self) -> tuple[int, int]:
        """Address and number of the next frame, which is taken."""
        await self.until_frame()
        found = int(self.dut.frame_address_o.value), int(self.dut.frame_number_o.value)
        self.dut.frame_ready_i.value = 1
        await RisingEdge(self.dut.clk)
        self.dut.frame_ready_i.value = 0
        await RisingEdge(self.dut.clk)
        return found


@cocotb.test()
async def registers_are_the_models(dut: Any) -> None:
    """In any order, of any page; those before them are left to the others."""
    bench = ImagesBench(dut)
    await bench.begin()
    written: list[tuple[int, int]] = []
    for _ in range(300):
        page, offset = bench.random.randrange(512), 4 * bench.random.randrange(WINDOW_BYTES // 4)
        if written and bench.random.random() < 0.5:
            page, offset = bench.random.choice(written)
            await bench.write(PAGE, page)
            await bench.check(WINDOW + offset)
        else:
            await bench.write(PAGE, page)
            await bench.write(WINDOW + offset, bench.random.getrandbits(32))
            written.append((page, offset))
        if bench.random.random() < 0.2:
            await bench.write(IMAGES, bench.random.randrange(5))
            await bench.check(bench.random.choice([MEMORY, IMAGES, PAGE, DELAY]) + 16 * bench.random.randrange(8))
    await bench.write(DELAY, 3)
    await bench.check(DELAY)
    before = int(dut.others_o.value)
    for address in (0, 0x18, 0xBFFC):
        answer = await with_timeout(bench.registers.read(address, 4), LIMIT_US, "us")
        assert answer.resp == AxiResp.DECERR
        done = await with_timeout(bench.registers.write(address, bytes(4)), LIMIT_US, "us")
        assert done.resp == AxiResp.DECERR
    await RisingEdge(dut.clk)
    assert int(dut.others_o.value) == before + 6


@cocotb.test()
async def images_and_picture_are_read_by_their_addresses(dut: Any) -> None:
    """At once, while words are written: each burst has the bytes of its own memory."""
    bench = ImagesBench(dut)
    await bench.begin()
    for image in range(4):
        await bench.write(PAGE, image * IMAGE_BYTES // WINDOW_BYTES)
        for at in range(0, 512, 4):
            await bench.write(WINDOW + at, bench.random.getrandbits(32))

    async def words() -> None:
        for at in range(1024, 1280, 4):
            await bench.write(WINDOW + at, at)

    async def one() -> None:
        image, at = bench.random.randrange(4), 8 * bench.random.randrange(32)
        length = 8 * bench.random.randint(1, (512 - at) // 8)
        address = image * IMAGE_BYTES + at
        if bench.random.random() < 0.5:
            assert await bench.burst(address, length) == pattern.read(address, length)
        else:
            assert await bench.burst(UPPER + address, length) == bench.model.read(address, length)

    for _ in range(25):
        started = [cocotb.start_soon(one()) for _ in range(4)]
        started += [cocotb.start_soon(words())] if bench.random.random() < 0.1 else []
        for task in started:
            await task


@cocotb.test()
async def frames_are_the_pictures_or_the_images_in_turn(dut: Any) -> None:
    """One that waits keeps its address; the first one behind it is image 0. Numbers go on."""
    bench = ImagesBench(dut)
    await bench.begin()
    number, before, last = 0, 0, 0
    for images, frames in ((0, 3), (3, 7), (1, 2), (4, 6), (2, 1), (2, 3), (0, 2)):
        await bench.until_frame()
        await bench.write(IMAGES, images)
        address, found = await bench.frame()
        waited = UPPER + (last + 1) % before * IMAGE_BYTES if before else number * IMAGE_BYTES
        assert (address, found) == (waited, number)
        number += 1
        for last in range(frames):
            expected = UPPER + last % images * IMAGE_BYTES if images else number * IMAGE_BYTES
            assert await bench.frame() == (expected, number), (images, last)
            number += 1
        before = images


def test_images() -> None:
    build_and_test_block("images_bench", "test_images")
