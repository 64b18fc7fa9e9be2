"""The invariant CRC (InfiniBand vol. 1, 7.8.1 and annex A17.3.3): is it right, and if not, what was done instead?"""

import zlib
from collections.abc import Iterator

from framelane.doctor.cause import Cause, Finding, Kind, Placer, found
from framelane.doctor.packets import icrc_mistakes
from framelane.doctor.packets.bit_flip import BitFlips
from framelane.doctor.packets.dissect import Packet
from framelane.models.roce_tx.wire import ICRC_BYTES
from framelane.receiver.transport.refusals import Refusal

_SEARCHES = 16
"""Wrong ICRCs that are searched for a mistake without any found: then it is damage on the way."""

WRONG = Cause(
    "icrc",
    Kind.FAULT,
    "the ICRC is wrong, by no mistake that is known here: the packet was damaged between the source and the capture",
    "look at link errors (rx_crc_errors, optics, cables), at FIFO overflows, and at middle boxes that rewrite headers",
    Placer.ALL,
    Refusal.ICRC,
)
FLIPPED = Cause(
    "icrc-bit-flip",
    Kind.FAULT,
    "one bit of the packet is flipped: the ICRC is right without that",
    "a bit at the same place in many packets is a broken wire, a timing error or a memory in the source; "
    "otherwise look at the link",
    Placer.ALL,
    Refusal.ICRC,
)
MISTAKE = Cause(
    "icrc-mistake",
    Kind.FAULT,
    "the ICRC was computed wrongly: a known mistake gives exactly this value",
    "correct the source's ICRC as the detail says (docs/howto/doctor.md, ICRC)",
    Placer.ALL,
    Refusal.ICRC,
)
POISONED = Cause(
    "icrc-poisoned",
    Kind.FAULT,
    "the ICRC is inverted: our transmitter marks a packet so whose payload came with read errors or cut short",
    "look at the error counters of the source's memory and DMA; if it is not our transmitter, its ICRC lacks the "
    "final complement",
    Placer.ALL,
    Refusal.ICRC,
)
MISSING = Cause(
    "icrc-missing",
    Kind.FAULT,
    "there is no ICRC: the payload by the RETH and its pad fill the whole datagram",
    "append the 4 bytes of the ICRC, and count them in the lengths of UDP and IP",
    Placer.ALL,
    Refusal.ICRC,
)


def right(packet: Packet) -> int:
    """The ICRC that the packet must have, as an integer whose least significant byte is sent first."""
    at, frame = packet.ip_at, packet.frame
    ip = packet.header_bytes
    # TOS, TTL, IP checksum, UDP checksum and the first byte of BTH word 2 count as ones.
    head = b"\xff" * 8 + frame[at : at + 1] + b"\xff" + frame[at + 2 : at + 8] + b"\xff" + frame[at + 9 : at + 10]
    head += b"\xff\xff" + frame[at + 12 : at + ip + 6] + b"\xff\xff" + frame[at + ip + 8 : at + ip + 12] + b"\xff"
    return zlib.crc32(memoryview(frame)[at + ip + 13 : packet.icrc_at], zlib.crc32(head))


class IcrcCheck:
    """Checks ICRCs, and remembers the mistake of the packets before: it is tried first."""

    def __init__(self) -> None:
        self._mistakes: list[icrc_mistakes.Mistake] = []
        self._searched = 0
        self._previous = -1
        self._flips = BitFlips()

    def check(self, packet: Packet) -> Iterator[Finding]:
        """What is wrong with the ICRC of a packet."""
        if packet.bth is None or not packet.is_whole:
            return
        wanted = right(packet)
        sent = int.from_bytes(packet.frame[packet.icrc_at : packet.end], "little")
        if sent != wanted:
            yield self._explain(packet, sent, wanted)
        self._previous = wanted

    def _explain(self, packet: Packet, sent: int, wanted: int) -> Finding:
        values = f"ICRC bytes {_text(sent)}, should be {_text(wanted)}"
        if _lacks(packet):
            return found(MISSING, f"the last 4 bytes, {_text(sent)}, are payload")
        if sent == wanted ^ 0xFFFFFFFF:
            return found(POISONED, values)
        if sent == self._previous:
            return found(MISTAKE, f"{values}: it is the ICRC of the packet before: one packet late in the pipeline")
        if sent in (0, 0xFFFFFFFF):
            return found(MISTAKE, f"{values}: it was never filled in")
        mistake = self._find(packet, sent)
        if mistake:
            return found(MISTAKE, f"{values}: {mistake.text}")
        flip = self._flips.find(packet, sent ^ wanted)
        return found(FLIPPED, flip) if flip else found(WRONG, values)

    def _find(self, packet: Packet, sent: int) -> icrc_mistakes.Mistake | None:
        for mistake in self._mistakes:
            if mistake.value(packet) == sent:
                return mistake
        if self._searched >= _SEARCHES:
            return None
        self._searched += 1
        new = icrc_mistakes.search(packet, sent)
        if new:
            self._searched = 0
            self._mistakes.append(new)
        return new


def _lacks(packet: Packet) -> bool:
    """Whether the payload that the RETH announces, and its pad, leave no room for an ICRC."""
    reth, write, bth = packet.reth, packet.write, packet.bth
    if reth is None or write is None or bth is None or not write.ends:
        return False
    return packet.payload_at + reth.length + bth.pad == packet.icrc_at + ICRC_BYTES


def _text(value: int) -> str:
    return value.to_bytes(4, "little").hex(" ")


CAUSES = (WRONG, FLIPPED, MISTAKE, POISONED, MISSING)
