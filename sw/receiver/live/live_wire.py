"""A live receiver's transport, ring and link."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import Any

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import OptionError
from framelane.models.placement.slots import FREE_RUNNING
from framelane.models.roce_tx import wire
from framelane.receiver.detector.detector_port import DetectorPort
from framelane.receiver.detector.detector_transport import DetectorTransport
from framelane.receiver.live.packet_source import Live
from framelane.receiver.ring.memory import host_memory
from framelane.receiver.ring.ring import Ring
from framelane.receiver.transport.background import Background
from framelane.receiver.transport.packet_port import PacketPort
from framelane.receiver.transport.pcie.card import Card
from framelane.receiver.transport.pcie.transport import PcieTransport
from framelane.receiver.transport.rc_softnic import RcSoftNic
from framelane.receiver.transport.softnic import Port, SoftNic
from framelane.receiver.transport.transport import Transport
from framelane.receiver.transport.udp_port import UdpPort
from framelane.receiver.transport.verbs import VerbsTransport
from framelane.receiver.transport.verbs.nic_counters import NicCounters
from framelane.session.link_key import LinkKey
from framelane.session.link_tls import server_context
from framelane.session.plan_file import load_plan
from framelane.session.publishing import published, published_port
from framelane.session.session import Session
from framelane.session.session_link import PORT
from framelane.session.session_plan import Node, SessionPlan
from framelane.session.session_server import SessionServer

RingMemory = Callable[[Session | SessionPlan], Any]
"""Makes the memory of the ring, an array of numpy or CuPy, uint8."""


@dataclass(frozen=True, slots=True)
class LiveWire:
    """What `open_wire` has opened."""

    session: Session
    ring: Ring
    transport: Background
    nic: NicCounters | None = None
    """The counters of an RDMA device."""
    detector: DetectorTransport | None = None
    """What takes a detector's own packets."""
    card: Card | None = None
    """The board on PCIe of this host."""


@contextmanager
def open_wire(options: Live, memory: RingMemory) -> Iterator[LiveWire]:
    """Open the wire. Nobody hears of its session before it is `served`."""
    if options.detector_layout is not None:
        with _open_detector(options, memory) as wire:
            yield wire
        return
    if options.transport == "pcie":
        with _open_card(options) as wire:
            yield wire
        return
    session, ring, line = _open(options, memory)
    nic = line.nic if isinstance(line, VerbsTransport) else None
    with Background(line, (lambda: nic.writes() or 0) if nic else None) as transport:
        yield LiveWire(session, ring, transport, nic)


@contextmanager
def _open_detector(options: Live, memory: RingMemory) -> Iterator[LiveWire]:
    """Its session is of this receiver alone: it says how large the ring is."""
    host = options.host or "0.0.0.0"
    node = Node(mac="00:00:00:00:00:00", ip=IPv4Address(host))
    detector = options.detector_layout
    assert detector is not None
    rows, columns = detector.shape
    plan = SessionPlan(source=node, receiver=node, n_slots=options.slots, rows=rows, columns=columns)
    session = Session.random(plan, plan.n_slots)
    ring = Ring(session, memory(session), fills_itself=True)
    with (
        DetectorPort(host, options.detector_ports) as port,
        DetectorTransport(port, detector, np.asarray(ring.memory), session.layout) as line,
        Background(line, lambda: line.arrived) as transport,
    ):
        yield LiveWire(session, ring, transport, detector=line)


@contextmanager
def _open_card(options: Live) -> Iterator[LiveWire]:
    """A board of this host writes to memory that it wants in one piece: the ring, and a queue of events behind it."""
    assert options.card is not None
    assert options.plan is not None
    plan = options.plan if isinstance(options.plan, SessionPlan) else load_plan(options.plan)
    if plan.sources > 1:
        raise OptionError("a board on PCIe is one source: leave sources out of the plan, with {transport} pcie")
    session = Session.random(plan, FREE_RUNNING if options.free_running else plan.n_slots)

    def pages(size: int) -> NDArray[np.uint8]:
        return host_memory(size, options.huge_pages)

    with options.card(session, pages) as card:
        ring = Ring(session, card.ring)  # filled with holes, before it may send
        with Background(PcieTransport(card.queue, card, session), lambda: 0) as transport:
            yield LiveWire(session, ring, transport, card=card)


@contextmanager
def served(session: Session, options: Live) -> Iterator[SessionServer]:
    """Open the link, then publish the session: it is served from the moment it can be read.

    A session that is served again keeps the token that is in its file. Where its link is of TLS, which asks for a new
    certificate every time, that is written to the file, as is another port of the link than the file names.
    """
    host, port = str(session.receiver.ip), PORT if options.link_port is None else options.link_port
    old = LinkKey.within(options.session) if options.session else None
    encrypted = options.link_tls or (old is not None and old.certificate is not None)
    tls, certificate = server_context() if encrypted else (None, None)
    key = LinkKey(old.token, certificate) if old else LinkKey.random(certificate)
    known = published_port(options.session) if options.session else None
    with SessionServer(session, host, port, key=key, tls=tls, max_rate=options.max_rate) as server:
        listens = server.address[1]
        renewed = encrypted or known not in (None, listens)
        file = options.session if options.session and renewed else options.publish
        with published(session, file, key, listens, force=options.force):
            yield server


def _open(options: Live, memory: RingMemory) -> tuple[Session, Ring, Transport]:
    if options.plan is None:
        assert options.session is not None
        session = Session.load(options.session)
        return _open_soft_nic(options, session, memory)
    plan = options.plan if isinstance(options.plan, SessionPlan) else load_plan(options.plan)
    window_end = FREE_RUNNING if options.free_running else plan.n_slots
    if options.transport != "verbs":
        return _open_soft_nic(options, Session.random(plan, window_end), memory)
    return _open_verbs(options, plan, window_end, memory)


def _open_soft_nic(options: Live, session: Session, memory: RingMemory) -> tuple[Session, Ring, Transport]:
    reliable = session.service == "RC"
    if reliable and (options.interface is not None or session.sources > 1):
        raise OptionError(
            "a soft NIC serves RC by {transport} udp, and one source, only: choose that, service UC, or {transport} "
            "verbs"
        )
    ring = Ring(session, memory(session))
    port: Port
    if options.interface is not None:
        port = PacketPort(options.interface)
    else:
        port = UdpPort(session, wire.ROCE_PORT if options.port is None else options.port)
        if reliable:
            return session, ring, RcSoftNic(port, np.asarray(ring.memory), session)
    return session, ring, SoftNic(port, np.asarray(ring.memory), session)


def _open_verbs(
    options: Live, plan: SessionPlan, window_end: int, memory: RingMemory
) -> tuple[Session, Ring, Transport]:
    pages = memory(plan)
    transport = VerbsTransport(
        pages,
        plan,
        device=options.device,
        gid_index=options.gid_index,
        completions="polling" if options.polling else "events",
        window_end=window_end,
    )
    return transport.session, Ring(transport.session, pages), transport
