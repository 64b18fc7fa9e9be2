"""framelane_top between models that others wrote, and the rules of AXI on all its ports.

cocotbext-axi sends the pixels, writes the registers and is the memory; cocotbext-eth is the Ethernet MAC.
"""

import itertools
import logging
import random
from typing import Any

import cocotb
import pytest
from cocotb.triggers import with_timeout
from cocotbext.axi import (
    AxiBus,
    AxiLiteBus,
    AxiLiteMaster,
    AxiRam,
    AxiRamWrite,
    AxiStreamBus,
    AxiStreamFrame,
    AxiStreamSource,
    AxiWriteBus,
)
from cocotbext.eth import EthMacRx, EthMacTx
from scapy.layers.l2 import ARP, Ether

from bench import SEED, Stalls, assert_same_packets, run
from clocks_bench import JITTER, Side
from detector import CONSTANTS, StreamPlan
from framelane.driver.simulated.ports import frame_info_t
from plane_memory import PlaneMemory
from top_bench import BUILDS, MEMORY, SMALL, TopBench
from tx_bench import RECEIVER, SOURCE, session
from widths import some_of

LINE = {64: (10 * 10**9, 6000), 512: (100 * 10**9, 4700)}
"""By the MAC's width its line in bits a second, and its clock in ps: a little faster, though it drifts by 5 %."""
PERIODS = {"": 2100, "pixel": 5200, "memory": 3300, "register": 10_000}


class OutsideBench(TopBench):
    """All sides but the constants are others' models. The MAC's fails in a gap ("underflow")."""

    def __init__(self, dut: Any) -> None:
        StreamPlan.__init__(self, session(rows=12, columns=101, mtu=1024, n_slots=16).tx_config(), 8)
        self.dut, self.random = dut, random.Random(SEED)
        self.width, self.mac_width = len(dut.s_axis_pixel_tdata), len(dut.m_axis_tdata)
        speed, period = LINE[self.mac_width]
        periods = PERIODS | {"tx": period, "rx": period}
        self.side = {name: Side(dut, name, each, Stalls.NONE) for name, each in periods.items()}
        for name in ("link_up_i", "trigger_i", "pps_i"):
            getattr(dut, name).value = 0
        names = ("s_axil", "s_axis_pixel", "m_axi", "m_axi_corrected", "m_axis", "s_axis_rx")
        for name in names:
            logging.getLogger(f"cocotb.{dut._name}.{name}").setLevel(logging.ERROR)
        self.registers = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.register_clk, dut.register_rst)
        pixels = AxiStreamBus.from_prefix(dut, "s_axis_pixel")
        self.detector = AxiStreamSource(pixels, dut.pixel_clk, dut.pixel_rst)
        clock = (dut.memory_clk, dut.memory_rst)
        self.ram = AxiRam(AxiBus.from_prefix(dut, "m_axi"), *clock, size=MEMORY)
        corrected = AxiWriteBus.from_prefix(dut, "m_axi_corrected")
        self.corrected = AxiRamWrite(corrected, *clock, size=MEMORY, mem=self.ram.write_if.mem)
        self.planes = PlaneMemory(self.side["memory"], "m_axi_constant", self.width, CONSTANTS, b"", stalls=True)
        self.slow_reads(200)
        for channel in (self.ram.write_if.w_channel, self.corrected.w_channel):
            channel.set_pause_generator(self._pauses(1))
        self.mac = EthMacTx(AxiStreamBus.from_prefix(dut, "m_axis"), dut.tx_clk, dut.tx_rst, speed=speed)
        self.line_in = EthMacRx(AxiStreamBus.from_prefix(dut, "s_axis_rx"), dut.rx_clk, dut.rx_rst, speed=speed)
        self.rules = [rules for side in self.side.values() for rules in side.rules]

    def detect(self, count: int) -> None:
        for _ in range(count):
            frame = self.next_frame(self.random)
            self.detector.send_nowait(AxiStreamFrame(frame.pixels, tuser=frame_info_t(frame.info)))

    async def packets(self, count: int) -> list[bytes]:
        """So many, as the MAC got them."""
        return [bytes((await with_timeout(self.mac.recv(), 200, "us")).data) for _ in range(count)]


@cocotb.test()
async def both_images_come_to_a_mac_of_another_hand_and_no_port_breaks_a_rule(dut: Any) -> None:
    bench = OutsideBench(dut)
    bench.planes.data = bytearray(bench.correct())
    await bench.start()
    frames = 4
    bench.detect(frames)
    expected = bench.at_the_mac(set(range(frames)))
    assert_same_packets(await bench.packets(len(expected)), expected)
    bursts = {rules.prefix: rules.bursts for rules in bench.rules}
    assert all(sum(counts.values()) > 0 for counts in bursts.values()), bursts
    assert min(bursts["m_axi"].values()) >= frames
    assert sum(rules.is_lite for rules in bench.rules) == 1


@cocotb.test()
async def a_mac_of_another_hand_asks_by_arp_and_is_answered(dut: Any) -> None:
    bench = OutsideBench(dut)
    await bench.start()
    await bench.put("station", 0b001)
    request = Ether(src=RECEIVER.mac, dst="ff:ff:ff:ff:ff:ff") / ARP(
        op=1, hwsrc=RECEIVER.mac, psrc=str(RECEIVER.ip), pdst=str(SOURCE.ip)
    )
    for _ in itertools.repeat(None, 2):
        bench.line_in.send_nowait(bytes(request).ljust(60, b"\0"))
        (packet,) = await bench.packets(1)
        reply = Ether(packet)
        assert (len(packet), reply.dst, reply[ARP].op, reply[ARP].hwsrc) == (60, RECEIVER.mac, 2, SOURCE.mac)


@pytest.mark.parametrize("build", some_of("framelane_top", BUILDS))
def test_framelane_top_outside(build: dict[str, Any]) -> None:
    run("framelane_top_outside", top="framelane_top", build_args=JITTER, **build, **SMALL)
