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


@pytest.mark.parametrize("width", some_widths("det_whole"))
def test_det_whole(width: int) -> None:
    run("det_whole", DataW=width, PacketBytes=BYTES)
