"""The transport of a detector: its own UDP packets into the slots of a ring, and a trailer where a frame is over."""

import collections
import contextlib
from time import monotonic
from typing import Self

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import TransportError
from framelane.models.placement.slots import SlotLayout
from framelane.models.placement.trailer import TRAILER_BYTES, Trailer, immediate
from framelane.receiver.detector._placing import FATES, REFUSED, RESTARTS
from framelane.receiver.detector.detector_port import DetectorPort
from framelane.receiver.detector.detector_stream import DetectorStream, Layout, explain
from framelane.receiver.detector.open_frames import EXPECTED, OpenFrames
from framelane.receiver.detector.packet_fate import Fate
from framelane.receiver.transport.transport import Completion, Counters

REACH = 100_000
"""Frames. A frame number further than this from the last one begins a new acquisition, and is not a loss."""
MOST_NS = (1 << 64) - 1
NEWER = 4
"""A stream has sent all of a frame when a packet of the fourth after it comes: packets overtake each other that far."""
SILENT_S = 1.0
"""A frame of which nothing came for so long is over; a stream that is silent for so long is not waited for."""
_TOGETHER_S = 0.02
"""So long a stream that begins anew waits for the others to do so."""
_LISTEN_S = 0.01
"""So often it is noted which streams have sent."""
_MOST_AT_ONCE = 1024
"""Frames that one look closes."""


class DetectorTransport:
    """Places what comes to `port`, one stream for each port of `detector`, in the ring `memory` (uint8) of `layout`.

    It stands for a source: it numbers the frames from 0, keeps to the `credit` that it is given, and writes a trailer
    when a frame is over, in the order of the numbers. A detector takes no credit, so frames that find no slot free are
    `dropped` whole; of frames between two others of which nothing came there is no trailer.

    A frame is over when each stream that sends has sent its whole share, or a packet of the fourth frame after it; or
    when the newest frame is half a ring ahead; or after a second in which nothing of it came.
    """

    refuses_late = True
    ended = False

    def __init__(self, port: DetectorPort, detector: Layout, memory: NDArray[np.uint8], layout: SlotLayout) -> None:
        self.port, self._memory, self._layout = port, memory, layout
        self.packets = detector.packets
        """Their description."""
        self.credit = layout.n_slots
        """Frames below this number have a clean slot. Whoever raises it calls `wake`."""
        self.ending = False
        """Close all that is under way at the next `poll`, and place nothing more."""
        self.told = 0, 0
        """All frames below the first number are over, and so many were dropped, when the last poll began."""
        self.restarts = 0
        """How often the detector's numbers began anew."""
        self._reach = min(REACH, self.packets.header.frame_number.most // 4)
        self._frames = OpenFrames(layout.n_slots, len(port.sockets), self._reach)
        self._where, self._opened = self._frames.where, self._frames.opened
        self._next = self._dropped = self._completions = self._arrived = 0
        self._drops: int | None = None
        timestamp = self.packets.header.timestamp
        self._unit_ns = timestamp.unit_ns if timestamp else 1
        self._ports = [number for _, number in port.addresses]
        self._restart_at: float | None = None
        """When the first of several streams began anew."""
        self._cut: list[int] = []
        """Numbers of the detector of the frames that silence has ended before they were whole."""
        now = monotonic()
        self._begun: float | None = None
        """When its first packet came."""
        self._last = now
        self._grown = np.zeros(layout.n_slots, np.int64)
        """How much of the frame that is open in each slot has come, at the last look."""
        self._grown_at = np.full(layout.n_slots, now)
        """When that changed, or when the frame's number first was the newest or before it."""
        self._newest = -1
        self._listened = 0.0
        """When it was noted last which streams have sent."""
        words = memory.view("<u2").reshape(layout.n_slots, -1)
        self._streams = [DetectorStream(index, detector, words, self._frames) for index in range(len(port.sockets))]
        self._seen = np.zeros(len(self._streams), np.int64)
        self._heard = np.full(len(self._streams), now)
        self._frames.open(0, self.credit)
        self._open_end = self.credit
        for stream, sock in zip(self._streams, port.sockets, strict=True):
            stream.start(sock)

    @property
    def counters(self) -> Counters:
        """See `Transport`."""
        states = [stream.state[0] for stream in self._streams]
        fates = sum((stream.fates for stream in self._streams), np.zeros_like(self._streams[0].fates))
        names = {int(fate): fate.name.lower() for fate in Fate if fate != Fate.PLACED}
        names |= dict(enumerate(self.packets.header.constant, FATES))
        refused = {name: int(fates[fate]) for fate, name in names.items() if fates[fate]}
        return Counters(
            packets=sum(int(state["packets"]) for state in states),
            placed=int(fates[Fate.PLACED]),
            payload_bytes=sum(int(state["placed_bytes"]) for state in states),
            completions=self._completions,
            queue_drops=self.port.queue_drops if self._drops is None else self._drops,
            refused=collections.Counter(refused),
            examples={name: self._example(fate) for fate, name in names.items() if fates[fate]},
        )

    @property
    def arrived(self) -> int:
        """Packets that came."""
        return sum(int(stream.state["packets"][0]) for stream in self._streams)

    @property
    def over(self) -> tuple[int, int]:
        """The same as `told`, at this moment, for use when polling has ended."""
        return self._next, self._dropped

    @property
    def guarded(self) -> int:
        """Words that would have read as holes, and became others."""
        return sum(int(stream.state["guarded"][0]) for stream in self._streams)

    @property
    def silent(self) -> list[tuple[int, list[int], bool]]:
        """Silent ports: UDP port, its modules that sent no packet there, and whether any other module did."""
        if self._begun is None:
            return []
        quiet = [
            (port, [module for module, heard in zip(stream.modules, stream.heard, strict=True) if not heard], stream)
            for port, stream in zip(self._ports, self._streams, strict=True)
        ]
        return [(port, modules, len(modules) < len(stream.modules)) for port, modules, stream in quiet if modules]

    def wake(self) -> None:
        """There is more credit. While half of the ring is open, that has time until a frame is over."""
        if self._few_are_open():
            self._frames.ring()

    def poll(self, timeout_s: float) -> list[Completion]:
        """See `Transport`. TransportError where a socket can no longer be read."""
        self.told = self._next, self._dropped
        end = monotonic() + timeout_s
        while True:
            left = max(0.0, end - monotonic())
            self._frames.wait(left if self._restart_at is None else min(left, _TOGETHER_S / 4))
            completions = self._look()
            arrived = self.arrived
            if (
                completions
                or arrived != self._arrived
                or self.told != (self._next, self._dropped)
                or monotonic() >= end
            ):
                self._arrived = arrived
                return completions

    def close(self) -> None:
        """See `Transport`."""
        for stream in self._streams:
            stream.stop()
        for stream in self._streams:
            stream.join()
        if self._drops is None:
            self._drops = self.port.queue_drops
        self.port.close()
        self._frames.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _look(self) -> list[Completion]:
        """Decide what is over, and which slots are open."""
        for stream in self._streams:
            if stream.error is not None:
                if self.ending:
                    raise TransportError(explain(stream.error)) from stream.error
                self.ending = True  # first what has come, and nobody writes while it is read
        now = monotonic()
        self._listen(now)
        completions: list[Completion] = []
        silence = self.ending or (bool(self._where["known"][0]) and now - self._last > SILENT_S)
        with self._frames.held() if silence else contextlib.nullcontext():
            newest = self._newest_frame
            first = self._next
            while self._next <= newest and (self.ending or self._next < first + _MOST_AT_ONCE):
                if not (silence or self._is_over(self._next, newest, now)):
                    break
                if silence and not self._is_whole(self._next):
                    self._cut.append(self._number(self._next))
                self._end(self._next, completions)
            if silence and self._next > newest:
                where = self._where[0]
                where["known"], where["flushed"] = 0, bool(self._cut)
                if self._cut:
                    where["flushed_first"], where["flushed_last"] = self._cut[0], self._cut[-1]
                self._cut = []
            if self.ending:
                self._opened[:] = -1
        if not self.ending:
            wanting = [wants for stream in self._streams if (wants := stream.wants) is not None]
            if wanting:
                with self._frames.held():
                    self._begin(wanting, now, completions)
            if self.credit > self._open_end and self._few_are_open():
                self._frames.open(self._open_end, self.credit)
                self._open_end = self.credit
        self._completions += len(completions)
        return completions

    @property
    def _newest_frame(self) -> int:
        """The newest frame of which a packet came."""
        return max(stream.newest for stream in self._streams)

    def _few_are_open(self) -> bool:
        """Whether it is time to open slots that are free: at most half of the ring is open for frames to come."""
        return self._open_end - self._newest_frame <= len(self._opened) // 2

    def _listen(self, now: float) -> None:
        """Note which frames have begun since the last look; now and then also who has sent, and what has grown."""
        wants = np.array([stream.wants is not None for stream in self._streams])
        if wants.any() or self.ending or not 0 <= now - self._listened < _LISTEN_S:
            self._listened = now
            good = np.array([stream.state["good"][0] for stream in self._streams])
            heard = (good != self._seen) | wants
            self._seen = good
            if heard.any():
                self._last = now
                if self._begun is None:
                    self._begun = now
                    self._heard[:] = now  # all of them are expected
                self._heard[heard] = now
            self._frames.signals[EXPECTED] = max(1, int((now - self._heard < SILENT_S).sum()))
            grown = sum(np.where(stream.at == self._opened, stream.came[:, 0], 0) for stream in self._streams)
            self._grown_at[grown != self._grown] = now
            self._grown = np.asarray(grown)
        newest = self._newest_frame
        for number in range(max(self._newest, newest - len(self._opened)) + 1, newest + 1):
            self._grown_at[number % len(self._opened)] = now  # also those of which nothing has come yet
        self._newest = newest

    def _is_over(self, number: int, newest: int, now: float) -> bool:
        slots = len(self._opened)
        if newest >= number + slots // 2:
            return True
        slot = number % slots
        for stream, heard in zip(self._streams, self._heard, strict=True):
            if not stream.has_all(number) and stream.newest < number + NEWER and now - heard < SILENT_S:
                return bool(now - self._grown_at[slot] > SILENT_S)
        return True

    def _is_whole(self, number: int) -> bool:
        return all(stream.has_all(number) for stream in self._streams)

    def _end(self, number: int, completions: list[Completion]) -> None:
        """A frame is over: write its trailer, if anything of it is there."""
        slot = number % len(self._opened)
        if self._opened[slot] == number:
            whole = self._is_whole(number)
            self._frames.shut(number, whole)
            here = [s for s in self._streams if s.at[slot] == number and s.came[slot, 1]]
            if here:
                header = here[0].infos[slot]
                trailer = Trailer(
                    source=0,
                    slot=slot,
                    frame_number=number,
                    timestamp_ns=min(int(header["timestamp"]) * self._unit_ns, MOST_NS),
                    bunch_id=int(header["bunch_id"]),
                    payload_bytes=self._layout.image_bytes,
                    packets=sum(int(stream.came[slot, 1]) for stream in here),
                    frames_dropped=self._dropped,
                    detector_frame=self._number(number),
                )
                start = self._layout.trailer_place(number, 0)
                self._memory[start : start + TRAILER_BYTES] = np.frombuffer(trailer.pack(), np.uint8)
                if not whole:
                    for stream in self._streams:
                        stream.fill_missing(number)
                completions.append(Completion(immediate(0, number)))
        elif any(stream.refused[number % REFUSED] == number for stream in self._streams):
            self._dropped += 1
        self._next = number + 1
        self._where["open"] = self._next

    def _begin(self, wanting: list[tuple[int, int]], now: float, completions: list[Completion]) -> None:
        """The detector begins, or begins anew: give its numbers their place behind all that was."""
        where = self._where[0]
        restarts = any(why == RESTARTS for why, _ in wanting)
        if restarts and len(wanting) < len(self._streams):
            self._restart_at = self._restart_at or now
            if now - self._restart_at < _TOGETHER_S:
                return
        self._restart_at = None
        lowest = min((number for _, number in wanting), key=lambda each: self.packets.ahead(each, wanting[0][1]))
        newest = max(stream.newest for stream in self._streams)
        while restarts and self._next <= newest:
            self._end(self._next, completions)
        follows = self.packets.ahead(lowest, self._number(self._next))
        if restarts or self._next == 0 or not 0 <= follows < self._reach:
            self.restarts += self._next > 0
            where["base"], where["shift"] = lowest, self._next
        where["known"], where["flushed"] = 1, 0
        for stream in self._streams:
            if stream.wants is not None:
                stream.go_on()

    def _number(self, frame: int) -> int:
        """The detector's number of a frame of the session; it goes on where the header's begins with 0 again."""
        return (int(self._where["base"][0]) + frame - int(self._where["shift"][0])) & MOST_NS

    def _example(self, fate: int) -> str:
        index = next(index for index, stream in enumerate(self._streams) if stream.fates[fate])
        size, frame, packet, whose = map(int, self._streams[index].examples[fate])
        said = f"of {size} bytes on port {self._ports[index]}"
        if fate == Fate.SIZE:
            return said
        header = self.packets.header
        if header.module_number is not None:
            module = f", module {(whose + header.module_number.first) & header.module_number.most}"
        else:
            widths = [field.width for field in header.identity.values()]
            module = f", module {(whose & MOST_NS) >> 8 * sum(widths[1:])}" if widths else ""
        return f"{said}, frame {frame & MOST_NS}, packet {packet & MOST_NS}{module}"
