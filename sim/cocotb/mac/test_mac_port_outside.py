"""mac_port between models that others wrote: cocotbext-axi at the core, cocotbext-eth's Ethernet MAC at the line."""

import itertools
import logging
import random
from typing import Any

import cocotb
import pytest
from cocotb.triggers import with_timeout
from cocotbext.axi import AxiStreamBus, AxiStreamFrame, AxiStreamSink, AxiStreamSource
from cocotbext.eth import EthMacRx, EthMacTx

from bench import SEED, STALL_SHARE, assert_same_packets, run
from clocks_bench import JITTER, Side, start_all
from framelane.models.mac.mac_port import MacPort
from waves import Waves, check
from widths import some_of

LINE = {8: (10**9, 7400), 512: (100 * 10**9, 4500)}
"""By the MAC's width its line in bits a second, and its clock in ps: a little faster, though it drifts by 5 %."""
BUILDS = [(64, 8, 256), (512, 512, 1024)]


class OutsideBench:
    """Both directions. The MAC's model takes each beat when the line has room, and fails in a gap ("underflow")."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.model = MacPort(
            width=len(dut.s_axis_tdata), mac_width=len(dut.m_axis_tdata), max_bytes=int(dut.MaxBytes.value)
        )
        speed, period = LINE[self.model.mac_width]
        self.core = Side(dut, "", 2500)
        self.sides = (self.core, Side(dut, "tx", period), Side(dut, "rx", period))
        self.random = random.Random(SEED)
        dut.threshold_i.value = 0
        for name in ("s_axis", "m_axis", "m_axis_rx", "s_axis_rx"):
            logging.getLogger(f"cocotb.{dut._name}.{name}").setLevel(logging.ERROR)
        self.source = AxiStreamSource(AxiStreamBus.from_prefix(dut, "s_axis"), dut.clk, dut.rst)
        self.sink = AxiStreamSink(AxiStreamBus.from_prefix(dut, "m_axis_rx"), dut.clk, dut.rst)
        self.mac = EthMacTx(AxiStreamBus.from_prefix(dut, "m_axis"), dut.tx_clk, dut.tx_rst, speed=speed)
        self.line = EthMacRx(AxiStreamBus.from_prefix(dut, "s_axis_rx"), dut.rx_clk, dut.rx_rst, speed=speed)

    async def start(self) -> None:
        await start_all(*self.sides)
        await self.core.wait(60)

    def packets(self, count: int) -> list[bytes]:
        return [self.random.randbytes(self.random.randint(14, self.model.max_bytes)) for _ in range(count)]


@cocotb.test()
@cocotb.parametrize(stalls=[False, True])
async def a_mac_of_another_hand_gets_every_packet_without_an_underflow(dut: Any, stalls: bool) -> None:
    bench = OutsideBench(dut)
    await bench.start()
    if stalls:
        bench.source.set_pause_generator(iter(lambda: bench.random.random() < STALL_SHARE, None))
    sent = bench.packets(20)
    for packet in sent:
        bench.source.send_nowait(AxiStreamFrame(packet))
    got = [bytes((await with_timeout(bench.mac.recv(), 1, "ms")).data) for _ in sent]
    assert_same_packets(got, list(bench.model.sent(sent)))


@cocotb.test()
@cocotb.parametrize(stalls=[False, True])
async def what_a_mac_of_another_hand_receives_comes_to_the_core(dut: Any, stalls: bool) -> None:
    bench = OutsideBench(dut)
    await bench.start()
    if stalls:
        bench.sink.set_pause_generator(iter(lambda: bench.random.random() < STALL_SHARE / 2, None))
    came = bench.packets(20)
    for packet in came:
        bench.line.send_nowait(packet)
    got = []
    for _ in came:
        frame = await with_timeout(bench.sink.recv(), 1, "ms")
        assert not frame.tuser
        got.append(bytes(frame.tdata))
    assert_same_packets(got, list(bench.model.received((packet, False) for packet in came)))


@cocotb.test()
async def a_packet_that_stops_on_its_way_leaves_in_one_piece(dut: Any) -> None:
    """The diagram of the page: a packet of 12 beats, whose source pauses, and the same at the MAC."""
    if len(dut.s_axis_tdata) != len(dut.m_axis_tdata):
        return  # the page shows equal widths
    core, mac, line = (Side(dut, name, 3000) for name in ("", "tx", "rx"))
    source, sink = core.source("s_axis"), mac.sink("m_axis")
    line.source("s_axis_rx")
    dut.threshold_i.value = 0
    await start_all(core, mac, line)
    await core.wait(60)
    names = ("tvalid", "tready", "tlast")
    into, out = (Waves(side, *(f"{n}_{s}" for s in names)) for side, n in ((core, "s_axis"), (mac, "m_axis")))
    await core.wait(2)
    pauses = itertools.chain([False] * 4, [True] * 3, [False] * 3, [True] * 20, itertools.repeat(False))
    source._stall = lambda: next(pauses) if source.items else False
    source.send(bytes(12 * len(dut.s_axis_tkeep)), len(dut.s_axis_tdata))
    await mac.wait_until(lambda: len(sink.items) == 12)
    await core.wait(30)
    check("no_gap", ("core", into), ("MAC", out))


@pytest.mark.parametrize(("width", "mac_width", "longest"), some_of("mac_port_outside", BUILDS))
def test_mac_port_outside(width: int, mac_width: int, longest: int) -> None:
    late = JITTER if width != mac_width else ()  # the page's diagram has the same cycles each time
    run("mac_port_outside", top="mac_port", build_args=late, DataW=width, MacW=mac_width, MaxBytes=longest)
