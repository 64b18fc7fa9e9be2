"""mac_rx: packets of a MAC that does not wait come whole, or not at all, and are counted."""

from typing import Any

import cocotb
import pytest

from bench import ALL_STALLS, Sink, Source, Stalls, assert_same_packets, run
from clocks_bench import JITTER, RATIOS, Side, start_all
from framelane.models.mac.mac_port import MacPort
from receive_bench import count_pulses, line
from widths import some_of

WIDTHS = [(64, 8), (64, 64), (64, 512), (512, 64), (256, 32), (1024, 512), (1024, 8)]
"""Bits of the core and of the MAC: each one the wider, up to the limits."""
FAR = 128
"""Ratio of widths from which on packets last long: there are fewer of them, and the queue is shorter."""


class RxBench:
    """A MAC that sends, a core that takes."""

    def __init__(self, dut: Any, periods: tuple[int, int], stalls: Stalls) -> None:
        self.width, self.mac_width = len(dut.m_axis_tdata), len(dut.s_axis_tdata)
        self.core, self.mac = Side(dut, "", periods[0], stalls), Side(dut, "mac", periods[1], stalls)
        self.model = MacPort(width=self.width, mac_width=self.mac_width)
        self.depth = int(dut.Depth.value)
        self.line: Source = line(self.mac, stalls)
        self.sink: Sink = self.core.sink("m_axis")
        self.bad, self.lost = count_pulses(self.mac, dut.bad_o), count_pulses(self.mac, dut.lost_o)
        self.random = self.mac.random
        self.sent: list[tuple[bytes, bool]] = []

    def send(self, length: int, wrong: bool = False) -> None:
        packet = self.random.randbytes(length)
        self.line.send(packet, self.mac_width, tuser=0)
        self.line.items[-1]["tuser"] = int(wrong)
        self.sent.append((packet, wrong))

    async def quiet(self) -> None:
        await self.mac.wait_until(lambda: not self.line.items)
        since = 0
        while since < 100:
            before = len(self.sink.items)
            await self.core.wait(1)
            since = since + 1 if len(self.sink.items) == before else 0

    def packets(self) -> list[bytes]:
        return self.sink.packets(self.width)


@cocotb.test()
@cocotb.parametrize(periods=RATIOS, stalls=ALL_STALLS)
async def right_packets_pass_as_they_are_and_wrong_ones_do_not(
    dut: Any, periods: tuple[int, int], stalls: Stalls
) -> None:
    rx = RxBench(dut, periods, stalls)
    await start_all(rx.core, rx.mac)
    for k in range(40):
        rx.send(rx.random.randint(1, 200), k % 4 == 1)
        while rx.line.items:
            await rx.mac.wait(1)
        await rx.mac.wait(200 * 8 // rx.width * 8)
    await rx.quiet()
    assert_same_packets(rx.packets(), list(rx.model.received(rx.sent)))
    assert rx.bad[0] == 10
    assert rx.lost[0] == 0
    assert not any(item["tuser"] for item in rx.sink.items)


@cocotb.test()
@cocotb.parametrize(periods=RATIOS)
async def while_the_core_waits_what_has_no_room_is_lost_whole_and_counted(dut: Any, periods: tuple[int, int]) -> None:
    rx = RxBench(dut, periods, Stalls.NONE)
    await start_all(rx.core, rx.mac)
    rx.sink._stall = lambda: rx.random.random() < 0.9
    for _ in range(150 if rx.width < FAR * rx.mac_width else 50):
        rx.send(rx.random.choice((8, 60, 3 * rx.width // 8, rx.depth * rx.width // 8 + 60)))
    await rx.quiet()
    got = rx.packets()
    assert rx.lost[0] > 10
    assert len(got) + rx.lost[0] == len(rx.sent)
    order = iter(packet for packet, _ in rx.sent)
    assert all(packet in order for packet in got)


@cocotb.test()
@cocotb.parametrize(periods=RATIOS)
async def resets_of_the_core_leave_no_piece_of_a_packet(dut: Any, periods: tuple[int, int]) -> None:
    rx = RxBench(dut, periods, Stalls.SINK)
    await start_all(rx.core, rx.mac)
    for round_ in range(12):
        for _ in range(4):
            rx.send(rx.random.randint(60, 150))
        await rx.mac.wait(rx.random.randrange(150))
        await rx.core.reset(rx.random.randrange(1, 4))
        await rx.quiet()
        for _ in range(60):
            await rx.core.wait(1)
            await rx.mac.wait(1)
        assert set(rx.packets()) <= {packet for packet, _ in rx.sent}
        rx.sink.items.clear()
        rx.send(100)
        await rx.quiet()
        assert rx.packets() == [rx.sent[-1][0]], round_
        rx.sink.items.clear()


@cocotb.test()
async def a_reset_of_the_mac_ends_the_packet_under_way_marked_as_cut(dut: Any) -> None:
    rx = RxBench(dut, (2000, 2000), Stalls.NONE)
    await start_all(rx.core, rx.mac)
    rx.sink._stall = lambda: rx.core.cycle % 60 != 0
    cut = 0
    for _ in range(6):
        for _ in range(2):
            rx.send(min(rx.depth, 30) * rx.model.wide // 8)
        await rx.mac.wait_until(lambda: not rx.line.items)
        await rx.mac.wait(rx.random.randrange(40))
        await rx.mac.reset(3)
        await rx.quiet()
        ends = [item["tuser"] for item in rx.sink.items if item["tlast"]]
        if rx.sink.items:
            assert rx.sink.items[-1]["tlast"]
        cut += sum(ends)
        rx.sink.items.clear()
    assert cut > 0
    rx.send(64)
    await rx.quiet()
    assert rx.packets() == [rx.sent[-1][0]]


@pytest.mark.parametrize(("width", "mac_width"), some_of("mac_rx", WIDTHS))
def test_mac_rx(width: int, mac_width: int) -> None:
    depth = 32 if width < FAR * mac_width else 16
    run("mac_rx", build_args=JITTER, DataW=width, MacW=mac_width, Depth=depth, Frames=16)
