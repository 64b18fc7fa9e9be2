"""The loop of a live receiver of a detector's own packets: the transport tells what a source and its link would."""

from typing import ClassVar

from framelane.receiver.detector.detector_transport import DetectorTransport
from framelane.receiver.live.live_loop import LiveLoop
from framelane.receiver.live.live_wire import LiveWire
from framelane.receiver.live.packet_source import Live
from framelane.receiver.ring.receiver import ReceivedFrame, Receiver
from framelane.session.attempts import Attempts
from framelane.session.session_link import Report

_GUARDED = {
    "gain_code": "words of gain code 10, which became 0xFFFF: a broken module",
    "hole_word": "pixels of 0x8000, which became 0x8001: 0x8000 says that a pixel never came",
}
"""What became of words that would have read as holes."""


class DetectorLink:
    """Stands for the link: the credit goes to the transport, and nobody reports or goes."""

    reports: ClassVar[dict[int, Report]] = {}
    gone: ClassVar[list[int]] = []

    def __init__(self, detector: DetectorTransport) -> None:
        self._detector = detector
        self.attempts = Attempts()

    @property
    def address(self) -> tuple[str, int]:
        """IP address and UDP port of the first stream."""
        return self._detector.port.addresses[0]

    def publish(self, window_end: int) -> None:
        """Frames below this number have a clean slot."""
        if window_end > self._detector.credit:
            self._detector.credit = window_end
            self._detector.wake()


class DetectorLoop(LiveLoop):
    """A `LiveLoop` of a detector, which goes on for ever and takes no credit."""

    def __init__(self, wire: LiveWire, receiver: Receiver, link: DetectorLink, options: Live) -> None:
        assert wire.detector is not None
        super().__init__(wire, receiver, link, options)
        self._detector = wire.detector

    def notes(self) -> list[str]:
        """What is to be known of the detector, sentence by sentence."""
        detector, tally = self._detector, self.tally()
        lines = self._silence()
        if detector.guarded:
            lines.append(f"{detector.guarded} {_GUARDED[detector.packets.pixels.guard]}")
        if detector.restarts:
            lines.append(f"{detector.restarts} times the frame numbers began anew")
        if tally.dropped_by_host:
            lines.append(
                f"{tally.dropped_by_host} frames were dropped as no slot was free: the receiver is too slow for this "
                "rate, or stood still for longer than the ring lasts: give more slots, or a lower rate"
            )
        return lines

    def _settle(self) -> list[ReceivedFrame]:
        over, dropped = self._detector.told  # before the completions that belong to it are fetched
        return self._receiver.poll(0) + self._receiver.settle(over, dropped)

    def _last(self) -> list[ReceivedFrame]:
        self._detector.ending = True
        return super()._last() + self._receiver.settle(*self._detector.over)

    def _silence(self) -> list[str]:
        """Which modules have not sent, where others have: all of a port's, or some of them."""
        return [
            f"port {port} got nothing{' of' if some else ':'} {'module' if len(modules) == 1 else 'modules'} "
            f"{', '.join(map(str, modules))}"
            for port, modules, some in self._detector.silent
        ]

    def _line(self, rate: float) -> str:
        return "; ".join([super()._line(rate), *self._silence()])
