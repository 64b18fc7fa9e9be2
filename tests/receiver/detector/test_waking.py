"""A frame is told when it is over, and not when somebody looks the next time."""

import socket
import time
from collections.abc import Iterator

import numpy as np
import pytest

from framelane.models.jungfrau.jf_packet import MODULE_COLUMNS, MODULE_ROWS
from framelane.models.placement.slots import SlotLayout
from framelane.packets.detector_file import JUNGFRAU, shipped
from framelane.receiver.detector import detector_transport
from framelane.receiver.detector.detector_port import DetectorPort
from framelane.receiver.detector.detector_stream import Layout
from framelane.receiver.detector.detector_transport import DetectorTransport
from jungfrau_packets import Sent, sent

LOOK_S, SOON_S = 20.0, 10.0


@pytest.fixture
def detector(monkeypatch: pytest.MonkeyPatch) -> Iterator[DetectorTransport]:
    """Takes one module; nothing is over only because time has passed."""
    monkeypatch.setattr(detector_transport, "SILENT_S", 600.0)
    image_bytes = 2 * MODULE_ROWS * MODULE_COLUMNS
    layout = SlotLayout(16, SlotLayout.needed(image_bytes), image_bytes)
    memory = np.zeros(layout.ring_bytes, np.uint8)
    with (
        DetectorPort("127.0.0.1", [0]) as port,
        DetectorTransport(port, Layout(shipped(JUNGFRAU), 1, 1), memory, layout) as found,
    ):
        yield found


def send(detector: DetectorTransport, packets: list[Sent]) -> None:
    """Send them, and wait until each has been looked at."""
    before, end = detector.arrived, time.monotonic() + 30
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        for at, (_, packet) in enumerate(packets):
            sock.sendto(packet, detector.port.addresses[0])
            while detector.arrived < before + at - 6:  # the shortest queue that a kernel gives
                assert time.monotonic() < end
    while detector.arrived < before + len(packets):
        assert time.monotonic() < end


def begin(detector: DetectorTransport) -> None:
    """Take frame 1: its first packet waits until somebody decides what its number is."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.sendto(sent(1)[0][1], detector.port.addresses[0])
    end = time.monotonic() + 30
    while not detector.arrived:
        detector.poll(0.01)
        assert time.monotonic() < end
    send(detector, sent(1)[1:])
    while not detector.poll(0.01):
        assert time.monotonic() < end


def test_a_frame_that_is_whole_is_told_at_once(detector: DetectorTransport) -> None:
    begin(detector)
    send(detector, sent(2))
    begun = time.monotonic()
    assert [each.imm for each in detector.poll(LOOK_S)] == [1]
    assert time.monotonic() - begun < SOON_S


def test_a_frame_that_is_not_whole_is_told_when_a_packet_of_the_fourth_after_it_comes(
    detector: DetectorTransport,
) -> None:
    begin(detector)
    for number in range(2, 6):
        send(detector, sent(number)[1:])
    assert not detector.poll(0.01), "it could be only late"
    send(detector, sent(6)[1:2])
    begun = time.monotonic()
    assert [each.imm for each in detector.poll(LOOK_S)] == [1]
    assert time.monotonic() - begun < SOON_S
