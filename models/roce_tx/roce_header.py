"""The header bytes of one packet, Ethernet to ImmDt: what `roce_header.sv` lays on its stream."""

from framelane.models.roce_tx import wire
from framelane.models.roce_tx.roce_qp import QpContext
from framelane.models.roce_tx.roce_segment import PacketCommand


def header(command: PacketCommand, qp: QpContext, local: wire.Endpoint) -> bytes:
    """54 to 78 bytes, from the packet's command, its QP and the transmitter's own MAC and IP."""
    return wire.pack(
        wire.Headers(
            src=local,
            dst=qp.dst,
            src_port=command.src_port,
            opcode=command.opcode,
            dest_qpn=qp.dest_qpn,
            psn=command.psn,
            payload_bytes=command.length,
            reth=command.reth,
            imm=command.imm,
            pkey=qp.pkey,
            tos=qp.tos,
            ttl=qp.ttl,
            ack_request=command.ack_request,
            vlan=qp.vlan,
        )
    )


def remainder(header: int, payload: int, lanes: int) -> dict[str, int]:
    """What the join counts down, of a packet with so many bytes of header and payload on a bus of `lanes` bytes.

    `left` bytes from the last beat of the header on, the ICRC not among them; whether they are in that beat; whether
    the payload is in one.
    """
    left = header % lanes + payload + -payload % 4
    return {"left": left, "one_left": left < lanes, "one_read": payload <= lanes}
