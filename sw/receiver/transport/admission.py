"""Whether a packet is whole, and of a session's queue pair."""

import struct

from framelane.base.errors import PacketError
from framelane.models.roce_tx import roce_icrc, wire
from framelane.models.roce_tx.wire import Headers
from framelane.receiver.transport.refusals import Refusal
from framelane.session.session import Session

_PARTITION = 0x7FFF
"""The default partition: a P_Key without its highest bit, which tells full from limited members (vol. 1, 10.9.1.1)."""


class Admission:
    """Admits packets to the receiver of `session`. The ICRC is checked before the transport's own fields."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._local = session.receiver.endpoint()
        self._remote_ip = int(session.source.ip)

    def check(self, frame: bytes, h: Headers) -> None:
        """Raise PacketError unless `frame`, whose headers are `h`, is admitted."""
        if h.dst != self._local:
            raise PacketError(Refusal.DESTINATION, f"for MAC {h.dst.mac:012x}, IP {h.dst.ip:08x}: not this receiver")
        ip = wire.ip_offset(frame)
        (ip_bytes,) = struct.unpack_from(">H", frame, ip + 2)
        if not roce_icrc.check(frame[: ip + ip_bytes]):
            raise PacketError(Refusal.ICRC, f"PSN {h.psn:#x}: the ICRC is wrong")
        if h.src.ip != self._remote_ip:
            raise PacketError(Refusal.SOURCE, f"from IP {h.src.ip:08x}, not from {self._session.source.ip}")
        service = "UC" if h.opcode & wire.UC else "RC"
        if service != self._session.service:
            raise PacketError(
                Refusal.SERVICE, f"opcode {h.opcode:#04x} is of {service}, the QP is of {self._session.service}"
            )
        if h.dest_qpn != self._session.qpn:
            raise PacketError(Refusal.QPN, f"for QP {h.dest_qpn:#x}, the session's is {self._session.qpn:#x}")
        if h.pkey & _PARTITION != _PARTITION:
            raise PacketError(Refusal.PKEY, f"P_Key {h.pkey:#06x} is not of the default partition")
