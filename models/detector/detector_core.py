"""A detector's own packets in, WRITEs into the slots of a ring out: what the gateware makes of frames on its line."""

from collections import Counter
from collections.abc import Iterator

from framelane.models.detector.det_correct import DetCorrect
from framelane.models.detector.det_header import DetFate, DetHeader
from framelane.models.detector.det_place import DetPlace, Target
from framelane.models.detector.det_send import Write, writes
from framelane.models.detector.udp_match import match
from framelane.models.roce_tx.wire import Endpoint


class DetectorCore:
    """The block `detector_core` with room for everything: `fates` counts what becomes of its packets.

    With `correct` they are corrected on their way.
    """

    def __init__(
        self, header: DetHeader, target: Target, local: Endpoint, first_port: int, correct: DetCorrect | None = None
    ) -> None:
        self.header, self.target, self.correct = header, target, correct
        self._local, self._first_port = local, first_port
        of = header.of.header
        self._ports = 1 if of.module_number else header.modules * header.interfaces
        self.place = DetPlace(
            *(target, header.modules, header.packets, header.packet_bytes),
            frame_bits=8 * of.frame_number.width,
            unit_ns=of.timestamp.unit_ns if of.timestamp else 1,
        )
        self.fates: Counter[DetFate] = Counter()

    def take(self, frame: bytes, bad: bool = False) -> list[Write]:
        """What is sent for an Ethernet frame without FCS; `bad`: the MAC has found its FCS wrong, or has cut it."""
        datagram = match(frame, self._local, self._first_port, self._ports)
        if datagram is None:
            return []
        head = self.header.read(datagram)
        if isinstance(head, DetFate):
            self.fates[head] += 1
            return []
        pixels, whole = self.header.pixels(datagram.payload)
        fate, items = self.place.packet(head, bad or not whole)
        self.fates[fate] += 1
        if self.correct:
            pixels = self.correct.pixels(head, pixels)
        sizes = self.header.packet_bytes, self.header.packets * self.header.packet_bytes
        return [write for item in items for write in writes(item, pixels, bad or not whole, self.target, *sizes)]

    def flush(self) -> Iterator[Write]:
        """What is sent when all frames are ended."""
        sizes = self.header.packet_bytes, self.header.packets * self.header.packet_bytes
        for item in self.place.flush():
            yield from writes(item, b"", False, self.target, *sizes)
