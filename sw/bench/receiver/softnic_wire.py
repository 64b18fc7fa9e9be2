"""The highest rate that loses nothing, with a sender on another core: the soft NIC, and a plain `recv_into`."""

import contextlib
import functools
import os
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

from framelane.base.errors import TransportError
from framelane.bench.own_network import own_network
from framelane.bench.receiver import softnic_packets
from framelane.bench.receiver.lossless import highest
from framelane.bench.receiver.softnic_sender import AT_ONCE, Pump, Way, pump
from framelane.receiver.ring.ring import Ring
from framelane.receiver.transport import sockets
from framelane.receiver.transport.packet_port import PacketPort
from framelane.receiver.transport.softnic import SoftNic
from framelane.receiver.transport.udp_port import UdpPort
from framelane.session.session import Session

SLOTS = 8
TRIAL_S = 1.0
"""Sending of one trial: far more packets than the queues hold."""
STEPS = 5
"""Steps of the search, each of which halves what is uncertain."""
TRIES = 3
_QUIET_S = 0.2
"""So long nothing comes before the rest is called lost."""

Take = Callable[[float], int]
"""Wait at most so many seconds for packets, and take those that are there; how many were taken since the beginning."""


def over_a_network() -> list[dict[str, Any]]:
    """One row a way and size; none where there is one core only, and without AF_PACKET where no network can be made."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        return []
    rows = []
    with contextlib.ExitStack() as stack:
        stack.callback(os.sched_setaffinity, 0, cores)
        try:
            veth = stack.enter_context(own_network())
        except TransportError:
            veth = None
        os.sched_setaffinity(0, {cores[0]})
        for payload in softnic_packets.PAYLOADS:
            of = softnic_packets.session(payload, SLOTS)
            sent = softnic_packets.packets(of)
            if veth:
                rows.append(_row("soft NIC, AF_PACKET", "veth", of, sent, _by_packets(of, veth, cores[1], sent)))
            rows.append(_row("soft NIC, UDP", "loopback", of, sent, _by_udp(of, cores[1], sent)))
            rows.append(_row("recv_into in a Python loop", "loopback", of, sent, _by_recv_into(of, cores[1], sent)))
    return rows


def _row(
    what: str, path: str, of: Session, sent: list[bytes], opened: contextlib.AbstractContextManager[tuple[Take, Pump]]
) -> dict[str, Any]:
    with opened as (take, sender):
        lossless, fastest = highest(functools.partial(_trial, take, sender), TRIAL_S, STEPS, TRIES)
    return {
        "what": what,
        "path": path,
        "payload_bytes": of.mtu,
        "packets_per_s": lossless,
        "gb_per_s": lossless * of.image_bytes * of.n_slots / of.sources / len(sent) / 1e9,
        "sent_per_s": fastest,
    }


@contextlib.contextmanager
def _by_packets(of: Session, veth: tuple[str, str], core: int, sent: list[bytes]) -> Iterator[tuple[Take, Pump]]:
    with _placing(of, PacketPort(veth[1])) as take, pump(Way(of, core, interface=veth[0]), sent) as sender:
        yield take, sender


@contextlib.contextmanager
def _by_udp(of: Session, core: int, sent: list[bytes]) -> Iterator[tuple[Take, Pump]]:
    port = UdpPort(of, 0)
    with _placing(of, port) as take, pump(Way(of, core, port=port.address[1]), sent) as sender:
        yield take, sender


@contextlib.contextmanager
def _placing(of: Session, port: PacketPort | UdpPort) -> Iterator[Take]:
    with SoftNic(port, Ring(of).memory, of) as nic:

        def take(timeout_s: float) -> int:
            nic.poll(timeout_s)
            return nic.counters.placed

        yield take


@contextlib.contextmanager
def _by_recv_into(of: Session, core: int, sent: list[bytes]) -> Iterator[tuple[Take, Pump]]:
    """Datagrams are counted and nothing else."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sockets.lengthen_queue(sock)
        sock.bind((str(of.receiver.ip), 0))
        buffer, count = bytearray(1 << 16), 0

        def take(timeout_s: float) -> int:
            nonlocal count
            if sockets.wait(sock, timeout_s):
                with contextlib.suppress(BlockingIOError):
                    for _ in range(sockets.BATCH):
                        sock.recv_into(buffer, 0, socket.MSG_DONTWAIT)
                        count += 1
            return count

        with pump(Way(of, core, port=sock.getsockname()[1]), sent) as sender:
            yield take, sender


def _trial(take: Take, sender: Pump, count: int, rate: float) -> tuple[float, int]:
    """Send so many packets: how many a second were sent, and how many of them did not come."""
    count = max(1, count // AT_ONCE) * AT_ONCE
    before = came = take(0)
    sender.start(count, rate)
    quiet = time.perf_counter()
    while came - before < count:
        now = take(0.01)
        if now != came:
            came, quiet = now, time.perf_counter()
        elif sender.done and time.perf_counter() - quiet > _QUIET_S:
            break
    return count / sender.seconds(), count - (came - before)
