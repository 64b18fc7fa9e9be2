"""trailer: 64 bytes equal to the golden model, whatever stalls."""

from random import Random
from typing import Any

import cocotb
import pytest

from bench import ALL_STALLS, Bench, Stalls, assert_same_packets, run
from framelane.driver.simulated.ports import TRAILER_T
from framelane.models.cells import axis
from framelane.models.placement.trailer import TRAILER_BYTES, Trailer
from widths import WIDTHS, some_widths


def random_trailer(random: Random) -> Trailer:
    return Trailer(**{name: random.getrandbits(bits) for name, bits in TRAILER_T.fields.items()})


def packed(trailer: Trailer) -> int:
    return TRAILER_T.pack({name: getattr(trailer, name) for name in TRAILER_T.fields})


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def every_field_lies_where_the_model_puts_it(dut: Any, stalls: Stalls) -> None:
    bench = Bench(dut, stalls)
    source, out = bench.source("s_axis_trailer"), bench.sink("m_axis")
    width = len(dut.m_axis_tdata)
    await bench.reset()
    trailers = [random_trailer(bench.random) for _ in range(50)]
    source.items.extend({"tdata": packed(t)} for t in trailers)
    await bench.drain(out, len(trailers) * axis.n_beats(TRAILER_BYTES, width))
    assert_same_packets(out.packets(width), [t.pack() for t in trailers])


@cocotb.test()
async def a_reset_leaves_nothing_of_the_trailer_under_way(dut: Any) -> None:
    bench = Bench(dut)
    source, out = bench.source("s_axis_trailer"), bench.sink("m_axis")
    width = len(dut.m_axis_tdata)
    for cycles in range(1, 10):
        await bench.reset(cycles=1)
        source.items.append({"tdata": packed(random_trailer(bench.random))})
        for _ in range(cycles):
            await bench.step()
        await bench.reset(cycles=1)
        trailer = random_trailer(bench.random)
        source.items.append({"tdata": packed(trailer)})
        await bench.drain(out, axis.n_beats(TRAILER_BYTES, width))
        assert_same_packets(out.packets(width), [trailer.pack()])


@pytest.mark.parametrize("width", some_widths("trailer", (*WIDTHS, 1024)))
def test_trailer(width: int) -> None:
    run("trailer", DataW=width)
