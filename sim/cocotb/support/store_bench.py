"""The bench of the frame store: what its frames may become, and that nobody writes to a frame that is not released."""

from collections import deque
from dataclasses import dataclass, replace
from typing import Any

from axi_ports import nobody_behind
from bench import Bench, Stalls
from detector import any_info
from framelane.driver.simulated.ports import frame_info_t, frame_t
from framelane.models.memory.frame_store import FrameInfo, FrameStore
from framelane.models.placement.flow import FrameEvent
from framelane.models.placement.slot_ring import SlotRing
from signals import now
from write_memory import WriteMemory

SLOT_BEATS = 200
"""Not a multiple of 4 KiB, and more than 4 KiB in all from 256 bits on."""
BASE = (5 << 32) - 4 * 4096
"""A ring of two slots or more crosses a boundary of 4 GiB."""
GUARD = 16_384
"""Bytes of memory before and behind the ring."""
LATENCY = 4
"""Cycles from a release, or from the end of a bad frame, to the free slot."""


@dataclass(frozen=True)
class Frame:
    """One frame on its way to a slot of `slot` bytes; the memory refuses the byte `refused` of it.

    One that is `cut` was given up on its way.
    """

    info: FrameInfo
    pixels: bytes
    slot: int
    refused: int | None = None
    event: FrameEvent | None = None
    cut: bool = False

    @property
    def bad(self) -> bool:
        """Whether it must not become an event."""
        return self.refused is not None or self.cut or len(self.pixels) > self.slot

    def holds(self, address: int) -> bool:
        """Whether the address is of its bytes in its slot."""
        assert self.event is not None
        return 0 <= address - self.event.address < min(len(self.pixels), self.slot)


class StoreBench(Bench):
    """The store between a detector, cocotbext-axi's memory, and a reader that releases what it has at random."""

    def __init__(self, dut: Any, slots: int = 4, stalls: Stalls = Stalls.NONE) -> None:
        super().__init__(dut, stalls)
        self.width = len(dut.s_axis_pixel_tdata)
        self.slot = SLOT_BEATS * self.width // 8
        self.pixels, self.events = self.source("s_axis_pixel"), self.sink("m_axis_frame")
        self.queued: deque[Frame] = deque()
        self.writing: deque[Frame] = deque()
        self.whole: deque[Frame] = deque()
        self.held: deque[Frame] = deque()
        """Frames in order: not begun; with a slot; in memory, as the bench knows; with their event taken."""
        self.begun: tuple[Frame, bool, bool, bool] | None = None
        """What began in the cycle before: armed, a slot free, one free for long."""
        self.in_packet = self.swallows = False
        self.releases = 0.1
        """The reader's chance a cycle to be done with its oldest frame."""
        self.answer(self._release)
        self.watch(self._watch)
        self.memory = WriteMemory(self, BASE - GUARD, self.random.randbytes(slots * self.slot + 2 * GUARD), stalls.sink)
        self.memory.refuses = self._refuses
        for prefix in ("m_axi_corrected", "m_axi_constant"):
            nobody_behind(dut, prefix)
        self.slots = slots
        self.dut.base_i.value, self.dut.slot_bytes_i.value, self.dut.slots_i.value = BASE, self.slot, slots
        self.dut.pixel_cut_i.value = self.dut.pixel_restart_i.value = 0
        self.dut.armed_i.value, self.dut.abort_i.value = 1, 0
        self.start()

    def start(self) -> None:
        """As after a reset."""
        for frames in (self.queued, self.writing, self.whole, self.held):
            frames.clear()
        self.begun = None
        self.store = FrameStore(SlotRing(BASE, self.slot, self.slots))
        self.expected = bytearray(self.memory.data)
        self.frames = self.quiet = 0
        self.counts = {"lost": 0, "bad": 0, "ignored": 0}
        self.bursts = len(self.memory.bursts)
        self.events.clear()

    def frame(self, length: int, refused: int | None = None, **info: int) -> None:
        """The detector's next frame. What it says of it is there with the first beat only."""
        frame = Frame(replace(any_info(self.random), **info), self.random.randbytes(length), self.slot, refused)
        self.queued.append(frame)
        first = len(self.pixels.items)
        self.pixels.send(frame.pixels, self.width)
        beats = list(self.pixels.items)[first:]
        beats[0]["tuser"] = frame_info_t(frame.info)
        for beat in beats[1:]:
            beat["tuser"] = frame_info_t(any_info(self.random))

    def _refuses(self, address: int) -> bool:
        lanes = self.width // 8
        frame = next(frame for frame in self.writing if frame.holds(address))
        assert frame.event is not None
        return frame.refused is not None and address // lanes == (frame.event.address + frame.refused) // lanes

    def _release(self) -> None:
        self.released = bool(self.held) and self.random.random() < self.releases
        self.dut.release_i.value = self.released

    def _is(self, *names: str) -> bool:
        return all(now(getattr(self.dut, name)) for name in names)

    def _watch(self) -> None:
        if self._is("rst"):
            self.begun = None
        else:
            self._note_fate()
            self._check_writes()
            used = self.store.ring.in_use
            if self.released:
                frame = self.held.popleft()
                self._check_pixels(frame)
                self.store.ring.release()
            if self._is("bad_o"):
                self._note_bad()
            self.quiet = self.quiet + 1 if self.store.ring.in_use == used else 0
            if self._is("m_axis_frame_tvalid", "m_axis_frame_tready"):
                self._note_event()
            if self._is("idle_o"):
                assert not self.store.ring.in_use, "idle while a slot is in use"
                if not self._is("armed_i"):
                    self.store.ring.restart()
        self._note_beat()

    def _note_beat(self) -> None:
        """A frame that begins during a reset, or did before one, is nothing."""
        if not self._is("s_axis_pixel_tvalid", "s_axis_pixel_tready"):
            return
        if not self.in_packet and self.queued:
            free = self.store.ring.free
            self.begun = (self.queued.popleft(), self._is("armed_i"), free, free and self.quiet >= LATENCY)
        self.in_packet = not self._is("s_axis_pixel_tlast")

    def _note_fate(self) -> None:
        """The frame that began in the cycle before has its slot now, or one of the pulses."""
        lost, ignored = self._is("lost_o"), self._is("ignored_o")
        self.counts["lost"] += lost
        self.counts["ignored"] += ignored
        if self.begun is None:
            assert lost + ignored == 0, "a pulse for no frame"
            return
        frame, armed, free, free_for_long = self.begun
        self.begun = None
        self.frames += 1
        assert ignored == (not armed)
        assert not lost or not free_for_long, "lost while a slot was free"
        assert lost or ignored or free, "a slot is given out while it is in use"
        event = self.store.begin(frame.info, armed, not lost)
        if event:
            self.writing.append(replace(frame, event=event))

    def _check_writes(self) -> None:
        lanes = self.width // 8
        for address, beats in self.memory.bursts[self.bursts :]:
            ends = (address, address + (beats - 1) * lanes)
            assert any(all(map(frame.holds, ends)) for frame in self.writing), f"write to {address:#x}, no frame's own"
        self.bursts = len(self.memory.bursts)

    def _check_pixels(self, frame: Frame) -> None:
        assert frame.event is not None
        assert self.memory.read(frame.event.address, len(frame.pixels)) == frame.pixels

    def _finish_oldest(self) -> Frame:
        frame = self.writing.popleft()
        assert self.store.finish(len(frame.pixels), frame.refused is not None or frame.cut) != frame.bad
        return frame

    def _note_bad(self) -> None:
        self.counts["bad"] += 1
        while not self.writing[0].bad:
            self.whole.append(self._finish_oldest())
        self._finish_oldest()

    def _note_event(self) -> None:
        if not self.whole:
            self.whole.append(self._finish_oldest())
        frame = self.whole.popleft()
        assert frame.event is not None
        assert not frame.bad
        assert now(self.dut.m_axis_frame_tdata) == frame_t(frame.event)
        self._check_pixels(frame)
        start = frame.event.address - self.memory.base
        self.expected[start : start + len(frame.pixels)] = frame.pixels
        self.store.ring.hand_over()
        self.held.append(frame)

    def cut(self) -> None:
        """The store gives up the frame that is coming."""
        self.writing[-1] = replace(self.writing[-1], cut=True)

    async def run(self, cycles: int) -> None:
        for _ in range(cycles):
            await self.step()

    async def taken(self) -> None:
        """Run until the detector has sent everything."""
        await self.until(lambda: not self.pixels.items)
        await self.step()

    async def finish(self) -> None:
        """Run until the last frame is released: all have become what they had to, no other byte has changed."""
        await self.taken()
        self.releases = max(self.releases, 0.1)
        await self.until(lambda: not self.store.ring.in_use, limit=20_000)
        await self.until(lambda: self._is("idle_o"), limit=2 * LATENCY + self.slots)
        await self.run(LATENCY)
        store = self.store
        assert self.counts == {"lost": store.lost, "bad": store.bad, "ignored": store.ignored}
        assert self.frames == len(self.events.items) + sum(self.counts.values())
        ring = slice(GUARD, GUARD + self.slots * self.slot) if store.bad else slice(0, 0)
        self.expected[ring] = self.memory.data[ring]
        assert self.memory.data == self.expected
