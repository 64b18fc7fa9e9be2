"""Where the packets of a run come from: a capture, or the wire."""

import contextlib
from dataclasses import dataclass, field, fields
from ipaddress import IPv4Address
from pathlib import Path
from typing import Literal

from framelane.base.errors import InputError, OptionError
from framelane.packets.detector_file import JUNGFRAU, load_detector, names
from framelane.receiver.detector.detector_stream import Layout
from framelane.receiver.transport.pcie.card import OpenCard
from framelane.session.plan_file import load_metadata
from framelane.session.report_book import MAX_RATE
from framelane.session.session_plan import SessionPlan

_MOST_RATE = 1e12
"""Frames/s; above any detector's."""
_MOST_MODULES = 64
_FEWEST_SLOTS = 8


@dataclass(frozen=True, slots=True)
class Capture:
    """Packets of the capture `path` (pcap), which were sent to the receiver of `session` (a session.json)."""

    path: Path
    session: Path

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", Path(self.path))
        object.__setattr__(self, "session", Path(self.session))

    @property
    def inputs(self) -> list[Path]:
        """The files that are read."""
        return [self.path, self.session]

    @property
    def of(self) -> str:
        """What says of which kind the frames are, in words."""
        return f"session {self.session}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """Packets from the wire. OptionError (a ConfigError) for what cannot be.

    A new session is made of `plan`, or `session` is served again as it is, by a soft NIC. A detector knows of none.
    """

    transport: Literal["udp", "packet", "verbs", "pcie", "jungfrau", "detector"]
    """A soft NIC on a UDP socket, or on an interface (AF_PACKET, as root), an RDMA device, a board on PCIe of this host
    (docs/integrating/pcie_host.md), a JUNGFRAU's own packets (docs/reference/jungfrau_packets.md), or those of the
    `detector` that is named (docs/detectors/packets.md)."""
    detector: str | Path | None = None
    """A description of packets: one of this package by its name, or a TOML file. Of `detector`."""
    plan: Path | SessionPlan | None = None
    """The kind of a new session: a TOML file (docs/howto/receiving.md), or what it says."""
    session: Path | None = None
    """A session.json."""
    publish: Path | None = None
    """The new session is written to this file, over an older session,"""
    force: bool = False
    """and over a file of another kind."""
    link_port: int | None = None
    """TCP port of the link that tells sources session and credit; 0: any free one, None: 4790."""
    link_tls: bool = False
    """The link is encrypted (TLS), for one that crosses other networks. A session that had TLS before has it again."""
    max_rate: float = MAX_RATE
    """Frames/s that a source can offer at most, at best twice the detector's: a report of more is refused."""
    interface: str | None = None
    """Where packets come in; of `packet`."""
    port: int | None = None
    """UDP port, None: 4791; of `udp`. Of a detector the first of consecutive ones, None: 50001."""
    host: str | None = None
    """IPv4 address on which a detector's packets come in; None: any. Of `jungfrau` and `detector`, as all up to
    `slots`."""
    ports: tuple[int, ...] = ()
    """The port of each interface of each module, where they are not consecutive."""
    modules: int = 1
    """Modules of the detector, one above the other in the image."""
    interfaces: int | None = None
    """On which a module sends, each to its own port; None: as the description has it first, of a JUNGFRAU one."""
    slots: int = 64
    """Frames that the ring holds; others take it from the plan."""
    card: OpenCard | None = field(default=None, repr=False, compare=False)
    """Opens the board, such as `driver.vfio.vfio_card.vfio_card("0000:03:00.0")`; of `pcie`."""
    device: str | None = None
    """RDMA device; None: the one that has the receiver's address. Of `verbs`, as all that follow."""
    gid_index: int | None = None
    polling: bool = False
    """A core looks for completions all the time, instead of sleeping until one comes."""
    huge_pages: bool = False
    """The ring lies in huge pages that are reserved. Of any transport."""
    ring: Literal["host", "gpu"] = "host"
    """Whose memory the frames are placed in."""
    free_running: bool = False
    """Credit for ever: slots may be overwritten while they are read."""
    frames: int | None = None
    """The run ends after so many frames, or a few more."""
    idle: float | None = None
    """It ends when nothing has come for so many seconds."""
    detector_layout: Layout | None = field(init=False, repr=False, compare=False, default=None)
    """Whose packets come, where they are a detector's own."""

    def __post_init__(self) -> None:
        for name in ("plan", "session", "publish"):
            if isinstance(given := getattr(self, name), str):  # as a notebook may have it
                object.__setattr__(self, name, Path(given))
        object.__setattr__(self, "ports", tuple(self.ports))
        needs = {"interface": "packet", "card": "pcie", "port": "udp or jungfrau or detector", "detector": "detector"}
        needs |= dict.fromkeys(("device", "gid_index", "polling", "ring"), "verbs")
        needs |= dict.fromkeys(("host", "ports", "modules", "interfaces", "slots"), "jungfrau or detector")
        for each in filter(lambda each: each.init, fields(self)):
            kind = needs.get(each.name)
            if kind and self.transport not in kind.split() and getattr(self, each.name) != each.default:
                raise OptionError(f"{{{each.name}}} is of {{transport}} {kind}: leave it out with {self.transport}")
        if self.transport in ("jungfrau", "detector"):
            object.__setattr__(self, "detector_layout", self._layout())
            self._check_detector()
        else:
            self._check_session()
        for name in ("port", "link_port"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < 1 << 16:
                raise OptionError(f"{{{name}}} {value} does not exist: give 0 to 65535")
        if self.frames is not None and self.frames < 1:
            raise OptionError("{frames} {0} is too few: give 1 or more", self.frames)
        if not 0 < self.max_rate <= _MOST_RATE:
            raise OptionError(
                "{max_rate} {0:g} is no frame rate: give frames per second, above 0 and at most {1:g}",
                self.max_rate,
                _MOST_RATE,
            )
        if self.idle is not None and not self.idle > 0:
            raise OptionError("{idle} {0:g} is no time to wait: give seconds above 0", self.idle)

    @property
    def detector_ports(self) -> list[int]:
        """UDP ports of a detector in the order of modules, of each its interfaces; or of all modules together."""
        first, layout = 50001 if self.port is None else self.port, self.detector_layout
        return list(self.ports) or list(range(first, first + (layout.streams if layout else 0)))

    def _layout(self) -> Layout:
        if not 1 <= self.modules <= _MOST_MODULES:
            raise OptionError(f"{{modules}} {self.modules} cannot be: give 1 to {_MOST_MODULES}")
        if self.transport == "detector" and self.detector is None:
            raise OptionError(
                "{transport} detector takes any detector's packets: give {detector}, which describes them"
            )
        packets = load_detector(self.detector or JUNGFRAU)
        interfaces = packets.choices[0] if self.interfaces is None else self.interfaces
        packets.check_interfaces(interfaces)
        return Layout(packets, self.modules, interfaces)

    def _check_detector(self) -> None:
        layout = self.detector_layout
        assert layout is not None
        for name in ("plan", "session", "publish", "link_port", "link_tls", "free_running", "max_rate"):
            if getattr(self, name) != type(self).__dataclass_fields__[name].default:
                raise OptionError(f"a detector knows of no session, link or credit: leave {{{name}}} out")
        if self.slots < _FEWEST_SLOTS:
            raise OptionError(f"{{slots}} {self.slots} are too few: give {_FEWEST_SLOTS} or more")
        streams = layout.streams
        if self.ports and (self.port is not None or len(self.ports) != streams):
            raise OptionError(f"{len(self.ports)} ports for {streams} streams: give the first, or each")
        ports = self.detector_ports
        if len(set(ports)) < len(ports):
            raise OptionError("the ports are not all different: give each stream a port of its own")
        if not all(0 <= number < 1 << 16 for number in ports):
            raise OptionError(f"{streams} UDP ports up to {max(ports)} cannot be: the last is 65535")
        try:
            IPv4Address(self.host or "0.0.0.0")
        except ValueError:
            raise OptionError(f"{{host}} {self.host} is no IPv4 address of this machine: see `ip -br addr`") from None

    def _check_session(self) -> None:
        if (self.plan is None) == (self.session is None):
            raise OptionError("a live receiver serves a new session or an old one: give {plan}, or else {session}")
        if self.session is not None and self.transport == "verbs":
            raise OptionError("an RDMA device makes a QP and a region anew every time: give {plan}, not {session}")
        if self.transport == "pcie":
            self._check_card()
        if self.session is not None and (self.publish is not None or self.free_running):
            raise OptionError("{publish} and {free_running} are of a new session: give {plan}, or leave them out")
        if self.ring == "gpu" and self.huge_pages:
            raise OptionError("{huge_pages} are of the host: leave them out with {ring} gpu")
        if self.transport == "packet" and self.interface is None:
            raise OptionError("{transport} packet takes what comes in on an interface: give {interface}")

    def _check_card(self) -> None:
        if self.plan is None:
            raise OptionError("a board on PCIe takes new memory every time: give {plan}, not {session}")
        if self.card is None:
            raise OptionError("{transport} pcie is a board in this host: give {device}, its PCI address, or sim")
        for name in ("publish", "link_port", "link_tls", "max_rate"):
            if getattr(self, name) != type(self).__dataclass_fields__[name].default:
                raise OptionError(f"a board on PCIe is told by its registers, no link is served: leave {{{name}}} out")

    @property
    def inputs(self) -> list[Path]:
        """The files that are read, and the geometry that the plan names."""
        paths = [path for path in (self.session, self.plan) if isinstance(path, Path)]
        if self.detector is not None and str(self.detector) not in names():
            paths.append(Path(self.detector))
        if isinstance(self.plan, Path):
            with contextlib.suppress(InputError):  # said where the plan is read
                paths += load_metadata(self.plan).files
        return paths

    @property
    def of(self) -> str:
        """What says of which kind the frames are, in words."""
        if self.detector_layout is not None:
            return f"detector of {self.modules} modules"
        if self.session is not None:
            return f"session {self.session}"
        return f"plan {self.plan}" if isinstance(self.plan, Path) else "plan"
