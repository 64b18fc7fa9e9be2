"""Processes that send the packets of a JUNGFRAU's modules, frame after frame, at a rate that is asked for."""

import contextlib
import errno
import math
import multiprocessing
import os
import select
import socket
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from framelane.models.jungfrau.jf_packet import HEADER, MODULE_COLUMNS, MODULE_ROWS, PACKET_BYTES, PACKETS, JfHeader
from framelane.models.jungfrau.jf_packet import packets as packets_of
from framelane.models.roce_tx.packet_batch import Batch
from framelane.source._sendmmsg import Messages

AT_ONCE = 32
"""Packets of one call."""
_AHEAD = 2
"""Frames by which no sender is before another: modules of a detector are exposed together."""


@dataclass(frozen=True, slots=True)
class Share:
    """The share of sender number `index`, on CPU `core`: a module for each UDP port of this machine."""

    index: int
    core: int
    ports: tuple[int, ...]


class Senders:
    """The processes at the other ends of `links`."""

    def __init__(self, links: list[Connection]) -> None:
        self._links = links

    def start(self, frames: int, rate: float) -> None:
        """Send `frames`, `rate` a second (infinite: as fast as they can)."""
        for link in self._links:
            link.send((frames, rate))

    @property
    def done(self) -> bool:
        """Whether all have left."""
        return all(link.poll() for link in self._links)

    def seconds(self) -> float:
        """How long the slowest took; waits for the end."""
        return max(float(link.recv()) for link in self._links)


@contextlib.contextmanager
def senders(shares: list[Share]) -> Iterator[Senders]:
    """Start a process for each share; they end with the context."""
    context = multiprocessing.get_context("spawn")
    at = context.RawArray("q", len(shares))
    with contextlib.ExitStack() as stack:
        links = []
        for share in shares:
            here, there = context.Pipe()
            process = context.Process(target=_run, args=(there, share, at), daemon=True)
            process.start()
            there.close()
            stack.callback(process.join)
            stack.callback(process.kill)
            stack.callback(process.join, 5)
            stack.callback(here.close)
            links.append(here)
        for link in links:
            link.recv()  # it is ready
        yield Senders(links)


def _run(link: Connection, share: Share, at: Any) -> None:
    os.sched_setaffinity(0, {share.core})
    memory = np.stack([_module(number) for number in range(len(share.ports))])
    headers = memory[..., : HEADER.itemsize].view(HEADER)[..., 0]
    calls = [
        _messages(memory, module, first, share.ports[module])
        for first in range(0, PACKETS, AT_ONCE)
        for module in range(len(share.ports))
    ]
    number = 1
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock, contextlib.suppress(EOFError, BrokenPipeError):
        link.send(None)
        while True:
            frames, rate = link.recv()
            start, step = time.perf_counter(), 1 / rate / len(calls) if rate < math.inf else 0.0
            for frame in range(frames):
                at[share.index] = number
                while min(at) < number - _AHEAD:
                    time.sleep(0)
                headers["frame_number"] = number
                for call, messages in enumerate(calls):
                    due = start + (frame * len(calls) + call) * step
                    while step and time.perf_counter() < due:
                        pass
                    _send(sock, messages)
                number += 1
            at[share.index] = number
            link.send(time.perf_counter() - start)


def _module(number: int) -> Any:
    """The packets of a frame, uint8 (128, 8240)."""
    words = np.random.default_rng(number).integers(1, 0x8000, (MODULE_ROWS, MODULE_COLUMNS), np.uint16)
    made = b"".join(packet for _, packet in packets_of(words, JfHeader(0, module_id=number)))
    return np.frombuffer(bytearray(made), np.uint8).reshape(PACKETS, PACKET_BYTES)


def _messages(memory: Any, module: int, first: int, port: int) -> Messages:
    """`AT_ONCE` packets of a module, which are read when they are sent."""
    starts = (module * PACKETS + first + np.arange(AT_ONCE)) * PACKET_BYTES
    batch = Batch(memory.reshape(-1), starts, np.full(AT_ONCE, PACKET_BYTES))
    address = struct.pack("=H", socket.AF_INET) + struct.pack(">H4s8x", port, socket.inet_aton("127.0.0.1"))
    return Messages(batch, 0, address)


def _send(sock: socket.socket, messages: Messages) -> None:
    sent = 0
    while sent < len(messages):
        try:
            sent += messages.send(sock.fileno(), sent)
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.ENOBUFS, errno.EINTR):
                raise
            select.select([], [sock], [], 0.05)
