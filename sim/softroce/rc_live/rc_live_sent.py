"""RC live: what the packets that leave say of the transmitter, for comparison with what it counts itself."""

import struct
from collections import Counter
from dataclasses import dataclass

from framelane.models.rc.rc_protocol import PSNS, distance
from framelane.models.roce_tx import wire
from framelane.models.roce_tx.wire import Opcode

_BTH = struct.Struct(">B3xII")
_BTH_AT = wire.ETH_BYTES + wire.IP_BYTES + wire.UDP_BYTES


@dataclass(slots=True)
class _Last:
    """What a queue pair has sent: its last packet's PSN, whether that was a trailer, and the first unused PSN."""

    psn: int
    trailer: bool
    following: int


class SentAgain:
    """Counts packets of RC, image after trailer after image: `packets_again`, which were sent before.

    `messages_again`: of which such packets are, an image or a trailer, whole or the rest of it. `resumed`: those that
    begin with a MIDDLE or LAST.
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._last: dict[int, _Last] = {}

    def note(self, packet: bytes) -> None:
        """The next packet, an Ethernet frame."""
        code, qpn, psn = _BTH.unpack_from(packet, _BTH_AT)
        opcode, qpn, psn = Opcode(code), qpn % PSNS, psn % PSNS
        last = self._last.setdefault(qpn, _Last((psn - 1) % PSNS, True, psn))
        begins = opcode.has_imm or last.trailer or psn != (last.psn + 1) % PSNS
        again = distance(psn, last.following) < 0
        self.counts["packets_again"] += again
        self.counts["messages_again"] += again and begins
        self.counts["resumed"] += begins and not opcode.starts
        last.psn, last.trailer = psn, opcode.has_imm
        if not again:
            last.following = (psn + 1) % PSNS
