"""Trailers: does the message WITH_IMM that was placed end a frame of the session, and which?

`docs/architecture.md`, Trailer. The bytes are looked at where the packet says it writes them.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from framelane.doctor.cause import Cause, Finding, Kind, found
from framelane.doctor.target import Target
from framelane.models.placement.slots import SlotLayout
from framelane.models.placement.trailer import MAGIC, TRAILER_BYTES, VERSION, Trailer, split_immediate, unpack

PLACE = Cause(
    "immediate-place",
    Kind.FAULT,
    "a message with immediate does not end with a trailer at its place: the receiver is told of a frame that is not "
    "there",
    "only the trailer's message has an immediate; trailers lie at the end of the slot (docs/architecture.md, Trailer)",
)
SILENT = Cause(
    "trailer-without-immediate",
    Kind.FAULT,
    "a trailer is written without an immediate: the receiver is never told that the frame has ended",
    "send the trailer's message with immediate: source[31:24], frame number[23:0]",
)
MAGIC_WRONG = Cause(
    "trailer-magic",
    Kind.FAULT,
    "the trailer does not begin with FLT1",
    "the magic is 46 4c 54 31 on the wire: little endian",
)
VERSION_WRONG = Cause(
    "trailer-version",
    Kind.FAULT,
    "the trailer has another version than this receiver knows",
    "bring gateware and receiver to one release",
)
SOURCE_WRONG = Cause(
    "trailer-source",
    Kind.FAULT,
    "the source number is not one of the session's, or immediate, trailer and its place disagree on it",
    "set the flow's source number: 0 to sources - 1 of the session",
)
FRAME_WRONG = Cause(
    "trailer-frame",
    Kind.FAULT,
    "frame number, slot and immediate of a trailer disagree",
    "slot = frame number modulo n_slots, immediate = its low 24 bits: compare n_slots of the source and the session",
)
BYTES_WRONG = Cause(
    "trailer-bytes",
    Kind.FAULT,
    "payload_bytes of the trailer is not this source's share of the session's image",
    "compare rows, columns and sources of the session with the flow's rectangle",
)
CAUSES = (PLACE, SILENT, MAGIC_WRONG, VERSION_WRONG, SOURCE_WRONG, FRAME_WRONG, BYTES_WRONG)


@dataclass(frozen=True, slots=True)
class Ended:
    """A right trailer: the frame and the source it ends."""

    frame: int
    source: int
    dropped: int
    """`frames_dropped` of the trailer."""


class TrailerCheck:
    """Looks at what is written where trailers lie."""

    def __init__(self, target: Target) -> None:
        session = target.session
        self._layout: SlotLayout = session.layout
        self._share = session.image_bytes // session.sources
        self._first_trailer = self._layout.trailer_offset(0)

    def check(self, imm: int | None, stop: int, data: bytes) -> tuple[Ended | None, list[Finding]]:
        """A packet with immediate `imm` has written `data` to the ring, up to before offset `stop`: what it ends.

        Without findings there is either a trailer, or none was meant.
        """
        within = (stop - 1) % self._layout.slot_bytes + 1
        source, left = divmod(within - self._first_trailer, TRAILER_BYTES)
        at_place = not left and 1 <= source <= self._layout.sources and len(data) >= TRAILER_BYTES
        marked = data[-TRAILER_BYTES:][:4] == MAGIC.to_bytes(4, "little")
        if imm is None:
            return None, [found(SILENT, f"source {source - 1}")] if at_place and marked else []
        if not at_place:
            where = f"{len(data)} bytes that end at byte {within} of the slot"
            return None, [found(PLACE, f"{where}: trailers begin at {self._first_trailer}")]
        raw = data[-TRAILER_BYTES:]
        trailer = unpack(raw)
        if trailer is None:
            return None, [_unknown(raw)]
        findings = list(self._compare(trailer, imm, source - 1, (stop - 1) // self._layout.slot_bytes))
        fatal = any(finding.cause is not BYTES_WRONG for finding in findings)
        return (None if fatal else Ended(trailer.frame_number, trailer.source, trailer.frames_dropped)), findings

    def _compare(self, trailer: Trailer, imm: int, place: int, slot: int) -> Iterator[Finding]:
        source, low = split_immediate(imm)
        if not source == trailer.source == place:
            yield found(SOURCE_WRONG, f"source {trailer.source}, immediate {source}, written at the place of {place}")
        right = trailer.frame_number % self._layout.n_slots
        if not trailer.slot == right == slot:
            slots = f"should be in slot {right} of {self._layout.n_slots}"
            yield found(FRAME_WRONG, f"frame {trailer.frame_number} says slot {trailer.slot}, lies in {slot}, {slots}")
        elif low != trailer.frame_number & 0xFFFFFF:
            yield found(FRAME_WRONG, f"frame {trailer.frame_number}, immediate {low}")
        if trailer.payload_bytes != self._share:
            yield found(BYTES_WRONG, f"payload_bytes {trailer.payload_bytes}, should be {self._share}")


def _unknown(raw: bytes) -> Finding:
    if raw[:4] != MAGIC.to_bytes(4, "little"):
        return found(MAGIC_WRONG, f"begins with {raw[:4].hex(' ')}, should be 46 4c 54 31")
    return found(VERSION_WRONG, f"version {int.from_bytes(raw[4:6], 'little')}, should be {VERSION}")
