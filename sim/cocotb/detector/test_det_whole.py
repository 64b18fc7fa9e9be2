"""det_whole: every packet has all its bytes; one that was whole is as it was, without a bubble."""

from typing import Any

import cocotb
import pytest

from bench import ALL_STALLS, Bench, Stalls, run
from framelane.models.cells import axis
from widths import some_widths

BYTES = 512


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def what_is_missing_is_there_and_what_is_whole_is_as_it_was(dut: Any, stalls: Stalls) -> None:
    bench = Bench(dut, stalls)
    width, chance = len(dut.s_axis_tdata), bench.random
    source, sink = bench.source("s_axis"), bench.sink("m_axis")
    await bench.reset()
    sent: list[tuple[bytes, bool]] = []
    for _ in range(200):
        broken = chance.random() < 0.4
        size = chance.choice([BYTES, chance.randrange(1, BYTES + 1)]) if broken else chance.choice([BYTES, 64, 17])
        sent.append((chance.randbytes(size), broken))
        beats = list(axis.beats(sent[-1][0], width))
        for beat in beats:
            mark = int(broken and beat.last) if beat.last else chance.getrandbits(1)
            source.items.append({"tdata": beat.data, "tkeep": beat.keep, "tlast": int(beat.last), "tuser": mark})
    lanes = width // 8
    whole = [-(-(BYTES if broken else len(data)) // lanes) for data, broken in sent]
    await bench.until(lambda: len(sink.items) == sum(whole), 100_000)
    for _ in range(20):
        await bench.step()
    found = sink.packets(width)
    assert len(found) == len(sent)
    for (data, broken), packet in zip(sent, found, strict=True):
        assert len(packet) == (BYTES if broken else len(data))
        if broken:
            kept = len(data) // lanes * lanes
            assert packet[:kept] == data[:kept]
        else:
            assert packet == data
    if stalls is Stalls.NONE:
        assert sink.taken[-1] - sink.taken[0] == sum(whole) - 1


@cocotb.test()
async def after_a_reset_a_packet_has_all_its_bytes_again(dut: Any) -> None:
    """Whether it broke off a packet that came, or what fills one up."""
    bench = Bench(dut)
    width = len(dut.s_axis_tdata)
    source, sink = bench.source("s_axis"), bench.sink("m_axis")
    await bench.reset()
    for ended in (False, True):
        beat = {"tdata": 1, "tkeep": (1 << width // 8) - 1, "tlast": int(ended), "tuser": 1}
        source.items.append(beat)
        for _ in range(3):
            await bench.step()
        assert 0 < len(sink.items) < BYTES * 8 // width
        await bench.reset(cycles=1)
        sink.clear()
        source.items.append(beat | {"tlast": 1})
        await bench.until(lambda: bool(sink.items and sink.items[-1]["tlast"]), 200)
        assert [len(packet) for packet in sink.packets(width)] == [BYTES]
        sink.clear()


@pytest.mark.parametrize("width", some_widths("det_whole"))
def test_det_whole(width: int) -> None:
    run("det_whole", DataW=width, PacketBytes=BYTES)
