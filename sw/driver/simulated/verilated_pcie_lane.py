"""One PCIe engine alone, `pcie_lane.sv` by Verilator: descriptors of the program in, bytes in its memory out."""

from typing import Any

import numpy as np

from framelane.driver.simulated import ports
from framelane.driver.simulated.pcie_host import PcieHost, host_design
from framelane.driver.simulated.simulation import words
from framelane.driver.simulated.verilated_board import POINTER
from framelane.models.placement.bd_rows import Descriptor
from framelane.models.placement.trailer import Trailer

DESIGN = host_design("pcie_lane", {"give": (None, [POINTER, POINTER])})


class PcieLaneSimulator(PcieHost):
    """One simulated engine. Its arguments: `PcieHost`."""

    def __init__(self, width: int = 512, **simulation: Any) -> None:
        super().__init__(DESIGN, width, **simulation)

    def give(self, offset: int, payload: bytes, trailer: Trailer | None = None) -> None:
        """Write some bytes to the ring, and wait until they are there; `trailer`: they are one, and end a frame."""
        self.write_memory(0, np.frombuffer(payload, np.uint8))
        self.queue(0, offset, len(payload), trailer)
        self.run()

    def queue(self, source: int, offset: int, length: int, trailer: Trailer | None = None) -> None:
        """Let it write so many bytes, at `source` of its memory, to the ring; those of a `trailer` come with it."""
        descriptor = Descriptor(source, offset, length, 0, 0, trailer is not None, 0)
        named = {name: int(getattr(descriptor, name)) for name in ports.BD_T.fields}
        ends = None
        if trailer:
            fields = {name: getattr(trailer, name) for name in ports.TRAILER_T.fields}
            ends = words(ports.TRAILER_T.pack(fields), ports.TRAILER_T.width)
        self._act("give", words(ports.BD_T.pack(named), ports.BD_T.width), ends)
