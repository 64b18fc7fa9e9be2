"""Where a command sends packets."""

from dataclasses import dataclass
from typing import Literal

from framelane.base.errors import ConfigError, OptionError
from framelane.models.roce_tx import wire
from framelane.session.session import Session
from framelane.source.sender import PacketSender, UdpSender


@dataclass(frozen=True, slots=True, kw_only=True)
class WireOptions:
    """Where packets go: UDP `port` of the session's receiver, or `interface`; None if not given. Raises ConfigError."""

    transport: Literal["udp", "packet"]
    port: int | None = None
    interface: str | None = None

    def __post_init__(self) -> None:
        if self.transport == "udp" and self.interface is not None:
            raise OptionError("{interface} is of {transport} packet: with udp the session's source.ip decides")
        if self.transport == "packet" and self.port is not None:
            raise OptionError(
                "{port} is of {transport} udp: packets go onto the interface with the port that they have"
            )
        if self.transport == "packet" and self.interface is None:
            raise OptionError("{transport} packet sends onto an interface: give {interface}")
        if self.port is not None and not 1 <= self.port < 1 << 16:
            raise ConfigError(f"UDP port {self.port} does not exist: give 1 to 65535")

    def open(self, session: Session | None, receiver: int = 0) -> UdpSender | PacketSender:
        """The sender; a UDP one needs a session. TransportError where it cannot be had.

        Each further `receiver` of a host listens at the next UDP port.
        """
        if self.interface is not None:
            return PacketSender(self.interface)
        if session is None:
            raise OptionError("a UDP socket needs the session's addresses: give {session}")
        return UdpSender(session, (self.port or wire.ROCE_PORT) + receiver)
