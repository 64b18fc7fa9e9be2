"""BTH (InfiniBand vol. 1, 9.2): an RDMA WRITE of the session's service, for its QP and partition."""

from collections.abc import Iterator

from framelane.doctor.cause import Cause, Finding, Kind, Placer, found
from framelane.doctor.packets.dissect import Packet
from framelane.doctor.target import Target
from framelane.models.roce_tx.wire import UC
from framelane.receiver.transport.refusals import Refusal

_OPERATIONS = (
    *("SEND FIRST", "SEND MIDDLE", "SEND LAST", "SEND LAST with immediate", "SEND ONLY", "SEND ONLY with immediate"),
    *("WRITE FIRST", "WRITE MIDDLE", "WRITE LAST", "WRITE LAST with immediate", "WRITE ONLY"),
    *("WRITE ONLY with immediate", "READ request", "READ response FIRST", "READ response MIDDLE"),
    *("READ response LAST", "READ response ONLY", "acknowledge", "atomic acknowledge", "compare and swap"),
    *("fetch and add", "reserved", "SEND LAST with invalidate", "SEND ONLY with invalidate"),
)
"""By the low 5 bits of the opcode (vol. 1, table 38)."""
_SERVICES = ("RC", "UC", "RD", "UD", "CNP", "XRC")
_PARTITION = 0x7FFF
_MIGREQ = 0x40

OPCODE = Cause(
    "opcode",
    Kind.FAULT,
    "the BTH opcode is not an RDMA WRITE: nothing is written to the ring",
    "send RDMA WRITE: UC 0x26 to 0x2b, RC 0x06 to 0x0b",
    Placer.ALL,
    Refusal.OPCODE,
)
SERVICE = Cause(
    "service",
    Kind.FAULT,
    "an RDMA WRITE of another transport service than the QP's",
    "configure the source's QP for the service of the session: UC opcodes are those of RC plus 0x20",
    Placer.ALL,
    Refusal.SERVICE,
)
VERSION = Cause(
    "bth-version",
    Kind.FAULT,
    "the transport version (TVer) of the BTH is not 0",
    "the low 4 bits of the second BTH byte are 0",
    Placer.ALL,
    Refusal.VERSION,
)
PKEY = Cause(
    "pkey",
    Kind.FAULT,
    "the P_Key is not of the default partition",
    "send P_Key 0xffff",
    Placer.ALL,
    Refusal.PKEY,
)
QPN = Cause(
    "qpn",
    Kind.FAULT,
    "the destination QP number is not the session's: a NIC drops the packet in silence",
    "give the source the qpn of the present session: it is new with every start of the receiver",
    Placer.ALL,
    Refusal.QPN,
)
PAD = Cause(
    "pad",
    Kind.FAULT,
    "the pad count does not fill the payload up to a multiple of 4",
    "pad = (4 - payload % 4) % 4, with as many zero bytes between payload and ICRC",
    Placer.NICS,
)
MIGREQ = Cause(
    "migreq",
    Kind.NOTE,
    "the M bit of the BTH is 0: SoftRoCE does not look at it, some NICs take it as a path migration",
    "send M = 1 (0x40 in the second BTH byte), as NICs do",
)


def name(opcode: int) -> str:
    """An opcode as the specification calls it."""
    if opcode == 0x81:
        return "CNP"
    service, operation = opcode >> 5, opcode & 31
    if service < len(_SERVICES) and operation < len(_OPERATIONS):
        return f"{_SERVICES[service]} {_OPERATIONS[operation]}"
    return "reserved"


def check(packet: Packet, target: Target) -> Iterator[Finding]:
    """What is wrong with the BTH of a packet that is meant for the session."""
    bth = packet.bth
    if bth is None:
        return
    session = target.session
    if packet.write is None:
        yield found(OPCODE, f"opcode {bth.opcode:#04x} ({name(bth.opcode)}), should be an RDMA WRITE")
    elif bth.opcode & UC != target.service_bits:
        detail = f"opcode {bth.opcode:#04x} ({name(bth.opcode)}), the session's QP is of {session.service}"
        yield found(SERVICE, f"{detail}: should be {bth.opcode ^ UC:#04x}")
    if bth.flags & 15:
        yield found(VERSION, f"TVer {bth.flags & 15}, should be 0")
    if bth.pkey & _PARTITION != _PARTITION:
        yield found(PKEY, f"P_Key {bth.pkey:#06x}, should be 0xffff")
    if bth.qpn != session.qpn:
        yield found(QPN, f"destination QP {bth.qpn:#x}, should be {session.qpn:#x}{_order(bth.qpn, session.qpn)}")
    judged = packet.write is not None and not packet.is_cut and packet.payload_bytes >= 0
    if judged and bth.pad != -packet.payload_bytes % 4:
        right = f"{packet.payload_bytes} bytes of payload need {-packet.payload_bytes % 4}"
        yield found(PAD, f"pad count {bth.pad}, {right}")
    if not bth.flags & _MIGREQ:
        yield found(MIGREQ, "M is 0")


def _order(value: int, wanted: int) -> str:
    swapped = value.to_bytes(3, "big") == wanted.to_bytes(3, "little")
    return ": its bytes are in reverse order" if swapped else ""


CAUSES = (OPCODE, SERVICE, VERSION, PKEY, QPN, PAD, MIGREQ)
