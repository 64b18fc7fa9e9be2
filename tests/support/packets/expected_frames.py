"""What a receiver must make of the packets that are left, worked out from the packets as they were sent.

By no code of the receiver: a RETH says where its message belongs, a message that has lost a packet ends there
(InfiniBand vol. 1, 9.8.2), and what comes from before the last trailer is of a frame that is over.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import PacketError
from framelane.models.placement.flow import FrameEvent
from framelane.models.placement.slots import FREE_RUNNING
from framelane.models.roce_tx import roce_icrc, wire
from framelane.models.roce_tx.wire import UC, Opcode
from framelane.models.tx import Tx
from framelane.session.session import Session


class Source:
    """A golden transmitter: one of a session's sources, or several that send one after the other.

    `sent` has the packets of every frame that was not dropped, `dropped` counts those that were.
    """

    def __init__(self, session: Session, images: Sequence[NDArray[np.uint16]]) -> None:
        self.session = session
        self.images = images
        self.sent: dict[int, list[bytes]] = {}
        self.offered = 0
        memory = b"".join(image.tobytes() for image in images)
        self._tx = Tx(session.tx_config(), lambda address, length: memory[address : address + length])

    @property
    def dropped(self) -> int:
        return self.offered - len(self.sent)

    def offer(self, window_end: int = FREE_RUNNING) -> list[bytes]:
        """Offer the next frame, with this credit; its packets, none where it was dropped."""
        number = self.offered
        self.offered += 1
        self._tx.bd_gen.window_ends[0] = window_end
        address = number % len(self.images) * self.session.image_bytes
        packets = self._tx.frame(FrameEvent(number, 1000 * number, number + 500, address))
        if packets:
            self.sent[number] = packets
        return packets

    def frames(self, count: int) -> list[bytes]:
        """The packets of the next `count` frames, with credit for all."""
        return [packet for _ in range(count) for packet in self.offer()]

    def image(self, number: int) -> NDArray[np.uint16]:
        return self.images[number % len(self.images)]


@dataclass(eq=False)
class Expected:
    """One frame: which pixels are there, (rows, columns) bool, and whether its trailer is."""

    pixels: NDArray[np.bool_]
    trailer: bool = False

    @property
    def fate(self) -> str:
        if self.trailer and self.pixels.all():
            return "complete"
        return "incomplete" if self.trailer or self.pixels.any() else "missing"


def _begins(packet: bytes, session: Session) -> int:
    """How many packets were before one that begins a message of this QP, but must be refused; else -1."""
    try:
        headers, _ = wire.parse(packet)
    except PacketError:
        return -1
    ours = (headers.src.ip, headers.dst, headers.dest_qpn)
    if ours != (int(session.source.ip), session.receiver.endpoint(), session.qpn) or not roce_icrc.check(packet):
        return -1
    return headers.psn - session.psn & 0xFFFFFF if headers.reth else -1


@dataclass
class Forecast:
    """What comes of the packets `left` of what a source has sent, in a ring with credit for all of it.

    A packet that is not as it was sent counts as refused; where its RETH alone is wrong, it ends the open message.
    """

    source: Source
    left: Iterable[bytes]
    frames: dict[int, Expected] = field(init=False)
    placed: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        source, session = self.source, self.source.session
        order = [(number, packet) for number, packets in source.sent.items() for packet in packets]
        position = {packet: at for at, (_, packet) in enumerate(order)}
        shape = (session.rows, session.columns)
        self.frames = {number: Expected(np.zeros(shape, np.bool_)) for number in range(source.offered)}
        over = following = -1
        """Positions of the last trailer, and of the packet that goes on with the open message."""
        offset = 0
        for packet in self.left:
            at = position.get(packet, -1)
            if at < 0 and _begins(packet, session) > over:
                following = -1
            if at <= over:
                continue
            headers, payload = wire.parse(packet)
            if headers.reth:
                offset = (headers.reth.address - session.base) % session.slot_bytes
            elif at != following:
                following = -1
                continue
            opcode = Opcode(headers.opcode & ~UC)
            following = -1 if opcode.ends else at + 1
            self.placed += 1
            frame = self.frames[order[at][0]]
            if headers.imm is None:
                frame.pixels.reshape(-1)[offset // 2 : (offset + len(payload)) // 2] = True
            else:
                frame.trailer, over = True, at
            offset += len(payload)

    def count(self, fate: str) -> int:
        """Frames of this fate, without those that the source has dropped."""
        return sum(frame.fate == fate for number, frame in self.frames.items() if number in self.source.sent)
