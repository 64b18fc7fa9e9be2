"""A live receiver's transport, ring and link, from the options of `framelane recv`."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

import numpy as np

from framelane.cli.publishing import published
from framelane.models import wire
from framelane.models.errors import ConfigError
from framelane.models.plan_file import load_plan
from framelane.models.session import Session
from framelane.models.session_link import PORT
from framelane.models.session_plan import SessionPlan
from framelane.models.slots import FREE_RUNNING
from framelane.receiver.background import Background
from framelane.receiver.packet_port import PacketPort
from framelane.receiver.ring import Ring
from framelane.receiver.session_server import SessionServer
from framelane.receiver.softnic import Port, SoftNic
from framelane.receiver.transport import Transport
from framelane.receiver.udp_port import UdpPort
from framelane.receiver.verbs import VerbsTransport
from framelane.receiver.verbs.nic_counters import NicCounters

RingMemory = Callable[[Session | SessionPlan], Any]
"""Makes the memory of the ring, an array of numpy or CuPy, uint8."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveOptions:
    """What the user chose of a live receiver, which there is with a `transport`. ConfigError for what cannot be.

    A new session comes of `plan`; `session` is served again as it is, by a soft NIC.
    """

    transport: Literal["udp", "packet", "verbs"] | None
    session: Path | None
    plan: Path | None = None
    publish: Path | None = None
    link_port: int | None = None
    interface: str | None = None
    port: int | None = None
    device: str | None = None
    gid_index: int | None = None
    polling: bool = False
    huge_pages: bool = False
    ring: Literal["host", "gpu"] = "host"
    """Whose memory the frames are placed in."""
    free_running: bool = False
    frames: int | None = None
    idle: float | None = None

    def __post_init__(self) -> None:
        needs = {"interface": "packet", "port": "udp"}
        needs |= dict.fromkeys(("device", "gid_index", "polling", "ring"), "verbs")
        for each in fields(self)[2:]:
            option, kind = f"--{each.name.replace('_', '-')}", needs.get(each.name)
            if getattr(self, each.name) == each.default:
                continue
            if self.transport is None:
                raise ConfigError(f"{option} is of a live receiver: give --transport udp, packet or verbs as well")
            if kind not in (None, self.transport):
                raise ConfigError(f"{option} is of --transport {kind}: leave it out with {self.transport}")
        if self.transport is not None:
            self._check_live()
        for name in ("port", "link_port"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < 1 << 16:
                raise ConfigError(f"--{name.replace('_', '-')} {value} does not exist: give 0 to 65535")
        if self.frames is not None and self.frames < 1:
            raise ConfigError(f"--frames {self.frames} is too few: give 1 or more")
        if self.idle is not None and not self.idle > 0:
            raise ConfigError(f"--idle {self.idle:g} is no time to wait: give seconds above 0")

    def _check_live(self) -> None:
        if (self.plan is None) == (self.session is None):
            raise ConfigError("a live receiver serves a new session or an old one: give --plan, or else --session")
        if self.session is not None and self.transport == "verbs":
            raise ConfigError("an RDMA device makes a QP and a region anew every time: give --plan, not --session")
        if self.session is not None and (self.publish is not None or self.free_running):
            raise ConfigError("--publish and --free-running are of a new session: give --plan, or leave them out")
        if self.ring == "gpu" and self.huge_pages:
            raise ConfigError("--huge-pages are of the host: leave them out with --ring gpu")
        if self.transport == "packet" and self.interface is None:
            raise ConfigError("--transport packet takes what comes in on an interface: give --interface")


@dataclass(frozen=True, slots=True)
class LiveWire:
    """What `open_wire` has opened."""

    session: Session
    ring: Ring
    transport: Background
    nic: NicCounters | None = None
    """Of an RDMA device."""


@contextmanager
def open_wire(options: LiveOptions, memory: RingMemory) -> Iterator[LiveWire]:
    """Open the wire. Nobody hears of its session before it is `served`."""
    session, ring, line = _open(options, memory)
    nic = line.nic if isinstance(line, VerbsTransport) else None
    with Background(line, (lambda: nic.writes() or 0) if nic else None) as transport:
        yield LiveWire(session, ring, transport, nic)


@contextmanager
def served(session: Session, options: LiveOptions) -> Iterator[SessionServer]:
    """Open the link, then publish the session: it is served from the moment it can be read."""
    host, port = str(session.receiver.ip), PORT if options.link_port is None else options.link_port
    with SessionServer(session, host, port) as server, published(session, options.publish):
        yield server


def _open(options: LiveOptions, memory: RingMemory) -> tuple[Session, Ring, Transport]:
    if options.plan is None:
        assert options.session is not None
        session = Session.load(options.session)
        return _open_soft_nic(options, session, memory)
    plan = load_plan(options.plan)
    window_end = FREE_RUNNING if options.free_running else plan.n_slots
    if options.transport != "verbs":
        return _open_soft_nic(options, Session.random(plan, window_end), memory)
    return _open_verbs(options, plan, window_end, memory)


def _open_soft_nic(options: LiveOptions, session: Session, memory: RingMemory) -> tuple[Session, Ring, Transport]:
    if session.service != "UC":
        raise ConfigError(f"a soft NIC serves UC, not {session.service}: choose service UC, or --transport verbs")
    ring = Ring(session, memory(session))
    port: Port
    if options.interface is not None:
        port = PacketPort(options.interface)
    else:
        port = UdpPort(session, wire.ROCE_PORT if options.port is None else options.port)
    return session, ring, SoftNic(port, np.asarray(ring.memory), session)


def _open_verbs(
    options: LiveOptions, plan: SessionPlan, window_end: int, memory: RingMemory
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
