"""The last test of each bench whose design has AXI ports: `bench.run` adds it."""

from typing import Any

import cocotb

from axi_ports import unseen


@cocotb.test()
async def the_rules_of_axi_were_looked_at_on_every_port(dut: Any) -> None:
    assert not unseen(dut), f"nobody has looked at {unseen(dut)}: no Bench with their clock has stepped (axi_ports.py)"
