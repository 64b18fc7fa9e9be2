"""The transmitter over PCIe: frames in, the TLPs of each engine out. `pcie_core.sv` with `pcie_tx.sv` around it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from framelane.models.pcie.event_queue import EventQueue
from framelane.models.pcie.pcie_wr import Engine
from framelane.models.pcie.tlp_join import Sent
from framelane.models.pcie.tlp_split import Status, Tlp, Write
from framelane.models.placement.bd_gen import BdGen
from framelane.models.placement.flow import Destination, Flow, FrameEvent

NOWHERE = (1 << 64) - 1
"""Where a descriptor goes whose queue pair is not an engine's: outside of any ring."""

Memory = Callable[[int, int], bytes]
"""Read `length` bytes at `address` of the source's memory."""


@dataclass
class Lane:
    """One engine and its event queue, where it has one; `failed`: nothing is sent."""

    engine: Engine
    queue: EventQueue | None = None
    failed: bool = False
    consumed: int = 0


class PcieTx:
    """`pcie_tx.sv`, frame by frame; a descriptor goes to the engine that its queue pair names.

    The credit of each destination is `bd_gen.window_ends`, at first without limit.
    """

    def __init__(
        self, flows: tuple[Flow, ...], destinations: tuple[Destination, ...], lanes: Sequence[Lane], memory: Memory
    ) -> None:
        self.lanes = list(lanes)
        mtus = tuple(self.lane(destination.qp)[1].engine.mps for destination in destinations)
        self.bd_gen = BdGen(flows, destinations, mtus)
        self.sent = self.failed = 0
        """Frames, as the counters of their destinations have them."""
        self._memory = memory

    def lane(self, qp: int) -> tuple[int, Lane]:
        """The engine of a queue pair, and its index."""
        index = qp if qp < len(self.lanes) else 0
        return index, self.lanes[index]

    def frame(self, event: FrameEvent) -> list[tuple[int, list[Sent]]]:
        """For each destination of a frame: its engine, and the TLPs with that of the event behind them."""
        found = []
        for descriptors, trailer in self.bd_gen.frame(event):
            index, lane = self.lane(descriptors[0].qp)
            sent: list[Sent] = []
            ended = Status.OK
            for bd in descriptors:
                payload = trailer.pack() if bd.last else self._memory(bd.source, bd.length)
                destination = bd.destination if bd.qp < len(self.lanes) else NOWHERE
                status, tlps = lane.engine.write(Write(destination, bd.length), payload)
                status = Status.LINK_DOWN if lane.failed and status is Status.OK else status
                sent += tlps
                ended = ended or status
            self.sent += ended is Status.OK
            self.failed += ended is not Status.OK
            if lane.queue and (write := lane.queue.event(trailer.pack(), ended, lane.consumed)):
                sent += lane.engine.write(*write)[1]
            found.append((index, [] if lane.failed else sent))
        return found


def message(address: int, data: int) -> Sent:
    """The TLP of an interrupt by MSI-X (PCI Express Base Specification 5.0, 6.1.4): one doubleword."""
    return Sent(Tlp(address, 4), data.to_bytes(4, "little"))
