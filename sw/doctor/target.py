"""What the packets of a session must look like: its fields, once, as integers."""

from dataclasses import dataclass

from framelane.models.roce_tx.wire import UC
from framelane.session.session import Session


@dataclass(frozen=True, slots=True)
class Target:
    """The QP and the ring of `session`; addresses are integers in network order."""

    session: Session
    src_mac: int
    src_ip: int
    dst_mac: int
    dst_ip: int
    service_bits: int
    """The opcode bits of the session's service."""
    base: int
    ring_bytes: int
    mtu: int

    @classmethod
    def of(cls, session: Session) -> "Target":
        """The target of a session."""
        source, receiver = session.source.endpoint(), session.receiver.endpoint()
        return cls(
            session=session,
            src_mac=source.mac,
            src_ip=source.ip,
            dst_mac=receiver.mac,
            dst_ip=receiver.ip,
            service_bits=UC if session.service == "UC" else 0,
            base=session.base,
            ring_bytes=session.layout.ring_bytes,
            mtu=session.mtu,
        )


def mac_text(mac: int) -> str:
    """A MAC address as people write it."""
    return mac.to_bytes(6, "big").hex(":")


def ip_text(ip: int) -> str:
    """An IPv4 address as people write it."""
    return ".".join(map(str, ip.to_bytes(4, "big")))
