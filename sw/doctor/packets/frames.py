"""Frames, from what was placed: which are whole, which have holes, which slots were written too early."""

from dataclasses import dataclass, field

from framelane.doctor.cause import Cause, Finding, Kind, found
from framelane.doctor.packets.trailers import Ended, TrailerCheck
from framelane.doctor.target import Target
from framelane.models.placement.slots import FREE_RUNNING

INCOMPLETE = Cause(
    "frame-incomplete",
    Kind.NETWORK,
    "a frame has ended with bytes of its image never written",
    "see what was lost or refused before: those are its holes",
)
NO_TRAILER = Cause(
    "frame-without-trailer",
    Kind.NETWORK,
    "a frame has pixels, but not all its trailers came before the next frame of its slot",
    "look for the lost trailer; a source that is missing altogether is not connected, or has another session",
)
UNENDED = Cause(
    "frame-unended",
    Kind.NOTE,
    "the capture ends within a frame, or its trailer is the last thing missing",
    "nothing, if the capture was stopped while the source was sending",
)
MISSING = Cause(
    "frame-missing",
    Kind.NETWORK,
    "frame numbers are skipped: nothing of those frames came, or too little to know them",
    "the frames were lost on the way, if the trailers do not say that the source has dropped them",
)
DROPPED = Cause(
    "frames-dropped",
    Kind.WARNING,
    "the source says that it has dropped frames for want of credit",
    "the receiver is too slow, its credit does not reach the source, or the ring has too few slots",
)
REPEATED = Cause(
    "frame-repeated",
    Kind.FAULT,
    "a frame number comes again, or goes back",
    "the source was started again within the session: give it a new session; or the stream was sent twice",
)
OVERWRITTEN = Cause(
    "slot-overwritten",
    Kind.FAULT,
    "a slot is written again before its frame has ended",
    "the source ignores the credit, n_slots or slot_bytes differ, or two sources write the same part",
)
CREDIT = Cause(
    "credit",
    Kind.FAULT,
    "a frame was sent for which no credit can have been given: more than n_slots after the last that had ended",
    "let the source stop at window_end of the receiver",
)
CROSSING = Cause(
    "slot-crossing",
    Kind.FAULT,
    "a message is written over the border of a slot",
    "compare slot_bytes of the source and the session",
)
OUTSIDE_IMAGE = Cause(
    "outside-image",
    Kind.FAULT,
    "pixels are written behind the image, between it and the trailers or over them",
    "compare rows, columns and the flow's pitch with the session",
)
CAUSES = (
    *(INCOMPLETE, NO_TRAILER, UNENDED, MISSING, DROPPED, REPEATED, OVERWRITTEN, CREDIT, CROSSING),
    OUTSIDE_IMAGE,
)


@dataclass(slots=True)
class FrameCounts:
    """What became of the frames whose trailers came."""

    complete: int = 0
    incomplete: int = 0
    missing: int = 0
    first: int | None = None
    last: int | None = None
    incomplete_frames: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Stream:
    """What the packets say of their stream. `whole`: it is known from its start; `repeated`: this PSN came before.

    `last_loss` is the number of the last packet before which others were missing, or that was refused; 0: none.
    """

    whole: bool
    repeated: bool
    last_loss: int


@dataclass(slots=True)
class _Slot:
    """What was written since the last frame of the slot has ended: ranges of bytes in order, trailers by source."""

    first_packet: int
    over: bool = False
    """A later frame has ended, so this one has too: a source keeps its order."""
    spans: list[list[int]] = field(default_factory=list)
    ended: dict[int, int] = field(default_factory=dict)

    def write(self, start: int, stop: int) -> int:
        """Note that bytes are written; how many of them were written before."""
        spans = self.spans
        if spans and spans[-1][1] == start:
            spans[-1][1] = stop
            return 0
        if not spans or spans[-1][1] < start:
            spans.append([start, stop])
            return 0
        touching = [span for span in spans if span[0] <= stop and start <= span[1]]
        twice = sum(max(0, min(stop, span[1]) - max(start, span[0])) for span in touching)
        low, high = min([start, *(s[0] for s in touching)]), max([stop, *(s[1] for s in touching)])
        kept = [span for span in spans if span not in touching]
        self.spans = sorted([*kept, [low, high]])
        return twice

    def holes(self, size: int) -> list[tuple[int, int]]:
        """Ranges of the first `size` bytes that were not written."""
        at, found_holes = 0, []
        for start, stop in [*self.spans, [size, size]]:
            if start > at:
                found_holes.append((at, min(start, size)))
            at = max(at, stop)
            if at >= size:
                break
        return found_holes


class FrameTrack:
    """Follows the slots of a ring, packet by packet."""

    def __init__(self, target: Target) -> None:
        session = target.session
        self._layout = session.layout
        self._image = session.image_bytes
        self._row = session.columns * 2
        self._free = session.window_end == FREE_RUNNING
        self._trailers = TrailerCheck(target)
        self._slots: dict[int, _Slot] = {}
        self._newest: int | None = None
        self._start = 0 if self._free else session.window_end - session.n_slots
        self._dropped: dict[int, int] = {}
        self._closed_by = 0
        """Number of the packet that ended the newest frame."""
        self.counts = FrameCounts()

    def write(self, number: int, start: int, data: bytes, imm: int | None, stream: Stream) -> list[Finding]:
        """Packet `number` was placed: `data` at offset `start` of the ring."""
        stop = start + len(data)
        if not data:
            return []
        slot_number, within = divmod(start, self._layout.slot_bytes)
        if (stop - 1) // self._layout.slot_bytes != slot_number:
            return [found(CROSSING, f"{len(data)} bytes from byte {within} of slot {slot_number} on")]
        ended, findings = self._trailers.check(imm, stop, data)
        slot = self._slots.get(slot_number)
        if slot is not None and slot.over:
            findings.append(found(NO_TRAILER, f"slot {slot_number}: the frame that packet {slot.first_packet} began"))
            slot = None
        if slot is None:
            slot = self._slots[slot_number] = _Slot(number)
        if imm is None:
            findings += self._write_pixels(number, slot_number, within, len(data), stream)
        if ended is not None:
            findings += self._end(number, slot_number, ended, stream)
        return findings

    def finish(self) -> list[Finding]:
        """What is still open when nothing more comes."""
        return [
            found(UNENDED, f"slot {number}, begun by packet {slot.first_packet}")
            for number, slot in self._slots.items()
            if slot.spans or slot.ended
        ]

    def _write_pixels(self, number: int, slot_number: int, within: int, size: int, stream: Stream) -> list[Finding]:
        if within + size > self._image:
            if within >= self._layout.trailer_offset(0):  # a trailer without immediate: said before
                return []
            text = f"bytes {within} to {within + size - 1} of slot {slot_number}, the image has {self._image}"
            return [found(OUTSIDE_IMAGE, text)]
        slot = self._slots[slot_number]
        twice = slot.write(within, within + size)
        if not twice or stream.repeated:
            return []
        begun = f"slot {slot_number}, whose frame began with packet {slot.first_packet}"
        if stream.last_loss > slot.first_packet:  # of its trailer, perhaps
            self._slots[slot_number] = fresh = _Slot(number)
            fresh.write(within, within + size)
            return [found(NO_TRAILER, begun)]
        return [found(OVERWRITTEN, f"{twice} bytes of {begun}, are written again")]

    def _end(self, number: int, slot_number: int, ended: Ended, stream: Stream) -> list[Finding]:
        findings: list[Finding] = []
        slot, frame = self._slots[slot_number], ended.frame
        others = [other for other in slot.ended.values() if other != frame]
        if others:
            findings.append(found(NO_TRAILER, f"frame {others[0]}: {len(slot.ended)} of {self._layout.sources} came"))
            slot.ended.clear()
        before = self._dropped.get(ended.source, 0)
        if ended.dropped > before:
            findings.append(found(DROPPED, f"{ended.dropped - before} before frame {frame}"))
        self._dropped[ended.source] = ended.dropped
        slot.ended[ended.source] = frame
        if len(slot.ended) < self._layout.sources:
            return findings
        del self._slots[slot_number]
        findings += self._close(slot, frame, ended, stream)
        for other in self._slots.values():
            other.over |= other.first_packet < self._closed_by
        self._closed_by = number
        return findings

    def _close(self, slot: _Slot, frame: int, ended: Ended, stream: Stream) -> list[Finding]:
        findings: list[Finding] = []
        counts = self.counts
        newest = self._newest if self._newest is not None else (self._start - 1 if stream.whole else frame - 1)
        if frame <= newest:
            findings.append(found(REPEATED, f"frame {frame} after frame {newest}"))
        elif frame > newest + 1:
            counts.missing += frame - newest - 1
            if not ended.dropped:
                findings.append(found(MISSING, f"frames {newest + 1} to {frame - 1}"))
            if not self._free and frame > newest + self._layout.n_slots and stream.last_loss <= self._closed_by:
                findings.append(found(CREDIT, f"frame {frame} after {newest}, with {self._layout.n_slots} slots"))
        self._newest = max(newest, frame)
        counts.first = frame if counts.first is None else counts.first
        counts.last = self._newest
        holes = slot.holes(self._image)
        if not holes:
            counts.complete += 1
            return findings
        counts.incomplete += 1
        counts.incomplete_frames.append(frame)
        missing = sum(stop - start for start, stop in holes)
        rows = f"rows {holes[0][0] // self._row} to {(holes[-1][1] - 1) // self._row}"
        text = f"frame {frame}: {missing} of {self._image} bytes were not written, in {rows}"
        return [*findings, found(INCOMPLETE, text)]
