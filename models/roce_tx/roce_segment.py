"""Segmentation: an RDMA WRITE of any length into the packets of its QP (InfiniBand vol. 1, 9.4.3, 9.5, 9.6)."""

from dataclasses import dataclass
from enum import IntEnum

from framelane.models.roce_tx import wire
from framelane.models.roce_tx.roce_qp import QpContext, Segmentation, Service
from framelane.models.roce_tx.wire import Opcode

MAX_MESSAGE_BYTES = 1 << 31
"""Longest message of InfiniBand (vol. 1, C9-4 and 9.4.3)."""


class Status(IntEnum):
    """How a message ended; reported once for every message, in their order."""

    OK = 0
    BAD_QP = 1
    """The QP index is outside the table, or the QP is not enabled."""
    BAD_LENGTH = 2
    """0 or more than 2^31 bytes."""
    SHORT = 3
    """The payload stream ended before the message did; found by `roce_join.sv`."""
    LONG = 4
    """The payload stream went on behind the message's end; found by `roce_join.sv`."""
    BAD_PAYLOAD = 5
    """Payload came with errors: its packets are sent, but poisoned; found by `roce_join.sv`."""


@dataclass(frozen=True, slots=True)
class Message:
    """One RDMA WRITE: destination `address` (64 bits), `length` in bytes, index of its QP, and an immediate or None.

    `psn` repeats a message that was sent before with this PSN first, and leaves the QP's own PSN as it is; None sends a
    new one. With `resume` it is the rest of such a message: its first packets have arrived.
    """

    address: int
    length: int
    qp: int = 0
    imm: int | None = None
    psn: int | None = None
    resume: bool = False


@dataclass(frozen=True, slots=True)
class PacketCommand:
    """One packet of a message: where its payload starts in the message, and the header fields that differ by packet."""

    opcode: int
    psn: int
    offset: int
    length: int
    reth: wire.Reth | None
    imm: int | None
    src_port: int
    ack_request: bool


def status(message: Message, qps: tuple[QpContext, ...]) -> Status:
    """Whether `message` can be served; what cannot is refused whole, its payload dropped, no packet sent."""
    if message.qp >= len(qps) or not qps[message.qp].enabled:
        return Status.BAD_QP
    if not 0 < message.length <= MAX_MESSAGE_BYTES:
        return Status.BAD_LENGTH
    return Status.OK


def segment(message: Message, qp: QpContext, psn: int) -> list[PacketCommand]:
    """The packets of a valid `message` whose first packet has `psn`.

    In `message` form the immediate travels with the last packet, in `only` form with the last WRITE ONLY.
    """
    commands: list[PacketCommand] = []
    service = wire.UC if qp.service is Service.UC else 0
    for offset in range(0, message.length, qp.mtu):
        length = min(qp.mtu, message.length - offset)
        first, last = offset == 0 and not message.resume, offset + length == message.length
        imm = message.imm if last else None
        if qp.segmentation is Segmentation.ONLY:
            opcode = Opcode.WRITE_ONLY
            reth: wire.Reth | None = wire.Reth(message.address + offset & (1 << 64) - 1, qp.rkey, length)
        else:
            opcode = _FORMS[first, last]
            reth = wire.Reth(message.address, qp.rkey, message.length) if first else None
        code = opcode + service + (1 if imm is not None else 0)
        at = (psn + len(commands)) & 0xFFFFFF
        commands.append(PacketCommand(code, at, offset, length, reth, imm, qp.port_of(psn), qp.asks_ack(at, last)))
    return commands


_FORMS = {
    (True, True): Opcode.WRITE_ONLY,
    (True, False): Opcode.WRITE_FIRST,
    (False, False): Opcode.WRITE_MIDDLE,
    (False, True): Opcode.WRITE_LAST,
}
"""By whether a packet is the first and the last of its message."""
