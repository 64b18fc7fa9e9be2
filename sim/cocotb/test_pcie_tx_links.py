"""pcie_tx before two links that others have modelled, gen4 x8 each: both at the rate of their wire, frames whole."""

from typing import Any

import cocotb
import pytest

from bench import run
from framelane.models.pcie.tlp_split import Status
from link import OVERHEAD, RAW_GB_S
from links_bench import IMAGE, SLOTS, LinksBench
from measured import note
from pcie_tx_bench import ENGINES, EVENT_LOG2
from widths import some_widths

SHARE = 0.995
"""The share of the wires' ceiling that must be reached."""


@cocotb.test()
async def two_links_carry_what_two_wires_can(dut: Any) -> None:
    bench = LinksBench(dut)
    await bench.start_links()
    images = [bench.offer(number) for number in range(ENGINES * SLOTS)]
    for number in range(ENGINES * SLOTS):
        engine = number % ENGINES
        memory = bench.links[engine].memory
        for _ in range(100_000):
            if found := bench.consumers[engine].next(memory.page(SLOTS)[: 64 << EVENT_LOG2]):
                break
            await bench.step()
        else:
            raise AssertionError(f"frame {number}: no event")
        trailer, status = found
        assert (trailer.detector_frame, status) == (number, Status.OK)
        assert memory.page(number // ENGINES)[:IMAGE] == images[number]
    rates = [link.gb_per_s(skip=40) for link in bench.links]
    ceiling = RAW_GB_S[4, 8] * 256 / (256 + OVERHEAD)
    note("two", width=bench.width, mps=256, lanes=8, gb_s=sum(rates), wire=ENGINES * ceiling)
    dut._log.info("two gen4 x8, MPS 256: %.3f GB/s of the wires' %.3f", sum(rates), ENGINES * ceiling)
    assert SHARE * ENGINES * ceiling <= sum(rates) <= 1.001 * ENGINES * ceiling


@pytest.mark.parametrize("width", some_widths("pcie_tx", (128, 256, 512)))
def test_pcie_tx_links(width: int) -> None:
    run("pcie_tx_links", top="pcie_tx", DataW=width, Entries=16)
