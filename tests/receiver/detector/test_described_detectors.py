"""Detectors that do not exist, live: what `struct` has packed comes out of a UDP socket as the image it was."""

import random
import struct
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from framelane.base.errors import FramelaneError
from framelane.packets.detector_file import load_detector
from framelane.receiver import Live
from framelane.receiver.detector import detector_transport
from framelane.source.detector_sender import DetectorSender
from jungfrau_live import free_ports, live_detector
from live_recv import FRAMELANE, heard
from made_up_detector import EXAMPLE_COLUMNS, EXAMPLE_ROWS, ODD, Sent, counts, example, odd

RunCli = Callable[..., tuple[int, str, str]]
HOLE = 0x8000


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take no pause of a loaded machine for the end of a frame."""
    monkeypatch.setattr(detector_transport, "SILENT_S", 60.0)


@pytest.fixture
def odd_toml(tmp_path: Path) -> Path:
    path = tmp_path / "odd.toml"
    path.write_text(ODD)
    return path


def test_modules_that_send_to_one_port_come_to_their_places_in_network_byte_order(
    patient: None, tmp_path: Path
) -> None:
    packets = [each for number in range(7, 12) for each in example(number)]
    with live_detector(4, 1, output=tmp_path / "out.h5", detector="example") as live:
        live.send(packets)
    assert live.order == [7, 8, 9, 10, 11]
    assert live.run.counters.placed == len(packets) == live.run.counters.packets
    with h5py.File(tmp_path / "out.h5") as file:
        data = file["entry/data"]
        assert data["detector_frame"][:].tolist() == live.order
        assert data["timestamp_ns"][:].tolist() == [number * 125 * 8 for number in live.order]
        assert data["data"].dtype == np.uint16
        for number, image in zip(live.order, data["data"][:], strict=True):
            assert (image == counts(number, (4 * EXAMPLE_ROWS, EXAMPLE_COLUMNS))).all()


@pytest.mark.parametrize("pixels", [15, 5])
def test_an_odd_header_flipped_shares_and_packets_that_end_inside_a_row(
    pixels: int, patient: None, odd_toml: Path
) -> None:
    packets: list[Sent] = []
    for number in range(1, 9):
        frame = list(odd(number, pixels, modules=2))
        random.Random(number).shuffle(frame)
        packets += frame
    with live_detector(2, 4, detector=odd_toml) as live:
        live.send(packets)
    assert live.order == list(range(1, 9))
    assert all((live.images[number] == counts(number, (12, 20))).all() for number in live.order)
    assert live.run.counters.placed == len(packets) == live.run.counters.packets


def test_the_halves_of_an_eiger_s_module_and_their_ports_are_where_the_description_has_them(patient: None) -> None:
    """A simulated one: packets of 4144 bytes, of which `struct` has packed the header."""
    image = counts(1, (512, 1024))
    left, right, lower = image[:256, :512], image[:256, 512:], image[:255:-1]
    ports = left, right, lower[:, 512:], lower[:, :512]
    packets = [
        (
            port,
            struct.pack("<QIIQQHHHHIHBB", 1, 0, at, 0, 50, port // 2, 0, 0, 0, 0, 0, 1, 2)
            + share[at * 4 :][:4].tobytes(),
        )
        for at in range(64)
        for port, share in enumerate(ports)
    ]
    with live_detector(1, 4, detector="eiger") as live:
        live.send(packets)
    assert (live.images[1] == image).all()
    assert live.run.counters.placed == 256


def test_a_lost_packet_is_holes_in_its_pixels_and_a_smaller_one_brings_what_is_missing(
    patient: None, odd_toml: Path
) -> None:
    part = list(odd(2, 5))[9]  # of port 1, the upper right share, upside down: pixels 15 to 19
    lost = [each for index, each in enumerate(odd(3)) if index != 3]  # of port 1 pixels 15 to 29
    with live_detector(1, 4, detector=odd_toml) as live:
        live.send([*odd(1), part, *odd(2)])
        live.until(lambda: live.order == [1, 2])  # it is whole with its last packet
        live.send([*lost, *odd(4)])
    assert (live.images[2] == counts(2, (6, 20))).all()
    expected = counts(3, (6, 20))
    expected[1, 15:] = HOLE
    expected[0, 10:] = HOLE
    assert (live.images[3] == expected).all()
    assert live.holes == {1: 0, 2: 0, 3: 15, 4: 0}
    counters = live.run.counters
    assert (counters.placed, counters.refused) == (counters.packets, {})
    assert counters.payload_bytes == 2 * (4 * 120 - 15), "nothing is placed twice"


def test_what_is_not_of_the_detector_is_refused_by_the_name_of_the_field(patient: None, odd_toml: Path) -> None:
    def foreign(number: int) -> list[Sent]:
        packet = next(odd(number))[1]
        return [
            (0, b""),
            (0, packet + b"x"),
            (0, packet[:2] + b"\xa4" + packet[3:]),
            (0, struct.pack(">H", 999) + packet[2:]),
            (0, struct.pack(">H", 1002) + packet[2:]),
            (0, packet[:8] + b"abc" + packet[11:]),
            (0, packet),
            (0, packet),
        ]

    with live_detector(1, 4, detector=odd_toml) as live:
        live.send([*odd(1), *foreign(2), *list(odd(2))[1:], *foreign(2), *odd(3)])
    assert live.order == [1, 2, 3]
    assert all((live.images[number] == counts(number, (6, 20))).all() for number in live.order)
    refused = live.run.counters.refused
    assert refused["size"] == refused["packet"] == 4
    assert refused["kind"] == refused["module"] == 2
    assert refused["late"] + refused["duplicate"] == 3
    assert live.run.counters.examples["packet"].startswith(f"of 41 bytes on port {live.port}, frame 2, packet ")
    assert f"module {int.from_bytes(b'abc', 'big')}" in live.run.counters.examples["module"]


def test_a_module_that_there_is_not_and_one_that_is_silent_are_told(
    patient: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(detector_transport, "SILENT_S", 1.0)
    packets = [each for number in range(1, 4) for each in example(number) if each[1][9] not in (1, 3)]
    strange = bytearray(packets[0][1])
    strange[9] = 4
    with live_detector(4, 1, detector="example") as live:
        live.send([*packets, (0, bytes(strange))])
        live.until(lambda: len(live.order) == 3)
    assert live.run.notes == [f"port {live.port} got nothing of modules 1, 3"]
    assert live.run.counters.refused == {"module": 1}
    assert live.run.counters.examples["module"].endswith("frame 1, packet 0, module 4")
    assert (live.images[2].reshape(4, -1)[[1, 3]] == HOLE).all()
    assert (live.images[2].reshape(4, -1)[::2] == counts(2, (1024, 512)).reshape(4, -1)[::2]).all()


def test_a_port_that_gets_nothing_is_named(monkeypatch: pytest.MonkeyPatch, odd_toml: Path) -> None:
    monkeypatch.setattr(detector_transport, "SILENT_S", 1.0)
    with live_detector(2, 4, detector=odd_toml) as live:
        live.send([each for number in (1, 2) for each in odd(number, modules=2) if each[0] != 6])
        live.until(lambda: live.order == [1, 2])
    assert live.run.notes == [f"port {live.port + 6} got nothing: module 1"]


def test_a_pixel_that_would_read_as_a_hole_becomes_its_neighbour_and_is_told(patient: None, odd_toml: Path) -> None:
    packets = list(odd(1))
    packets[2] = packets[2][0], packets[2][1][:11] + struct.pack("<15H", *range(0x7FFF, 0x800E))
    with live_detector(1, 4, detector=odd_toml) as live:
        live.send(packets)
    assert live.holes[1] == 0
    assert live.images[1][2, 10:14].tolist() == [0x7FFF, 0x8001, 0x8001, 0x8002]
    assert live.run.notes == ["1 pixels of 0x8000, which became 0x8001: 0x8000 says that a pixel never came"]


def test_frame_numbers_of_two_bytes_count_on_where_they_begin_with_0_again(patient: None, odd_toml: Path) -> None:
    numbers = range(0xFFFA, 0x1_0006)
    with live_detector(1, 4, detector=odd_toml, slots=8) as live:
        for number in numbers:
            live.send(odd(number))
            live.until(lambda number=number: live.order and live.order[-1] >= number - 3)  # half of the ring is open
    assert live.order == list(numbers)
    assert all((live.images[number] == counts(number, (6, 20))).all() for number in numbers)
    assert live.run.tally.missing == 0
    assert live.run.notes == []


def test_of_two_bytes_a_leap_of_more_than_a_quarter_is_a_new_acquisition(
    monkeypatch: pytest.MonkeyPatch, odd_toml: Path
) -> None:
    monkeypatch.setattr(detector_transport, "SILENT_S", 1.0)
    with live_detector(1, 4, detector=odd_toml) as live:
        live.send([*odd(60_000), *odd(60_001)])
        live.until(lambda: len(live.order) == 2)
        time.sleep(1.5)
        live.send([*odd(10_849), *odd(10_850)])  # 2^14 - 1 further than the next, past 2^16
        live.until(lambda: len(live.order) == 4)
    assert live.order == [60_000, 60_001, 10_849, 10_850]
    assert live.run.tally.missing == 0
    assert live.run.notes == ["1 times the frame numbers began anew"]


def test_what_a_foreign_sender_has_placed_is_holes_again_once_the_port_s_own_is_known(
    patient: None, odd_toml: Path
) -> None:
    """To port 1: the upper right share, upside down."""
    foreign, first, own = list(odd(2, 5, board=9))[7], list(odd(1, 5)), list(odd(2, 5))
    with live_detector(1, 4, detector=odd_toml) as live:
        live.send(first[:1])  # taken before the next: the detector's first number is 1, whichever port is read first
        live.send([foreign, *first[1:], *own[:7], *own[8:], *odd(3, 5)])
    expected = counts(2, (6, 20))
    expected[2, 15:] = HOLE
    assert (live.images[2] == expected).all()
    assert (live.images[1] == counts(1, (6, 20))).all()
    assert live.run.counters.refused == {"module": 1}
    assert live.run.counters.placed == live.sent - 1


def test_a_jungfrau_is_a_description_among_others() -> None:
    short, long = Live(transport="jungfrau", modules=2), Live(transport="detector", detector="jungfrau", modules=2)
    assert short.detector_layout == long.detector_layout
    assert short.detector_ports == long.detector_ports == [50001, 50002]
    assert Live(transport="detector", detector="eiger", modules=2).detector_ports == list(range(50001, 50009))
    assert Live(transport="detector", detector="example", modules=2).detector_ports == [50001]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({}, "takes any detector's packets: give detector, which describes them"),
        ({"detector": "nowhere.toml"}, "nowhere.toml: No such file or directory: give a file, or one of eiger"),
        ({"detector": "eiger", "interfaces": 2}, "a module of EIGER sends on 4 interfaces, not on 2"),
        ({"detector": "eiger", "modules": 65}, "modules 65 cannot be"),
        ({"detector": "example", "modules": 2, "ports": (1, 2)}, "2 ports for 1 streams"),
        ({"detector": "eiger", "plan": "plan.toml"}, "a detector knows of no session"),
    ],
)
def test_options_that_cannot_be_are_one_sentence(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(FramelaneError, match=sentence):
        Live(transport="detector", **options)


def test_the_command_receives_what_the_sender_of_any_description_sends(
    odd_toml: Path, run_cli: RunCli, tmp_path: Path
) -> None:
    port, output = free_ports(8), tmp_path / "out.h5"
    detector = "--detector", odd_toml, "--modules", 2, "--port", port
    options = *detector, "--host", "127.0.0.1", "--frames", 5, "--expect", 5, "--idle", 60
    command = [*FRAMELANE, "recv", "--transport", "detector", "--output", output, *options]
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True) as process:
        heard(process, process.stdout, f"listening on UDP 127.0.0.1:{port}, ", f"{port + 7} for odd, 12 x 20 pixels")
        sender = *detector, "--frames", 5, "--rate", 50, "--seed", 3, "--size", 21
        assert run_cli("jungfrau", "send", "127.0.0.1", *sender)[0] == 0
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 0, out
    assert "240 packets, 240 of them placed in the ring" in " ".join(out.split())
    rng = np.random.default_rng(3)
    with h5py.File(output) as file:
        for image in file["entry/data/data"][:]:
            assert (image == rng.integers(0, 4096, (12, 20), np.uint16)).all()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--detector", "example", "--calibration", "c.h5"), "--calibration is of the simulated JUNGFRAU"),
        (("--size", 4000), "--size 4000 is none of this detector: give 8240 or 4144"),
        (("--interfaces", 3), "1 or 2 interfaces, not on 3"),
        (("--detector", "nothing"), "give a file, or one of eiger, example, jungfrau"),
    ],
)
def test_what_a_sender_cannot_send_is_one_sentence(options: tuple[object, ...], sentence: str, run_cli: RunCli) -> None:
    status, out, err = run_cli("jungfrau", "send", "127.0.0.1", "--frames", 1, *options)
    assert (status, out) == (2, "")
    assert sentence in " ".join(err.split())


@pytest.mark.parametrize("pixels", [15, 5])
def test_the_sender_packs_what_struct_packs(pixels: int, odd_toml: Path) -> None:
    described = load_detector(odd_toml)
    size = [15, 5].index(pixels)
    with DetectorSender("127.0.0.1", 50001, 2, packets=described, size=size) as sender:
        frame = sender.prepare(counts(0x1234567, (12, 20)))
        frame.stamp(0x1234567, 0x1234567, 0, 0)
    assert sorted(zip(frame.streams, map(bytes, frame.rows), strict=True)) == sorted(
        (stream, packet[:8] + (stream // 4).to_bytes(3, "big") + packet[11:])
        for stream, packet in odd(0x1234567, pixels, modules=2)
    )
    with DetectorSender("127.0.0.1", 50001, 4, packets=load_detector("example")) as sender:
        frame = sender.prepare(counts(9, (1024, 512)), serial=77)
        frame.stamp(9, 0, 9000, 0)
    assert list(zip(frame.streams, map(bytes, frame.rows), strict=True)) == list(example(9))
