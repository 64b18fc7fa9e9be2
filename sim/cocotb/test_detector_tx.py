"""detector_tx: a detector's packets leave as WRITEs that a receiver places, soon and always after the same time."""

import os
from typing import Any

import cocotb
import pytest

from bench import Bench, Stalls, assert_same_packets, run
from core_bench import BYTES, MODULES, PACKETS, PARAMETERS, SMALL, TARGET
from det_packets import FIRST_PORT, frame_of
from framelane.driver.simulated.neighbour_ports import NEIGHBOUR_CONFIG_T
from framelane.driver.simulated.ports import qp_write_t, target_t
from framelane.models.cells import axis
from framelane.models.detector.det_header import DetHeader
from framelane.models.detector_tx import DetectorTx
from framelane.models.placement.slots import FREE_RUNNING
from framelane.models.roce_tx import roce_icrc, wire
from framelane.models.roce_tx.roce_qp import QpContext
from receive_bench import LOCAL, PEER, line
from widths import some_widths

RESETS = int(os.environ.get("FRAMELANE_PHASES", "40"))
QP = QpContext(dst=PEER, dest_qpn=0x123, rkey=0xCAFE, psn=7, mtu=4096, src_port=0xC000)


class TxBench(Bench):
    def __init__(self, dut: Any, stalls: Stalls = Stalls.NONE) -> None:
        super().__init__(dut, stalls)
        self.line, self.width = line(self, stalls), len(dut.s_axis_tdata)
        self.qps, self.out = self.source("s_axis_qp", stalls=False), self.sink("m_axis")
        dut.target_i.value = target_t(TARGET)
        config = dict.fromkeys(NEIGHBOUR_CONFIG_T.fields, 0) | {"mac": LOCAL.mac, "ip": LOCAL.ip}
        dut.config_i.value = NEIGHBOUR_CONFIG_T.pack(config)
        dut.link_up_i.value, dut.announce_i.value = 1, 0
        dut.first_port_i.value, dut.two_ports_i.value, dut.modules_i.value = FIRST_PORT, 0, MODULES
        dut.armed_i.value, dut.window_end_i.value, dut.timeout_i.value = 1, FREE_RUNNING, 0xFFFF
        dut.tick_i.value = dut.flush_i.value = 0
        self.header = DetHeader(SMALL, MODULES)
        self.expected: list[bytes] = []

    async def begin(self) -> None:
        """Reset, and write the QPs."""
        await self.reset(cycles=4)
        self.model = DetectorTx(self.header, TARGET, LOCAL, FIRST_PORT, (QP,) * 4)
        self.expected = []
        self.qps.items.extend({"tdata": qp_write_t(index, QP)} for index in range(4))
        await self.hand_over(self.qps)

    def packet(self, frame: int, packet: int, module: int) -> bytes:
        numbers = {"frame_number": frame, "packet_number": packet, "module_id": module}
        return frame_of(self.header.of.written(numbers) + self.random.randbytes(BYTES), module)

    def send(self, frame: bytes, bad: bool = False) -> None:
        self.line.send(frame, self.width, tuser=0)
        self.line.items[-1]["tuser"] = int(bad)
        self.expected += self.model.take(frame, bad)

    async def check(self) -> None:
        beats = sum(axis.n_beats(len(packet), self.width) for packet in self.expected)
        await self.until(lambda: not self.line.items and len(self.out.items) >= beats, 60_000)
        for _ in range(200):
            await self.step()
        assert_same_packets(self.out.packets(self.width), self.expected)


@cocotb.test()
async def packets_are_those_of_the_model_and_only_good_ones_have_a_right_icrc(dut: Any) -> None:
    """The line has gaps: holes, masks and trailers take their time, and what has no room is lost."""
    bench = TxBench(dut, Stalls.SOURCE)
    await bench.begin()
    sent: dict[int, bytes] = {}
    for frame in range(1, 5):
        order = [(packet, module) for packet in range(PACKETS) for module in range(MODULES)]
        for packet, module in bench.random.sample(order, len(order)):
            data = bench.packet(frame, packet, module)
            cut = bench.random.random() < 0.1
            bench.send(data[: bench.random.randrange(100, len(data), 2)] if cut else data, cut)
            place = frame - 1 << 20 | module * PACKETS + packet
            sent[place] = b"\0\x80" * (BYTES // 2) if cut else data[-BYTES:]
    await bench.check()
    found = {}
    for written in bench.out.packets(bench.width):
        if not roce_icrc.check(written):
            continue
        headers, payload = wire.parse(written)
        assert headers.reth
        slot, place = divmod(headers.reth.address - TARGET.base, TARGET.slot_bytes)
        if place < MODULES * PACKETS * BYTES:
            found[slot << 20 | place // BYTES] = payload
    guarded = {place: guard(data) for place, data in sent.items()}
    assert found == guarded


def guard(data: bytes) -> bytes:
    """Words of gain code 10 are errors, but in holes."""
    if data == b"\0\x80" * (len(data) // 2):
        return data
    pairs = zip(data[::2], data[1::2], strict=True)
    return b"".join(b"\xff\xff" if high >> 6 == 2 else bytes((low, high)) for low, high in pairs)


@cocotb.test()
async def the_first_pixel_leaves_the_same_time_behind_the_header_after_any_reset(dut: Any) -> None:
    bench = TxBench(dut)
    lanes, times = bench.width // 8, set()
    pixels_in_beat = (54 + 16) // lanes
    for _ in range(RESETS):
        await bench.begin()
        for _ in range(bench.random.randrange(60)):
            await bench.step()
        bench.line.accepted.clear()
        bench.out.clear()
        bench.send(bench.packet(1, bench.random.randrange(PACKETS), bench.random.randrange(MODULES)))
        await bench.until(lambda: len(bench.out.items) > pixels_in_beat)
        times.add(bench.out.taken[pixels_in_beat] - bench.line.accepted[(42 + 48 - 1) // lanes])
    dut._log.info(f"header to first pixel: {times} cycles")
    assert len(times) == 1
    assert max(times) <= (20 if bench.width == 512 else 28)


@pytest.mark.parametrize("width", some_widths("detector_tx"))
def test_detector_tx(width: int) -> None:
    run("detector_tx", DataW=width, **PARAMETERS)
