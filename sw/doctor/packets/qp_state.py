"""Would this packet be placed after those before it? A soft NIC, a NIC by the specification and SoftRoCE side by side.

InfiniBand vol. 1, 9.7 (RC) and 9.8.2 (UC); of SoftRoCE what Linux 6.1 and 6.12 do. Each keeps its own state, for
they part ways: what one refuses opens no message there.
"""

from dataclasses import dataclass
from typing import Protocol

from framelane.doctor.cause import Cause
from framelane.doctor.packets import sequence
from framelane.doctor.packets.dissect import Packet
from framelane.doctor.target import Target
from framelane.models.roce_tx.wire import Opcode

_MASK, _HALF = 0xFFFFFF, 1 << 23
_UNENDED = (Opcode.WRITE_FIRST, Opcode.WRITE_MIDDLE)

Refused = tuple[Cause, str] | None
"""Why a packet is not placed for what came before it, or None."""


def distance(psn: int, other: int) -> int:
    """How far `psn` is ahead of `other`, modulo 2^24: -2^23 to 2^23 - 1."""
    return (psn - other + _HALF & _MASK) - _HALF


@dataclass(slots=True)
class Before:
    """What the diagnosis knows of the packets before: the PSN before, and refused packets by their PSN."""

    newest_psn: int
    """The highest PSN before this packet."""
    refused: dict[int, tuple[int, Cause]]
    """The packets that were refused, and why, by PSN."""
    seen: int = 0
    """Packets of the session before this one."""


class QpState(Protocol):
    """The state of one QP at one receiver."""

    def judge(self, packet: Packet, good: bool, before: Before) -> Refused:
        """Take a packet that came to the QP; `good`: nothing in it alone refuses it. Why it is refused, if it is."""


class UcState:
    """A UC QP by the specification; `late` as the soft NIC does: nothing is taken from before the last trailer."""

    def __init__(self, target: Target, late: bool) -> None:
        self._mtu = target.mtu
        self._late = late and target.session.sources == 1
        self._base, self._layout = target.session.base, target.session.layout
        self._trailer: int | None = None
        self._end = 0
        """Where the last packet ended, in the ring."""
        self._left = 0
        self._next = 0
        self._begun = 0

    def cut_short(self, packet: Packet, before: Before) -> Refused:
        """What `packet` says of the message before it, if that has not ended: to be asked before it is judged."""
        if not self._left or not packet.bth or not packet.write or not packet.write.starts:
            return None
        lacks = f"the message of packet {self._begun} lacks {self._left} bytes"
        gap = distance(packet.bth.psn, self._next)
        if not gap:
            return sequence.NO_LAST, lacks
        if 0 < gap < 1 << 12 and all(self._next + n & _MASK in before.refused for n in range(gap)):
            return None
        return sequence.CUT_SHORT, lacks

    def judge(self, packet: Packet, good: bool, before: Before) -> Refused:
        """See `QpState`."""
        bth, write = packet.bth, packet.write
        assert bth is not None
        assert write is not None
        if self._late and self._trailer is not None and distance(bth.psn, self._trailer) <= 0:
            return sequence.LATE, f"PSN {bth.psn:#x} is not after {self._trailer:#x}, the last trailer's"
        refused = None
        left, self._left, begins = self._left, 0, self._end
        if write.starts:
            self._begun = packet.number
            left = packet.reth.length if packet.reth else 0
            begins = packet.reth.address - self._base if packet.reth and left else 0
        elif not left or bth.psn != self._next:
            refused = out_of_sequence(packet, left, self._next, self._begun, before)
        else:
            refused = wrong_length(packet, left, self._mtu)
        if refused is None and good:
            self._left = left - packet.payload_bytes
            self._next = bth.psn + 1 & _MASK
            self._end = begins + packet.payload_bytes
            if packet.imm is not None and self._layout.ends_frame(packet.imm, packet.payload, self._end):
                self._trailer = bth.psn
        return refused


class SoftRoceUcState:
    """A UC QP of rxe: after the lost or refused rest of a message it takes nothing any more (`rxe_resp.c`)."""

    def __init__(self, target: Target) -> None:
        self._mtu = target.mtu
        self._expected = target.session.psn
        self._drop = self._open = False
        self._stuck: Refused = None
        self._receive = False
        """A receive request was taken for an immediate that was then refused: this alone makes it begin anew."""
        self._left = self._begun = 0

    def judge(self, packet: Packet, good: bool, before: Before) -> Refused:
        """See `QpState`."""
        bth, write = packet.bth, packet.write
        assert bth is not None
        assert write is not None
        if self._drop or bth.psn != self._expected:
            self._drop = not write.starts
            if self._drop:
                return self._stuck or out_of_sequence(
                    packet, self._left * self._open, self._expected, self._begun, before
                )
        if self._open and write.starts:  # it is dropped, and as a rule nothing changes
            self._stuck = sequence.STUCK, f"the message of packet {self._begun} has not ended"
            self._open = not self._receive
            return self._stuck
        if not self._open and not write.starts:
            self._drop = True
            return out_of_sequence(packet, 0, self._expected, self._begun, before)
        self._receive |= write.has_imm
        if write.starts:
            left = packet.reth.length if packet.reth else 0
            begun = packet.number
        else:
            left, begun = self._left, self._begun
            size = packet.payload_bytes
            # Unlike the specification it lets a LAST be a full packet of a longer message.
            full = write is Opcode.WRITE_MIDDLE or left > self._mtu
            if size != (self._mtu if full else left) or size > left or not size:
                self._drop = True
                return wrong_length(packet, left, self._mtu) or (sequence.MESSAGE_LENGTH, "the message is over")
        if not good:
            self._drop = True
            return None
        self._open, self._stuck = write in _UNENDED, None
        self._receive = self._receive and not write.has_imm
        self._left, self._begun = left - packet.payload_bytes, begun
        self._expected = bth.psn + 1 & _MASK
        return None


class RcState:
    """An RC QP: PSN by PSN; a refused packet puts it into the error state."""

    def __init__(self, target: Target) -> None:
        self._mtu = target.mtu
        self._expected = target.session.psn
        self._left = self._begun = 0
        self._failed = 0

    def judge(self, packet: Packet, good: bool, before: Before) -> Refused:
        """See `QpState`."""
        bth, write = packet.bth, packet.write
        assert bth is not None
        assert write is not None
        if self._failed:
            return sequence.RC_ERROR, f"since packet {self._failed}"
        ahead = distance(bth.psn, self._expected)
        if ahead > 0:
            return sequence.RC_GAP, f"PSN {bth.psn:#x}, but {self._expected:#x} has not come"
        if ahead < 0:
            return sequence.RC_DUPLICATE, f"PSN {bth.psn:#x}, the next is {self._expected:#x}"
        refused = None
        left = self._left
        if write.starts:
            if left:
                refused = sequence.NO_LAST, f"the message of packet {self._begun} lacks {left} bytes"
            self._begun = packet.number
            left = packet.reth.length if packet.reth else 0
        elif not left:
            refused = sequence.NO_FIRST, f"{write.name}, but no message is open"
        else:
            refused = wrong_length(packet, left, self._mtu)
        if refused or not good:
            self._failed = packet.number
            return refused
        self._left = left - packet.payload_bytes
        self._expected = bth.psn + 1 & _MASK
        return None


def wrong_length(packet: Packet, left: int, mtu: int) -> Refused:
    """What is wrong with the length of a MIDDLE or LAST when `left` bytes of its message are to come."""
    size, write = packet.payload_bytes, packet.write
    if write is Opcode.WRITE_MIDDLE:
        if size != mtu:
            return sequence.MIDDLE_LENGTH, f"payload of {size} bytes, should be {mtu}"
        if size >= left:
            return sequence.MESSAGE_LENGTH, f"a MIDDLE of {size} bytes where {left} are left: should be the LAST"
    elif size != left or size > mtu:
        return sequence.MESSAGE_LENGTH, f"a LAST of {size} bytes where {left} are left by the RETH"
    return None


def out_of_sequence(packet: Packet, left: int, expected: int, begun: int, before: Before) -> tuple[Cause, str]:
    """Why a MIDDLE or LAST has no message: it was lost, refused, never begun, or begun before the capture."""
    assert packet.bth is not None
    psn = packet.bth.psn
    name = packet.write.name if packet.write else ""
    if left:
        gap = distance(psn, expected)
        if expected in before.refused:
            return _after(*before.refused[expected])
        if gap > 0:
            return sequence.REST_OF_MESSAGE, f"{gap} packets before PSN {psn:#x} are missing"
        return sequence.REST_OF_MESSAGE, f"PSN {psn:#x} comes late or twice, {expected:#x} is next"
    if not before.seen:
        return sequence.BEGUN_BEFORE, f"{name} is the first packet of the capture"
    gap = distance(psn, before.newest_psn) - 1
    if gap == 0:
        if before.newest_psn in before.refused:
            return _after(*before.refused[before.newest_psn])
        return sequence.NO_FIRST, f"{name} with PSN {psn:#x} follows a message that has ended"
    if gap > 0:
        return sequence.REST_OF_MESSAGE, f"{gap} packets before PSN {psn:#x} are missing"
    return sequence.REST_OF_MESSAGE, f"PSN {psn:#x} comes late or twice"


def _after(number: int, cause: Cause) -> tuple[Cause, str]:
    """What a refused packet makes of the next one of its message."""
    if cause in (sequence.BEGUN_BEFORE, sequence.REST_OF_MESSAGE):
        return cause, f"like packet {number} of this message"
    return sequence.REFUSED_BEFORE, f"packet {number} of this message was refused"
