"""neighbour: what scapy's stations ask it is answered, announced and obeyed as the model does, tagged or not."""

from collections import Counter
from typing import Any

import cocotb
from scapy.layers.inet import ICMP
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Packet, Raw

from bench import ALL_STALLS, Bench, Stalls, assert_same_packets, run
from framelane.driver.simulated.neighbour_ports import NEIGHBOUR_EVENTS_T, RESOLVED_T, NeighbourConfig, resolve_t
from framelane.models.roce_tx.wire import Endpoint
from framelane.models.station import rx_path
from framelane.models.station.arp import Arp, Resolved
from framelane.models.station.neighbour import Neighbour
from framelane.models.station.pause import Pause
from framelane.models.station.rx_filter import RxClass, RxDrop, RxUser
from receive_bench import LOCAL, PEER, acknowledge, ethernet, ip, rx_user_bits
from signals import now

CLOCKS_PER_MS = 20


class NeighbourBench(Bench):
    """The block beside its model; frames go through the model of the receive path."""

    def __init__(self, dut: Any, stalls: Stalls = Stalls.NONE, **config: Any) -> None:
        super().__init__(dut, stalls)
        self.input, self.out = self.source("s_axis"), self.sink("m_axis")
        self.questions, self.results = self.source("s_axis_resolve"), self.sink("m_axis_resolved")
        self.events: Counter[str] = Counter()
        self.holds = 0
        dut.link_up_i.value = dut.announce_i.value = 0
        self.configure(**config)
        self.watch(self._look)

    def configure(self, **config: Any) -> None:
        self.config = NeighbourConfig(LOCAL, **{"clocks_per_ms": CLOCKS_PER_MS, "timeout_ms": 3, "retries": 2} | config)
        self.dut.config_i.value = self.config.pack()
        c = self.config
        masks = (c.pause_honoured, c.data_priorities, c.control_priorities)
        self.model = Neighbour(Arp(LOCAL, c.tci, c.timeout_ms, c.retries), Pause(LOCAL.mac, c.quanta_per_clock, *masks))

    def _look(self) -> None:
        if now(self.dut.rst):
            return
        fields = NEIGHBOUR_EVENTS_T.unpack(now(self.dut.events_o))
        self.events.update(name for name, value in fields.items() if value)
        self.holds += now(self.dut.hold_data_o)

    def send(self, frame: bytes) -> tuple[bytes, RxUser]:
        found = rx_path.receive(frame, LOCAL)
        assert not isinstance(found, RxDrop), found.name
        user, plain = found
        self.input.send(plain, 64, tuser=rx_user_bits(user))
        return plain, user

    async def hear(self, frame: Packet, gap: int = 40) -> None:
        plain, user = self.send(bytes(frame).ljust(60, b"\0"))
        self.model.receive(plain, user)
        await self.until(lambda: not self.input.items)
        await self.run(gap + len(plain) // 4)

    async def run(self, cycles: int) -> None:
        for _ in range(cycles):
            await self.step()

    async def check(self) -> None:
        """Frames are the model's: of ARP and of echo each in their order."""
        await self.run(600)
        found, expected = self.out.packets(64), self.model.take()
        for kind in (b"\x08\x06", b"\x08\x00"):
            assert_same_packets(of_kind(found, kind), of_kind(expected, kind))
        assert len(found) == len(expected)


def of_kind(frames: list[bytes], ethertype: bytes) -> list[bytes]:
    return [f for f in frames if (f[16:18] if f[12:14] == b"\x81\x00" else f[12:14]) == ethertype]


def who_has(tci: int | None = None, src: Endpoint = PEER) -> Packet:
    mac = src.mac.to_bytes(6, "big").hex(":")
    packet = ARP(op="who-has", hwsrc=mac, psrc=ip(src).src, pdst=ip().dst)
    return ethernet(src, Endpoint((1 << 48) - 1, 0), tci) / packet


def ping(data: bytes, tci: int | None = None, number: int = 0) -> Packet:
    return ethernet(tci=tci) / ip(id=number) / ICMP(id=7, seq=number) / Raw(data)


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def requests_and_pings_are_answered_with_and_without_tag(dut: Any, stalls: Stalls) -> None:
    bench = NeighbourBench(dut, stalls)
    await bench.reset()
    for n in range(60):
        tci = bench.random.choice([None, None, 0x0123, 0xE005])
        data = bench.random.randbytes(bench.random.choice([0, 1, 17, 56, 57, 333, 1472]))
        await bench.hear(who_has(tci) if bench.random.random() < 0.4 else ping(data, tci, n), gap=300)
    await bench.check()
    assert bench.events["arp_answered"] + bench.events["echo_answered"] == 60
    for frame in bench.out.packets(64):
        assert len(frame) >= (64 if frame[12:14] == b"\x81\x00" else 60)
        reply = Ether(frame)
        if ICMP in reply:
            assert bytes(reply) == bytes(Ether(bytes(recalculated(reply)))), "a checksum that scapy computes otherwise"


def recalculated(frame: Packet) -> Packet:
    """The frame with the checksums that scapy gives it; ICMP's 0xFFFF and 0 are the same number."""
    for layer in (ICMP, "IP"):
        del frame[layer].chksum
    return frame


@cocotb.test()
async def arp_and_a_long_ping_at_once_come_out_whole(dut: Any) -> None:
    bench = NeighbourBench(dut, Stalls.SINK)
    await bench.reset()
    for n in range(10):
        await bench.hear(ping(bench.random.randbytes(1472), number=n), gap=0)
        for tci in (None, 5, None):
            await bench.hear(who_has(tci), gap=0)
        await bench.run(1500)
    await bench.check()
    assert bench.events["echo_answered"] == 10
    assert bench.events["arp_answered"] == 30


@cocotb.test()
async def frames_of_roce_are_left_out(dut: Any) -> None:
    bench = NeighbourBench(dut)
    await bench.reset()
    _, user = bench.send(acknowledge(2, 100))
    assert user.rx_class is RxClass.ROCE
    await bench.hear(ping(b"after"))
    await bench.check()
    assert bench.events == {"echo_answered": 1}


@cocotb.test()
async def the_rise_of_the_link_is_announced_twice(dut: Any) -> None:
    bench = NeighbourBench(dut, tci=0x2007, clocks_per_ms=2)
    await bench.reset()
    dut.link_up_i.value = 1
    await bench.run(100)
    assert len(bench.out.packets(64)) == 1
    await bench.run(2 * 2000)
    gratuitous = Ether(bench.out.packets(64)[0])
    assert gratuitous[ARP].psrc == gratuitous[ARP].pdst == ip().dst
    assert gratuitous.dst == "ff:ff:ff:ff:ff:ff"
    assert gratuitous.vlan == 7
    assert bench.out.packets(64) == 2 * bench.out.packets(64)[:1]
    await bench.run(2 * 2000)
    assert len(bench.out.packets(64)) == 2
    for before in (2, 3):
        dut.link_up_i.value = 0
        await bench.run(30)
        dut.link_up_i.value = 1
        await bench.run(50)
        assert len(bench.out.packets(64)) == before + 1
    dut.announce_i.value = 1
    await bench.step()
    dut.announce_i.value = 0
    await bench.run(50)
    assert len(bench.out.packets(64)) == 5


@cocotb.test()
async def an_address_that_comes_after_the_link_is_announced_too(dut: Any) -> None:
    bench = NeighbourBench(dut, arp_enabled=False)
    await bench.reset()
    dut.link_up_i.value = 1
    await bench.run(100)
    assert not bench.out.items
    bench.configure()
    await bench.run(50)
    assert len(bench.out.packets(64)) == 1


@cocotb.test()
async def a_question_takes_its_milliseconds(dut: Any) -> None:
    bench = NeighbourBench(dut)
    await bench.reset()
    for tci in (None, 9):
        bench.results.clear()
        bench.out.clear()
        bench.questions.items.append({"tdata": resolve_t(PEER.ip, tci)})
        start = bench.cycle
        await bench.until(lambda: bool(bench.results.items))
        tries = bench.config.retries + 1
        shortest = tries * bench.config.timeout_ms * CLOCKS_PER_MS
        assert shortest <= bench.cycle - start <= shortest + (tries + 1) * CLOCKS_PER_MS
        bench.model.arp.resolve(PEER.ip, tci)
        assert bench.out.packets(64) == bench.model.take() * tries
        bench.configure()
        assert not RESOLVED_T.unpack(bench.results.items[0]["tdata"])["found"]
    bench.questions.items.append({"tdata": resolve_t(PEER.ip)})
    await bench.run(30)
    answer = ARP(op="is-at", hwsrc=ethernet().src, psrc=ip(PEER).src, hwdst=ethernet().dst, pdst=ip().dst)
    bench.send(bytes(ethernet() / answer).ljust(60, b"\0"))
    await bench.until(lambda: len(bench.results.items) == 2, limit=60)
    fields = RESOLVED_T.unpack(bench.results.items[1]["tdata"])
    assert Resolved(fields["ip"], fields["mac"]) == Resolved(PEER.ip, PEER.mac)
    assert fields["found"]


@cocotb.test()
async def a_pause_holds_and_is_counted(dut: Any) -> None:
    bench = NeighbourBench(dut, pause_honoured=True)
    await bench.reset()
    frame = bytes.fromhex("0180c2000001") + PEER.mac.to_bytes(6) + bytes.fromhex("8808 0001 0064")
    bench.send(frame.ljust(60, b"\0"))
    await bench.run(200)
    assert bench.holds == 101
    bench.configure(pause_honoured=False)
    bench.send(frame.ljust(60, b"\0"))
    await bench.run(200)
    assert bench.holds == 101
    assert bench.events == {"pause_pause": 2, "pause_held": 101}


@cocotb.test()
async def all_can_be_switched_off(dut: Any) -> None:
    bench = NeighbourBench(dut, arp_enabled=False, echo_enabled=False)
    await bench.reset()
    dut.link_up_i.value = 1
    for frame in (who_has(), ping(b"hello")):
        bench.send(bytes(frame).ljust(60, b"\0"))
    await bench.run(200)
    assert not bench.out.items
    assert bench.events == {"echo_ignored": 1}


def test_neighbour() -> None:
    run("neighbour")
