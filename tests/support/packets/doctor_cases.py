"""For tests of the doctor: sessions, streams, the diagnosis, and what the responder does with the same packets."""

import random
import socket
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import PacketError
from framelane.doctor.cause import Placer
from framelane.doctor.diagnosis import Doctor
from framelane.doctor.gathered import Diagnosis, Group
from framelane.models.placement.slots import SlotLayout
from framelane.models.roce_tx import wire
from framelane.models.tx import tx
from framelane.receiver.transport.responder import Responder
from framelane.session.session import Session
from framelane.source.impairments import packet_fields


def make(**changes: Any) -> Session:
    """Make a session between two hosts: 4 slots of 16 x 100 pixels, 3 packets and a rest each; the PSN wraps."""
    fields: dict[str, Any] = {
        "source": {"mac": "02:00:00:00:00:01", "ip": "10.0.0.1"},
        "receiver": {"mac": "02:00:00:00:00:02", "ip": "10.0.0.2"},
        "qpn": 0x12345,
        "psn": 0xFFFFFE,
        "rkey": 0xCAFEF00D,
        "base": 0x7F12_3456_7000,
        "mtu": 1024,
        "n_slots": 4,
        "rows": 16,
        "columns": 100,
    } | changes
    fields.setdefault("window_end", fields["n_slots"])
    image_bytes = fields["rows"] * fields["columns"] * 2
    fields.setdefault("slot_bytes", SlotLayout.needed(image_bytes, fields.get("sources", 1)))
    return Session(**fields)


def stream(session: Session, frames: int = 4, source: int = 0) -> list[bytes]:
    """The golden transmitter's packets of random images."""
    share = session.image_bytes // session.sources
    words = np.random.default_rng(source).integers(0, 0x8000, (frames, session.sources, share // 2), np.uint16)
    return tx([image.tobytes() for image in words], session.tx_config(source))


@dataclass(frozen=True)
class Examined:
    """A diagnosis, and who places each packet."""

    diagnosis: Diagnosis
    placed: list[Placer]

    @property
    def groups(self) -> dict[str, Group]:
        return {group.cause.code: group for group in self.diagnosis.groups}

    @property
    def bad(self) -> set[str]:
        """What makes the exit status 1."""
        return {group.cause.code for group in self.diagnosis.faults}


def examine(packets: Iterable[bytes], session: Session, placer: Placer | None = None) -> Examined:
    """Diagnose packets, a microsecond apart."""
    doctor = Doctor(session, placer)
    placed = [doctor.take(number, number * 1000, packet) for number, packet in enumerate(packets, 1)]
    return Examined(doctor.finish(), placed)


def respond(packets: Sequence[bytes], session: Session) -> list[bool]:
    """Which packets the soft NIC's responder places."""
    responder = Responder(np.zeros(session.layout.ring_bytes, np.uint8), session)
    result = []
    for packet in packets:
        before = responder.counters.placed
        responder.receive(packet)
        result.append(responder.counters.placed > before)
    return result


_EDGES = (0, 1, 3, 4, 63, 64, 1020, 1023, 1024, 1025, 1028, 2048, 3200, 4096, (1 << 31) + 1, (1 << 64) - 4)


def change(packet: bytes, session: Session, draw: random.Random, sealed: bool = True) -> bytes:
    """Another value in one header field; `sealed`: checksums and ICRC are right for it."""
    name = draw.choice(packet_fields.NAMES)
    old = packet_fields.read(packet, name)
    bits = packet_fields.width(name)
    if old is None or not bits:
        return packet
    near = old + draw.choice((-1024, -4, -1, 1, 4, 1024))
    value = draw.choice((near, old ^ 1 << draw.randrange(bits), draw.getrandbits(bits), draw.choice(_EDGES)))
    if name == "bth.opcode":
        value = draw.choice((0x26, 0x27, 0x28, 0x29, 0x2A, 0x2B, value))
    if name == "reth.va":
        value = draw.choice(
            (session.base + draw.choice(_EDGES), session.base + session.layout.ring_bytes - 1024, value)
        )
    changed = packet_fields.write(packet, name, value)
    return packet_fields.seal(changed, name) if sealed else changed


def impaired(packets: Sequence[bytes], session: Session, draw: random.Random, cut: bool = True) -> list[bytes]:
    """The packets after some accidents: fields changed, lost, doubled, moved, cut (if `cut`), damaged."""
    sent = list(packets)
    for _ in range(draw.randrange(1, 5)):
        at = draw.randrange(len(sent))
        match draw.randrange(8):
            case 0:
                del sent[at]
            case 1:
                sent.insert(draw.randrange(len(sent)), sent[at])
            case 2:
                sent.insert(draw.randrange(len(sent)), sent.pop(at))
            case 3 if cut:
                sent[at] = sent[at][: draw.randrange(len(sent[at]))] + bytes(draw.choice((0, 0, 7)))
            case 4:
                damaged = bytearray(sent[at])
                damaged[draw.randrange(len(damaged))] ^= 1 << draw.randrange(8)
                sent[at] = bytes(damaged)
            case _:
                sent[at] = change(sent[at], session, draw, sealed=draw.random() < 0.9)
        if len(sent) < 2:
            return list(packets)
    return sent


def written(packets: Sequence[bytes], placed: Sequence[bool], ring: NDArray[np.uint8], base: int) -> None:
    """Write what those packets carry that are placed, where their messages say."""
    at = 0
    for packet, good in zip(packets, placed, strict=True):
        if not good:
            continue
        try:
            headers, payload = wire.parse(packet)
        except PacketError as error:
            raise AssertionError(f"a packet that cannot be read is said to be placed: {error}") from error
        if headers.reth:
            at = headers.reth.address - base
        ring[at : at + len(payload)] = np.frombuffer(payload, np.uint8)
        at += len(payload)


def send(interface: str, frames: list[bytes], delay_s: float = 0.2) -> threading.Thread:
    """Send raw frames in the background, from this thread's network namespace."""
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    sock.bind((interface, 0))

    def run() -> None:
        time.sleep(delay_s)
        for frame in frames:
            sock.send(frame)
        sock.close()

    thread = threading.Thread(target=run)
    thread.start()
    return thread
