"""framelane_top with a receive path and without RC: neighbours are answered, RoCEv2 from the line changes nothing."""

from itertools import pairwise
from typing import Any

import cocotb
import pytest
from scapy.layers.inet import ICMP
from scapy.layers.l2 import ARP
from scapy.packet import Packet, Raw

from bench import Stalls, assert_same_packets, run
from clocks_bench import JITTER
from counter_ports import RC_PULSES_T
from framelane.models.roce_tx import wire
from framelane.models.roce_tx.wire import Endpoint
from framelane.models.station import rx_path
from framelane.models.station.arp import BROADCAST_MAC, Arp
from framelane.models.station.neighbour import Neighbour
from framelane.models.station.pause import Pause
from framelane.models.station.roce_rx import FIRST_QPN
from framelane.models.station.rx_filter import RxDrop
from receive_bench import acknowledge, congestion, ethernet, ip
from signals import now
from top_bench import SMALL, TopBench
from tx_bench import RECEIVER, SOURCE
from tx_registers import SENT
from widths import some_widths

PERIODS = {"": 4000, "pixel": 5200, "memory": 3300, "register": 10_000, "tx": 3103, "rx": 3106}
"""Periods of all clocks in ps: the line is faster than the core."""
PEER, LOCAL = RECEIVER.endpoint(), SOURCE.endpoint()
ARM_RC = 1
UC = 0b001
"""The upper bits of the opcodes of an unreliable connection."""


def to_us(**fields: Any) -> Packet:
    """The headers of an IPv4 packet from the receiver."""
    return ethernet(PEER, LOCAL) / ip(PEER, LOCAL, **fields)


def question() -> bytes:
    """A request by ARP for the address of the design."""
    asks = ARP(op="who-has", hwsrc=RECEIVER.mac, psrc=str(RECEIVER.ip), pdst=str(SOURCE.ip))
    return bytes(ethernet(PEER, Endpoint(BROADCAST_MAC, 0)) / asks)


def is_roce(packet: bytes) -> bool:
    """Whether it is of a frame: what else leaves is ARP or ICMP."""
    return packet[12:14] == b"\x08\x00" and packet[23] == wire.PROTOCOL_UDP


class StationBench(TopBench):
    """The receiver asks by ARP and ping while frames come to it."""

    def __init__(self, dut: Any, stalls: Stalls) -> None:
        super().__init__(dut, PERIODS, stalls, rows=12 * len(dut.m_axis_tdata) // 64)
        self.neighbour = Neighbour(Arp(LOCAL), Pause(LOCAL.mac, 0))

    async def start(self) -> None:
        await super().start()
        await self.put("station", 0b011)

    def hear(self, frame: bytes) -> None:
        """A frame comes from the line, of the least length there."""
        frame = frame.ljust(60, b"\0")
        self.line.send(frame, self.mac_width, tuser=0)
        found = rx_path.receive(frame, LOCAL)
        assert not isinstance(found, RxDrop)
        user, plain = found
        self.neighbour.receive(plain, user)

    async def ask(self, number: int) -> None:
        """Ask while the next frame is on the line, and wait until it and both answers have left."""
        self.detect(1)
        await self.side["tx"].wait_until(lambda: bool(now(self.dut.m_axis_tvalid)))
        self.hear(question())
        self.hear(bytes(to_us() / ICMP(id=7, seq=number) / Raw(self.random.randbytes(number))))
        await self.finish()

    async def check(self) -> set[int]:
        """Frames are what the model says, in their order, and so are all answers."""
        packets = await self.finish()
        roce, others = ([p for p in packets if is_roce(p) == wanted] for wanted in (True, False))
        sent = self.sent(roce)
        assert sent == set(range(len(self.frames))), "a frame is missing"
        assert_same_packets(roce, self.at_the_mac(sent))
        assert self.top.port
        assert_same_packets(sorted(others), sorted(self.top.port.sent(self.neighbour.take())))
        assert not any(item["tuser"] for item in self.out.items if item["tlast"])
        assert await self.counters("counters.frames", "counters.frames_lost", SENT) == [len(sent), 0, len(sent)]
        return sent


@cocotb.test()
@cocotb.parametrize(stalls=[Stalls.NONE, Stalls.BOTH])
async def neighbours_are_answered_between_the_packets_of_frames(dut: Any, stalls: Stalls) -> None:
    bench = StationBench(dut, stalls)
    await bench.start()
    questions = 6
    for number in range(questions):
        await bench.ask(number)
    await bench.check()
    packets = bench.out.packets(bench.mac_width)
    before = [packet for packet, following in pairwise(packets) if is_roce(packet) and not is_roce(following)]
    inside = [packet for packet in before if wire.parse(packet)[0].imm is None]
    assert inside, "no answer has left in the middle of a frame: nothing is shown"
    names = ("arp_answered", "echo_answered", "rx_bad", "rx_full")
    assert await bench.counters(*(f"station_counters.{name}" for name in names)) == [questions, questions, 0, 0]


@cocotb.test()
async def registers_and_counters_of_rc_are_as_if_nobody_had_written_them(dut: Any) -> None:
    """The queue pair sends on by UC. What a receiver by RC would answer is taken, and counts nowhere."""
    bench = StationBench(dut, Stalls.NONE)
    await bench.start()
    assert await bench.get("capabilities") == bench.width | 1 << 16 | 1 << 19 | 1 << 20, "store, station, MAC port"
    (qp,) = bench.config.qps
    await bench.put("qp[].limits", 0xFFFF_FFFF)
    await bench.put("rc_start", qp.psn)
    await bench.put("rc_command", ARM_RC)
    for name in ("rc_sizes", "rc_status", "qp[].limits", "qp[].rc_state", "qp[].rc_una", "qp[].rc_next"):
        assert await bench.get(name) == 0, name
    bench.detect(3)
    for number in range(100):
        psn = qp.psn + number & 0xFFFFFF
        for syndrome in (0x1F, 0x20, 0x60):
            bench.hear(acknowledge(FIRST_QPN, psn, syndrome, under=to_us(flags="DF")))
        bench.hear(congestion(FIRST_QPN, under=to_us(flags="DF")))
        await bench.side["rx"].wait(60)  # the receive path takes 8 bytes a cycle at any width
    await bench.side["rx"].wait_until(lambda: not bench.line.items)
    await bench.ask(4)
    await bench.check()
    assert {p[42] >> 5 for p in bench.out.packets(bench.mac_width) if is_roce(p)} == {UC}
    names = [f"station_counters.{name}" for name in (*RC_PULSES_T.fields, "rx_full")]
    assert dict(zip(names, await bench.counters(*names), strict=True)) == dict.fromkeys(names, 0)
    assert await bench.counters("qp_counters[].cnps") == [0]
    assert await bench.get("rc_status") == 0


@pytest.mark.parametrize("width", some_widths("framelane_top_without_rc"))
def test_framelane_top_without_rc(width: int) -> None:
    build: dict[str, Any] = {"DataW": width, "MacW": width, "Station": 1, "Rc": 0, "Correct": 0, **SMALL}
    run("framelane_top_without_rc", top="framelane_top", build_args=JITTER, **build)
