"""gmii_tx: the bytes on GMII, cycle by cycle, and what a PHY's model of another hand reads of them."""

import logging
from typing import Any

import cocotb
from cocotb.triggers import with_timeout
from cocotbext.eth import GmiiSink

from bench import Bench, Source, run
from framelane.models.gmii import gmii
from signals import now

LENGTHS = [60, 61, 62, 63, 64, 65, 66, 127, 128, 1514, 4154]


class Line:
    """What is on GMII: of each burst the cycle of its first byte, its bytes, and which of them have TX_ER."""

    def __init__(self, bench: Bench) -> None:
        self.bursts: list[tuple[int, bytearray, list[int]]] = []
        self._bench, self._sends = bench, False
        bench.watch(self._sample)

    def _sample(self) -> None:
        dut, sends = self._bench.dut, bool(now(self._bench.dut.gmii_tx_en_o))
        if sends and not self._sends:
            self.bursts.append((self._bench.cycle, bytearray(), []))
        if sends:
            _, data, errors = self.bursts[-1]
            if now(dut.gmii_tx_er_o):
                errors.append(len(data))
            data.append(now(dut.gmii_txd_o))
        else:
            assert not now(dut.gmii_tx_er_o)
        self._sends = sends


def send(source: Source, packet: bytes, spoiled: bool = False) -> None:
    for at, byte in enumerate(packet):
        last = at == len(packet) - 1
        source.items.append({"tdata": byte, "tlast": int(last), "tuser": int(last and spoiled)})


@cocotb.test()
async def packets_follow_each_other_as_closely_as_the_line_allows(dut: Any) -> None:
    bench = Bench(dut)
    source, line = bench.source("s_axis"), Line(bench)
    await bench.reset()
    packets = [bench.random.randbytes(length) for length in LENGTHS]
    for number, packet in enumerate(packets):
        send(source, packet, spoiled=number % 3 == 2)
    await bench.until(lambda: not source.items)
    for _ in range(20):
        await bench.step()
    assert [bytes(data) for _, data, _ in line.bursts] == [
        gmii.sent(packet, spoiled=number % 3 == 2) for number, packet in enumerate(packets)
    ]
    for (start, data, _), (following, _, _) in zip(line.bursts, line.bursts[1:], strict=False):
        assert following - start == len(data) + gmii.GAP_BYTES
    for number, (_, data, errors) in enumerate(line.bursts):
        assert errors == ([len(data) - gmii.FCS_BYTES] if number % 3 == 2 else [])
    for _ in range(20):
        await bench.step()
    source.clear()
    send(source, packets[0])
    await bench.until(lambda: not source.items)
    assert source.accepted[0] - source.offered[0] == 1 + len(gmii.START)


@cocotb.test()
async def a_packet_that_stops_is_ended_as_wrong_and_its_rest_is_left_out(dut: Any) -> None:
    bench = Bench(dut)
    source, line = bench.source("s_axis"), Line(bench)
    pulses: list[int] = []
    bench.watch(lambda: pulses.append(bench.cycle) if now(dut.underrun_o) else None)
    await bench.reset()
    for come, rest in ((1, 1), (60, 1), (80, 30), (7, 300)):
        line.bursts.clear()
        pulses.clear()
        packet, whole = bench.random.randbytes(come + rest), bench.random.randbytes(60)
        send(source, packet)
        items = list(source.items)
        source.items.clear()
        source.items.extend(items[:come])
        await bench.until(lambda: not source.items)
        for _ in range(bench.random.randint(1, 30)):
            await bench.step()
        source.items.extend(items[come:])
        send(source, whole)
        await bench.until(lambda: not source.items)
        for _ in range(20):
            await bench.step()
        assert len(pulses) == 1
        (start, cut, errors), (following, data, none) = line.bursts
        assert cut[: 8 + come] == gmii.START + packet[:come]
        assert gmii.received(bytes(cut), frozenset(errors)) is None or gmii.received(bytes(cut))[1]  # type: ignore[index]
        assert errors[0] == 8 + come
        assert (bytes(data), none) == (gmii.sent(whole), [])
        assert following - start >= len(cut) + gmii.GAP_BYTES


@cocotb.test()
async def a_reset_in_a_packet_ends_it_and_leaves_a_gap(dut: Any) -> None:
    bench = Bench(dut)
    source, line = bench.source("s_axis"), Line(bench)
    await bench.reset()
    for cycles in (1, 5, 9, 30, 68, 70, 73, 80):
        send(source, bench.random.randbytes(60))
        for _ in range(cycles):
            await bench.step()
        end = bench.cycle
        await bench.reset(cycles=1)
        line.bursts.clear()
        line._sends = False
        packet = bench.random.randbytes(60)
        send(source, packet)
        await bench.until(lambda: not source.items)
        for _ in range(20):
            await bench.step()
        assert [bytes(data) for _, data, _ in line.bursts] == [gmii.sent(packet)]
        assert line.bursts[0][0] - end >= gmii.GAP_BYTES - 1


@cocotb.test()
async def a_phy_of_another_hand_reads_every_packet(dut: Any) -> None:
    bench = Bench(dut)
    source = bench.source("s_axis")
    logging.getLogger(f"cocotb.{dut.gmii_txd_o._path}").setLevel(logging.ERROR)
    phy = GmiiSink(dut.gmii_txd_o, dut.gmii_tx_er_o, dut.gmii_tx_en_o, dut.clk, dut.rst)
    await bench.reset()
    packets = [bench.random.randbytes(length) for length in LENGTHS]
    for packet in packets:
        send(source, packet)
    await bench.until(lambda: phy.count() == len(packets))
    for packet in packets:
        frame = await with_timeout(phy.recv(), 1, "us")
        assert frame.check_fcs()
        assert frame.error is None
        assert bytes(frame.get_payload()) == packet


def test_gmii_tx() -> None:
    run("gmii_tx")
