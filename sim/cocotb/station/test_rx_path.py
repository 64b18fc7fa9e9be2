"""rx_path: what is for this station arrives whole, once, in order, without its VLAN tag, or is counted, at any load."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import cocotb
import pytest
from scapy.layers.inet import ICMP, TCP, UDP
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Raw

from bench import ALL_STALLS, Bench, Stalls, run
from framelane.models.cells import axis
from framelane.models.roce_tx.wire import LINE_BYTES, Endpoint
from framelane.models.station import rx_path
from framelane.models.station.rx_filter import PAUSE_MAC, RxClass, RxDrop, RxUser
from receive_bench import LOCAL, PEER, acknowledge, congestion, count_pulses, ethernet, ip, line, rx_user, truncations
from widths import some_widths

OTHER = Endpoint(0x020000000077, 0xC6336477)
Received = tuple[RxUser, bytes]


class PathBench(Bench):
    """The block behind a line. Frames arrive as the model says, but those for which there was no room."""

    def __init__(self, dut: Any, stalls: Stalls = Stalls.NONE) -> None:
        super().__init__(dut, stalls)
        self.line, self.out = line(self, stalls), self.sink("m_axis")
        self.width = len(dut.s_axis_tdata)
        dut.local_mac_i.value, dut.local_ip_i.value = LOCAL.mac, LOCAL.ip
        dut.s_axis_tuser.value = 0
        self.dropped = count_pulses(self, dut.dropped_o)
        self.sent: list[Received | RxDrop] = []

    def send(self, frame: bytes, bad: bool = False) -> None:
        """A frame as it comes from the line: padded to 60 bytes."""
        frame = frame.ljust(60, b"\0")
        self.line.send(frame, self.width, tuser=0)
        self.line.items[-1]["tuser"] = int(bad)
        self.sent.append(rx_path.receive(frame, LOCAL, bad))

    async def finish(self) -> list[Received]:
        """Run until nothing more comes: the frames that have arrived, which are some of those that should, in order."""
        await self.until(lambda: not self.line.items, 200_000)
        quiet = 0
        while quiet < 300:
            before = len(self.out.items)
            await self.step()
            quiet = quiet + 1 if len(self.out.items) == before else 0
        users = [rx_user(item["tuser"]) for item in self.out.items if item["tlast"]]
        received = list(zip(users, self.out.packets(64), strict=True))
        wanted = [frame for frame in self.sent if not isinstance(frame, RxDrop)]
        reasons = Counter(reason for reason in self.sent if isinstance(reason, RxDrop))
        assert {k: n for k, n in self.dropped.items() if k != RxDrop.FULL} == reasons
        assert len(received) + self.dropped[RxDrop.FULL] == len(wanted)
        rest = iter(wanted)
        for frame in received:
            assert any(frame == candidate for candidate in rest), "not sent, changed, twice or out of order"
        return received


def any_frame(bench: Bench) -> bytes:
    """One of all kinds, with and without VLAN tag, of any length."""
    chance = bench.random
    tci = chance.choice((None, None, chance.getrandbits(16)))
    under = ethernet(tci=tci)
    payload = Raw(chance.randbytes(chance.choice((1, 20, 60, 200, 1400))))
    kinds: list[Callable[[], bytes]] = [
        lambda: acknowledge(2 + chance.randrange(9), chance.getrandbits(24), under=under / ip()),
        lambda: congestion(2 + chance.randrange(9), under=under / ip()),
        lambda: bytes(ethernet(dst=Endpoint((1 << 48) - 1, 0), tci=tci) / ARP(pdst="198.51.100.2")),
        lambda: bytes(under / ip() / ICMP() / payload),
        lambda: bytes(Ether(src="02:00:00:00:00:22", dst=PAUSE_MAC.to_bytes(6, "big").hex(":"), type=0x8808) / payload),
        lambda: bytes(ethernet(dst=OTHER, tci=tci) / ip() / payload),
        lambda: bytes(under / ip(dst=OTHER) / UDP() / payload),
        lambda: bytes(under / ip() / TCP() / payload),
    ]
    return chance.choice(kinds)()


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def every_frame_for_this_station_arrives_and_every_other_one_is_counted(dut: Any, stalls: Stalls) -> None:
    bench = PathBench(dut, stalls)
    await bench.reset()
    for _ in range(150):
        frame, bad = any_frame(bench), bench.random.random() < 0.1
        bench.send(frame[: bench.random.randint(15, len(frame))] if bad else frame, bad)
        for _ in range(len(frame) // 4):  # about what the sink takes
            await bench.step()
    received = await bench.finish()
    assert not bench.dropped[RxDrop.FULL]
    assert {user.rx_class for user, _ in received} == set(RxClass)
    assert {user.tci is None for user, _ in received} == {True, False}


@cocotb.test()
async def acknowledgements_arrive_while_the_line_is_full_of_others_frames(dut: Any) -> None:
    bench = PathBench(dut)
    await bench.reset()
    foreign = bytes(ethernet(dst=OTHER) / ip(dst=OTHER) / UDP(dport=4791) / Raw(bytes(18)))
    for psn in range(60):
        for _ in range(40):
            bench.send(foreign)
        bench.send(acknowledge(2, psn))
    received = await bench.finish()
    assert len(received) == 60
    assert bench.dropped == {RxDrop.ADDRESS: 2400}
    assert bench.line.accepted[-1] - bench.line.accepted[0] == len(bench.line.accepted) - 1


@cocotb.test()
async def frames_back_to_back_at_line_rate_arrive_whole_as_far_as_there_is_room_and_are_counted_else(dut: Any) -> None:
    bench = PathBench(dut)
    await bench.reset()
    for psn in range(400):
        bench.send(acknowledge(2, psn, under=ethernet(tci=psn if psn % 3 == 0 else None) / ip()))
    received = await bench.finish()
    assert bench.line.accepted[-1] - bench.line.accepted[0] == len(bench.line.accepted) - 1, "a beat a cycle was taken"
    depth, frames = int(dut.Depth.value), int(dut.Frames.value)
    beats = axis.n_beats(62, bench.width)
    if bench.width > 64:
        assert len(received) >= min(depth // beats, frames)
        assert bench.dropped[RxDrop.FULL] > 200
    n_lost = bench.dropped[RxDrop.FULL]
    for psn in range(10):  # behind the storm all is well
        bench.send(acknowledge(2, psn))
    assert (await bench.finish())[len(received) :] == bench.sent[-10:]
    assert bench.dropped[RxDrop.FULL] == n_lost


@cocotb.test()
async def acknowledgements_as_fast_as_they_can_be_read_are_not_lost(dut: Any) -> None:
    bench = PathBench(dut)
    await bench.reset()
    beats = axis.n_beats(66, bench.width)
    gap = max(LINE_BYTES * 8 // bench.width, 10 - beats)  # preamble, FCS and gap; at 64 bits that is enough
    for psn in range(300):
        tag = ethernet(tci=psn) if psn % 2 else ethernet()
        bench.send(acknowledge(2, psn, under=tag / ip()))
        await bench.until(lambda: not bench.line.items)
        for _ in range(gap):
            await bench.step()
    assert len(await bench.finish()) == 300


@cocotb.test()
async def a_consumer_that_stops_costs_whole_frames_only(dut: Any) -> None:
    bench = PathBench(dut)
    bench.out._stall = lambda: bool(bench.line.items) and bench.cycle % 1500 > 300
    await bench.reset()
    for _ in range(400):
        bench.send(any_frame(bench), bench.random.random() < 0.05)
        for _ in range(bench.random.randrange(20)):
            await bench.step()
    assert len(await bench.finish()) > 50
    assert bench.dropped[RxDrop.FULL] > 20


@cocotb.test()
@cocotb.parametrize(tci=[None, 0xA00F])
async def a_frame_that_the_mac_cuts_anywhere_is_dropped_and_those_around_it_are_not(dut: Any, tci: int | None) -> None:
    bench = PathBench(dut)
    await bench.reset()
    good = acknowledge(2, 3, under=ethernet(PEER, LOCAL, tci) / ip())
    for cut in truncations(good):
        bench.line.send(cut, bench.width, tuser=0)
        bench.line.items[-1]["tuser"] = 1
        bench.sent.append(rx_path.receive(cut, LOCAL, bad=True))
        bench.send(good)
        await bench.until(lambda: not bench.line.items)
        for _ in range(12):
            await bench.step()
    assert len(await bench.finish()) == len(good) - 1
    assert bench.dropped == {RxDrop.BAD: len(good) - 1}


@pytest.mark.parametrize("width", some_widths("rx_path"))
def test_rx_path(width: int) -> None:
    run("rx_path", DataW=width, Depth=256 if width == 64 else 64, Frames=32)
