"""The model of a described detector's packets, beside what `struct` packs."""

from typing import Any

import numpy as np
import pytest

from framelane.base.errors import ConfigError, InputError, PacketError
from framelane.models.detector.detector_sent import packets, parse
from framelane.packets.detector_file import load_detector, shipped
from made_up_detector import ODD, ODD_SHARES, counts, example, odd


@pytest.fixture
def described(tmp_path: Any) -> Any:
    path = tmp_path / "odd.toml"
    path.write_text(ODD)
    return load_detector(path)


@pytest.mark.parametrize("pixels", [15, 5])
def test_packets_are_those_of_struct_and_are_read_again(pixels: int, described: Any) -> None:
    numbers = {"frame_number": 0x3456, "bunch_id": 0x123456, "board": 0x010203}
    model = list(packets(described, counts(0x123456, (6, 20)), numbers, size=[15, 5].index(pixels)))
    assert model == list(odd(0x123456, pixels))
    for index, (port, packet) in enumerate(model):
        found, words = parse(described, packet)
        number = index % (30 // pixels)
        assert found == numbers | {"packet_number": 1000 + number, "kind": 0xA5}
        share = ODD_SHARES[port]
        rows = counts(0x123456, (6, 20))[share.row : share.row + 3, share.column : share.column + 10]
        sent = (rows[::-1] if share.flipped else rows).reshape(-1)
        assert words.tolist() == sent[number * pixels : (number + 1) * pixels].tolist()


def test_numbers_of_a_big_endian_header_are_read() -> None:
    packet = list(example(0x01020304))[-1][1]
    numbers, words = parse(shipped("example"), packet)
    assert numbers["frame_number"] == 0x01020304
    assert (numbers["packet_number"], numbers["module_number"], numbers["serial"]) == (128, 3, 77)
    assert numbers["timestamp"] == 0x01020304 * 125
    assert words.tolist() == counts(0x01020304, (1024, 512))[-2:].reshape(-1).tolist()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda packet: packet[:-1], "size"),
        (lambda packet: b"", "size"),
        (lambda packet: packet[:2] + b"\0" + packet[3:], "kind"),
        (lambda packet: b"\0\0" + packet[2:], "packet"),
        (lambda packet: (1002).to_bytes(2, "big") + packet[2:], "packet"),
    ],
)
def test_what_is_no_packet_of_the_detector_is_refused_by_the_first_reason(
    change: Any, reason: str, described: Any
) -> None:
    with pytest.raises(PacketError) as caught:
        parse(described, change(next(odd(1))[1]))
    assert caught.value.reason == reason


def test_what_does_not_fit_is_said(described: Any) -> None:
    with pytest.raises(ConfigError, match="cannot be sent"):
        next(packets(described, counts(1, (6, 20)), {"frame_number": 1 << 24}))
    with pytest.raises(InputError, match="a module's image is uint16"):
        next(packets(described, np.zeros((6, 21), np.uint16), {"frame_number": 1}))


@pytest.mark.parametrize(
    ("number", "of", "ahead"),
    [(5, 3, 2), (3, 5, -2), (0, 0xFFFF, 1), (0xFFFF, 0, -1), (0x7FFF, 0, 0x7FFF), (0x8000, 0, -0x8000)],
)
def test_a_frame_number_is_ahead_by_the_shorter_way(number: int, of: int, ahead: int, described: Any) -> None:
    assert described.ahead(number, of) == ahead
