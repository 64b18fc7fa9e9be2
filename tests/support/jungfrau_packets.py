"""A simulated JUNGFRAU's packets for tests, and what a capture of them looks like."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

from framelane.models.jungfrau.jf_packet import HEADER, HEADER_BYTES, JfHeader, packets
from framelane.packets.detector_file import JUNGFRAU, shipped
from framelane.packets.pcap import PcapWriter
from framelane.receiver.detector.packet_batch import PacketBatch
from framelane.receiver.jungfrau.jungfrau_udp import FrameAssembler

Sent = tuple[int, bytes]
"""Stream and UDP payload."""


def raw(number: int, modules: int = 1) -> NDArray[np.uint16]:
    """The words of a frame, (modules * 512, 1024): gain stages G0 and G1, so no code 10."""
    words = np.random.default_rng(number).integers(1, 0x8000, (modules * 512, 1024), np.uint16)
    return words


def sent(number: int, modules: int = 1, interfaces: int = 1, **fields: int) -> list[Sent]:
    """All packets of a frame, module by module, packet by packet."""
    found: list[Sent] = []
    for index, image in enumerate(raw(number, modules).reshape(modules, 512, 1024)):
        header = JfHeader(**{"frame_number": number, "module_id": 100 + index, "timestamp": number * 10} | fields)
        found += [(index * interfaces + at, packet) for at, packet in packets(image, header, interfaces)]
    return found


def halves(packets: list[Sent]) -> list[Sent]:
    """The same rows in packets of 4144 bytes."""
    found: list[Sent] = []
    for stream, packet in packets:
        for part in range(2):
            header = np.frombuffer(packet, HEADER, 1).copy()
            header["packet_number"] = 2 * header["packet_number"] + part
            rows = packet[HEADER_BYTES + part * 4096 :][:4096]
            found.append((stream, header.tobytes() + rows))
    return found


def receive(
    assembler: FrameAssembler, stream: Iterable[Sent], flush: bool = True
) -> list[tuple[int, NDArray[np.uint16], list[int]]]:
    """Feed packets, at most 128 at a time: number, image and packets of the modules of each frame."""
    batch = PacketBatch(shipped(JUNGFRAU))
    found: list[tuple[int, NDArray[np.uint16], list[int]]] = []

    def take(frames: Iterator[Any]) -> None:
        found.extend((frame.number, frame.image.copy(), frame.packets.tolist()) for frame in frames)

    for index, packet in stream:
        batch.add(packet, index)
        if batch.full:
            take(assembler.add(batch))
            batch.n = 0
    take(assembler.add(batch))
    if flush:
        take(assembler.flush())
    return found


def write_capture(path: Path, stream: Iterable[Sent], first_port: int = 50001, first_ns: int | None = None) -> None:
    """A capture with a packet's stream in its UDP port; from `first_ns` on, packets come a microsecond apart."""
    heads: dict[int, bytes] = {}
    with PcapWriter(path, force=True) as capture:
        for number, (index, packet) in enumerate(stream):
            if index not in heads:
                layers = Ether() / IP(dst="10.0.0.1") / UDP(sport=32410, dport=first_port + index, chksum=0)
                heads[index] = bytes(layers / packet)[:42]
            capture.write(heads[index] + packet, 0 if first_ns is None else first_ns + 1000 * number)
