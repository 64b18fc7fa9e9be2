"""A process that sends the same packets again and again, at a rate that is asked for."""

import contextlib
import multiprocessing
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection

from framelane.models.roce_tx.packet_batch import Batch
from framelane.session.session import Session
from framelane.source.sender import PacketSender, UdpSender

AT_ONCE = 32
"""Packets of one call: with 4096 bytes 0.1 ms of a line of 10 Gb/s."""


@dataclass(frozen=True, slots=True)
class Way:
    """By `interface`, or else from the session's source to UDP `port`; on CPU `core`."""

    session: Session
    core: int
    interface: str | None = None
    port: int = 0


class Pump:
    """The process at the other end of `link`."""

    def __init__(self, link: Connection) -> None:
        self._link = link

    def start(self, count: int, rate: float) -> None:
        """Send `count` packets, `rate` a second (infinite: as fast as it can)."""
        self._link.send((count, rate))

    @property
    def done(self) -> bool:
        """Whether all have left."""
        return self._link.poll()

    def seconds(self) -> float:
        """How long they took; waits for the end."""
        return float(self._link.recv())


@contextlib.contextmanager
def pump(way: Way, packets: list[bytes]) -> Iterator[Pump]:
    """Start the process, in the network of this thread; it ends with the context."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_run, args=(there, way, packets), daemon=True)
    process.start()
    there.close()
    try:
        here.recv()  # it is ready
        yield Pump(here)
    finally:
        here.close()
        process.join(5)
        process.kill()
        process.join()


def _run(link: Connection, way: Way, packets: list[bytes]) -> None:
    os.sched_setaffinity(0, {way.core})
    batches = [Batch.of(packets[at : at + AT_ONCE]) for at in range(0, len(packets) - AT_ONCE + 1, AT_ONCE)]
    sender = PacketSender(way.interface) if way.interface else UdpSender(way.session, way.port)
    with sender, contextlib.suppress(EOFError, BrokenPipeError):
        link.send(None)
        while True:
            count, rate = link.recv()
            link.send(_send(sender, batches, count // AT_ONCE, AT_ONCE / rate))


def _send(sender: PacketSender | UdpSender, batches: list[Batch], calls: int, step_s: float) -> float:
    """So many calls, one every `step_s` seconds; how long they took."""
    start = time.perf_counter()
    for call in range(calls):
        due = start + call * step_s
        while time.perf_counter() < due:
            pass
        sender.send_batch(batches[call % len(batches)])
    return time.perf_counter() - start
