"""bd_gen: descriptors, trailers and counters equal the golden model; frames without credit are dropped whole."""

from typing import Any

import cocotb

from bench import ALL_STALLS, Bench, Stalls, run
from framelane.driver import ports
from framelane.driver.ports import FLOW_T
from framelane.models.bd_gen import BdGen, Flow, FrameEvent
from framelane.models.slots import FREE_RUNNING
from framelane.models.wire import MTUS

MTU = 1024


class BdGenBench(Bench):
    """The generator beside its model."""

    def __init__(self, dut: Any, stalls: Stalls, flow: Flow, mtu: int = MTU) -> None:
        super().__init__(dut, stalls)
        self.frames = self.source("s_axis_frame")
        self.bds, self.trailers = self.sink("m_axis_bd"), self.sink("m_axis_trailer")
        self.flow, self.mtu = flow, mtu
        dut.flow_i.value = ports.flow_t(flow)
        dut.mtu_log2_i.value = mtu.bit_length() - 1
        self.credit(FREE_RUNNING)

    async def start(self) -> None:
        """Reset the generator, also in the middle of its work, and its model."""
        await self.reset(cycles=1)
        self.model = BdGen(self.flow, self.mtu, width=512)
        self.expected_bds: list[int] = []
        self.expected_trailers: list[int] = []

    def credit(self, window_end: int) -> None:
        self.window_end = window_end
        self.dut.window_end_i.value = window_end

    def offer(self, number: int, address: int | None = None) -> None:
        address = self.random.getrandbits(40) << 6 if address is None else address
        event = FrameEvent(number, self.random.getrandbits(64), self.random.getrandbits(64), address)
        self.frames.items.append({"tdata": ports.frame_t(event)})
        bds, trailer = self.model.frame(event, self.window_end)
        self.expected_bds += [ports.BD_T.pack({n: getattr(bd, n) for n in ports.BD_T.fields}) for bd in bds]
        if trailer:
            fields = {n: getattr(trailer, n) for n in ports.TRAILER_T.fields}
            self.expected_trailers.append(ports.TRAILER_T.pack(fields))

    async def check(self) -> None:
        await self.drain(self.trailers, len(self.expected_trailers), quiet=150)
        assert [i["tdata"] for i in self.bds.items] == self.expected_bds
        assert [i["tdata"] for i in self.trailers.items] == self.expected_trailers
        for name in ("frames_sent", "frames_dropped", "frames_refused"):
            assert int(getattr(self.dut, f"{name}_o").value) == getattr(self.model, name), name


def flow(**changes: int) -> Flow:
    fields = {"qp": 3, "source": 7, "image_bytes": 5001, "base": 0x7F00_0000_1000, "slot_bytes": 8192, "n_slots": 3}
    return Flow(**(fields | {"trailer_offset": 8128} | changes))


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def descriptors_and_trailers_equal_the_model(dut: Any, stalls: Stalls) -> None:
    bench = BdGenBench(dut, stalls, flow())
    await bench.start()
    for n in range(20):
        bench.offer(n)
    await bench.check()


@cocotb.test()
@cocotb.parametrize(n_slots=[1, 2, 7, 64, (1 << 32) - 1])
async def the_slot_is_the_number_modulo_the_slots_also_after_a_jump(dut: Any, n_slots: int) -> None:
    bench = BdGenBench(dut, Stalls.NONE, flow(n_slots=n_slots, base=(1 << 64) - 8192))
    await bench.start()
    far = 0xABCDEF << 40 | 0xABCDEF
    for n in (5, 6, 7, 8 + (1 << 8), 8 + (1 << 32), 100, 99, 0, 1, far, far + 1, (1 << 63) + 5, (1 << 64) - 2, 0, 1):
        bench.offer(n)
    await bench.check()


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def frames_without_credit_are_dropped_whole_and_counted(dut: Any, stalls: Stalls) -> None:
    bench = BdGenBench(dut, stalls, flow())
    await bench.start()
    for window_end, numbers in (
        (0, (0, 1)),
        (4, (2, 3, 4, 5)),
        (8, (6, 7, 8)),
        (1 << 40, (9, (1 << 40) - 1, 1 << 40)),
        (FREE_RUNNING, ((1 << 40) + 1,)),
    ):
        bench.credit(window_end)
        for n in numbers:
            bench.offer(n)
        await bench.check()
    assert bench.model.frames_dropped == 6


@cocotb.test()
async def a_frame_at_an_address_that_is_not_aligned_is_refused_and_the_next_one_served(dut: Any) -> None:
    bench = BdGenBench(dut, Stalls.NONE, flow())
    await bench.start()
    bench.credit(5)
    for n, address in enumerate((0, 1, 64, 32, 4096, 4097)):
        bench.offer(n, address)
    await bench.check()
    assert (bench.model.frames_refused, bench.model.frames_dropped) == (3, 0)


@cocotb.test()
async def frames_of_no_bytes_are_refused(dut: Any) -> None:
    bench = BdGenBench(dut, Stalls.NONE, flow())
    fields = FLOW_T.unpack(ports.flow_t(bench.flow)) | {"image_bytes": 0}
    dut.flow_i.value = FLOW_T.pack(fields)
    await bench.start()
    bench.frames.items.extend({"tdata": ports.frame_t(FrameEvent(n, 0, 0, 0))} for n in range(3))
    await bench.drain(bench.bds, 0, quiet=100)
    assert int(dut.frames_refused_o.value) == 3
    assert int(dut.idle_o.value)


@cocotb.test()
@cocotb.parametrize(mtu=MTUS, image_bytes=[1, 4095, 4096, 4097, (1 << 31) - 1])
async def the_trailer_counts_the_packets_of_its_image(dut: Any, mtu: int, image_bytes: int) -> None:
    bench = BdGenBench(dut, Stalls.NONE, flow(image_bytes=image_bytes), mtu)
    await bench.start()
    bench.offer(0)
    await bench.check()


@cocotb.test()
async def only_the_frame_after_a_jump_waits_for_the_division(dut: Any) -> None:
    bench = BdGenBench(dut, Stalls.NONE, flow())
    await bench.start()
    for n in (5, 6, 7):
        bench.offer(n)
    await bench.check()
    assert bench.bds.taken[0] > 64
    assert bench.bds.taken[-1] - bench.bds.taken[0] < 20


@cocotb.test()
async def a_reset_starts_anew_whatever_was_under_way(dut: Any) -> None:
    bench = BdGenBench(dut, Stalls.NONE, flow())
    for cycles in range(1, 25):
        await bench.start()
        bench.offer(0)
        bench.offer(1)
        for _ in range(cycles):
            await bench.step()
        await bench.start()
        bench.offer(2)
        await bench.check()


def test_bd_gen() -> None:
    run("bd_gen")
