"""detector_links: packets by any link are placed as by one, and each link answers its own neighbours."""

from typing import Any

import cocotb
import pytest
from scapy.layers.inet import ICMP, IP
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Raw

from bench import run
from core_bench import BYTES, MODULES, PACKETS, PARAMETERS
from detector_links_bench import LINE, LINKS, LinksBench, memory_of
from framelane.models.cells import axis
from framelane.models.roce_tx.wire import Endpoint
from receive_bench import LOCAL, PEER, ethernet, ip
from widths import some_of

CORE = 4000
PERIODS = (6400, 4100)
"""Periods of the links' clocks, in ps: 10G at 64 bits, and half as much again."""
EVERYONE = Endpoint((1 << 48) - 1, 0)
FRAMES = 3
CROSSING = 40
"""Cycles of the core in which a packet that has come crosses to it, about."""


@cocotb.test()
@cocotb.parametrize(link_period=PERIODS, gaps=[False, True])
async def packets_by_any_link_make_the_memory_of_the_model(dut: Any, link_period: int, gaps: bool) -> None:
    bench = LinksBench(dut, CORE, link_period, gaps)
    await bench.begin()
    for number in range(1, FRAMES + 1):
        await bench.send_frame(number)
        await bench.quiet()
    assert bench.idle()
    memory, times = memory_of(bench.macs[LINE].got())
    expected, _ = memory_of(bench.expected)
    assert len(expected) == len(bench.expected) == len(bench.macs[LINE].got())
    assert memory == expected
    assert set(times.values()) == {1}
    assert not any(mac.got() for mac in bench.macs[:LINE])
    counters = await bench.counters()
    assert (counters["placed"], counters["frames"]) == (FRAMES * MODULES * PACKETS, FRAMES * MODULES)
    assert await bench.link_counters() == [{"frames": len(sent), "bad": 0, "lost": 0} for sent in bench.sent]
    assert (await bench.get("links.count"), await bench.get("links.up")) == (LINKS, 0b101)


@cocotb.test()
async def each_link_answers_its_own_neighbours_and_no_others(dut: Any) -> None:
    bench = LinksBench(dut, CORE, PERIODS[0])
    await bench.begin()
    peer = PEER.mac.to_bytes(6, "big").hex(":")
    for asked in range(LINKS + 1):
        for mac in bench.macs:
            mac.out.clear()
        question = ethernet(dst=EVERYONE) / ARP(op="who-has", hwsrc=peer, psrc=ip().src, pdst=ip().dst)
        ping = ethernet() / ip(id=asked) / ICMP(id=7, seq=asked) / Raw(bench.random.randbytes(40))
        for frame in (question, ping):
            bench.macs[asked].send(bytes(frame).ljust(60, b"\0"))
        await bench.quiet()
        answers = [Ether(frame) for frame in bench.macs[asked].got()]
        assert [answer.dst for answer in answers] == [peer] * 2
        assert answers[0][ARP].op == 2
        assert answers[0][ARP].hwsrc == LOCAL.mac.to_bytes(6, "big").hex(":")
        assert (answers[1][IP].src, answers[1][ICMP].type, answers[1][ICMP].seq) == (ip().dst, 0, asked)
        assert bytes(answers[1][Raw])[:40] == bytes(ping[Raw])
        assert not any(mac.got() for k, mac in enumerate(bench.macs) if k != asked)
    for mac in bench.macs:
        mac.out.clear()
    await bench.put("command", announce=1)
    await bench.quiet()
    assert [[Ether(frame)[ARP].psrc for frame in mac.got()] for mac in bench.macs] == [[ip().dst]] * (LINKS + 1)


@cocotb.test()
async def what_a_link_loses_and_what_is_wrong_is_counted_there(dut: Any) -> None:
    """Links that bring more than a slow core can take: packets are placed whole, or lost and counted."""
    bench = LinksBench(dut, 16 * CORE, PERIODS[1])
    await bench.begin()
    sent = [0] * LINKS
    for packet in range(PACKETS):
        for module in range(MODULES):
            for again in range(4):  # the last three are duplicates, if the first has come
                link = (module + again) % LINKS
                bad = again == 3 and packet % 4 == 0
                bench.macs[link].send(bench.packet(1, packet, module), bad)
                sent[link] += 1
    await bench.quiet()
    found = await bench.link_counters()
    assert [sum(each.values()) for each in found] == [*sent, 0]
    assert [each["bad"] for each in found[:LINKS]] == [PACKETS // 4] * LINKS
    assert all(each["lost"] for each in found[:LINKS])
    counters = await bench.counters()
    names = ("placed", "duplicate", "late", "full")
    assert sum(counters[name] for name in names) == sum(each["frames"] for each in found)
    _, times = memory_of(bench.macs[LINE].got())
    assert set(times.values()) == {1}


@cocotb.test()
async def a_reset_of_one_links_mac_costs_the_others_nothing(dut: Any) -> None:
    bench = LinksBench(dut, CORE, PERIODS[0])
    await bench.begin()
    for packet in range(PACKETS):
        bench.send(1, bench.packet(1, packet, 1))
        bench.send(LINE, bench.packet(1, packet, 2))
    cut = bench.macs[0]
    for delay in range(0, 2 * CROSSING, 2):
        frame = bench.packet(1, delay % PACKETS, 0)
        done = len(cut.line.accepted) + axis.n_beats(len(frame), cut.width)
        cut.send(frame)
        await bench.until(lambda done=done: len(cut.line.accepted) >= done, 5000)  # type: ignore[misc]
        for _ in range(delay):
            await bench.step()
        reset = cocotb.start_soon(cut.rx.reset())
        await bench.until(reset.done)
    await bench.quiet()
    before = await bench.counters()
    assert before["placed"] >= 2 * PACKETS
    assert before["bad"] == 0, "a packet that was cut came to the core"
    assert (await bench.link_counters())[0]["bad"] > 0, "none was cut on its way to the core"
    for packet in range(PACKETS):
        bench.send(0, bench.packet(2, packet, 0))
    await bench.quiet()
    assert (await bench.counters())["placed"] == before["placed"] + PACKETS
    memory, _ = memory_of(bench.macs[LINE].got())
    expected, _ = memory_of(bench.expected)
    pixels = {(address, data) for address, data in expected.items() if len(data) == BYTES}
    assert len(pixels) == 3 * PACKETS
    assert pixels <= memory.items()


@cocotb.test()
@cocotb.parametrize(held=[False, True], moment=[60, *range(119, 143, 4)])
async def a_link_whose_clock_stops_or_whose_mac_stays_in_reset_holds_up_no_other(
    dut: Any, held: bool, moment: int
) -> None:
    """At any moment: while a frame comes, or crosses."""
    bench = LinksBench(dut, CORE, PERIODS[0])
    await bench.begin()
    dead = bench.macs[0]
    for packet in range(3):
        dead.send(bench.packet(1, packet, 0))
    await bench.until(lambda: bool(dead.line.accepted))
    for _ in range(moment):
        await bench.step()
    if held:
        dut.link0_rx_rst.value = 1
    else:
        dead.rx.stop_clock()
    dead.line.items.clear()
    for packet in range(PACKETS):
        bench.send(1, bench.packet(1, packet, 1))
        bench.send(LINE, bench.packet(1, packet, 2))
    await bench.quiet()
    memory, _ = memory_of(bench.macs[LINE].got())
    expected, _ = memory_of(bench.expected)
    assert expected.items() <= memory.items()


CASES = [(256, 0), (512, 0), (512, 1)]
"""Small packets at fewer bits are more than the core takes of so many links at once."""


@pytest.mark.parametrize(("width", "correct"), some_of("detector_links", CASES))
def test_detector_links(width: int, correct: int) -> None:
    sizes: dict[str, Any] = {"LinkBytes": 640, "LineBytes": 1200, "LineW": 256, "LinkW": 64}
    sizes |= {"DataW": width, "ClockHz": 250_000_000, "Correct": correct}
    run("detector_links", top="detector_links_bench", **sizes, **PARAMETERS)
