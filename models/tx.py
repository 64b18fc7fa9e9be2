"""The whole transmitter: frames in, the exact packets on the wire out. `tx.sv` equals this byte for byte."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from framelane.models.bd_gen import BdGen, Flow, FrameEvent
from framelane.models.roce_qp import QpContext
from framelane.models.roce_segment import Message
from framelane.models.roce_tx import RoceTx
from framelane.models.session import Session
from framelane.models.slots import FREE_RUNNING
from framelane.models.wire import Endpoint

Memory = Callable[[int, int], bytes]
"""Read `length` bytes at `address` of the source's memory."""


@dataclass(frozen=True, slots=True)
class TxConfig:
    """The transmitter's registers: its own MAC and IP, its QP table, its flow."""

    local: Endpoint
    qps: tuple[QpContext, ...]
    flow: Flow

    @classmethod
    def of(cls, session: Session, source: int = 0) -> "TxConfig":
        """The configuration that serves `session` as its source number `source`."""
        return cls(session.source.endpoint(), (session.qp_context(),), session.flow(source))


class Tx:
    """`tx.sv`, frame by frame."""

    def __init__(self, config: TxConfig, memory: Memory, width: int = 512) -> None:
        self.bd_gen = BdGen(config.flow, config.qps[config.flow.qp].mtu, width)
        self._memory = memory
        self._roce = RoceTx(config.local, config.qps)

    def frame(self, event: FrameEvent, window_end: int = FREE_RUNNING) -> list[bytes]:
        """The packets of one frame: the image, then the trailer; none where the frame is dropped."""
        packets: list[bytes] = []
        descriptors, trailer = self.bd_gen.frame(event, window_end)
        for bd in descriptors:
            payload = trailer.pack() if bd.last and trailer else self._memory(bd.source, bd.length)
            message = Message(bd.destination, bd.length, bd.qp, bd.imm if bd.last else None)
            packets += self._roce.send(message, payload)[1]
        return packets


def tx(frames: Iterable[bytes], config: TxConfig) -> list[bytes]:
    """The packets of `frames` (raw images, numbered from 0, timestamps and bunch ids 0) with credit for all of them."""
    images = list(frames)
    model = Tx(config, lambda address, length: images[address // stride][:length])
    stride = -(-config.flow.image_bytes // 4096) * 4096
    return [p for n in range(len(images)) for p in model.frame(FrameEvent(n, 0, 0, n * stride))]
