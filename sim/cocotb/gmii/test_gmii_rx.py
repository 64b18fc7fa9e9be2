"""gmii_rx: packets of a PHY without preamble and FCS; what is not right is marked."""

import logging
from collections import deque
from collections.abc import Iterable
from typing import Any

import cocotb
from cocotbext.eth import GmiiFrame, GmiiSource

from bench import Bench, Sink, assert_same_packets, run
from framelane.models.gmii import gmii


class Line:
    """Drives GMII."""

    def __init__(self, bench: Bench) -> None:
        self.cycles: deque[tuple[int, int, int]] = deque()
        self._bench = bench
        bench.answer(self._drive)
        self.send(b"")  # what begins in a reset is left out

    def _drive(self) -> None:
        data, valid, error = self.cycles.popleft() if self.cycles else (self._bench.random.getrandbits(8), 0, 0)
        dut = self._bench.dut
        dut.gmii_rxd_i.value, dut.gmii_rx_dv_i.value, dut.gmii_rx_er_i.value = data, valid, error

    def send(self, data: bytes, errors: Iterable[int] = (), gap: int = gmii.GAP_BYTES) -> None:
        self.cycles.extend((byte, 1, int(at in set(errors))) for at, byte in enumerate(data))
        self.cycles.extend((self._bench.random.getrandbits(8), 0, at % 2) for at in range(gap))


def packets(sink: Sink) -> list[tuple[bytes, bool]]:
    found, data = [], bytearray()
    for item in sink.items:
        data.append(item["tdata"])
        assert item["tlast"] or not item["tuser"]
        if item["tlast"]:
            found.append((bytes(data), bool(item["tuser"])))
            data.clear()
    assert not data
    return found


async def settle(bench: Bench, line: Line) -> None:
    await bench.until(lambda: not line.cycles, limit=1_000_000)
    for _ in range(12):
        await bench.step()


@cocotb.test()
async def packets_come_without_preamble_and_fcs(dut: Any) -> None:
    bench = Bench(dut)
    line, sink = Line(bench), bench.sink("m_axis")
    await bench.reset()
    sent = [bench.random.randbytes(length) for length in [*range(60, 70), 1514, 4154, 9000]]
    for number, packet in enumerate(sent):
        start = gmii.START[number % 8 :]  # repeaters shorten the preamble
        line.send(start + packet + gmii.fcs(packet), gap=1 + number % 13)
    await settle(bench, line)
    got = packets(sink)
    assert_same_packets([packet for packet, _ in got], sent)
    assert not any(wrong for _, wrong in got)


@cocotb.test()
async def what_is_wrong_is_marked_and_what_is_no_packet_does_not_come(dut: Any) -> None:
    bench = Bench(dut)
    line, sink = Line(bench), bench.sink("m_axis")
    await bench.reset()
    chance, expected = bench.random, []
    for number in range(200):
        data = bytearray(gmii.sent(chance.randbytes(chance.randint(60, 90)), spoiled=number % 8 == 0))
        errors: set[int] = set()
        if number % 8 == 1:
            data[chance.randrange(8, len(data))] ^= 1 << chance.randrange(8)
        elif number % 8 == 2:
            errors = {chance.randrange(len(data))}
        elif number % 8 == 3:
            data = data[: chance.randint(1, 76)]  # cut
        elif number % 8 == 4:
            data[chance.randrange(8)] ^= 1 << chance.randrange(8)  # the preamble or the SFD
        elif number % 8 == 5:
            data = bytearray(gmii.sent(chance.randbytes(chance.randint(0, 60))))  # short, with a right FCS
        elif number % 8 == 6:
            data = bytearray([0x55] * chance.randint(1, 80))
        line.send(bytes(data), errors)
        what = gmii.received(bytes(data), frozenset(errors))
        expected += [what] if what else []
    await settle(bench, line)
    assert packets(sink) == expected
    assert {wrong for _, wrong in expected} == {True, False}


@cocotb.test()
async def a_reset_in_a_packet_leaves_nothing_of_it(dut: Any) -> None:
    bench = Bench(dut)
    line, sink = Line(bench), bench.sink("m_axis")
    await bench.reset()
    for cycles in (1, 7, 8, 9, 14, 30, 78, 79):
        packet = bench.random.randbytes(60)
        line.send(gmii.sent(packet))
        for _ in range(cycles):
            await bench.step()
        await bench.reset(cycles=1)
        following = bench.random.randbytes(60)
        line.send(gmii.sent(following))
        await settle(bench, line)
        assert packets(sink) in ([(following, False)], [(packet, False), (following, False)])


@cocotb.test()
async def what_a_phy_of_another_hand_sends_comes(dut: Any) -> None:
    bench = Bench(dut)
    sink = bench.sink("m_axis")
    logging.getLogger(f"cocotb.{dut.gmii_rxd_i._path}").setLevel(logging.ERROR)
    phy = GmiiSource(dut.gmii_rxd_i, dut.gmii_rx_er_i, dut.gmii_rx_dv_i, dut.clk, dut.rst)
    await bench.reset()
    sent = [bench.random.randbytes(length) for length in (60, 61, 1514, 4154)]
    for packet in sent:
        phy.send_nowait(GmiiFrame.from_payload(packet))
    await bench.until(lambda: sum(item["tlast"] for item in sink.items) == len(sent))
    assert packets(sink) == [(packet, False) for packet in sent]


def test_gmii_rx() -> None:
    run("gmii_rx")
