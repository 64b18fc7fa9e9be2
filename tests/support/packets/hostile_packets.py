"""Packets that are almost right: what the wire, a broken transmitter or somebody hostile may send."""

from collections.abc import Callable

import numpy as np

from framelane.models.roce_tx import roce_icrc, wire
from framelane.models.tx import tx
from framelane.session.session import Session

_INTERESTING = (0x00, 0x01, 0x02, 0x03, 0x10, 0x20, 0x7F, 0x80, 0xFE, 0xFF)
_OPCODES = (*range(0x26, 0x2C), *range(0x06, 0x0C), 0x00, 0x24, 0x2D, 0x31, 0x81)


class HostilePackets:
    """A stream of packets for `session`, from the good packets of its frames: the same `seed`, the same stream."""

    def __init__(self, session: Session, seed: int) -> None:
        self._rng = rng = np.random.default_rng(seed)
        self._session = session
        self._waiting: list[bytes] = []
        self._sent: list[bytes] = []
        self._mutations: tuple[Callable[[bytearray], bytearray], ...] = (
            self._bits, self._bytes_anywhere, self._header_byte, self._opcode, self._word, self._cut, self._longer,
            self._tag, self._pad, self._place, self._length,
        )  # fmt: skip
        self._rate = float(rng.choice([0.02, 0.1, 0.5]))
        """Share of the packets that are changed."""

    def packets(self, count: int) -> list[bytes]:
        """The next ones: frame after frame, some packets lost, doubled, late or early, some changed."""
        rng = self._rng
        found: list[bytes] = []
        while len(found) < count:
            if len(self._waiting) < 40:
                self._waiting += self._frames()
            size = int(rng.integers(1, 40))
            run, self._waiting = self._waiting[:size], self._waiting[size:]
            if rng.random() < self._rate / 2:
                rng.shuffle(run)
            if self._sent and rng.random() < self._rate / 8:
                run = self._sent[: int(rng.integers(len(self._sent)))] + run
            self._sent = run
            for packet in run:
                times = 1 if rng.random() > self._rate / 8 else int(rng.integers(3))
                found += [self._changed(packet) if rng.random() < self._rate else packet] * times
        return found[:count]

    def _frames(self) -> list[bytes]:
        """The packets of the next two frames; sometimes their PSNs jump."""
        rng, session = self._rng, self._session
        packets = tx([rng.bytes(session.image_bytes) for _ in range(2)], session.tx_config())
        jump = int(rng.integers(1 << 24)) if rng.random() < self._rate / 16 else 0
        psn = (session.psn + len(packets) + jump) & 0xFFFFFF
        self._session = session.model_copy(update={"psn": psn})
        return packets

    def _changed(self, packet: bytes) -> bytes:
        """With one to three changes; half of the time the sums are made right again, so that a lie is well told."""
        rng = self._rng
        changed = bytearray(packet)
        for _ in range(int(rng.integers(1, 4))):
            changed = self._mutations[int(rng.integers(len(self._mutations)))](changed)
        return self.sealed(changed) if rng.integers(2) else bytes(changed)

    def sealed(self, packet: bytearray) -> bytes:
        """With lengths, mostly, checksum and ICRC that fit."""
        ip = wire.ip_offset(bytes(packet))
        if len(packet) < ip + 44:
            return bytes(packet)
        if self._rng.integers(4):
            size = len(packet) - ip
            packet[ip + 2 : ip + 4] = size.to_bytes(2, "big")
            packet[ip + 24 : ip + 26] = (size - 20).to_bytes(2, "big")
        packet[ip + 10 : ip + 12] = bytes(2)
        packet[ip + 10 : ip + 12] = wire.ip_checksum(bytes(packet[ip : ip + 20])).to_bytes(2, "big")
        end = ip + int.from_bytes(packet[ip + 2 : ip + 4], "big")
        if not ip + 44 <= end <= len(packet):
            return bytes(packet)
        return roce_icrc.append(bytes(packet[: end - 4])) + bytes(packet[end:])

    def _at(self, packet: bytearray, stop: int | None = None) -> int:
        return int(self._rng.integers(max(1, min(len(packet), stop or len(packet)))))

    def _bits(self, packet: bytearray) -> bytearray:
        if packet:
            packet[self._at(packet)] ^= 1 << int(self._rng.integers(8))
        return packet

    def _bytes_anywhere(self, packet: bytearray) -> bytearray:
        for _ in range(int(self._rng.integers(1, 5)) if packet else 0):
            packet[self._at(packet)] = int(self._rng.integers(256))
        return packet

    def _header_byte(self, packet: bytearray) -> bytearray:
        if packet:
            packet[self._at(packet, 80)] = _INTERESTING[int(self._rng.integers(len(_INTERESTING)))]
        return packet

    def _opcode(self, packet: bytearray) -> bytearray:
        at = wire.ip_offset(bytes(packet)) + 28
        if len(packet) > at:
            packet[at] = _OPCODES[int(self._rng.integers(len(_OPCODES)))]
        return packet

    def _word(self, packet: bytearray) -> bytearray:
        """A word of BTH or RETH becomes a little more or less, or the greatest."""
        at = wire.ip_offset(bytes(packet)) + 28 + 4 * int(self._rng.integers(8))
        if len(packet) >= at + 4:
            step = int(self._rng.choice([1, -1, 4, -4, 256, -256, 4096, -4096, 1 << 31]))
            word = (int.from_bytes(packet[at : at + 4], "big") + step) & 0xFFFFFFFF
            packet[at : at + 4] = word.to_bytes(4, "big") if self._rng.integers(8) else b"\xff" * 4
        return packet

    def _cut(self, packet: bytearray) -> bytearray:
        return packet[: self._at(packet)]

    def _longer(self, packet: bytearray) -> bytearray:
        return packet + self._rng.bytes(int(self._rng.choice([1, 2, 3, 4, 8, 300])))

    def _tag(self, packet: bytearray) -> bytearray:
        """A VLAN tag comes or goes."""
        if packet[12:14] == b"\x81\x00":
            return packet[:12] + packet[16:]
        return packet[:12] + b"\x81\x00" + self._rng.bytes(2) + packet[12:]

    def _place(self, packet: bytearray) -> bytearray:
        """A message goes to the ring's beginning or end, more or less."""
        at = wire.ip_offset(bytes(packet)) + 40
        if len(packet) >= at + 16:
            ring = self._session.layout.ring_bytes
            length = int.from_bytes(packet[at + 12 : at + 16], "big")
            offset = int(self._rng.choice([0, ring // 2, ring - length, ring])) + int(self._rng.integers(-5, 6))
            packet[at : at + 8] = ((self._session.base + offset) % (1 << 64)).to_bytes(8, "big")
        return packet

    def _length(self, packet: bytearray) -> bytearray:
        """A message says that it is longer or shorter than it is."""
        at = wire.ip_offset(bytes(packet)) + 40 + 12
        if len(packet) >= at + 4:
            ring = self._session.layout.ring_bytes
            length = int(self._rng.choice([0, 1, len(packet), ring - 1, ring, ring + 1, 1 << 31, (1 << 32) - 1]))
            packet[at : at + 4] = length.to_bytes(4, "big")
        return packet

    def _pad(self, packet: bytearray) -> bytearray:
        at = wire.ip_offset(bytes(packet)) + 29
        if len(packet) > at:
            packet[at] ^= 0x10 << int(self._rng.integers(2))
        return packet
