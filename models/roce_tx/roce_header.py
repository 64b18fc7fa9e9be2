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
