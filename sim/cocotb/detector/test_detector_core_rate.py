"""detector_core with a JUNGFRAU's own packets, raw and corrected: a beat a cycle, and what the correction takes."""

from typing import Any

import cocotb
import pytest

from bench import run
from core_bench import CoreBench
from det_packets import JUNGFRAU
from framelane.models.detector.det_header import DetHeader
from widths import some_of

MODULES, IN_A_ROW = 2, 24
MEMORY = 100
"""Cycles until memory answers: 400 ns at 250 MHz."""
RAW, CORRECTED = 11, 18
"""Cycles from the end of the header to the first pixel, but for those that memory takes, 1 at least."""


def bench_of(dut: Any, memory: int) -> CoreBench:
    bench = CoreBench(dut, header=DetHeader(JUNGFRAU, MODULES))
    if bench.correct:
        bench.constants.latency = lambda: memory
    return bench


@cocotb.test()
async def packets_of_8240_bytes_back_to_back_leave_a_beat_a_cycle(dut: Any) -> None:
    bench = bench_of(dut, MEMORY)
    await bench.reset()
    for _ in range(6):
        await bench.step()
    order = bench.random.sample([(packet, module) for packet in range(128) for module in range(MODULES)], IN_A_ROW)
    for packet, module in order:
        bench.send(bench.packet(1, packet, module))
    await bench.check()
    accepted, taken = bench.line.accepted, bench.payload.taken
    beats = 8192 * 8 // bench.width
    assert len(taken) == IN_A_ROW * beats
    assert accepted[-1] - accepted[0] == len(accepted) - 1
    assert all(taken[k + beats - 1] - taken[k] == beats - 1 for k in range(0, len(taken), beats))
    assert taken[-1] - taken[0] <= accepted[-1] - accepted[0] + 1
    rate = len(taken) / (taken[-1] - taken[0] + 1)
    dut._log.info(f"{rate:.4f} beats of pixels a cycle, {len(accepted)} beats came")


@cocotb.test()
@cocotb.parametrize(memory=[1, MEMORY])
async def the_first_pixel_waits_for_its_constants_and_no_longer(dut: Any, memory: int) -> None:
    bench = bench_of(dut, memory)
    await bench.reset()
    for _ in range(6):
        await bench.step()
    bench.send(bench.packet(1, 77, 1))
    await bench.check()
    header = bench.line.accepted[(42 + 48 - 1) * 8 // bench.width]
    waited = bench.payload.taken[0] - header
    dut._log.info(f"header to first pixel: {waited} cycles")
    assert waited == (RAW if bench.correct is None else CORRECTED + memory)


@pytest.mark.parametrize("correct", some_of("detector_core_rate", [0, 1]))
def test_detector_core_rate(correct: int) -> None:
    run("detector_core_rate", top="detector_core", flat=bool(correct), DataW=512, Modules=MODULES, Correct=correct)
