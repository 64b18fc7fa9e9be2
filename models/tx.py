"""The whole transmitter: frames in, the exact packets on the wire out. `tx.sv` equals this byte for byte."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from framelane.base.errors import ConfigError
from framelane.models.placement.bd_gen import BdGen
from framelane.models.placement.flow import Destination, Flow, FrameEvent
from framelane.models.roce_tx.roce_qp import QpContext
from framelane.models.roce_tx.roce_segment import Message
from framelane.models.roce_tx.roce_tx import RoceTx
from framelane.models.roce_tx.wire import Endpoint

Memory = Callable[[int, int], bytes]
"""Read `length` bytes at `address` of the source's memory."""

Faults = Callable[[int, int], Iterable[range]]
"""Which bytes of such a read come with an error, in whole beats of what is read."""


@dataclass(frozen=True, slots=True)
class TxConfig:
    """What a transmitter is told before a run: its own MAC and IP, its QP table, its destinations, its flows.

    ConfigError where an index in one of them does not exist in another, or two flows share a destination, of which the
    frames could not be told apart.
    """

    local: Endpoint
    qps: tuple[QpContext, ...]
    destinations: tuple[Destination, ...]
    flows: tuple[Flow, ...]

    def __post_init__(self) -> None:
        for k, destination in enumerate(self.destinations):
            if destination.qp >= len(self.qps):
                raise ConfigError(f"destination {k} is on QP {destination.qp}, but there are {len(self.qps)} QPs")
        taken: dict[int, int] = {}
        for k, flow in enumerate(self.flows):
            last = flow.first_destination + flow.destinations
            if last > len(self.destinations):
                raise ConfigError(
                    f"flow {k} goes to destinations {flow.first_destination}..{last - 1}, "
                    f"but there are {len(self.destinations)}"
                )
            for entry in range(flow.first_destination, last):
                if entry in taken:
                    raise ConfigError(f"flows {taken[entry]} and {k} both go to destination {entry}: give each its own")
                taken[entry] = k


class Tx:
    """`tx.sv`, frame by frame. The credit of each destination is `bd_gen.window_ends`, at first without limit."""

    def __init__(self, config: TxConfig, memory: Memory, faults: Faults = lambda address, length: ()) -> None:
        mtus = tuple(config.qps[destination.qp].mtu for destination in config.destinations)
        self.bd_gen = BdGen(config.flows, config.destinations, mtus)
        self._memory = memory
        self._faults = faults
        self._roce = RoceTx(config.local, config.qps)

    def frame(self, event: FrameEvent) -> list[bytes]:
        """The packets of one frame, flow after flow: the rectangle, then the trailer; none where it is not sent."""
        packets: list[bytes] = []
        for descriptors, trailer in self.bd_gen.frame(event):
            for bd in descriptors:
                payload = trailer.pack() if bd.last else self._memory(bd.source, bd.length)
                message = Message(bd.destination, bd.length, bd.qp, bd.imm if bd.last else None)
                wrong = () if bd.last else self._faults(bd.source, bd.length)
                packets += self._roce.send(message, payload, wrong)[1]
        return packets


def tx(frames: Iterable[bytes], config: TxConfig) -> list[bytes]:
    """The packets of `frames` (raw images, numbered from 0, timestamps and bunch ids 0) with credit for all of them."""
    images = list(frames)
    stride = -(-max(map(len, images), default=1) // 4096) * 4096

    def read(address: int, length: int) -> bytes:
        at = address % stride
        return images[address // stride][at : at + length]

    model = Tx(config, read)
    return [p for n in range(len(images)) for p in model.frame(FrameEvent(n, 0, 0, n * stride))]
