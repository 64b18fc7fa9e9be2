"""Words behind an AXI4-Lite master of the design, twice: those that it reads and writes, and those of its model."""

import itertools
import logging

from cocotbext.axi import AxiLiteBus, AxiLiteSlave

from bench import STALL_SHARE, Bench
from framelane.models.remote.udp_registers import SLVERR, Access

HOLE = 0xF000
"""From here on accesses are errors."""


class AxilWords:
    """What is behind the port `m_axil` of the bench's design: words at addresses below HOLE."""

    def __init__(self, bench: Bench, *, stalls: bool) -> None:
        self.words: dict[int, int] = {}
        self.writes: list[tuple[int, int]] = []
        self.of_model: dict[int, int] = {}
        dut = bench.dut
        logging.getLogger(f"cocotb.{dut._name}.m_axil").setLevel(logging.CRITICAL)  # errors are asked for
        slave = AxiLiteSlave(AxiLiteBus.from_prefix(dut, "m_axil"), dut.clk, dut.rst, target=self)
        if stalls:
            reads, writes = slave.read_if, slave.write_if
            for channel in (reads.ar_channel, reads.r_channel, writes.aw_channel, writes.w_channel, writes.b_channel):
                channel.set_pause_generator(bench.random.random() < STALL_SHARE for _ in itertools.count())

    async def write(self, address: int, data: bytes) -> None:
        if address >= HOLE:
            raise ValueError
        self.words[address] = int.from_bytes(data, "little")
        self.writes.append((address, self.words[address]))

    async def read(self, address: int, length: int) -> bytes:
        if address >= HOLE:
            raise ValueError
        return self.words.get(address, 0).to_bytes(length, "little")

    def access_of_model(self, access: Access) -> Access:
        """The same of the model's words."""
        word = access.address & ~3
        if word >= HOLE:
            return Access(address=access.address, data=access.data * access.operation, operation=SLVERR)
        if access.operation:
            self.of_model[word] = access.data
        return Access(address=access.address, data=self.of_model.get(word, 0))
