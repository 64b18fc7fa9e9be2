"""gmii_line between cocotbext-eth's GMII and the core, in three clocks that drift: both ways, and what is damaged."""

import logging
from collections.abc import Callable
from typing import Any

import cocotb
from board_runner import BOARDS
from cocotb.triggers import with_timeout
from cocotbext.eth import GmiiFrame, GmiiSink, GmiiSource

from bench import Stalls, assert_same_packets, run
from clocks_bench import JITTER, Side, start_all
from framelane.models.gmii import gmii
from signals import now

LENGTHS = [60, 61, 62, 63, 64, 65, 127, 1514, 2047]
DATA_W, DEPTH = 32, 512
PERIODS = {"slower": 8100, "faster": 7900}
"""Periods of the PHY's clock, in ps; the board's own one has 8000. Both drift."""


class LineBench:
    """The block, its core's side, and a PHY of another hand."""

    def __init__(self, dut: Any, rx_period: int = 8000, stalls: Stalls = Stalls.NONE) -> None:
        self.dut = dut
        self.core = Side(dut, "", 16_000, stalls)
        self.tx, self.rx = Side(dut, "tx", 8000), Side(dut, "rx", rx_period)
        self.random = self.core.random
        self.out = self.core.source("s_axis", stalls=False)
        self.whole, self.all = self.core.sink("m_axis"), self.core.sink("m_axis_all")
        for signal in (dut.gmii_txd_o, dut.gmii_rxd_i):
            logging.getLogger(f"cocotb.{signal._path}").setLevel(logging.CRITICAL)
        self.line = GmiiSink(dut.gmii_txd_o, dut.gmii_tx_er_o, dut.gmii_tx_en_o, dut.tx_clk)
        self.phy = GmiiSource(dut.gmii_rxd_i, dut.gmii_rx_er_i, dut.gmii_rx_dv_i, dut.rx_clk)
        self.idle: list[int] = []
        """Idle cycles of the line before each packet."""
        self.bursts: list[bytearray] = []
        """Its bytes, whose first one the PHY may miss: it looks for it at the edge that brings it."""
        self._since, self._sends = 0, False
        self.tx.watch(self._watch)

    def _watch(self) -> None:
        sends = bool(now(self.dut.gmii_tx_en_o))
        if sends and not self._sends:
            self.idle.append(self._since)
            self.bursts.append(bytearray())
        if sends:
            self.bursts[-1].append(now(self.dut.gmii_txd_o))
        self._since = 0 if sends else self._since + 1
        self._sends = sends

    async def start(self) -> None:
        await start_all(self.core, self.tx, self.rx)
        await self.core.wait(40)
        self.line.clear()
        self.idle.clear()
        self.bursts.clear()

    async def until(self, done: Callable[[], bool]) -> None:
        """Wait until `done`, which is asked now and then."""
        for _ in range(400):
            if done():
                return
            await self.core.wait(25)
        raise AssertionError("it does not happen")

    def send(self, packet: bytes, spoiled: bool = False) -> None:
        self.out.send(packet, DATA_W, tuser=int(spoiled))

    async def sent(self) -> GmiiFrame:
        return await with_timeout(self.line.recv(), 100, "us")

    def received(self) -> list[bytes]:
        """Frames that are right, whole."""
        return [packet for packet, _ in split(self.whole.items, 1)]

    def seen(self) -> list[tuple[bytes, bool]]:
        """All, and whether they are wrong."""
        return split(self.all.items, DATA_W // 8)


def split(items: list[dict[str, int]], width: int) -> list[tuple[bytes, bool]]:
    packets, data = [], bytearray()
    for item in items:
        keep = item.get("tkeep", 1)
        assert item["tlast"] or keep == (1 << width) - 1
        data += item["tdata"].to_bytes(width, "little")[: keep.bit_count()]
        if item["tlast"]:
            packets.append((bytes(data), bool(item.get("tuser", 0))))
            data.clear()
    return packets


@cocotb.test()
@cocotb.parametrize(phy=list(PERIODS))
async def packets_pass_both_ways_at_once(dut: Any, phy: str) -> None:
    """To the line without a gap but Ethernet's own; from it whole, to a core that pauses."""
    bench = LineBench(dut, PERIODS[phy], Stalls.SINK)
    await bench.start()
    out, come = ([bench.random.randbytes(length) for length in lengths] for lengths in (LENGTHS, LENGTHS[:-1]))
    for packet in out:
        bench.send(packet)
    for number, packet in enumerate(come):  # one by one: the core takes a byte at a time, at half of the line's rate
        bench.phy.send_nowait(GmiiFrame.from_payload(packet))
        await bench.until(lambda count=number + 1: len(bench.received()) == count)  # type: ignore[misc]
    for packet in out:
        frame = await bench.sent()
        assert frame.check_fcs()
        assert frame.error is None
        assert bytes(frame.get_payload()) == packet
    assert [bytes(burst[: len(gmii.START)]) for burst in bench.bursts] == [gmii.START] * len(out)
    assert bench.idle[1:] == [gmii.GAP_BYTES] * (len(out) - 1)
    assert_same_packets(bench.received(), come)
    assert bench.seen() == [(packet, False) for packet in come]


@cocotb.test()
async def a_packet_that_is_to_be_wrong_is_so_on_the_line_and_alone(dut: Any) -> None:
    bench = LineBench(dut)
    await bench.start()
    packets = [bench.random.randbytes(length) for length in (60, 61, 200, 63, 64)]
    for number, packet in enumerate(packets):
        bench.send(packet, spoiled=number % 2 == 1)
    for number, packet in enumerate(packets):
        frame = await bench.sent()
        assert bytes(frame.get_payload()) == packet
        assert frame.check_fcs() == (frame.error is None) == (number % 2 == 0)


@cocotb.test()
@cocotb.parametrize(phy=list(PERIODS))
async def damaged_frames_do_not_reach_the_core_and_the_next_do(dut: Any, phy: str) -> None:
    bench = LineBench(dut, PERIODS[phy], Stalls.SINK)
    await bench.start()
    expected = []
    for number in range(40):
        frame = GmiiFrame.from_payload(bench.random.randbytes(bench.random.randint(60, 200)))
        payload = bytes(frame.get_payload())
        damage = number % 5
        if damage == 1:  # a bit, of the FCS as well
            frame.data[bench.random.randrange(8, len(frame.data))] ^= 1 << number % 8
            payload = bytes(frame.get_payload())
        elif damage == 2:  # RX_ER
            frame.error = [0] * len(frame.data)
            frame.error[bench.random.randrange(8, len(frame.data))] = 1
        elif damage == 3:  # too short, though its FCS is right
            frame = GmiiFrame.from_payload(payload[:40], min_len=0)
            payload = payload[:40]
        bench.phy.send_nowait(frame)
        expected.append((payload, damage in (1, 2, 3)))
    await bench.until(lambda: len(bench.seen()) >= len(expected))
    right = [packet for packet, wrong in expected if not wrong]
    await bench.until(lambda: len(bench.received()) >= len(right))
    assert bench.seen() == expected
    assert_same_packets(bench.received(), right)
    assert now(dut.link_up_o)


@cocotb.test()
async def where_the_core_waits_frames_are_lost_whole(dut: Any) -> None:
    bench = LineBench(dut)
    await bench.start()
    waits = True
    bench.whole._stall = lambda: waits
    come = [bench.random.randbytes(900) for _ in range(5)]
    for packet in come:
        bench.phy.send_nowait(GmiiFrame.from_payload(packet))
    await bench.until(lambda: len(bench.seen()) == len(come))
    waits = False
    fit = DEPTH * DATA_W // 8 // 900
    await bench.until(lambda: len(bench.received()) >= fit)
    bench.phy.send_nowait(GmiiFrame.from_payload(come[0][::-1]))
    await bench.until(lambda: bench.received()[-1:] == [come[0][::-1]])
    kept = bench.received()[:-1]
    assert kept == come[: len(kept)]
    assert fit <= len(kept) < len(come)


@cocotb.test()
async def the_link_is_up_by_its_status_or_a_right_packet(dut: Any) -> None:
    bench = LineBench(dut)
    await bench.start()
    assert not now(dut.link_up_o)
    broken = GmiiFrame.from_payload(bytes(60))
    broken.data[20] ^= 1
    bench.phy.send_nowait(broken)
    await bench.until(lambda: len(bench.seen()) == 1)
    await bench.core.wait(10)
    assert not now(dut.link_up_o)
    dut.gmii_rxd_i.value = 0xDD  # 1 Gb/s, full duplex, up (RGMII 2.0, 3.4.1)
    await bench.core.wait(20)
    assert now(dut.link_up_o)
    dut.gmii_rxd_i.value = 0x00
    await bench.core.wait(20)
    assert not now(dut.link_up_o)
    bench.phy.send_nowait(GmiiFrame.from_payload(bytes(60)))
    await bench.until(lambda: len(bench.received()) == 1)
    await bench.core.wait(10)
    assert now(dut.link_up_o)


@cocotb.test()
async def the_bit_of_the_phys_clock_turns(dut: Any) -> None:
    bench = LineBench(dut, 7900)
    await bench.start()
    seen: list[int] = []
    bench.core.watch(lambda: seen.append(now(dut.stir_o)))
    await bench.core.wait(2000)
    assert min(seen.count(0), seen.count(1)) > 100


def test_gmii_line() -> None:
    run("gmii_line", folders=[BOARDS / "common"], build_args=JITTER)
