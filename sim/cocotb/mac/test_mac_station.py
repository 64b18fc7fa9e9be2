"""mac_station: a link's frames come to the core whole, and its neighbours are answered, whatever the clocks."""

from typing import Any

import cocotb
import pytest
from scapy.layers.inet import ICMP
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Raw

from bench import ALL_STALLS, Sink, Source, Stalls, assert_same_packets, run
from clocks_bench import RATIOS, Side, start_all
from framelane.driver.simulated.neighbour_ports import NeighbourConfig
from framelane.models.mac.mac_port import MacPort
from framelane.models.roce_tx.wire import Endpoint
from gap_rule import GapRule
from receive_bench import LOCAL, PEER, acknowledge, count_pulses, ethernet, ip, line
from signals import now
from widths import some_of

OURS = b"\x88\xb5"
"""EtherType of frames that the station does not answer: of local experiments (IEEE 802)."""
LONGEST = 640
CLOCK_HZ = 20_000
"""The MAC's clock where it is known: so slow that a millisecond is a few cycles."""


class LinkBench:
    """A core that takes, a MAC that sends and takes."""

    def __init__(self, dut: Any, periods: tuple[int, int], stalls: Stalls = Stalls.NONE) -> None:
        self.dut, self.mac_width = dut, len(dut.s_axis_tdata)
        self.core = Side(dut, "", periods[0], stalls)
        self.rx, self.tx = Side(dut, "rx", periods[1], stalls), Side(dut, "tx", periods[1] + 3, stalls)
        self.width = len(dut.m_axis_core_tdata)
        self.model = MacPort(width=self.width, mac_width=self.mac_width)
        self.line: Source = line(self.rx, stalls)
        self.sink: Sink = self.core.sink("m_axis_core")
        self.out: Sink = self.tx.sink("m_axis")
        self.rule = GapRule(self.tx)
        self.bad, self.lost = count_pulses(self.core, dut.bad_o), count_pulses(self.core, dut.lost_o)
        self.random = self.rx.random
        self.sent: list[tuple[bytes, bool]] = []
        dut.config_i.value = NeighbourConfig(LOCAL, arp_enabled=True, echo_enabled=True, clocks_per_ms=20).pack()
        dut.announce_i.value = 0
        dut.link_up_i.value = 1

    async def start(self) -> None:
        """Reset all sides; wait until the station knows its addresses and has announced them."""
        await start_all(self.core, self.rx, self.tx)
        await self.quiet()
        self.out.clear()

    def send(self, frame: bytes, wrong: bool = False) -> None:
        frame = frame.ljust(60, b"\0")
        self.line.send(frame, self.mac_width, tuser=0)
        self.line.items[-1]["tuser"] = int(wrong)
        self.sent.append((frame, wrong))

    def any_frame(self) -> bytes:
        return bytes(12) + OURS + self.random.randbytes(self.random.randint(46, LONGEST - 14))

    async def quiet(self) -> None:
        await self.rx.wait_until(lambda: not self.line.items)
        since, limit = 0, self.core.cycle + 50_000
        while since < 300:
            assert self.core.cycle < limit, "it goes on sending"
            before = len(self.sink.items), len(self.out.items)
            await self.core.wait(1)
            since = since + 1 if (len(self.sink.items), len(self.out.items)) == before else 0


@cocotb.test()
@cocotb.parametrize(periods=RATIOS, stalls=ALL_STALLS)
async def right_frames_come_to_the_core_and_wrong_ones_are_counted(
    dut: Any, periods: tuple[int, int], stalls: Stalls
) -> None:
    link = LinkBench(dut, periods, stalls)
    await link.start()
    for k in range(20):
        link.send(link.any_frame(), k % 5 == 1)
        await link.rx.wait_until(lambda: not link.line.items)
        await link.quiet()
    assert_same_packets(link.sink.packets(link.width), list(link.model.received(link.sent)))
    assert (link.bad[0], link.lost[0]) == (4, 0)
    assert not any(item["tuser"] for item in link.sink.items)
    assert not link.out.items


@cocotb.test()
@cocotb.parametrize(periods=RATIOS)
async def while_the_core_waits_what_has_no_room_is_counted_and_neighbours_are_answered(
    dut: Any, periods: tuple[int, int]
) -> None:
    link = LinkBench(dut, periods)
    await link.start()
    link.sink._stall = lambda: True
    peer = PEER.mac.to_bytes(6, "big").hex(":")
    pings = [ethernet() / ip(id=k) / ICMP(id=7, seq=k) / Raw(link.random.randbytes(40)) for k in range(8)]
    for ping in pings:
        # What the station has of RDMA goes nowhere, and holds up nothing.
        for frame in (acknowledge(2, ping[ICMP].seq), bytes(ping), *(link.any_frame() for _ in range(3))):
            link.send(frame)
        await link.quiet()
    answers = [Ether(frame) for frame in link.out.packets(link.mac_width)]
    assert [(answer.dst, answer[ICMP].type, answer[ICMP].seq) for answer in answers] == [(peer, 0, k) for k in range(8)]
    assert [bytes(answer[Raw])[:40] for answer in answers] == [bytes(ping[Raw]) for ping in pings]
    assert link.lost[0] > 5
    link.sink._stall = lambda: False
    await link.quiet()
    got = link.sink.packets(link.width)
    assert len(got) + link.lost[0] == len(link.sent)
    order = iter(packet for packet, _ in link.sent)
    assert all(packet in order for packet in got)


@cocotb.test()
async def it_announces_what_it_is_told_last(dut: Any) -> None:
    link = LinkBench(dut, RATIOS[0])
    await link.start()
    for round_ in range(1, 4):
        own = Endpoint(LOCAL.mac + round_, LOCAL.ip + round_)
        dut.config_i.value = NeighbourConfig(own, clocks_per_ms=20).pack()
        await link.core.wait(60)  # the crossing brings it
        link.out.clear()
        dut.announce_i.value = 1
        await link.core.wait(1)
        dut.announce_i.value = 0
        await link.quiet()
        (frame,) = [Ether(frame) for frame in link.out.packets(link.mac_width)]
        assert (frame[ARP].psrc, frame[ARP].hwsrc) == (ip(own).src, own.mac.to_bytes(6, "big").hex(":"))


@cocotb.test()
async def its_milliseconds_are_those_of_the_macs_clock_where_that_is_known(dut: Any) -> None:
    """Else they are as it is told. What is announced is announced again 2000 ms later (RFC 5227)."""
    link = LinkBench(dut, RATIOS[0])
    told = 7
    dut.config_i.value = NeighbourConfig(LOCAL, clocks_per_ms=told).pack()
    await link.start()
    ends: list[int] = []
    """Cycles of rx_clk in which an announcement ends."""

    def note() -> None:
        if now(dut.m_axis_tvalid) and now(dut.m_axis_tready) and now(dut.m_axis_tlast):
            ends.append(link.rx.cycle)

    link.tx.watch(note)
    dut.announce_i.value = 1
    await link.core.wait(1)
    dut.announce_i.value = 0
    await link.tx.wait_until(lambda: len(ends) == 2)
    per_ms = int(dut.ClockHz.value) // 1000 or told
    assert abs(ends[1] - ends[0] - 2000 * per_ms) < 2 * per_ms


CASES = [(512, 64, 0), (64, 64, CLOCK_HZ), (256, 512, 0), (512, 128, CLOCK_HZ)]


@pytest.mark.parametrize(("width", "mac_width", "clock_hz"), some_of("mac_station", CASES))
def test_mac_station(width: int, mac_width: int, clock_hz: int) -> None:
    run("mac_station", DataW=width, MacW=mac_width, MaxBytes=LONGEST, ClockHz=clock_hz)
