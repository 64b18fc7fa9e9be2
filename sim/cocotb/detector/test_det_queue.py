"""det_queue: heads, ends and pixels come out in order, and where it says that there is room there is."""

from typing import Any

import cocotb
import pytest

from bench import ALL_STALLS, Bench, Stalls, run
from framelane.models.cells import axis
from receive_bench import line
from signals import now
from widths import some_widths

BYTES = 1024


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def what_is_let_in_by_room_comes_out_whole_and_in_order(dut: Any, stalls: Stalls) -> None:
    """The queue's own assertion fails where something comes for which there is no room."""
    bench = Bench(dut, stalls)
    source, chance, width = line(bench, stalls), bench.random, len(dut.s_axis_tdata)
    heads, tails, pixels = (bench.sink(f"m_axis_{name}") for name in ("head", "tail", "pixel"))
    dut.head_valid_i.value = 0
    await bench.reset()
    packets: list[tuple[int, bytes, int]] = []
    for number in range(120):
        await bench.step()
        room = now(dut.room_o)
        if not room:
            for _ in range(BYTES * 8 // width // 2):
                await bench.step()
            continue
        dut.head_i.value, dut.head_valid_i.value = number, 1
        await bench.step()
        dut.head_valid_i.value = 0
        data = chance.randbytes(BYTES if chance.random() < 0.9 else chance.randrange(1, BYTES))
        packets.append((number, data, chance.getrandbits(1)))
        source.send(data, width, tuser=0)
        source.items[-1]["tuser"] = packets[-1][2]
        await bench.until(lambda: not source.items)
    beats = sum(axis.n_beats(len(data), width) for _, data, _ in packets)
    await bench.until(lambda: len(tails.items) == len(heads.items) == len(packets) and len(pixels.items) == beats)
    assert [item["tdata"] for item in heads.items] == [number for number, _, _ in packets]
    assert [item["tdata"] for item in tails.items] == [bad for _, _, bad in packets]
    assert pixels.packets(width) == [data for _, data, _ in packets]
    assert [item["tuser"] for item in pixels.items if item["tlast"]] == [bad for _, _, bad in packets]
    assert len(packets) > 40


@cocotb.test()
async def a_packet_has_room_that_nobody_takes_until_there_is_none(dut: Any) -> None:
    bench = Bench(dut)
    source, width = line(bench, Stalls.NONE), len(dut.s_axis_tdata)
    for name in ("head", "tail", "pixel"):
        getattr(dut, f"m_axis_{name}_tready").value = 0
    dut.head_valid_i.value = 0
    await bench.reset()
    await bench.step()
    await bench.step()
    taken = 0
    while now(dut.room_o):
        dut.head_valid_i.value = 1
        await bench.step()
        dut.head_valid_i.value = 0
        source.send(bytes(BYTES), width, tuser=0)
        await bench.until(lambda: not source.items)
        for _ in range(3):
            await bench.step()
        taken += 1
        assert taken < 10
    assert taken == 3


@pytest.mark.parametrize("width", some_widths("det_queue"))
def test_det_queue(width: int) -> None:
    run("det_queue", DataW=width, PacketBytes=BYTES, Depth=4 * BYTES * 8 // width)
