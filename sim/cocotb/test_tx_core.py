"""tx_core: told what to send without registers, from an independent memory, its packets equal the model's."""

import logging
from dataclasses import replace
from typing import Any

import cocotb
import pytest
from cocotbext.axi import AxiReadBus, AxiSlaveRead

from bench import ALL_STALLS, STALL_SHARE, Bench, Stalls, assert_same_packets, run
from counter_ports import counter
from framelane.driver.simulated import ports
from framelane.driver.simulated.ports import COUNT_T
from framelane.models.placement.flow import Destination, Flow, FrameEvent
from framelane.models.placement.slots import FREE_RUNNING
from framelane.models.roce_tx.roce_qp import QpContext
from framelane.models.roce_tx.wire import Endpoint
from framelane.models.tx import Tx, TxConfig
from signals import now, twice
from widths import some_widths

LOCAL, REMOTE = Endpoint(0x020000000001, 0x0A000001), Endpoint(0x020000000002, 0x0A000002)
SIZE = 1 << 16
FLOW = Flow(
    source=5, first_destination=0, destinations=2, width=101, height=7, source_pitch=256, destination_pitch=202,
    source_offset=4,
)  # fmt: skip
RING = Destination(qp=1, base=0x7F00_0000_1000, slot_bytes=4096, n_slots=3, trailer_offset=4032)
QP = QpContext(REMOTE, dest_qpn=0x11, rkey=0xCAFE, psn=0xFFFFFE, mtu=512)
CONFIG = TxConfig(LOCAL, (replace(QP, psn=7, mtu=256), QP), (RING, replace(RING, qp=0, base=1 << 40)), (FLOW,))


class Memory:
    """What the AXI4 slave reads; it answers SLVERR where this raises."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.end = len(data)

    async def read(self, address: int, length: int) -> bytes:
        if address + length > self.end:
            raise IndexError
        return self.data[address:][:length]


class CoreBench(Bench):
    """The core, its tables, its memory; the golden transmitter beside it."""

    def __init__(self, dut: Any, stalls: Stalls = Stalls.NONE) -> None:
        super().__init__(dut, stalls)
        self.width = len(dut.m_axis_tdata)
        self.frames, self.qps = self.source("s_axis_frame"), self.source("s_axis_qp", stalls=False)
        self.out, self.counts = self.sink("m_axis"), self.sink("m_axis_count")
        logging.getLogger(f"cocotb.{dut._name}.m_axi").setLevel(logging.WARNING)
        self.memory = Memory(self.random.randbytes(SIZE))
        slave = AxiSlaveRead(AxiReadBus.from_prefix(dut, "m_axi"), dut.clk, dut.rst, self.memory)
        if stalls.source:
            slave.r_channel.set_pause_generator(iter(lambda: self.random.random() < STALL_SHARE, None))
        for name in ("s_axis_roce_tvalid", "rc_control_i", "m_axis_cnp_tready"):
            getattr(dut, name).value = 0
        dut.local_mac_i.value, dut.local_ip_i.value = LOCAL.mac, LOCAL.ip
        self.window_ends = [FREE_RUNNING] * len(CONFIG.destinations)
        self.released = self.ended = self.ignored = self.refused = 0
        self._asked = (0, 0)
        self._idle = False
        self.answer(self._look_up)
        self.watch(self._look)

    async def start(self) -> None:
        self.dut.armed_i.value = 1
        await self.reset()
        self.model = Tx(CONFIG, lambda address, length: self.memory.data[address:][:length])
        self.model.bd_gen.window_ends = self.window_ends
        self.expected: list[bytes] = []
        for index, qp in enumerate(CONFIG.qps):
            self.qps.items.append({"tdata": ports.qp_write_t(index, qp)})
        await self.hand_over(self.qps)
        for _ in range(20):
            await self.step()

    def _look_up(self) -> None:
        flow, entry = self._asked
        known = CONFIG.destinations[entry] if entry < len(CONFIG.destinations) else None
        self.dut.flow_i.value = ports.flow_t(CONFIG.flows[flow]) if flow < len(CONFIG.flows) else 0
        self.dut.destination_i.value = ports.destination_t(known, self.window_ends[entry]) if known else 0

    def _look(self) -> None:
        dut = self.dut
        self._asked = twice(dut.flow_index_o), now(dut.destination_index_o)
        if self._idle:
            moving = [n for n in ("m_axis_tvalid", "m_axis_count_tvalid", "release_o") if now(getattr(dut, n))]
            assert not moving, f"idle, but {moving} in the next cycle"
        self._idle = bool(now(dut.idle_o)) and not now(dut.rst)
        self.released += now(dut.release_o)
        self.ended += now(dut.status_valid_o)
        self.ignored += now(dut.ignored_o)
        self.refused += now(dut.refusal_valid_o)

    def offer(self, number: int) -> None:
        """A frame anywhere in the memory."""
        bits = self.random.getrandbits
        event = FrameEvent(number, bits(64), bits(64), self.random.randrange(SIZE - 4096), time_flags=bits(32))
        self.frames.items.append({"tdata": ports.frame_t(event)})
        if not int(self.dut.TimeFlags.value):
            event = replace(event, time_flags=0)
        if now(self.dut.armed_i):
            self.expected += self.model.frame(event)

    def counted(self) -> dict[int, int]:
        found: dict[int, int] = {}
        for item in self.counts.items:
            count = COUNT_T.unpack(item["tdata"])
            found[count["index"]] = found.get(count["index"], 0) + count["amount"]
        return found

    async def check(self, frames: int) -> None:
        await self.until(lambda: self.released == frames and not self.frames.items, 60_000)
        await self.until(lambda: bool(now(self.dut.idle_o)))
        for _ in range(100):
            await self.step()
        assert_same_packets(self.out.packets(self.width), self.expected)
        assert now(self.dut.idle_o)


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def packets_equal_the_model_and_every_frame_is_counted_and_released(dut: Any, stalls: Stalls) -> None:
    bench = CoreBench(dut, stalls)
    await bench.start()
    for n in range(10):
        bench.offer(n)
    await bench.check(10)
    names = {"flow_counters[].selected": (10,), "destination_counters[].sent": (5, 5)}
    assert bench.counted() == {counter(name, k): n for name, counts in names.items() for k, n in enumerate(counts)}
    assert bench.ended == 10 * FLOW.descriptors


@cocotb.test()
async def frames_are_ignored_unarmed_and_dropped_without_credit(dut: Any) -> None:
    bench = CoreBench(dut)
    await bench.start()
    dut.armed_i.value = 0
    await bench.step()
    bench.offer(0)
    await bench.until(lambda: bench.ignored == 1)
    dut.armed_i.value = 1
    bench.window_ends[1] = 0
    await bench.step()
    for n in range(1, 5):
        bench.offer(n)
    await bench.check(5)
    assert bench.counted()[counter("destination_counters[].dropped", 1)] == 2
    assert bench.counted()[counter("destination_counters[].sent", 0)] == 2


@cocotb.test()
async def a_frame_that_memory_refuses_is_counted_as_failed(dut: Any) -> None:
    bench = CoreBench(dut)
    await bench.start()
    bench.memory.end = 0
    bench.offer(0)
    await bench.until(lambda: bench.released == 1)
    await bench.until(lambda: bool(now(dut.idle_o)))
    assert bench.counted()[counter("destination_counters[].failed", 0)] == 1


@cocotb.test()
async def a_reset_forgets_what_was_under_way(dut: Any) -> None:
    bench = CoreBench(dut)
    for cycles in (1, 30, 60, 90, 150):
        await bench.start()
        bench.offer(0)
        bench.offer(1)
        for _ in range(cycles):
            await bench.step()
        await bench.start()
        bench.released = 0
        bench.offer(5)
        await bench.check(1)


@pytest.mark.parametrize("width", some_widths("tx_core"))
def test_tx_core(width: int) -> None:
    run("tx_core", flat=True, DataW=width, Flows=2, Destinations=4, TimeFlags=int(width != 64))
