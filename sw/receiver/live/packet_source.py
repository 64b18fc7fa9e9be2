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
    """Packets from the capture `path` (pcap). They were sent to the receiver of `session` (a session.json)."""

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
        """What describes the frames, in words for messages."""
        return f"session {self.session}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """Packets from the wire. Raises OptionError (a ConfigError) for options that are wrong or do not fit together.

    `plan` makes a new session; or a soft NIC serves `session` again. A detector's own packets need neither.
    """

    transport: Literal["udp", "packet", "verbs", "pcie", "jungfrau", "detector"]
    """`udp`: a soft NIC on a UDP socket. `packet`: a soft NIC on an interface (AF_PACKET, as root). `verbs`: an RDMA
    device. `pcie`: a board in this host (docs/integrating/pcie_host.md). `jungfrau`: a JUNGFRAU's own packets
    (docs/reference/jungfrau_packets.md). `detector`: packets that `detector` describes (docs/detectors/packets.md)."""
    detector: str | Path | None = None
    """For `detector`: the description of its packets, by the name of one in this package or as a TOML file."""
    plan: Path | SessionPlan | None = None
    """The plan of a new session: a TOML file (docs/howto/receiving.md) or a `SessionPlan`."""
    session: Path | None = None
    """A session.json."""
    publish: Path | None = None
    """File to which the new session is written. It replaces an older session."""
    force: bool = False
    """`publish` also replaces a file of another kind."""
    link_port: int | None = None
    """TCP port of the link, by which sources learn session and credit. 0: any free port; None: 4790."""
    link_tls: bool = False
    """Encrypt the link by TLS, for a link across other networks. A session that had TLS before has it again."""
    max_rate: float = MAX_RATE
    """Highest rate that a source may report, frames/s. A report above it is refused; give twice the detector's rate."""
    interface: str | None = None
    """For `packet`: the interface on which packets arrive."""
    port: int | None = None
    """For `udp`: the UDP port; None: 4791. For a detector: the first of consecutive ports; None: 50001."""
    host: str | None = None
    """IPv4 address to which a detector sends; None: any. This option and those down to `slots` are for `jungfrau` and
    `detector`."""
    ports: tuple[int, ...] = ()
    """The port of each interface of each module, if they are not consecutive."""
    modules: int = 1
    """Modules of the detector, one above the other in the image."""
    interfaces: int | None = None
    """Interfaces of each module, each with its own port. None: the description's first choice; a JUNGFRAU's is 1."""
    slots: int = 64
    """Frames that the ring holds. Other transports take this from the plan."""
    card: OpenCard | None = field(default=None, repr=False, compare=False)
    """For `pcie`: opens the board, for example `driver.vfio.vfio_card.vfio_card("0000:03:00.0")`."""
    device: str | None = None
    """For `verbs`: the RDMA device; None: the one with the receiver's address."""
    gid_index: int | None = None
    polling: bool = False
    """For `verbs`: poll for completions on one core, instead of sleeping until one comes."""
    huge_pages: bool = False
    """Keep the ring in reserved huge pages. For any transport."""
    ring: Literal["host", "gpu"] = "host"
    """For `verbs`: memory in which the frames are placed."""
    free_running: bool = False
    """Give unlimited credit: slots may be overwritten while they are read."""
    frames: int | None = None
    """Number of frames after which the run ends; a few more may come."""
    idle: float | None = None
    """Seconds without a packet after which the run ends."""
    detector_layout: Layout | None = field(init=False, repr=False, compare=False, default=None)
    """The layout of a detector's own packets, if these are received."""

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
                "{max_rate} {0:g} is not a frame rate: give frames per second, above 0 and at most {1:g}",
                self.max_rate,
                _MOST_RATE,
            )
        if self.idle is not None and not self.idle > 0:
            raise OptionError("{idle} {0:g} is not a time to wait: give seconds above 0", self.idle)

    @property
    def detector_ports(self) -> list[int]:
        """UDP ports of a detector, by module and interface; or the ports that all modules share."""
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
            raise OptionError(
                f"{{host}} {self.host} is not an IPv4 address of this machine: see `ip -br addr`"
            ) from None

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
        """The files that are read, with the geometry that the plan names."""
        paths = [path for path in (self.session, self.plan) if isinstance(path, Path)]
        if self.detector is not None and str(self.detector) not in names():
            paths.append(Path(self.detector))
        if isinstance(self.plan, Path):
            with contextlib.suppress(InputError):  # said where the plan is read
                paths += load_metadata(self.plan).files
        return paths

    @property
    def of(self) -> str:
        """What describes the frames, in words for messages."""
        if self.detector_layout is not None:
            return f"detector of {self.modules} modules"
        if self.session is not None:
            return f"session {self.session}"
        return f"plan {self.plan}" if isinstance(self.plan, Path) else "plan"
