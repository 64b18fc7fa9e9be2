"""udp_match: datagrams for the detector's ports are passed on, and nothing else, as by the model, a beat a clock."""

from typing import Any

import cocotb
import pytest
from scapy.layers.inet import ICMP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Raw

from bench import Bench, Sink, Stalls, assert_same_packets, run
from det_packets import DATAGRAM_T, FIRST_PORT, frame_of
from framelane.models.detector import udp_match
from framelane.models.roce_tx.wire import Endpoint
from receive_bench import LOCAL, corruptions, ethernet, ip, line
from signals import now
from widths import some_widths

PORTS = 4
GAPS = [Stalls.NONE, Stalls.SOURCE]


def foreign(tci: int | None = None) -> list[bytes]:
    """Frames that are none of the detector's, each by one thing."""
    under, udp = ethernet(tci=tci), UDP(sport=1, dport=FIRST_PORT) / Raw(bytes(100))
    other = Endpoint(LOCAL.mac + 1, LOCAL.ip + 1)
    return [
        bytes(ethernet(dst=other, tci=tci) / ip() / udp),
        bytes(Ether(dst="ff:ff:ff:ff:ff:ff") / ip() / udp),
        bytes(under / ip(dst=other) / udp),
        bytes(under / IPv6() / udp),
        bytes(under / ip(options=b"\1\1\1\0") / udp),
        bytes(under / ip(flags="MF") / udp),
        bytes(under / ip(frag=1) / udp),
        bytes(under / ip() / TCP(sport=1, dport=FIRST_PORT) / Raw(bytes(60))),
        bytes(under / ip() / ICMP() / Raw(bytes(60))),
        bytes(under / ip() / UDP(sport=1, dport=FIRST_PORT - 1) / Raw(bytes(60))),
        bytes(under / ip() / UDP(sport=1, dport=FIRST_PORT + PORTS) / Raw(bytes(60))),
        bytes(under / ip() / UDP(sport=1, dport=FIRST_PORT, len=50) / Raw(bytes(60))),
        bytes(under / ip() / UDP(sport=1, dport=FIRST_PORT)),
        bytes(under / ARP(op="who-has", psrc="198.51.100.1", pdst="198.51.100.2") / Raw(bytes(18))),
    ]


class MatchBench(Bench):
    def __init__(self, dut: Any, stalls: Stalls = Stalls.NONE) -> None:
        super().__init__(dut, stalls)
        self.line, self.width = line(self, stalls), len(dut.s_axis_tdata)
        self.out = Sink(dut, "m_axis", lambda: False)
        self._sinks.append(self.out)
        self.sent: list[tuple[bytes, bool]] = []
        self.bad: list[bool] = []
        dut.local_mac_i.value, dut.local_ip_i.value = LOCAL.mac, LOCAL.ip
        dut.first_port_i.value, dut.ports_i.value = FIRST_PORT, PORTS
        self.watch(self._look)

    def _look(self) -> None:
        if now(self.dut.m_axis_tvalid) and now(self.dut.m_axis_tlast):
            self.bad.append(bool(now(self.dut.bad_o)))

    def send(self, frame: bytes, bad: bool = False) -> None:
        self.line.send(frame, self.width, tuser=0)
        self.line.items[-1]["tuser"] = int(bad)
        self.sent.append((frame, bad))

    async def check(self) -> int:
        """What came out is what the model says; how many packets it was."""
        await self.until(lambda: not self.line.items, 1_000_000)
        for _ in range(6):
            await self.step()
        judged = [(udp_match.match(frame, LOCAL, FIRST_PORT, PORTS), bad) for frame, bad in self.sent]
        wanted = [(datagram, bad) for datagram, bad in judged if datagram]
        assert_same_packets(self.out.packets(self.width), [datagram.payload for datagram, _ in wanted])
        assert self.bad == [bad for _, bad in wanted]
        users = iter(wanted)
        datagram = None
        for item in self.out.items:
            datagram = datagram or next(users)[0]
            assert DATAGRAM_T.unpack(item["tuser"]) == {"bytes": datagram.size, "stream": datagram.stream}
            datagram = None if item["tlast"] else datagram
        return len(wanted)


@cocotb.test()
@cocotb.parametrize(stalls=GAPS)
async def datagrams_for_the_ports_pass_and_nothing_else_does(dut: Any, stalls: Stalls) -> None:
    bench = MatchBench(dut, stalls)
    await bench.reset()
    cases = [(frame, False) for tci in (None, 0x2005) for frame in foreign(tci)]
    chance = bench.random
    for size in [*range(1, 140), 1400, 8240]:
        for tci in (None, chance.getrandbits(16)):
            cases.append((frame_of(chance.randbytes(size), chance.randrange(PORTS), tci=tci), chance.random() < 0.2))
    chance.shuffle(cases)
    for frame, bad in cases:
        bench.send(frame, bad)
    assert await bench.check() == len(cases) - 2 * len(foreign())


@cocotb.test()
async def any_wrong_bit_of_the_headers_is_judged_as_by_the_model(dut: Any) -> None:
    bench = MatchBench(dut)
    await bench.reset()
    for tci in (None, 0x2005):
        frame = frame_of(bytes(30), 1, tci=tci)
        for wrong in corruptions(frame[:46]):
            bench.send(wrong + frame[46:])
        for length in range(1, len(frame)):
            bench.send(frame[:length], True)
    assert 100 < await bench.check() < 600


@cocotb.test()
async def a_payload_leaves_two_cycles_behind_its_beat_and_without_a_bubble(dut: Any) -> None:
    bench = MatchBench(dut)
    await bench.reset()
    for _ in range(4):
        bench.send(frame_of(bytes(8240)))
    assert await bench.check() == 4
    taken, lanes = bench.out.taken, bench.width // 8
    assert bench.line.accepted[-1] - bench.line.accepted[0] == len(bench.line.accepted) - 1
    assert taken[0] == bench.line.accepted[41 // lanes + 1] + 2
    per = len(taken) // 4
    assert taken[per - 1] - taken[0] == per - 1


@cocotb.test()
async def a_reset_leaves_nothing_of_the_frame_under_way(dut: Any) -> None:
    bench = MatchBench(dut)
    for cycles in range(1, 14):
        await bench.reset(cycles=1)
        bench.send(frame_of(bytes(900), 3))
        for _ in range(cycles):
            await bench.step()
        await bench.reset(cycles=1)
        bench.sent.clear()
        bench.bad.clear()
        bench.send(frame_of(bytes(70)))
        assert await bench.check() == 1


@pytest.mark.parametrize("width", some_widths("udp_match"))
def test_udp_match(width: int) -> None:
    run("udp_match", DataW=width)
