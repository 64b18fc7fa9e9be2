"""The packetizer: messages and their payload in, packets out, a PSN kept per QP."""

from framelane.models import roce_header, roce_icrc, roce_join, roce_segment, wire
from framelane.models.roce_qp import QpContext
from framelane.models.roce_segment import Message, Status


class RoceTx:
    """`roce_tx.sv`, message by message. `qps` is the QP table, `local` the transmitter's own MAC and IP."""

    def __init__(self, local: wire.Endpoint, qps: tuple[QpContext, ...]) -> None:
        self._local = local
        self._qps = qps
        self._psn = [qp.psn for qp in qps]

    def send(self, message: Message, payload: bytes) -> tuple[Status, list[bytes]]:
        """Status of `message` and its packets as Ethernet frames without FCS; no packet where the status is not OK."""
        status = roce_segment.status(message, self._qps)
        if status is not Status.OK:
            return status, []
        qp = self._qps[message.qp]
        commands = roce_segment.segment(message, qp, self._psn[message.qp])
        self._psn[message.qp] = self._psn[message.qp] + len(commands) & 0xFFFFFF
        frames = []
        for command in commands:
            part = payload[command.offset : command.offset + command.length]
            frames.append(roce_icrc.append(roce_join.join(roce_header.header(command, qp, self._local), part)))
        return status, frames
