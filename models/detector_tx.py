"""A detector's own packets in, RoCEv2 packets out: the model of `detector_core`, and that of `roce_tx` behind it."""

from collections.abc import Iterable

from framelane.models.detector.det_correct import DetCorrect
from framelane.models.detector.det_header import DetHeader
from framelane.models.detector.det_place import Target
from framelane.models.detector.det_send import Write
from framelane.models.detector.detector_core import DetectorCore
from framelane.models.roce_tx.roce_qp import QpContext
from framelane.models.roce_tx.roce_segment import Message
from framelane.models.roce_tx.roce_tx import RoceTx
from framelane.models.roce_tx.wire import Endpoint


class DetectorTx:
    """The top `detector_tx`, with room for everything; `qps` is its QP table. What the station answers is left out."""

    def __init__(
        self,
        header: DetHeader,
        target: Target,
        local: Endpoint,
        first_port: int,
        qps: tuple[QpContext, ...],
        correct: DetCorrect | None = None,
    ) -> None:
        self.core = DetectorCore(header, target, local, first_port, correct)
        self._roce_tx = RoceTx(local, qps)

    def take(self, frame: bytes, bad: bool = False) -> list[bytes]:
        """The packets that are sent for an Ethernet frame without FCS; `bad`: its FCS is wrong, or it was cut."""
        return self._packets(self.core.take(frame, bad))

    def flush(self) -> list[bytes]:
        """Those that are sent when all frames are ended."""
        return self._packets(self.core.flush())

    def _packets(self, writes: Iterable[Write]) -> list[bytes]:
        sent = []
        for write in writes:
            length = self.core.header.packet_bytes if write.bad else len(write.payload)
            message = Message(write.address, length, self.core.target.qp, write.imm)
            lanes = 64
            wrong = [range(max(0, (len(write.payload) - 1) // lanes * lanes), len(write.payload))] if write.bad else []
            sent += self._roce_tx.send(message, write.payload, wrong)[1]
        return sent
