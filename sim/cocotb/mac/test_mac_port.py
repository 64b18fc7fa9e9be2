"""mac_port: both directions beside each other, three clocks, and its counts in the core's."""

from typing import Any

import cocotb
import pytest

from bench import Stalls, assert_same_packets, run
from clocks_bench import JITTER, Side, start_all
from framelane.models.mac.mac_port import MacPort
from port_bench import TxBench
from receive_bench import count_pulses, line

PERIODS = ((2000, 2560), (2560, 2000), (3000, 1000))
"""Clock periods of core and MAC in ps. The MAC's two clocks are nearly alike."""


class PortBench(TxBench):
    """The core and both sides of a MAC."""

    def __init__(self, dut: Any, periods: tuple[int, int], stalls: Stalls = Stalls.NONE) -> None:
        model = MacPort(width=len(dut.s_axis_tdata), mac_width=len(dut.m_axis_tdata), max_bytes=int(dut.MaxBytes.value))
        super().__init__(dut, periods, stalls, "tx", model)
        self.rx = Side(dut, "rx", periods[1] + 3, stalls)
        self.line, self.received = line(self.rx, stalls, "s_axis_rx"), self.core.sink("m_axis_rx")
        names = ("tx_underrun", "tx_too_long", "rx_bad", "rx_lost")
        self.counts = {name: count_pulses(self.core, getattr(dut, f"{name}_o")) for name in names}
        self.came: list[tuple[bytes, bool]] = []

    async def start(self) -> None:
        await start_all(self.core, self.mac, self.rx)

    def come(self, length: int, wrong: bool = False) -> None:
        """Queue a packet of the MAC."""
        packet = self.random.randbytes(length)
        self.line.send(packet, self.model.mac_width, tuser=0)
        self.line.items[-1]["tuser"] = int(wrong)
        self.came.append((packet, wrong))

    async def all_came(self) -> None:
        await self.rx.wait_until(lambda: not self.line.items)
        since = 0
        while since < 150:
            before = len(self.received.items)
            await self.core.wait(1)
            since = since + 1 if len(self.received.items) == before else 0

    def counted(self) -> dict[str, int]:
        return {name: count[0] for name, count in self.counts.items() if count[0]}


@cocotb.test()
@cocotb.parametrize(periods=PERIODS, stalls=[Stalls.NONE, Stalls.BOTH])
async def both_directions_pass_beside_each_other(dut: Any, periods: tuple[int, int], stalls: Stalls) -> None:
    port = PortBench(dut, periods, stalls)
    await port.start()
    port.send(port.random.randint(1, port.model.max_bytes) for _ in range(40))
    for k in range(30):
        port.come(port.random.randint(20, 100), k % 5 == 0)
        await port.rx.wait_until(lambda: not port.line.items)
        await port.rx.wait(100)
    await port.finish()
    await port.all_came()
    assert_same_packets(port.received.packets(port.model.width), list(port.model.received(port.came)))
    assert port.counted() == {"rx_bad": 6}


@cocotb.test()
async def what_is_lost_or_left_out_is_counted_in_the_cores_clock(dut: Any) -> None:
    port = PortBench(dut, (2000, 2560))
    await port.start()
    longest = (port.model.depth + 1) * port.model.wide // 8
    port.send([64, longest + 1, 64, longest + 60])
    await port.finish()
    port.received._stall = lambda: True
    for _ in range(3):
        port.come(longest - port.model.wide // 8)
    for _ in range(2):
        port.come(64, wrong=True)
    await port.rx.wait_until(lambda: not port.line.items)
    await port.core.wait(30)
    lost = port.counts["rx_lost"][0]
    assert lost >= 1
    assert port.counted() == {"tx_too_long": 2, "rx_lost": lost, "rx_bad": 2}
    port.received._stall = lambda: False
    await port.all_came()
    assert len(port.received.packets(port.model.width)) == 3 - lost


@cocotb.test()
async def the_threshold_is_the_cores_and_underruns_are_counted(dut: Any) -> None:
    port = PortBench(dut, (2000, 2000))
    dut.threshold_i.value = 1
    await port.start()
    await port.core.wait(20)
    port.source._stall = lambda: port.core.cycle % 300 < 299
    port.send([4 * port.model.wide // 8] * 2)
    await port.quiet(400)
    assert port.ends() == [1, 1]
    await port.core.wait(20)
    assert port.counted() == {"tx_underrun": 2}


@pytest.mark.parametrize(("width", "mac_width"), [(64, 8), (512, 512)])
def test_mac_port(width: int, mac_width: int) -> None:
    run("mac_port", build_args=JITTER, DataW=width, MacW=mac_width, MaxBytes=256 if width == 64 else 1024)
