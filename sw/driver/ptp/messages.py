"""The seam between PTP and the network: messages, and the moments at which they come and go."""

from typing import Protocol

from framelane.models.time.ptp_message import Message, PortIdentity


class PtpMessages(Protocol):
    """One port: it sends to all, and receives what comes. Stamps are times of the `PtpClock` beside it."""

    @property
    def identity(self) -> PortIdentity:
        """Who sends here."""

    def receive(self) -> tuple[Message, int] | None:
        """The next message that has come, with its stamp; None where there is none. The stamp of a general one is 0."""

    def send(self, message: Message) -> int | None:
        """Send an event message; the stamp of its departure, None where it has none, or did not leave."""
