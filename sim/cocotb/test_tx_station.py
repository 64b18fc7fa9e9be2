"""tx_station: RoCEv2 goes to the core, neighbours are answered between its packets, pauses hold these but no reset."""

from collections import Counter
from random import Random
from typing import Any

import cocotb
import pytest
from scapy.layers.inet import ICMP
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Raw

from bench import ALL_STALLS, Bench, Source, Stalls, assert_same_packets, run
from counter_ports import NEIGHBOUR_PULSES_T, count_events
from framelane.driver.simulated.neighbour_ports import RESOLVED_T, NeighbourConfig, resolve_t
from framelane.models.cells import axis
from framelane.models.roce_tx.wire import Endpoint
from framelane.models.station import rx_path
from framelane.models.station.arp import Arp
from framelane.models.station.neighbour import Neighbour
from framelane.models.station.pause import Pause
from framelane.models.station.rx_filter import PAUSE_MAC, RxClass, RxDrop
from receive_bench import LOCAL, PEER, acknowledge, congestion, ethernet, ip
from signals import now
from widths import some_widths

OTHER = Endpoint(0x020000000077, 0xC6336477)
OURS = b"\x88\xb5"
"""EtherType of the core's packets here: of local experiments (IEEE 802)."""
PAUSE = bytes(Ether(src="02:00:00:00:00:11", dst=PAUSE_MAC.to_bytes(6, "big").hex(":"), type=0x8808))
CLOCKS_PER_MS = 20


class StationBench(Bench):
    """The block between a MAC and a core that always has packets for it, beside the models of what it is made of."""

    def __init__(self, dut: Any, stalls: Stalls = Stalls.NONE, **config: Any) -> None:
        super().__init__(dut, stalls)
        self.width = len(dut.m_axis_tdata)
        self.line = Source(dut, "s_axis_rx", self._pauses(stalls.source))
        self._sources.append(self.line)
        self.packets = self.source("s_axis_packet", stalls=False)
        self.roce, self.out = self.sink("m_axis_roce"), self.sink("m_axis")
        self.questions = self.source("s_axis_resolve")
        self.config = NeighbourConfig(LOCAL, **{"clocks_per_ms": CLOCKS_PER_MS, "timeout_ms": 3, "retries": 1} | config)
        dut.config_i.value = self.config.pack()
        dut.link_up_i.value = dut.announce_i.value = dut.resetting_i.value = 0
        pause = Pause(LOCAL.mac, self.config.quanta_per_clock, self.config.pause_honoured, 0, 0)
        self.model = Neighbour(Arp(LOCAL, None, self.config.timeout_ms, self.config.retries), pause)
        self.events = count_events(self, dut.pulses_o, NEIGHBOUR_PULSES_T)
        self.expected: Counter[str] = Counter()
        self.expected_roce: list[bytes] = []
        self.sent: list[bytes] = []

    def hear(self, frame: bytes) -> None:
        """A frame comes from the MAC, padded to 60 bytes."""
        frame = frame.ljust(60, b"\0")
        self.line.send(frame, self.width, tuser=0)
        found = rx_path.receive(frame, LOCAL)
        if isinstance(found, RxDrop):
            self.expected[f"rx_{found.name.lower()}"] += 1
            return
        user, plain = found
        if user.rx_class is RxClass.ROCE:
            self.expected_roce.append(plain)
            return
        event = self.model.receive(plain, user)
        assert event is not None
        prefix = {RxClass.ARP: "arp", RxClass.ICMP: "echo"}[user.rx_class]
        self.expected[f"{prefix}_{event.name.lower()}"] += 1

    def send(self, length: int) -> None:
        """A packet of the core."""
        self.sent.append(bytes(12) + OURS + self.random.randbytes(length - 14))
        self.packets.send(self.sent[-1], self.width)

    async def run(self, cycles: int) -> None:
        for _ in range(cycles):
            await self.step()

    async def check(self) -> None:
        await self.until(lambda: not self.line.items and not self.packets.items)
        await self.run(4000)
        assert_same_packets(self.roce.packets(64), self.expected_roce)
        found = self.out.packets(self.width)
        assert_same_packets(of_kind(found, OURS), self.sent)
        answers = self.model.take()
        for kind in (b"\x08\x06", b"\x08\x00"):
            assert_same_packets(of_kind(found, kind), of_kind(answers, kind))
        assert len(found) == len(self.sent) + len(answers)
        assert self.events == self.expected


def of_kind(frames: list[bytes], ethertype: bytes) -> list[bytes]:
    """Those of an EtherType, with or without VLAN tag."""
    return [f for f in frames if (f[16:18] if f[12:14] == b"\x81\x00" else f[12:14]) == ethertype]


def frames(draw: Random, number: int) -> list[bytes]:
    """One of each kind, with or without VLAN tag: of RoCEv2, for a neighbour's answer, for others."""
    tci = draw.choice((None, 0x0123))
    under, peer = ethernet(tci=tci), PEER.mac.to_bytes(6, "big").hex(":")
    question = ARP(op="who-has", hwsrc=peer, psrc=ip().src, pdst=ip().dst)
    return [
        acknowledge(2 + draw.randrange(9), draw.getrandbits(24), under=under / ip()),
        congestion(2 + draw.randrange(9), under=under / ip()),
        bytes(ethernet(dst=Endpoint((1 << 48) - 1, 0), tci=tci) / question),
        bytes(under / ip(id=number) / ICMP(id=7, seq=number) / Raw(draw.randbytes(draw.randrange(99)))),
        bytes(ethernet(dst=OTHER, tci=tci) / ip() / Raw(draw.randbytes(60))),
        bytes(under / ip(dst=OTHER) / Raw(draw.randbytes(60))),
    ]


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def frames_of_all_kinds_go_where_they_belong_and_the_cores_packets_pass(dut: Any, stalls: Stalls) -> None:
    bench = StationBench(dut, stalls)
    await bench.reset()
    draw = bench.random
    for n in range(80):
        bench.hear(draw.choice(frames(draw, n)))
        for _ in range(draw.randrange(3)):
            bench.send(draw.randrange(60, 1500))
        await bench.until(lambda: not bench.line.items)
        await bench.run(300)
    assert len(bench.expected) >= 4
    assert len(bench.expected_roce) > 10
    await bench.check()


@cocotb.test()
async def a_pause_holds_packets_until_it_ends_or_the_core_is_reset(dut: Any) -> None:
    bench = StationBench(dut, pause_honoured=True)
    await bench.reset()
    for resetting in (0, 1):
        dut.resetting_i.value = 0
        bench.line.send((PAUSE + bytes.fromhex("0001 1000")).ljust(60, b"\0"), bench.width, tuser=0)
        await bench.until(lambda: bool(now(dut.held_o)))
        before = len(bench.out.items)
        bench.send(1000)
        await bench.run(500)
        assert now(dut.held_o)
        assert len(bench.out.items) == before, "a packet has left in a pause"
        dut.resetting_i.value = resetting
        await bench.run(400)
        beats = axis.n_beats(1000, bench.width)
        assert len(bench.out.items) - before == (beats if resetting else 0)
        await bench.until(lambda: not now(dut.held_o))
        await bench.run(200)
        assert_same_packets(bench.out.packets(bench.width), bench.sent)
    assert bench.events["pause_global"] == 2
    assert bench.events["pause_held"] > 8000


@cocotb.test()
async def an_address_is_resolved_or_nobody_has_it(dut: Any) -> None:
    bench = StationBench(dut)
    await bench.reset()
    results: list[dict[str, int]] = []

    def look() -> None:
        if now(dut.m_axis_resolved_tvalid):
            results.append(RESOLVED_T.unpack(now(dut.m_axis_resolved_tdata)))

    bench.watch(look)
    for answered in (True, False):
        bench.questions.items.append({"tdata": resolve_t(PEER.ip)})
        await bench.until(lambda: any(item["tlast"] for item in bench.out.items))
        question = Ether(bench.out.packets(bench.width)[0])
        assert (question[ARP].psrc, question[ARP].pdst) == (ip().dst, ip().src)
        if answered:
            fields = {"hwsrc": PEER.mac.to_bytes(6, "big").hex(":"), "hwdst": question.src, "psrc": ip().src}
            answer = ethernet() / ARP(op="is-at", pdst=ip().dst, **fields)
            bench.line.send(bytes(answer).ljust(60, b"\0"), bench.width, tuser=0)
        await bench.until(lambda: bool(results))
        assert results == [{"found": int(answered), "ip": PEER.ip, "mac": PEER.mac if answered else 0}]
        results.clear()
        bench.out.clear()
    assert (bench.events["arp_resolved"], bench.events["arp_unresolved"]) == (1, 1)


@pytest.mark.parametrize("width", some_widths("tx_station"))
def test_tx_station(width: int) -> None:
    run("tx_station", DataW=width)
