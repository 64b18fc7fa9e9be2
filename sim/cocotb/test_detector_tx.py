"""detector_tx: a detector's packets leave as WRITEs that a receiver places, soon and always after the same time."""

import os
import struct
from typing import Any

import cocotb
import pytest
from scapy.layers.inet import ICMP
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from bench import Stalls, run
from core_bench import BYTES, MODULES, PACKETS, PARAMETERS, TARGET
from detector_tx_bench import TxBench
from exact import exact
from framelane.models.jungfrau.jf_fixed import FixedCalibration
from framelane.models.roce_tx import roce_icrc, wire
from receive_bench import acknowledge, ethernet, ip
from widths import WIDTHS, some_of

CORRECTION = 7
"""Cycles that the correction takes, at most, with memory that answers two cycles behind."""
RESETS = int(os.environ.get("FRAMELANE_PHASES", "40"))


@cocotb.test()
async def packets_are_those_of_the_model_and_only_good_ones_have_a_right_icrc(dut: Any) -> None:
    """The line has gaps: holes, masks and trailers take their time, and what has no room is lost."""
    bench = TxBench(dut, Stalls.SOURCE)
    await bench.begin()
    sent: dict[int, bytes] = {}
    for frame in range(1, 5):
        order = [(packet, module) for packet in range(PACKETS) for module in range(MODULES)]
        for packet, module in bench.random.sample(order, len(order)):
            data = bench.packet(frame, packet, module)
            cut = bench.random.random() < 0.1
            bench.send(data[: bench.random.randrange(100, len(data), 2)] if cut else data, cut)
            place = frame - 1 << 20 | module * PACKETS + packet
            sent[place] = b"\0\x80" * (BYTES // 2) if cut else data[-BYTES:]
            if bench.correct and not cut:
                sent[place] = corrected(bench.correct.fixed, sent[place], module * PACKETS + packet)
    await bench.check()
    found = {}
    for written in bench.out.packets(bench.width):
        if not roce_icrc.check(written):
            continue
        headers, payload = wire.parse(written)
        assert headers.reth
        slot, place = divmod(headers.reth.address - TARGET.base, TARGET.slot_bytes)
        if place < MODULES * PACKETS * BYTES:
            found[slot << 20 | place // BYTES] = payload
    guarded = {place: guard(data) for place, data in sent.items()}
    assert found == (sent if bench.correct else guarded)


def corrected(fixed: FixedCalibration, data: bytes, row: int) -> bytes:
    """A packet of one row, corrected with exact integers."""
    pedestal, mantissa = fixed.pedestal[:, row].T.tolist(), fixed.mantissa[:, row].T.tolist()
    words = zip(struct.unpack(f"<{len(data) // 2}H", guard(data)), pedestal, mantissa, strict=True)
    return b"".join(struct.pack("<h", exact(word, p, m, list(fixed.shift), False)) for word, p, m in words)


def guard(data: bytes) -> bytes:
    """Words of gain code 10 are errors, but in holes."""
    if data == b"\0\x80" * (len(data) // 2):
        return data
    pairs = zip(data[::2], data[1::2], strict=True)
    return b"".join(b"\xff\xff" if high >> 6 == 2 else bytes((low, high)) for low, high in pairs)


@cocotb.test()
async def the_first_pixel_leaves_the_same_time_behind_the_header_after_any_reset(dut: Any) -> None:
    bench = TxBench(dut)
    lanes, times = bench.width // 8, set()
    pixels_in_beat = (54 + 16) // lanes
    for _ in range(RESETS):
        await bench.begin()
        for _ in range(bench.random.randrange(60)):
            await bench.step()
        bench.line.accepted.clear()
        bench.out.clear()
        bench.send(bench.packet(1, bench.random.randrange(PACKETS), bench.random.randrange(MODULES)))
        await bench.until(lambda: len(bench.out.items) > pixels_in_beat)
        times.add(bench.out.taken[pixels_in_beat] - bench.line.accepted[(42 + 48 - 1) // lanes])
    dut._log.info(f"header to first pixel: {times} cycles")
    assert len(times) == 1
    assert max(times) <= (20 if bench.width == 512 else 28) + (CORRECTION if bench.correct else 0)


@cocotb.test()
async def packets_of_rdma_are_thrown_away_and_hold_up_no_answer(dut: Any) -> None:
    bench = TxBench(dut)
    await bench.begin()
    for psn in range(4):
        bench.line.send(acknowledge(2, psn), bench.width, tuser=0)
    ping = ethernet() / ip() / ICMP(id=7, seq=1) / Raw(bench.random.randbytes(40))
    bench.line.send(bytes(ping), bench.width, tuser=0)
    await bench.until(lambda: bool(bench.out.items and bench.out.items[-1]["tlast"]), 1000)
    (answer,) = map(Ether, bench.out.packets(bench.width))
    assert (answer[ICMP].type, bytes(answer[Raw])[:40]) == (0, bytes(ping[Raw]))


CASES = [(width, correct) for width in WIDTHS for correct in (0, 1)]


@pytest.mark.parametrize(("width", "correct"), some_of("detector_tx", CASES))
def test_detector_tx(width: int, correct: int) -> None:
    run("detector_tx", DataW=width, ClockHz=250_000_000, Correct=correct, **PARAMETERS)
