"""tx between models that others wrote, and the rules of AXI on its ports.

It runs inside framelane_top, of one clock and without a frame store: its packets pass a mac_port, and have no gap
there. cocotbext-axi writes the registers, is the memory, offers the frames and takes the packets; scapy reads them.
"""

import logging
import random
from collections.abc import Iterator
from typing import Any

import cocotb
from cocotb.triggers import with_timeout
from cocotbext.axi import (
    AxiBus,
    AxiLiteBus,
    AxiLiteMaster,
    AxiRam,
    AxiResp,
    AxiStreamBus,
    AxiStreamFrame,
    AxiStreamSink,
    AxiStreamSource,
)
from scapy.contrib.roce import BTH
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

from axi_ports import nobody_behind
from bench import SEED, STALL_SHARE, assert_same_packets, run
from clocks_bench import Side
from framelane.driver.simulated.ports import frame_t
from framelane.models.placement.flow import FrameEvent
from framelane.models.tx import Tx
from gap_rule import GapRule
from tx_bench import RECEIVER, SOURCE, configuration, session
from tx_registers import COMMAND, COPYING, DROPPED, FAILED, MAP, RESETTING, SENT, SNAPSHOT, STATUS

MEMORY = 1 << 16
PERIOD = 4000
WORD = 4


class OutsideBench:
    """All sides are others' models, which pause at random where they stall."""

    def __init__(self, dut: Any, *, stalls: bool) -> None:
        self.dut, self.random = dut, random.Random(SEED)
        self.side = Side(dut, "", PERIOD)
        for handle in dut:
            if handle._name.startswith(("s_axis_rx_", "s_axis_pixel_", "link_up_i")):
                handle.value = 0
        for prefix in ("m_axi_corrected", "m_axi_constant"):
            nobody_behind(dut, prefix)
        GapRule(self.side)
        for name in ("s_axil", "s_axis_frame", "m_axi", "m_axis"):
            logging.getLogger(f"cocotb.{dut._name}.{name}").setLevel(logging.ERROR)
        clock = (dut.clk, dut.rst)
        self.registers = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), *clock)
        self.ram = AxiRam(AxiBus.from_prefix(dut, "m_axi"), *clock, size=MEMORY)
        frames = AxiStreamBus.from_prefix(dut, "s_axis_frame")
        self.frames = AxiStreamSource(frames, *clock, byte_size=len(dut.s_axis_frame_tdata))
        self.line = AxiStreamSink(AxiStreamBus.from_prefix(dut, "m_axis"), *clock)
        if stalls:
            for paused in (self.ram.read_if.ar_channel, self.ram.read_if.r_channel, self.line):
                paused.set_pause_generator(self._pauses())
        self.config = session(rows=12, columns=101, mtu=1024).tx_config()
        self.qp = self.config.qps[0]
        self.model = Tx(self.config, self.ram.read)
        self.expected: list[bytes] = []

    def _pauses(self) -> Iterator[bool]:
        chance = random.Random(self.random.random())
        while True:
            yield chance.random() < STALL_SHARE

    async def write(self, offset: int, word: int) -> None:
        answer = await with_timeout(self.registers.write(offset, word.to_bytes(WORD, "little")), 10, "us")
        assert answer.resp == AxiResp.OKAY

    async def read(self, offset: int) -> int:
        answer = await with_timeout(self.registers.read(offset, WORD), 10, "us")
        assert answer.resp == AxiResp.OKAY
        return int.from_bytes(answer.data, "little")

    async def start(self) -> None:
        await self.side.reset(3)
        self.side.start()
        await self.wait_while(RESETTING)
        for offset, words in configuration(self.config, self.model):
            for k, word in enumerate(words):
                await self.write(offset + WORD * k, word)

    async def wait_while(self, bit: int, tries: int = 1000) -> None:
        """Read the status until the bit is low."""
        for _ in range(tries):
            if not await self.read(STATUS) & bit:
                return
        raise AssertionError(f"bit {bit:#x} of the status is still high")

    def offer(self, number: int) -> None:
        """A frame of any pixels, from an address that is aligned to nothing but pixels."""
        flow, address = self.config.flows[0], number * (MEMORY // 4) + 2 * self.random.randrange(100)
        self.ram.write(address, self.random.randbytes(flow.source_pitch * flow.height))
        event = FrameEvent(number, self.random.getrandbits(64), self.random.getrandbits(64), address)
        self.frames.send_nowait(AxiStreamFrame([frame_t(event)]))
        self.expected += self.model.frame(event)

    async def packets(self) -> list[bytes]:
        """As many as are expected, as the sink got them."""
        return [bytes((await with_timeout(self.line.recv(), 100, "us")).tdata) for _ in self.expected]

    async def counters(self, *names: str) -> list[int]:
        await self.write(COMMAND, SNAPSHOT)
        await self.wait_while(COPYING)
        return [await self.read(MAP[name].offset) for name in names]


@cocotb.test()
@cocotb.parametrize(stalls=[False, True])
async def frames_leave_between_models_of_other_hands_as_scapy_reads_them(dut: Any, stalls: bool) -> None:
    bench = OutsideBench(dut, stalls=stalls)
    await bench.start()
    for number in range(2):
        bench.offer(number)
    packets = await bench.packets()
    assert_same_packets(packets, bench.expected)
    for index, packet in enumerate(packets):
        frame = Ether(packet)
        assert (frame.src, frame.dst) == (SOURCE.mac, RECEIVER.mac)
        assert (frame[IP].src, frame[IP].dst, frame[UDP].dport) == (str(SOURCE.ip), str(RECEIVER.ip), 4791)
        assert (frame[BTH].dqpn, frame[BTH].psn) == (bench.qp.dest_qpn, (bench.qp.psn + index) & 0xFFFFFF)
        frame[BTH].icrc = frame[IP].chksum = None
        assert bytes(frame) == packet, "scapy computes another ICRC, or another checksum"
    assert await bench.counters("counters.packets", SENT, DROPPED, FAILED) == [len(packets), 2, 0, 0]
    assert bench.line.empty()
    bursts = {rules.prefix: rules.bursts for rules in bench.side.rules}
    assert bursts["m_axi"]["ar"] >= 2
    assert min(bursts["s_axil"].values()) > 0


BUILD: dict[str, Any] = dict.fromkeys(
    ("Store", "PixelClock", "MemoryClock", "RegisterClock", "MacClock", "Station", "Rc"), 0
)


def test_tx_outside() -> None:
    run("tx_outside", top="framelane_top", DataW=64, MacW=64, NumQp=4, Flows=4, Destinations=4, **BUILD)
