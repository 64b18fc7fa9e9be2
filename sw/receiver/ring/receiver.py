"""The loop of a receiver: completions in, finished frames out, every frame's fate counted."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from framelane.models.placement import trailer
from framelane.models.placement.slots import HOLE_WORD
from framelane.models.placement.trailer import Trailer
from framelane.receiver.ring.ring import Ring
from framelane.receiver.ring.tally import Tally
from framelane.receiver.transport.transport import Completion, Transport


@dataclass(slots=True, eq=False)
class ReceivedFrame:
    """A frame in its slot, to be given back by `Receiver.release`.

    `image` is a view of the ring, (rows, columns) uint16; `trailers` has one place a source, None where it did not
    come. `known_holes` is the number of its pixels that were never written, where somebody has counted them.
    `captured_ns` is when the packet came with which it was over, ns since 1970, where a capture tells.
    """

    number: int
    slot: int
    image: NDArray[np.uint16]
    known_holes: int | None
    trailers: tuple[Trailer | None, ...]
    captured_ns: int | None = None

    @property
    def holes(self) -> int:
        """Number of pixels that were never written. It takes a pass over the image, unless it is known."""
        if self.known_holes is None:
            self.known_holes = int(np.count_nonzero(self.image == HOLE_WORD))
        return self.known_holes

    def tell_holes(self, holes: int) -> None:
        """Spare that pass: a pipeline has counted them (`Counts.holes`: no other code goes before that of a hole)."""
        self.known_holes = holes

    @property
    def complete(self) -> bool:
        """Every pixel and every trailer is there."""
        return not self.holes and None not in self.trailers

    @property
    def timestamp_ns(self) -> int | None:
        """The time stamp of the first source that tells one."""
        return next((t.timestamp_ns for t in self.trailers if t), None)

    @property
    def time_flags(self) -> int:
        """What that source says that its time stamp is worth (`Trailer.time_flags`); 0 where none tells."""
        return next((t.time_flags for t in self.trailers if t), 0)

    @property
    def bunch_id(self) -> int | None:
        """The bunch id of the first source that tells one."""
        return next((t.bunch_id for t in self.trailers if t), None)


class Receiver:
    """Takes the frames that `transport` places in `ring`.

    A frame is over when every source has sent its trailer or that of a later frame: a source keeps its order. Then it
    is complete, incomplete, or (nothing was written) missing, unless its source has dropped it. A trailer with
    another size than the session's ends no frame: `first_misfit` describes the first in a sentence. A completion that
    brings no trailer of an open frame (late, foreign, empty, or without credit) is ignored and counted in `strays`;
    `first_stray` says what was wrong with the first. If there is no slot for a frame, its source drops it.
    If the source takes no credit, this host drops it (`dropped_here`).
    """

    def __init__(self, ring: Ring, transport: Transport, *, dropped_here: bool = False) -> None:
        self._ring = ring
        self._dropped_here = dropped_here
        self._transport = transport
        self._first = ring.window.next
        self._newest = [ring.window.next - 1] * ring.layout.sources
        self._drops = [0] * ring.layout.sources
        self._ended: set[int] = set()
        self._arrived: set[int] = set()
        self._wrong_size: set[int] = set()
        """Those of them of which a trailer says another size than the session."""
        self._out: dict[int, ReceivedFrame] = {}
        """Frames that were handed out, and are not released."""
        self._complete = self._incomplete = self._overwritten = self._empty = self._misfits = 0
        self._astray = False
        """Whether the last message that could write to the ring did not keep to the session."""
        self.strays = 0
        self.first_stray = self.first_misfit = ""
        self.withheld = [0] * ring.layout.sources
        """How many trailers of each source came with frames of another size, which nobody was given."""

    def poll(self, timeout_s: float) -> list[ReceivedFrame]:
        """Wait at most `timeout_s` seconds for something to come; the frames that are over, in their order."""
        for completion in self._transport.poll(timeout_s):
            self._note(completion)
        live = [newest for source, newest in enumerate(self._newest) if source not in self._ended]
        return self._close(min(live, default=-1) + 1)

    def end_source(self, source: int) -> None:
        """Await no more of a source: the frames of the others are over without it."""
        self._ended.add(source)

    def settle(self, offered: int | None = None, dropped: int | None = None) -> list[ReceivedFrame]:
        """Close all that is open, when nothing is on its way any more; what there is of it, in order.

        By now each source has offered `offered` frames of this session (default: up to the last that was seen for
        sure), and has dropped `dropped` frames since its reset, counted from frame 0 (default: what the trailers say).
        For the end of a run, and for a
        source that has run out of credit: the ring hears nothing of the frames that it drops, so its credit would stand
        still for ever.
        """
        if dropped is not None:
            self._drops = [max(dropped - self._first, known) for known in self._drops]
        return self._close(self._last_written() + 1 if offered is None else self._first + offered)

    def release(self, frame: ReceivedFrame) -> bool:
        """Give a frame's slot back. False if it may have been overwritten before: what was made of it is void."""
        complete = frame.complete  # its slot is filled with holes next
        intact = self._ring.release(frame.number)
        self._out.pop(frame.number, None)
        if not intact:
            self._overwritten += 1
        elif complete:
            self._complete += 1
        else:
            self._incomplete += 1
        return intact

    def tally(self, sent: int | None = None, out: bool = True) -> Tally:
        """What became of the `sent` frames (default: those that are closed).

        With `out` each frame that is not released is asked whether it is complete, else these are left out.
        """
        dropped = min(self._empty, min(self._drops))
        closed = self._ring.window.next - self._first
        whole = [frame.complete for frame in self._out.values()] if out else []
        return Tally(
            sent=closed if sent is None else sent,
            complete=self._complete + sum(whole),
            incomplete=self._incomplete + len(whole) - sum(whole),
            dropped_at_source=0 if self._dropped_here else dropped,
            dropped_by_host=self._overwritten + dropped * self._dropped_here,
            missing=self._empty - dropped,
            wrong_size=self._misfits,
        )

    def _note(self, completion: Completion) -> None:
        """One trailer. The immediate has 24 bits of the number only: the trailer in the slot is the truth."""
        source, low = trailer.split_immediate(completion.imm)
        window = self._ring.window
        number = window.next + (low - window.next) % (1 << 24)
        if completion.empty:  # needs no rkey: whoever sent it may know nothing of the session
            self._stray(completion, "of a message of no bytes, which brings no trailer")
            return
        fault = self._fault(number, source)
        self._astray = fault is not None
        if fault:
            self._stray(completion, fault)
            return
        found = self._ring.trailer_at(number, source)
        if found and found.frame_number == number and found.payload_bytes != self._ring.share_bytes:
            self._wrong_size.add(number)
            self._astray = True
            self.first_misfit = self.first_misfit or (
                f"frame {number} has {found.payload_bytes} bytes of pixels, {self._ring.share_bytes} by the session: "
                "give the source the session of this run"
            )
        self._arrived.add(number)
        self._newest[source] = max(self._newest[source], number)
        window.newest = max(window.newest, number)
        if found and found.frame_number == number:
            self._drops[source] = max(self._drops[source], found.frames_dropped - self._first)

    def _stray(self, completion: Completion, fault: str) -> None:
        self.strays += 1
        self.first_stray = self.first_stray or f"immediate {completion.imm:#010x}: {fault}"

    def _fault(self, number: int, source: int) -> str | None:
        """What is wrong with a completion for this frame, if anything is."""
        ring = self._ring
        if source >= ring.layout.sources:
            return f"there is no source {source} in a session of {ring.layout.sources}"
        if number >= ring.window.end:
            return f"of no frame from {ring.window.next} to {ring.window.end - 1}: late, or sent without credit"
        if ring.overwritten(number):
            return None
        found = ring.trailer_at(number, source)
        if found is None:
            return f"for frame {number}, but slot {ring.layout.slot(number)} has no trailer at its place"
        if found.frame_number != number:
            return f"for frame {number}, but the trailer in its slot is of frame {found.frame_number}"
        return None

    def _close(self, stop: int) -> list[ReceivedFrame]:
        """Sort the open frames below `stop`."""
        ring, first = self._ring, self._ring.window.next
        if stop <= first:
            return []
        arrived = {n for n in self._arrived if n < stop}
        self._arrived -= arrived
        misfits = self._wrong_size & arrived
        self._wrong_size -= misfits
        looked = sorted(arrived.union(ring.window.live(stop)))
        ring.window.close(stop, looked)
        self._empty += stop - first - len(looked)
        frames = []
        for number in looked:
            sound = ring.sound(number)
            if sound and number in misfits:
                self._withhold(number)
                continue
            if sound and not ring.blank(number):
                self._out[number] = self._frame(number)
                frames.append(self._out[number])
                continue
            if number in arrived:
                self._overwritten += 1
            else:
                self._empty += 1
            ring.release(number)
        return frames

    def _withhold(self, number: int) -> None:
        """Make no frame of it: its pixels are not where the session has them."""
        ring = self._ring
        self._misfits += 1
        for source in range(ring.layout.sources):
            found = ring.trailer_at(number, source)
            self.withheld[source] += found is not None and found.frame_number == number
        ring.release(number)

    def _last_written(self) -> int:
        """The last open frame of which anything came for sure: a trailer, or pixels that can only be its own.

        Pixels carry no number. Behind the newest trailer of the one source of a session they are of the next frame in
        their slot, since nothing older is placed after it; but not where the source does not keep to the session, nor
        where there are others, or a NIC, whose late packets are placed (`docs/decisions/host/0005-late-packets.md`).
        """
        ring = self._ring
        trusted = ring.layout.sources == 1 and not self._astray and self._transport.refuses_late
        live = ring.window.live(ring.window.next + ring.layout.n_slots) if trusted else range(0)
        return max(self._arrived.union(n for n in live if ring.sound(n) and not ring.blank(n)), default=-1)

    def _frame(self, number: int) -> ReceivedFrame:
        ring = self._ring
        trailers = tuple(ring.trailer(number, source) for source in range(ring.layout.sources))
        return ReceivedFrame(number, ring.layout.slot(number), ring.image(number), None, trailers)
