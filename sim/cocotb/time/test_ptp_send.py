"""ptp_send: the bytes that were written leave once, whatever stalls."""

from typing import Any

import cocotb
import pytest

from bench import ALL_STALLS, Bench, Stalls, assert_same_packets, run
from framelane.models.time import ptp_send
from widths import WIDTHS, some_widths


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def a_message_leaves_as_it_was_written(dut: Any, stalls: Stalls) -> None:
    bench = Bench(dut, stalls)
    out, width = bench.sink("m_axis"), len(dut.m_axis_tdata)
    dut.write_i.value = dut.send_i.value = 0
    dut.index_i.value = dut.word_i.value = dut.bytes_i.value = 0
    await bench.reset()
    words, expected = [0] * 32, []
    for length in (1, 63, 64, 65, 127, 128, 0, 129, 255, *(bench.random.randrange(1, 129) for _ in range(20))):
        for index in range(32):
            words[index] = bench.random.getrandbits(32)
            dut.write_i.value, dut.index_i.value, dut.word_i.value = 1, index, words[index]
            await bench.step()
        dut.write_i.value, dut.send_i.value, dut.bytes_i.value = 0, 1, length
        await bench.step()
        dut.send_i.value = 0
        if message := ptp_send.packet(words, length):
            expected.append(message)
        for _ in range(60):
            await bench.step()
    assert_same_packets(out.packets(width), expected)


@cocotb.test()
async def a_reset_leaves_nothing_of_a_message_under_way(dut: Any) -> None:
    bench = Bench(dut, Stalls.SINK)
    out = bench.sink("m_axis")
    dut.write_i.value = 0
    await bench.reset()
    dut.send_i.value, dut.bytes_i.value = 1, 128
    await bench.step()
    dut.send_i.value = 0
    await bench.reset()
    for _ in range(50):
        await bench.step()
    assert not out.items


@pytest.mark.parametrize("width", some_widths("ptp_send", (*WIDTHS, 1024)))
def test_ptp_send(width: int) -> None:
    run("ptp_send", DataW=width)
