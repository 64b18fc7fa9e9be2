"""pcie_registers, in pcie_tx: each register of each engine is where the map says, beside those of the transmitter."""

from typing import Any

import cocotb
import pytest

from bench import run
from framelane.driver.registers._pcie_register_map import REGISTERS as PCIE_REGISTERS
from pcie_tx_bench import ENGINES, PcieTxBench
from widths import some_widths


@cocotb.test()
async def every_register_of_the_engines_is_where_the_map_says(dut: Any) -> None:
    bench = PcieTxBench(dut)
    await bench.reset()
    while await bench.get("status.resetting"):
        pass
    assert await bench.get("identity") == 0x58544C46
    assert await bench.get("pcie[0].sizes.engines") == ENGINES
    assert await bench.get("pcie[1].sizes.data_width") == bench.width
    assert 1 << await bench.get("pcie[1].sizes.entries_log2") == int(dut.Entries.value)
    seen: dict[str, int] = {}
    for register in PCIE_REGISTERS:
        if not register.name.startswith("pcie[]"):
            continue
        for engine in range(ENGINES):
            fields = [field for field in register.fields if field.access == "rw"]
            values = {field.name: bench.random.getrandbits(field.width) for field in fields}
            for field in register.fields:
                if field.access == "r" and field.reset:
                    assert await bench.get(f"{register.name_of(engine)}.{field.name}") == field.reset
            if register.name == "pcie[].map_entry":
                continue  # moves map_index on
            if fields:
                await bench.put(register.name_of(engine), **values)
                seen |= {f"{register.name_of(engine)}.{name}": value for name, value in values.items()}
    assert len(seen) > 2 * 15
    for name, value in seen.items():
        assert await bench.get(name) == value, name
    for offset in (0xC078, 0xC0FC, 0xC200, 0xD000, 0xE0F8, 0xE200, 0xFFFC):
        await bench.registers.write(offset, 0xFFFF_FFFF)
        assert await bench.registers.read(offset) == 0
    assert await bench.get("identity") == 0x58544C46


@pytest.mark.parametrize("width", some_widths("pcie_tx", (128, 256, 512)))
def test_pcie_registers(width: int) -> None:
    run("pcie_registers", top="pcie_tx", DataW=width, Entries=16)
