"""arp: what it sends and counts is the model's, also with neighbours that lie, repeat themselves, or say nothing."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import cocotb

from bench import ALL_STALLS, Bench, Stalls, assert_same_packets, run
from framelane.driver.simulated.neighbour_ports import ARP_EVENTS_T, RESOLVED_T, resolve_t, tag_t
from framelane.models.roce_tx.wire import Endpoint
from framelane.models.station.arp import (
    ANNOUNCE_MS,
    BROADCAST_MAC,
    DEFEND_MS,
    Arp,
    ArpPacket,
    Heard,
    Operation,
    Resolved,
)
from signals import now

US = Endpoint(0x02_00_00_00_00_01, 0x0A_00_00_01)
PEER = Endpoint(0x02_00_00_00_00_02, 0x0A_00_00_02)
OTHER = Endpoint(0x02_00_00_00_00_03, 0x0A_00_00_03)
TCI = 0x6123


class ArpBench(Bench):
    """The block beside its model. A frame is given to both, and so is a tick."""

    def __init__(self, dut: Any, stalls: Stalls = Stalls.NONE, timeout: int = 3, retries: int = 2) -> None:
        super().__init__(dut, stalls)
        self.input, self.out = self.source("s_axis"), self.sink("m_axis")
        self.questions, self.results = self.source("s_axis_resolve"), self.sink("m_axis_resolved")
        self.model = Arp(US, TCI, timeout, retries)
        self.expected: Counter[str] = Counter()
        self.events: Counter[str] = Counter()
        dut.enabled_i.value = 1
        dut.local_mac_i.value, dut.local_ip_i.value, dut.tag_i.value = US.mac, US.ip, tag_t(TCI)
        dut.timeout_i.value, dut.retries_i.value = timeout, retries
        dut.tick_i.value = dut.announce_i.value = 0
        self.watch(self._count)

    def _count(self) -> None:
        fields = ARP_EVENTS_T.unpack(now(self.dut.events_o))
        self.events.update(name for name, value in fields.items() if value and not now(self.dut.rst))

    def hear(self, frame: bytes, tci: int | None = None) -> Heard:
        """Queue a frame; the model hears it at once."""
        self.input.send(frame, 64, tuser=tag_t(tci))
        heard = self.model.receive(frame, tci)
        if heard not in (Heard.OTHERS, Heard.RESOLVED):  # resolved counts when the result is taken
            self.expected[heard.name.lower()] += 1
        return heard

    async def heard(self, frame: bytes, tci: int | None = None) -> Heard:
        """The same, and wait until it has its effect."""
        heard = self.hear(frame, tci)
        await self.settle()
        return heard

    async def settle(self, cycles: int = 12) -> None:
        await self.until(lambda: not self.input.items)
        for _ in range(cycles):
            await self.step()

    async def tick(self, times: int = 1, gap: int = 0) -> None:
        for _ in range(times):
            self.dut.tick_i.value = 1
            await self.step()
            self.dut.tick_i.value = 0
            self.model.tick()
            for _ in range(gap):
                await self.step()

    async def announce(self) -> None:
        self.dut.announce_i.value = 1
        await self.step()
        self.dut.announce_i.value = 0
        self.model.announce()

    async def resolve(self, ip: int, tci: int | None = None) -> None:
        self.questions.items.append({"tdata": resolve_t(ip, tci)})
        await self.until(lambda: not self.questions.items)
        self.model.resolve(ip, tci)
        await self.settle()

    def told(self) -> list[Resolved]:
        fields = [RESOLVED_T.unpack(item["tdata"]) for item in self.results.items]
        assert all(f["found"] or not f["mac"] for f in fields)
        return [Resolved(f["ip"], f["mac"] if f["found"] else None) for f in fields]

    async def check(self) -> None:
        """Let all come to its end; frames, results and counts are the model's."""
        await self.settle(300)
        assert_same_packets(self.out.packets(64), [frame for frame, _ in self.model.sent])
        users = [item["tuser"] for item in self.out.items if item["tlast"]]
        assert users == [tag_t(tci) for _, tci in self.model.sent]
        assert self.told() == list(self.model.resolved)
        ends = Counter("unresolved" if r.mac is None else "resolved" for r in self.model.resolved)
        assert self.events == self.expected + ends
        assert now(self.dut.conflict_mac_o) == self.model.conflict_mac


def request(sender: Endpoint = PEER, ip: int = US.ip, dst: int = BROADCAST_MAC) -> bytes:
    return ArpPacket(Operation.REQUEST, sender, Endpoint(0, ip)).frame(dst)


def reply(sender: Endpoint = PEER, target: Endpoint = US) -> bytes:
    return ArpPacket(Operation.REPLY, sender, target).frame(target.mac)


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def requests_for_our_address_are_answered_and_no_others(dut: Any, stalls: Stalls) -> None:
    bench = ArpBench(dut, stalls)
    await bench.reset()
    for _ in range(40):
        sender = Endpoint(bench.random.getrandbits(40) | 2 << 40, bench.random.getrandbits(32))
        ip = bench.random.choice([US.ip, US.ip, PEER.ip, US.ip ^ 1 << bench.random.randrange(32)])
        tci = bench.random.choice([None, 0, TCI, bench.random.getrandbits(16)])
        bench.hear(request(sender, ip, bench.random.choice([BROADCAST_MAC, US.mac])), tci)
        await bench.settle(40)
    await bench.check()
    assert bench.events["answered"] > 10


@cocotb.test()
async def a_probe_for_our_address_is_answered_and_is_no_conflict(dut: Any) -> None:
    bench = ArpBench(dut)
    await bench.reset()
    assert await bench.heard(request(Endpoint(PEER.mac, 0))) is Heard.ANSWERED
    await bench.check()


def planted() -> Iterator[bytes]:
    """Frames that are not ARP packets, each by one field."""
    good = bytearray(request())
    for at, value in (
        (12, 0x88),
        (13, 0x00),
        (15, 2),
        (16, 0x86),
        (17, 1),
        (18, 7),
        (19, 16),
        (21, 0),
        (21, 3),
        (20, 1),
    ):
        bad = bytearray(good)
        bad[at] = value
        yield bytes(bad)
    for mac in (0, BROADCAST_MAC, 0x01_00_5E_00_00_01):
        yield request(Endpoint(mac, PEER.ip))
    yield from (bytes(good[:length]) for length in (1, 8, 17, 40, 41))


@cocotb.test()
async def what_is_no_arp_packet_is_counted_and_nothing_else(dut: Any) -> None:
    bench = ArpBench(dut)
    await bench.reset()
    await bench.heard(request())  # its bytes must not complete the short ones
    for frame in planted():
        assert await bench.heard(frame) is Heard.MALFORMED, frame.hex(" ")
    assert await bench.heard(request()[:42]) is Heard.ANSWERED
    await bench.check()


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def a_question_ends_with_the_answer(dut: Any, stalls: Stalls) -> None:
    bench = ArpBench(dut, stalls)
    await bench.reset()
    for tci in (None, TCI, 0x0123):
        await bench.resolve(PEER.ip, tci)
        await bench.tick(2)
        assert await bench.heard(reply(), tci) is Heard.RESOLVED
        await bench.settle(100)
    await bench.check()


@cocotb.test()
async def an_answer_to_the_second_request_counts(dut: Any) -> None:
    bench = ArpBench(dut)
    await bench.reset()
    await bench.resolve(PEER.ip)
    await bench.tick(4, gap=12)  # the first one has timed out
    assert len(bench.model.sent) == 2
    await bench.heard(reply())
    await bench.check()


@cocotb.test()
@cocotb.parametrize((("timeout", "retries"), [(0, 0), (0, 3), (1, 0), (5, 2), (2, 15)]))
async def a_question_that_nobody_answers_ends_after_its_retries(dut: Any, timeout: int, retries: int) -> None:
    bench = ArpBench(dut, timeout=timeout, retries=retries)
    await bench.reset()
    await bench.resolve(PEER.ip)
    for _ in range((timeout + 1) * (retries + 1)):
        assert not bench.model.resolved
        await bench.tick(gap=20)
        assert len(bench.results.items) == len(bench.model.resolved)
    assert len(bench.model.resolved) == 1
    await bench.check()
    assert len(bench.out.packets(64)) == retries + 1


@cocotb.test()
async def a_question_ends_also_when_nothing_can_be_sent(dut: Any) -> None:
    bench = ArpBench(dut)
    bench.out._stall = lambda: True
    await bench.reset()
    await bench.resolve(PEER.ip)
    await bench.tick(12, gap=20)
    assert bench.told() == [Resolved(PEER.ip, None)]
    bench.out._stall = lambda: False
    await bench.settle(100)
    assert len(bench.out.packets(64)) == 1  # the one on its way


@cocotb.test()
async def replies_that_are_late_double_or_from_another_are_counted_and_change_nothing(dut: Any) -> None:
    bench = ArpBench(dut)
    await bench.reset()
    assert await bench.heard(reply()) is Heard.STRAY  # nobody has asked
    await bench.resolve(PEER.ip, TCI)
    assert await bench.heard(reply(OTHER), TCI) is Heard.STRAY
    assert await bench.heard(reply(PEER, OTHER), TCI) is Heard.STRAY
    assert await bench.heard(reply(), None) is Heard.STRAY  # of another VLAN
    assert await bench.heard(reply(), TCI ^ 1) is Heard.STRAY
    assert await bench.heard(request(PEER, PEER.ip)) is Heard.OTHERS  # gratuitous: keeps no table
    assert not bench.results.items
    assert await bench.heard(reply(), TCI ^ 0x8000) is Heard.RESOLVED  # another priority
    assert await bench.heard(reply(), TCI) is Heard.STRAY  # twice
    assert await bench.heard(reply(Endpoint(OTHER.mac, PEER.ip)), TCI) is Heard.STRAY  # and from another MAC
    await bench.resolve(OTHER.ip)
    await bench.tick(12, gap=12)
    assert await bench.heard(reply(OTHER)) is Heard.STRAY  # late
    await bench.check()
    assert bench.told() == [Resolved(PEER.ip, PEER.mac), Resolved(OTHER.ip, None)]


@cocotb.test()
async def a_priority_tag_is_the_untagged_vlan(dut: Any) -> None:
    bench = ArpBench(dut)
    await bench.reset()
    await bench.resolve(PEER.ip)
    assert await bench.heard(reply(), 0xE000) is Heard.RESOLVED
    await bench.check()


@cocotb.test()
async def the_address_is_announced_twice(dut: Any) -> None:
    bench = ArpBench(dut)
    await bench.reset()
    await bench.announce()
    await bench.tick(ANNOUNCE_MS - 1)
    assert len(bench.model.sent) == 1
    await bench.tick()
    assert len(bench.model.sent) == 2
    await bench.tick(ANNOUNCE_MS + 10)
    await bench.check()


@cocotb.test()
async def another_with_our_address_is_counted_and_answered_once_in_ten_seconds(dut: Any) -> None:
    bench = ArpBench(dut)
    await bench.reset()
    thief = Endpoint(OTHER.mac, US.ip)
    for frame in (request(thief, US.ip), request(thief, PEER.ip), reply(thief, PEER), reply(thief)):
        assert await bench.heard(frame, 5) is Heard.CONFLICT
    assert len(bench.model.sent) == 1
    await bench.tick(DEFEND_MS - 1)
    await bench.heard(request(Endpoint(PEER.mac, US.ip), US.ip))
    assert len(bench.model.sent) == 1
    await bench.tick()
    await bench.heard(request(thief, US.ip))
    assert len(bench.model.sent) == 2
    await bench.check()
    assert bench.events["conflict"] == 6


@cocotb.test()
async def our_own_frames_heard_again_are_nothing(dut: Any) -> None:
    bench = ArpBench(dut)
    await bench.reset()
    for frame in (request(US, US.ip), request(US, PEER.ip), reply(US, PEER)):
        assert await bench.heard(frame) is Heard.OTHERS
    await bench.check()


@cocotb.test()
async def a_storm_of_requests_is_answered_as_far_as_possible_and_never_stops_the_rest(dut: Any) -> None:
    bench = ArpBench(dut, Stalls.SINK)
    await bench.reset()
    for n in range(200):
        bench.hear(request(Endpoint(0x02_00_00_00_10_00 + n, PEER.ip + n)))
        if n == 100:
            bench.questions.items.append({"tdata": resolve_t(OTHER.ip)})
        await bench.until(lambda: len(bench.input.items) < 8)
    await bench.settle(300)
    assert bench.input.pauses == 0
    assert bench.events["answered"] + bench.events["lost"] == 200
    assert bench.events["lost"] > 20
    frames = bench.out.packets(64)
    asked = request(US, OTHER.ip)
    assert frames.count(asked) == 1
    answers = [frame for frame in frames if frame != asked]
    assert len(answers) == bench.events["answered"]
    left = iter([frame for frame, _ in bench.model.sent])
    assert all(frame in left for frame in answers), "not in order"


@cocotb.test()
async def without_pauses_of_the_sink_a_storm_of_requests_is_answered_whole(dut: Any) -> None:
    bench = ArpBench(dut)
    await bench.reset()
    for n in range(50):
        bench.hear(request(Endpoint(0x02_00_00_00_10_00 + n, PEER.ip + n)) + bytes(4))
    await bench.check()
    assert bench.events["answered"] == 50


@cocotb.test()
async def a_disabled_block_says_nothing_and_ends_every_question(dut: Any) -> None:
    bench = ArpBench(dut)
    await bench.reset()
    bench.questions.items.append({"tdata": resolve_t(PEER.ip)})
    await bench.settle(4)
    dut.enabled_i.value = 0
    for frame in (request(), reply(), request(Endpoint(OTHER.mac, US.ip), US.ip), bytes(60)):
        bench.input.send(frame, 64, tuser=0)
    bench.questions.items.append({"tdata": resolve_t(OTHER.ip)})
    dut.announce_i.value = 1
    await bench.settle(100)
    dut.announce_i.value = 0
    assert bench.told() == [Resolved(PEER.ip, None), Resolved(OTHER.ip, None)]
    assert bench.events == {"unresolved": 2}
    assert len(bench.out.packets(64)) <= 1
    bench.out.clear()
    dut.enabled_i.value = 1
    await bench.settle(100)
    assert not bench.out.items


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def any_traffic_is_as_the_model_says(dut: Any, stalls: Stalls) -> None:
    bench = ArpBench(dut, stalls)
    await bench.reset()
    people = [PEER, OTHER, US, Endpoint(OTHER.mac, US.ip), Endpoint(US.mac, PEER.ip), Endpoint(0, PEER.ip)]
    for _ in range(300):
        what = bench.random.randrange(10)
        tci = bench.random.choice([None, None, TCI])
        if what < 6:
            sender, target = bench.random.choice(people), bench.random.choice(people)
            operation = bench.random.choice(list(Operation))
            frame = bytearray(ArpPacket(operation, sender, target).frame(US.mac))
            if bench.random.random() < 0.1:
                frame[bench.random.randrange(len(frame))] ^= 1 << bench.random.randrange(8)
            await bench.heard(bytes(frame), tci)
        elif what < 8:
            await bench.tick(bench.random.randrange(1, 3), gap=40)
        elif not bench.model._question and len(bench.results.items) == len(bench.model.resolved):
            await bench.resolve(bench.random.choice([PEER.ip, OTHER.ip]), tci)
        await bench.settle(40)
    await bench.check()


def test_arp() -> None:
    run("arp")
