"""When a live JUNGFRAU's frames are over, and what becomes of those that find no slot, no module, or no queue."""

import os
import socket
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from framelane.base.errors import ConfigError, TransportError
from framelane.models.jungfrau.jf_packet import HEADER_BYTES, MODULE_COLUMNS, MODULE_ROWS
from framelane.models.placement.slots import HOLE_WORD
from framelane.packets.detector_file import JUNGFRAU, shipped
from framelane.receiver import Live, receive
from framelane.receiver.detector import detector_transport
from framelane.receiver.detector.detector_stream import DetectorStream, Layout
from framelane.receiver.detector.open_frames import OpenFrames
from framelane.receiver.transport import sockets
from framelane.receiver.transport._recvmmsg import Datagrams
from jungfrau_live import free_ports, live_detector
from jungfrau_packets import halves, raw, sent


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take no pause of a loaded machine for the end of a frame."""
    monkeypatch.setattr(detector_transport, "SILENT_S", 60.0)


@pytest.mark.parametrize("interfaces", [1, 2])
def test_packets_of_two_rows_are_placed_as_those_of_four(interfaces: int, patient: None) -> None:
    with live_detector(2, interfaces) as live:
        live.send([each for number in range(1, 6) for each in halves(sent(number, 2, interfaces))])
    assert live.order == [1, 2, 3, 4, 5]
    assert not any(live.holes.values())
    assert all((live.images[number] == raw(number, 2)).all() for number in live.order)
    assert live.run.counters.placed == live.sent == 5 * 512


def test_a_packet_of_two_rows_writes_no_more_than_its_rows(patient: None) -> None:
    """Before them longer ones came, whose words lie behind it in memory; each comes after the one that follows it."""
    with live_detector(2) as live:
        live.send([each for number in range(1, 3) for each in sent(number, 2)])
        lost = {(0, 7), (1, 255)}
        packets = [each for index, each in enumerate(halves(sent(3, 2))) if divmod(index, 256) not in lost]
        live.send(packets[::-1])
        live.send([each for number in range(4, 8) for each in sent(number, 2)])
        live.until(lambda: 3 in live.images)
    expected = raw(3, 2)
    for module, packet in lost:
        expected[module * MODULE_ROWS + 2 * packet :][:2] = HOLE_WORD
    assert (live.images[3] == expected).all()
    assert live.holes[3] == 2 * 2 * MODULE_COLUMNS


def test_what_was_in_the_memory_before_a_truncated_packet_is_no_frame_to_begin_with() -> None:
    words = np.zeros((8, MODULE_ROWS * MODULE_COLUMNS), np.uint16)
    frames = OpenFrames(8, 1, 100)
    stream = DetectorStream(0, Layout(shipped(JUNGFRAU), 1, 1), words, frames)
    frames.close()
    for number in (11, 9, 10):
        stream._batch.add(sent(number)[0][1], 0)
    assert stream._lowest(0, 3) == 9, "packets may come in any order"
    stream._batch.sizes[1] = HEADER_BYTES // 2
    assert stream._lowest(0, 3) == 10


@pytest.mark.parametrize("skipped", [0, 10], ids=["all come", "one of which a module sends nothing"])
def test_a_slow_detector_s_modules_are_waited_for_also_when_the_ring_has_gone_round(
    skipped: int, patient: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    late_s = 0.0
    monkeypatch.setattr(detector_transport, "monotonic", lambda: time.monotonic() + late_s)
    with live_detector(2, slots=8) as live:
        for number in range(1, 21):
            packets = sent(number, 2)
            live.send([each for each in packets if each[0] == 1 and number != skipped])
            time.sleep(0.01)
            live.send([each for each in packets if each[0] == 0])
            late_s += 20.0  # a frame in 20 s, each slot's next one after 160: a frame is given up after 60
    assert live.order == list(range(1, 21))
    assert {number for number, holes in live.holes.items() if holes} == {skipped} - {0}
    assert live.run.counters.refused["late"] == 0


def test_a_lost_packet_leaves_holes_and_not_the_pixels_of_the_frame_before_in_its_slot(patient: None) -> None:
    """Once a packet in the middle, once the whole share of a module, when each slot has had other frames."""
    lost = {number: (number % 2, 7 * number % 128) for number in range(1, 31)}
    with live_detector(2, slots=8) as live:
        for number in range(1, 36):
            packets = sent(number, 2)
            if number == 20:
                packets = [each for each in packets if each[0] == 1]
            elif number in lost:
                module, packet = lost[number]
                del packets[128 * module + packet]
            live.send(packets)
            live.until(lambda number=number: number - 5 <= len(live.order))
        live.until(lambda: len(live.order) >= 30)
    for number, (module, packet) in lost.items():
        expected = raw(number, 2)
        rows = slice(0, 512) if number == 20 else slice(512 * module + 4 * packet, 512 * module + 4 * packet + 4)
        expected[rows] = HOLE_WORD
        assert (live.images[number] == expected).all(), number
        assert live.holes[number] == (expected == HOLE_WORD).sum()


def test_modules_that_are_apart_by_many_frames_make_the_same_frames(patient: None) -> None:
    frames = [sent(number, 2) for number in range(1, 21)]
    first = [each for frame in frames for each in frame if each[0] == 0]
    second = [each for frame in frames for each in frame if each[0] == 1]
    with live_detector(2) as live:
        live.send([*first[: 128 * 20], *second[: 128 * 20]])
    assert live.order == list(range(1, 21))
    assert not any(live.holes.values())


def test_frames_that_find_no_slot_are_dropped_whole_and_counted_and_the_run_goes_on(patient: None) -> None:
    with live_detector(slots=8) as live:
        live.send(sent(1))
        live.until(lambda: live.order == [1])
        live.pause.clear()
        live.send([each for number in range(2, 31) for each in sent(number)])
        live.pause.set()
        number, end = 31, time.monotonic() + 30
        while live.order[-1] < 31 and time.monotonic() < end:  # the frames that had a slot go first
            live.send(sent(number))
            number += 1
            time.sleep(0.01)
        live.send([each for extra in range(number, number + 3) for each in sent(extra)])
        live.until(lambda: live.order[-1] == number + 2)
    assert live.order[:8] == list(range(1, 9))
    assert all((live.images[each] == raw(each)).all() for each in live.order)
    tally = live.run.tally
    assert tally.holds
    assert tally.sent == number + 2
    assert tally.complete == len(live.order)
    assert tally.dropped_by_host == tally.sent - tally.complete >= 21  # frame 9 has a slot once frame 1 is given back
    assert live.run.counters.refused["slot"] == 128 * tally.dropped_by_host
    assert any("frames were dropped as no slot was free" in note for note in live.run.notes)


def test_a_module_that_never_sends_is_named_and_the_others_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detector_transport, "SILENT_S", 1.0)
    told: list[str] = []
    with live_detector(3) as live:
        live.run.tell = told.append
        live.send([each for number in range(1, 4) for each in sent(number, 3) if each[0] != 1])
        live.until(lambda: len(live.order) == 3 and told)
        line = f"port {live.port + 1} got nothing: module 1"
        live.until(lambda: line in told[-1])
    assert live.run.notes == [line]
    assert live.order == [1, 2, 3]
    for number, image in live.images.items():
        assert (image[512:1024] == HOLE_WORD).all()
        assert (np.delete(image, slice(512, 1024), 0) == np.delete(raw(number, 3), slice(512, 1024), 0)).all()


def test_a_module_that_falls_silent_holds_nobody_up_for_longer_than_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detector_transport, "SILENT_S", 1.0)
    with live_detector(2) as live:
        live.send(sent(1, 2))
        live.send([each for each in sent(2, 2) if each[0] == 0])
        live.until(lambda: live.order == [1, 2], within_s=10)
    assert live.holes == {1: 0, 2: 512 * 1024}
    assert live.run.notes == []


def test_after_silence_numbers_may_begin_anew_at_once_and_stragglers_begin_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(detector_transport, "SILENT_S", 1.0)
    with live_detector() as live:
        live.send([*sent(5), *sent(6)[:100]])
        live.until(lambda: live.order == [5, 6])
        time.sleep(1.5)
        live.send(sent(6)[100:])
        live.send(sent(1))
        live.until(lambda: live.order == [5, 6, 1])
    assert live.run.counters.refused == {"late": 28}
    assert live.holes[1] == 0
    assert (live.images[1] == raw(1)).all()
    assert live.run.tally.missing == 0
    assert live.run.tally.holds


def test_what_the_kernel_has_dropped_is_counted(patient: None) -> None:
    with live_detector() as live:
        live.send(sent(1))
        detector = live.run._wire.detector
        assert detector is not None
        detector.port.sockets[0].setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        with detector._frames.held():
            live.send(sent(2) * 10, wait=False)
        live.until(lambda: live.run.counters.packets + live.run.counters.queue_drops == live.sent)
        sockets.lengthen_queue(detector.port.sockets[0])
        live.sent = live.run.counters.packets
        live.send([each for number in range(3, 8) for each in sent(number)])
    counters = live.run.counters
    assert counters.queue_drops > 0
    assert counters.packets + counters.queue_drops == 128 + 1280 + 5 * 128
    assert live.order[0] == 1
    assert live.order[-1] == 7
    assert live.holes[7] == 0


def test_no_image_is_written_while_somebody_reads_it(patient: None) -> None:
    """Copies of packets that are late, twice, or of frames ahead by whole rings change nothing in a frame."""
    with live_detector(slots=8) as live:
        live.pause.clear()
        live.send(sent(1))
        live.until(lambda: live.order == [1])
        live.send([(stream, packet) for number in (1, 2, 9, 17) for stream, packet in sent(number)])
        frame = live.run._current
        assert frame is not None
        assert (frame.image == raw(1)).all()
        live.pause.set()


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (None, "cannot receive by UDP: Socket operation on non-socket"),
        (ValueError("no"), "packets can no longer be placed: ValueError: no"),
    ],
)
def test_a_port_that_fails_ends_the_run_and_what_came_is_kept(
    error: Exception | None, sentence: str, patient: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(datagrams: Datagrams, sock: socket.socket) -> int:
        assert error is not None
        raise error

    with live_detector() as live, Path(os.devnull).open("rb") as other:
        live.send([*sent(1), *sent(2)[:50]])
        if error is not None:
            monkeypatch.setattr(Datagrams, "receive", fail)
        detector = live.run._wire.detector
        assert detector is not None
        port = detector.port.sockets[0].fileno()
        kept = os.dup(port)
        os.dup2(other.fileno(), port)  # always ready, and no socket
        live.until(lambda: detector._streams[0].error)
        os.dup2(kept, port)
        os.close(kept)
        live.until(lambda: live.run.fault)
        live.until(lambda: live.order == [1, 2])
    assert sentence in live.run.fault
    assert live.holes == {1: 0, 2: 78 * 4096}
    assert live.run.tally.holds


def test_words_of_the_forbidden_gain_code_become_error_words_and_are_told(patient: None) -> None:
    packets = sent(1)
    packets[3] = 0, packets[3][1][:HEADER_BYTES] + np.full(4096, 0x8001, "<u2").tobytes()
    with live_detector() as live:
        live.send(packets)
    assert (live.images[1][12:16] == 0xFFFF).all()
    assert live.holes[1] == 0
    assert live.run.notes == ["4096 words of gain code 10, which became 0xFFFF: a broken module"]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"plan": "plan.toml"}, "knows of no session, link or credit: leave plan out"),
        ({"free_running": True}, "leave free_running out"),
        ({"modules": 0}, "modules 0 cannot be"),
        ({"interfaces": 3}, "1 or 2 interfaces, not on 3"),
        ({"slots": 7}, "slots 7 are too few: give 8 or more"),
        ({"ports": (1, 2, 3), "modules": 2}, "3 ports for 2 streams"),
        ({"ports": (7, 7), "modules": 2}, "not all different"),
        ({"port": 65535, "modules": 2}, "the last is 65535"),
        ({"host": "nowhere"}, "host nowhere is not an IPv4 address"),
        ({"gid_index": 1}, "gid_index is of transport verbs"),
    ],
)
def test_what_cannot_be_is_one_sentence(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        Live(transport="jungfrau", **options)


def test_options_of_a_detector_are_of_no_other_transport() -> None:
    with pytest.raises(ConfigError, match="modules is of transport jungfrau or detector: leave it out with udp"):
        Live(transport="udp", plan=Path("plan.toml"), modules=2)


def test_a_port_that_somebody_holds_is_said() -> None:
    port = free_ports(1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as holder:
        holder.bind(("127.0.0.1", port))
        with pytest.raises(TransportError, match=f"cannot listen on UDP 127.0.0.1:{port}"):
            receive(Live(transport="jungfrau", host="127.0.0.1", port=port))
