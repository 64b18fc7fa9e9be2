"""rx_filter: every frame is judged as by the model, whatever it is, one beat a clock."""

from typing import Any

import cocotb
import pytest
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import ARP, Dot1Q, Ether
from scapy.packet import Raw

from bench import Bench, Stalls, run
from framelane.models.cells import axis
from framelane.models.roce_tx.wire import Endpoint
from framelane.models.station import rx_filter
from framelane.models.station.rx_filter import RxClass, RxDrop, RxUser
from receive_bench import (
    ANSWERS_OF_RXE,
    LOCAL,
    acknowledge,
    congestion,
    corruptions,
    count_pulses,
    ethernet,
    ip,
    line,
    rx_user,
    truncations,
)
from signals import now
from widths import some_widths

GAPS = [Stalls.NONE, Stalls.SOURCE]
"""Nothing waits for anything here: the beats come with gaps or without."""
BROADCAST = Endpoint(rx_filter.BROADCAST_MAC, LOCAL.ip)
PAUSE_FRAME = bytes(
    Ether(src="02:00:00:00:00:22", dst="01:80:c2:00:00:01", type=0x8808) / Raw(b"\0\1\0\x40" + bytes(42))
)


def other(octet: int = 0x99) -> Endpoint:
    return Endpoint(LOCAL.mac + octet, LOCAL.ip + octet)


def good(tci: int | None = None) -> dict[bytes, RxClass]:
    """Frames of every class."""
    under = ethernet(tci=tci)
    request = ARP(op="who-has", psrc="198.51.100.1", pdst="198.51.100.2")
    udp = UDP(sport=1, dport=4791)
    frames = {
        acknowledge(2, 3, under=under / ip()): RxClass.ROCE,
        congestion(2, under=under / ip()): RxClass.ROCE,
        bytes(under / ip() / udp): RxClass.ROCE,
        bytes(ethernet(dst=BROADCAST, tci=tci) / ip() / udp / Raw(bytes(700))): RxClass.ROCE,
        bytes(ethernet(dst=BROADCAST, tci=tci) / request): RxClass.ARP,
        bytes(under / request / Raw(bytes(18))): RxClass.ARP,
        bytes(under / ip() / ICMP() / Raw(b"ping" * 14)): RxClass.ICMP,
        bytes(under / ip() / ICMP() / Raw(bytes(1472))): RxClass.ICMP,
    }
    return frames


def foreign(tci: int | None = None) -> dict[bytes, RxDrop]:
    """Frames that are for nobody here, each for its reason."""
    under = ethernet(tci=tci)
    udp = UDP(sport=4791, dport=4792) / Raw(bytes(16))
    roce = UDP(sport=1, dport=4791) / Raw(bytes(16))
    frames = {
        bytes(ethernet(dst=other(), tci=tci) / ip() / roce): RxDrop.ADDRESS,
        bytes(Ether(dst="01:00:5e:00:00:01") / ip() / roce): RxDrop.ADDRESS,
        bytes(under / IPv6() / roce): RxDrop.TYPE,
        bytes(under / Dot1Q(vlan=5) / ip() / roce): RxDrop.TYPE if tci is not None else RxDrop.FULL,
        bytes(under / ip(options=b"\1\1\1\0") / roce): RxDrop.OPTIONS,
        bytes(under / ip(version=6) / roce): RxDrop.OPTIONS,
        bytes(under / ip(flags="MF") / roce): RxDrop.FRAGMENT,
        bytes(under / ip(frag=1) / roce): RxDrop.FRAGMENT,
        bytes(under / ip(len=27) / roce): RxDrop.LENGTH,
        bytes(under / ip(len=45) / roce): RxDrop.LENGTH,
        bytes(under / ip(len=0xFFFF) / roce): RxDrop.LENGTH,
        bytes(under / ip(dst=other()) / roce): RxDrop.IP,
        bytes(under / IP(src="198.51.100.2", dst="255.255.255.255") / roce): RxDrop.IP,
        bytes(under / ip() / TCP(sport=1, dport=4791)): RxDrop.PROTOCOL,
        bytes(under / ip() / udp): RxDrop.PORT,
        bytes(under / ip() / roce)[: 41 if tci is None else 45]: RxDrop.SHORT,
    }
    return {frame: reason for frame, reason in frames.items() if reason is not RxDrop.FULL}


class FilterBench(Bench):
    """The block between a line and the frames that it passes on; `expect` is what the model says of each."""

    def __init__(self, dut: Any, stalls: Stalls = Stalls.NONE) -> None:
        super().__init__(dut, stalls)
        self.line, self.width = line(self, stalls), len(dut.s_axis_tdata)
        dut.local_mac_i.value, dut.local_ip_i.value = LOCAL.mac, LOCAL.ip
        dut.s_axis_tuser.value = 0
        self.sent: list[tuple[bytes, bool]] = []
        self.beats: list[axis.Beat] = []
        self.found: list[RxUser | None] = []
        self.taken: list[int] = []
        self.dropped = count_pulses(self, dut.dropped_o)
        self.watch(self._look)

    def _look(self) -> None:
        if not now(self.dut.m_axis_tvalid):
            return
        self.taken.append(self.cycle)
        last = bool(now(self.dut.m_axis_tlast))
        self.beats.append(axis.Beat(now(self.dut.m_axis_tdata), now(self.dut.m_axis_tkeep), last))
        if last:
            drop, user = now(self.dut.drop_o), now(self.dut.m_axis_tuser)
            self.found.append(None if drop else rx_user(user))

    def send(self, frame: bytes, bad: bool = False) -> None:
        """A frame; the MAC says of a bad one that it is only with its last beat."""
        self.line.send(frame, self.width, tuser=0)
        self.line.items[-1]["tuser"] = int(bad)
        self.sent.append((frame, bad))

    async def check(self) -> None:
        """All that was sent came out, judged as by the model."""
        await self.until(lambda: not self.line.items, 1_000_000)
        for _ in range(8):
            await self.step()
        assert list(axis.packets(self.beats, self.width)) == [frame for frame, _ in self.sent]
        judged = [rx_filter.judge(frame, LOCAL, bad) for frame, bad in self.sent]
        for (frame, bad), model, found in zip(self.sent, judged, self.found, strict=True):
            expected = None if isinstance(model, RxDrop) else model
            assert found == expected, f"{frame.hex(' ')} (bad: {bad}): {found}, the model says {model!r}"
        reasons = [model for model in judged if isinstance(model, RxDrop)]
        assert self.dropped == {reason: reasons.count(reason) for reason in reasons}


@cocotb.test()
@cocotb.parametrize(stalls=GAPS)
async def every_class_passes_and_every_foreign_frame_is_dropped_for_its_reason(dut: Any, stalls: Stalls) -> None:
    bench = FilterBench(dut, stalls)
    await bench.reset()
    cases: dict[bytes, RxClass | RxDrop] = {PAUSE_FRAME: RxClass.PAUSE}
    for tci in (None, 0, 0xE123, 0xFFFF):
        cases |= {**good(tci), **foreign(tci)}
    for own in (LOCAL, BROADCAST):
        frame = own.mac.to_bytes(6, "big") + PAUSE_FRAME[6:]
        cases[frame] = RxClass.PAUSE if own is LOCAL else RxDrop.ADDRESS
    cases[PAUSE_FRAME[:12] + b"\x81\0\0\0" + PAUSE_FRAME[12:]] = RxDrop.ADDRESS
    cases[LOCAL.mac.to_bytes(6, "big") + PAUSE_FRAME[6:12] + b"\x81\0\0\0" + PAUSE_FRAME[12:]] = RxDrop.TYPE
    order = list(cases)
    bench.random.shuffle(order)
    for frame in order:
        bench.send(frame)
        judged = rx_filter.judge(frame, LOCAL)
        assert (judged.rx_class if isinstance(judged, RxUser) else judged) is cases[frame], frame.hex(" ")
    await bench.check()
    assert set(bench.dropped) == set(RxDrop) - {RxDrop.BAD, RxDrop.FULL}
    if stalls is Stalls.NONE:
        assert bench.taken[0] - bench.line.accepted[0] == 4
        assert bench.taken[-1] - bench.taken[0] == len(bench.taken) - 1


@cocotb.test()
@cocotb.parametrize(stalls=GAPS)
async def frames_that_the_mac_calls_bad_are_dropped_and_those_around_them_are_not(dut: Any, stalls: Stalls) -> None:
    bench = FilterBench(dut, stalls)
    await bench.reset()
    frames = list(good() | good(7))
    for _ in range(150):
        frame = bench.random.choice(frames)
        bad = bench.random.random() < 0.5
        bench.send(frame[: bench.random.randint(1, len(frame))] if bad else frame, bad)
    await bench.check()
    assert 40 < bench.dropped[RxDrop.BAD] < 110


@cocotb.test()
@cocotb.parametrize(tci=[None, 0x2005])
async def any_single_wrong_bit_of_a_header_is_judged_as_by_the_model(dut: Any, tci: int | None) -> None:
    bench = FilterBench(dut)
    await bench.reset()
    for frame in [*good(tci), PAUSE_FRAME]:
        for wrong in corruptions(frame[:50])[:: 1 if len(frame) < 100 else 3]:
            bench.send(wrong + frame[50:100])
    await bench.check()
    assert set(bench.dropped) == set(RxDrop) - {RxDrop.BAD, RxDrop.SHORT, RxDrop.FULL}


@cocotb.test()
@cocotb.parametrize(tci=[None, 0x2005])
async def a_frame_that_ends_behind_any_byte_is_short_or_shorter_than_its_ip_length(dut: Any, tci: int | None) -> None:
    bench = FilterBench(dut)
    await bench.reset()
    for frame in (acknowledge(2, 3, under=ethernet(tci=tci) / ip()), congestion(2, under=ethernet(tci=tci) / ip())):
        for cut in truncations(frame):
            bench.send(cut)
            bench.send(frame)
    await bench.check()
    assert set(bench.dropped) == {RxDrop.SHORT, RxDrop.LENGTH}
    assert bench.found.count(None) == len(bench.found) // 2


@cocotb.test()
async def padding_and_what_follows_the_ip_length_do_not_count(dut: Any) -> None:
    bench = FilterBench(dut)
    await bench.reset()
    for frame in (bytes(ethernet() / ip() / UDP(sport=1, dport=4791)), next(iter(ANSWERS_OF_RXE))):
        for padding in (0, 1, 18, 60, 1000):
            bench.send(frame + bytes(padding))
    await bench.check()
    assert bench.found == [RxUser(RxClass.ROCE)] * 10


@cocotb.test()
async def frames_longer_than_the_length_field_can_say_do_no_harm(dut: Any) -> None:
    bench = FilterBench(dut)
    await bench.reset()
    frame = bytes(ethernet() / ip(len=0xFFFF) / UDP(sport=1, dport=4791)).ljust(140_000, b"\0")
    for length in (len(frame), 0xFFFF + 14, 0xFFFF + 13):
        bench.send(frame[:length])
    bench.send(acknowledge(2, 3))
    await bench.check()
    assert bench.found[2] is None
    assert bench.found.count(None) == 1


@cocotb.test()
async def random_bytes_are_judged_as_by_the_model(dut: Any) -> None:
    bench = FilterBench(dut)
    await bench.reset()
    chance = bench.random
    shapes = [*good(), *good(3), *foreign(), *foreign(0xFFF), PAUSE_FRAME]
    for _ in range(600):
        frame = bytearray(chance.choice(shapes)[:150])
        for _ in range(chance.randrange(4)):
            frame[chance.randrange(min(len(frame), 46))] = chance.choice(
                (0, 8, 0x45, 0x81, 0xFF, chance.randrange(256))
            )
        bench.send(bytes(frame), chance.random() < 0.1)
    await bench.check()


@cocotb.test()
async def a_reset_leaves_nothing_of_the_frame_under_way(dut: Any) -> None:
    bench = FilterBench(dut)
    for cycles in range(1, 16):
        await bench.reset(cycles=1)
        bench.send(bytes(ethernet(dst=other()) / ip() / UDP() / Raw(bytes(900))))
        for _ in range(cycles):
            await bench.step()
        await bench.reset(cycles=1)
        for kept in (bench.sent, bench.beats, bench.found):
            kept.clear()
        bench.dropped.clear()
        bench.send(acknowledge(2, 3))
        await bench.check()
        assert bench.found == [RxUser(RxClass.ROCE)]


@pytest.mark.parametrize("width", some_widths("rx_filter"))
def test_rx_filter(width: int) -> None:
    run("rx_filter", DataW=width)
