"""`PtpMessages` over Ethernet frames: on Ethernet or in UDP, with or without VLAN tag."""

from collections import Counter
from typing import Protocol

from framelane.base.errors import PacketError
from framelane.models.roce_tx.wire import Endpoint
from framelane.models.time.ptp_frame import Transport, unwrap, wrap
from framelane.models.time.ptp_message import Message, PortIdentity, clock_identity, parse


class StampedFrames(Protocol):
    """What frames come and go by. They are without FCS; stamps are times of the `PtpClock`."""

    def receive(self) -> tuple[bytes, int] | None:
        """The next frame, with its stamp; None where there is none."""

    def send(self, frame: bytes) -> int | None:
        """Send a frame; the stamp of its departure, None where it has none or did not leave."""


class FrameMessages:
    """Messages from and to the station `local`, by one transport and in one VLAN; all others are not heeded.

    `refused` counts what is not a message that we know, by reason; `others`, `ours` what came another way, or from us.
    """

    def __init__(
        self, frames: StampedFrames, local: Endpoint, transport: Transport = "ethernet", tci: int | None = None
    ) -> None:
        self._frames, self._local, self._transport, self._tci = frames, local, transport, tci
        self._identity = PortIdentity(clock_identity(local.mac))
        self.refused: Counter[str] = Counter()

    @property
    def identity(self) -> PortIdentity:
        """Who sends here: the clock of the station's MAC."""
        return self._identity

    def receive(self) -> tuple[Message, int] | None:
        """See `PtpMessages`."""
        while received := self._frames.receive():
            frame, stamp = received
            try:
                packet = unwrap(frame)
                if packet.src.mac == self._local.mac:
                    self.refused["ours"] += 1
                elif (packet.transport, _vlan(packet.tci)) != (self._transport, _vlan(self._tci)):
                    self.refused["others"] += 1
                else:
                    message = parse(packet.payload)
                    return message, stamp if message.kind.is_event else 0
            except PacketError as error:
                self.refused[error.reason] += 1
        return None

    def send(self, message: Message) -> int | None:
        """See `PtpMessages`."""
        return self._frames.send(wrap(message, self._transport, self._local, self._tci))


def _vlan(tci: int | None) -> int:
    return (tci or 0) & 0xFFF
