"""The packetizer: messages and their payload in, packets out, a PSN kept per QP."""

from collections.abc import Iterable

from framelane.models.roce_tx import roce_header, roce_icrc, roce_join, roce_segment, wire
from framelane.models.roce_tx.roce_qp import QpContext
from framelane.models.roce_tx.roce_segment import Message, Status


class RoceTx:
    """`roce_tx.sv`, message by message. `qps` is the QP table, `local` the transmitter's own MAC and IP."""

    def __init__(self, local: wire.Endpoint, qps: tuple[QpContext, ...]) -> None:
        self._local = local
        self._qps = qps
        self._psn = [qp.psn for qp in qps]

    def send(self, message: Message, payload: bytes, wrong: Iterable[range] = ()) -> tuple[Status, list[bytes]]:
        """Status of `message` and its packets as Ethernet frames without FCS.

        `payload` is its packet on the payload stream; where that is shorter than the message, the packet that lacks
        bytes has a wrong ICRC and is the last. `wrong` are ranges of it that came with errors: packets with such bytes
        have a wrong ICRC (see `roce_join`). A refused message sends nothing.
        """
        status = roce_segment.status(message, self._qps)
        if status is not Status.OK:
            return status, []
        qp = self._qps[message.qp]
        first = self._psn[message.qp] if message.psn is None else message.psn
        commands = roce_segment.segment(message, qp, first)
        if message.psn is None:
            self._psn[message.qp] = first + len(commands) & 0xFFFFFF
        headers = [(roce_header.header(command, qp, self._local), command.length) for command in commands]
        status, joined = roce_join.join_message(headers, payload, wrong)
        return status, [roce_icrc.append(frame, poisoned) for frame, poisoned in joined]
