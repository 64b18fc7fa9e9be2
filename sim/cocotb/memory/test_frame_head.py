"""frame_head: the first bytes and the length of every packet, in the cycle behind its end."""

from typing import Any

import cocotb
import pytest

from bench import Bench, Stalls, run
from framelane.models.memory import frame_head
from framelane.models.memory.frame_head import FrameHead
from signals import now


@cocotb.test()
@cocotb.parametrize(stalls=[Stalls.NONE, Stalls.SOURCE])
async def the_first_bytes_and_the_length_are_there_when_a_packet_has_ended(dut: Any, stalls: Stalls) -> None:
    bench = Bench(dut, stalls)
    source = bench.source("s_axis")
    kept = len(dut.head_o) // 8
    found: list[tuple[bytes, int, int]] = []

    def watch() -> None:
        if now(dut.ended_o):
            head = now(dut.head_o).to_bytes(kept)
            found.append((head, now(dut.length_o), now(dut.user_o)))

    bench.watch(watch)
    await bench.reset()
    lengths = [*range(1, 3 * kept), 1514, 2032, 2040, 2041, 2048, 2049, 2100, 5000, 8, 1]
    packets = [bench.random.randbytes(length) for length in lengths]
    for index, packet in enumerate(packets):
        source.send(packet, 64, tuser=index & 0xF)
    await bench.until(lambda: not source.items)
    for _ in range(3):
        await bench.step()
    assert len(found) == len(packets)
    for index, (packet, (head, length, user)) in enumerate(zip(packets, found, strict=True)):
        expected = frame_head.head(packet, kept // frame_head.BEAT_BYTES)
        assert FrameHead(head[: len(packet)], length) == expected
        assert user == index & 0xF


@cocotb.test()
async def a_reset_forgets_the_packet_under_way(dut: Any) -> None:
    bench = Bench(dut)
    source = bench.source("s_axis")
    for cycles in range(1, 8):
        await bench.reset(cycles=1)
        source.send(bench.random.randbytes(100), 64, tuser=0)
        for _ in range(cycles):
            await bench.step()
        await bench.reset(cycles=1)
        assert not now(dut.ended_o)
        packet = bench.random.randbytes(len(dut.head_o) // 8)
        source.send(packet, 64, tuser=0)
        await bench.until(lambda: bool(now(dut.ended_o)), limit=100)
        assert now(dut.head_o).to_bytes(len(packet)) == packet


@pytest.mark.parametrize("beats", [1, 6])
def test_frame_head(beats: int) -> None:
    run("frame_head", Beats=beats, UserW=4)
