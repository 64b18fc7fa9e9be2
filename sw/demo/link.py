"""The wire of a demo: a sender and a soft NIC's port on the same machine, and the session between them."""

import contextlib
import secrets
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import ValidationError

from framelane.base.errors import ConfigError, TransportError
from framelane.base.validation import sentence
from framelane.models.placement.slots import SlotLayout
from framelane.models.roce_tx import wire
from framelane.receiver.transport.packet_port import PacketPort
from framelane.receiver.transport.softnic import Port
from framelane.receiver.transport.udp_port import UdpPort
from framelane.session.session import Session
from framelane.session.session_plan import Node
from framelane.source.sender import PacketSender, UdpSender

_LOOPBACK_IPS = ("127.0.0.2", "127.0.0.1")
_MACS = ("02:00:00:00:00:01", "02:00:00:00:00:02")
"""Locally administered (IEEE 802)."""
_DOCUMENTATION_IPS = ("192.0.2.1", "192.0.2.2")
"""TEST-NET-1 (RFC 5737): addresses of no host, so that no kernel answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkOptions:
    """What the user chose. `port` is the UDP port to listen on, 0 any; `send_interface` None: the same.

    Over `pcie` there is no wire, and the others do not count.
    """

    transport: Literal["udp", "packet", "pcie"] = "udp"
    port: int = 0
    interface: str = "lo"
    send_interface: str | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.port < 1 << 16:
            raise ConfigError(f"UDP port {self.port} does not exist: give 1 to 65535, or 0 for any that is free")


def make_session(options: LinkOptions, **fields: Any) -> Session:
    """A session on this machine; nobody can guess its QPN, rkey, base and first PSN, so foreign packets are refused.

    `fields` are the others of `Session`. Raises ConfigError where they cannot work, with the reason.
    """
    ips = _LOOPBACK_IPS if options.transport == "udp" else _DOCUMENTATION_IPS
    source, receiver = (Node(mac=mac, ip=ip) for mac, ip in zip(_MACS, ips, strict=True))  # type: ignore[arg-type]
    drawn: dict[str, Any] = {
        "qpn": 2 + secrets.randbelow((1 << 24) - 2),
        "psn": secrets.randbits(24),
        "rkey": secrets.randbits(32),
        "base": secrets.randbits(46) << 12,
    }
    # The layout says best what is wrong with it.
    image_bytes = fields["rows"] * fields["columns"] * 2
    if fields["slot_bytes"] is None:
        fields["slot_bytes"] = SlotLayout.needed(image_bytes)
    SlotLayout(fields["n_slots"], fields["slot_bytes"], image_bytes)
    try:
        return Session(
            source=source,
            receiver=receiver,
            src_port=_free_port(*ips) if options.transport == "udp" else 0xC000,
            window_end=fields["n_slots"],
            **drawn,
            **fields,
        )
    except ValidationError as error:
        raise ConfigError(f"there can be no such session: {sentence(error, Session)}") from error


@contextlib.contextmanager
def open_link(options: LinkOptions, session: Session) -> Iterator[tuple[UdpSender | PacketSender, Port]]:
    """The sender and the port that receives from it. TransportError where one cannot be had."""
    with contextlib.ExitStack() as stack:
        if options.transport == "udp":
            port = stack.enter_context(contextlib.closing(UdpPort(session, options.port)))
            yield stack.enter_context(UdpSender(session, port.address[1])), port
        else:
            receiver = stack.enter_context(contextlib.closing(PacketPort(options.interface)))
            yield stack.enter_context(PacketSender(options.send_interface or options.interface)), receiver


def _free_port(host: str, peer: str) -> int:
    """A UDP port of `host` that nobody uses now, and from which `peer` can be reached."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((host, 0))
            probe.connect((peer, wire.ROCE_PORT))
        except OSError as error:
            raise TransportError(
                f"cannot use the loopback address {host}: {error.strerror}: `ip link set lo up`"
            ) from error
        return int(probe.getsockname()[1])
