"""Where each packet of a detector goes in memory, by the frame, module and packet that it names.

Two frames of a module may be under way: its newest, and the one before. A frame is over when all of its packets are
there, when one of a frame comes that is two ahead, or when nothing has come for a time.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum

from framelane.models.detector.det_header import DetFate, Head
from framelane.models.placement.slots import FREE_RUNNING

_MASK = (1 << 64) - 1


class FrameState(IntEnum):
    """What is known of a module's frame that may be under way."""

    FREE = 0
    """Nothing of it has come."""
    OPEN = 1
    OVER = 2
    DROPPED = 3
    """There was no credit for it."""


class Kind(IntEnum):
    """What is done for a packet."""

    PIXELS = 0
    DROP = 1
    HOLES = 2
    END = 3


@dataclass(frozen=True, slots=True)
class End:
    """A frame of a module that is over. Bit p of `mask`: packet p has been placed."""

    module_number: int
    slot: int
    frame_number: int
    timestamp_ns: int
    bunch_id: int
    detector_frame: int
    frames_dropped: int
    packets: int
    mask: int


@dataclass(frozen=True, slots=True)
class Item:
    """`address` is that of the pixels, or of the frame's slot with an end."""

    kind: Kind
    address: int
    end: End | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where frames go: a ring of `1 << slots_log2` slots of `slot_bytes`, a multiple of 4096, from `base` on.

    `first` is the detector's number of frame 0, None for that of the first packet that is placed; a number more than
    `reach` ahead of the module's newest is none. Mask and trailer of module m lie 64 * m bytes behind the offsets.
    """

    base: int
    slot_bytes: int
    slots_log2: int
    first: int | None
    mask_offset: int
    trailer_offset: int
    reach: int = 100_000
    first_source: int = 0
    qp: int = 0


@dataclass(slots=True)
class _Frame:
    state: FrameState = FrameState.FREE
    mask: int = 0
    timestamp: int = 0
    bunch_id: int = 0
    identities: dict[int, int] = field(default_factory=dict)


@dataclass(slots=True)
class _Module:
    newest: int = -1
    dropped: int = 0
    frames: list[_Frame] = field(default_factory=lambda: [_Frame(), _Frame()])
    """By the lowest bit of their numbers."""

    def number(self, parity: int) -> int:
        return self.newest - ((self.newest ^ parity) & 1)


class DetPlace:
    """The block `det_place`: `packets` of `packet_bytes` in a module's frame; `unit_ns` of the detector's time."""

    def __init__(
        self, target: Target, modules: int, packets: int, packet_bytes: int, frame_bits: int = 64, unit_ns: int = 100
    ) -> None:
        self.target, self.packets, self.packet_bytes = target, packets, packet_bytes
        self.window_end = FREE_RUNNING
        self._bits, self._unit_ns = frame_bits, unit_ns
        self._first = target.first
        self._modules = [_Module() for _ in range(modules)]

    def packet(self, head: Head, bad: bool) -> tuple[DetFate, list[Item]]:
        """What becomes of a packet, and what is done for it in this order; `bad`: it was not whole at its end."""
        first = head.number if self._first is None else self._first
        module = self._modules[head.module_number]
        ahead = (head.number - first - module.newest) % (1 << self._bits)
        ahead -= (ahead >> self._bits - 1) << self._bits
        number = module.newest + ahead
        fate = self._fate(module, head, number, ahead)
        address = self._slot(number) + (head.module_number * self.packets + head.packet) * self.packet_bytes
        address &= _MASK
        items = [Item(Kind.PIXELS if fate is DetFate.PLACED else Kind.DROP, address)]
        if bad:
            if fate is DetFate.PLACED:
                items.append(Item(Kind.HOLES, address))
            return DetFate.BAD, items
        mine = self._mine(module, number, ahead)
        if fate is DetFate.PLACED or (fate is DetFate.CREDIT and mine is FrameState.FREE):
            if self._first is None:
                self._first = first
            items += self._commit(head, number, ahead, fate)
        return fate, items

    def over(self, module: int, parity: int) -> Item | None:
        """End that frame of a module, None where it is not under way."""
        frame = self._modules[module].frames[parity]
        return self._end(module, parity) if frame.state is FrameState.OPEN else None

    def flush(self) -> Iterator[Item]:
        """End all that are under way."""
        for module in range(len(self._modules)):
            for parity in range(2):
                if item := self.over(module, parity):
                    yield item

    def _slot(self, number: int) -> int:
        return self.target.base + (number & (1 << self.target.slots_log2) - 1) * self.target.slot_bytes

    def _mine(self, module: _Module, number: int, ahead: int) -> FrameState:
        return module.frames[number & 1].state if ahead in (0, -1) else FrameState.FREE

    def _fate(self, module: _Module, head: Head, number: int, ahead: int) -> DetFate:
        if number < 0:
            return DetFate.LATE
        if ahead > self.target.reach:
            return DetFate.NUMBER
        mine = self._mine(module, number, ahead)
        if ahead < -1 or mine is FrameState.OVER:
            return DetFate.LATE
        if mine is FrameState.DROPPED or (mine is FrameState.FREE and number >= self.window_end):
            return DetFate.CREDIT
        frame = module.frames[number & 1]
        if mine is FrameState.OPEN and frame.identities.get(head.port, head.identity) != head.identity:
            return DetFate.FOREIGN
        if mine is FrameState.OPEN and frame.mask >> head.packet & 1:
            return DetFate.DUPLICATE
        return DetFate.PLACED

    def _commit(self, head: Head, number: int, ahead: int, fate: DetFate) -> Iterator[Item]:
        module, parity = self._modules[head.module_number], number & 1
        opens = self._mine(module, number, ahead) is FrameState.FREE
        if ahead > 0:
            newest = module.newest & 1
            if module.frames[1 - newest].state is FrameState.OPEN:
                yield self._end(head.module_number, 1 - newest)
            if ahead > 1 and module.frames[newest].state is FrameState.OPEN:
                yield self._end(head.module_number, newest)
            if ahead > 1:
                module.frames[1 - parity] = _Frame()
            module.newest = number
        if opens:
            module.frames[parity] = _Frame(FrameState.OPEN, 0, head.timestamp, head.bunch_id)
        frame = module.frames[parity]
        if fate is DetFate.CREDIT:
            frame.state = FrameState.DROPPED
            module.dropped += 1
            return
        frame.mask |= 1 << head.packet
        frame.identities[head.port] = head.identity
        if frame.mask == (1 << self.packets) - 1:
            yield self._end(head.module_number, parity)

    def _end(self, of: int, parity: int) -> Item:
        module = self._modules[of]
        frame, number = module.frames[parity], module.number(parity)
        frame.state = FrameState.OVER
        end = End(
            module_number=of,
            slot=number & (1 << self.target.slots_log2) - 1,
            frame_number=number,
            timestamp_ns=frame.timestamp * self._unit_ns & _MASK,
            bunch_id=frame.bunch_id,
            detector_frame=(number + (self._first or 0)) % (1 << self._bits),
            frames_dropped=module.dropped,
            packets=frame.mask.bit_count(),
            mask=frame.mask,
        )
        return Item(Kind.END, self._slot(number) & _MASK, end)
