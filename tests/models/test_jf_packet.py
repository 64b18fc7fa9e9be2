"""Packets of a real JUNGFRAU: the header byte by byte, and what is no such packet."""

import random
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

from framelane.base.errors import ConfigError, InputError, PacketError
from framelane.models.jungfrau.jf_packet import JfHeader, packets, parse
from framelane.packets.pcap import PcapWriter

FIELDS = {  # name: (offset, struct format), from slsDetectorPackage's table
    "frame_number": (0, "<Q"),
    "exposure": (8, "<I"),
    "packet_number": (12, "<I"),
    "bunch_id": (16, "<Q"),
    "timestamp": (24, "<Q"),
    "module_id": (32, "<H"),
    "row": (34, "<H"),
    "column": (36, "<H"),
    "spec2": (38, "<H"),
    "daq_info": (40, "<I"),
    "spec4": (44, "<H"),
    "detector": (46, "<B"),
    "version": (47, "<B"),
}
IMAGE = np.random.default_rng(3).integers(0, 1 << 16, (512, 1024), np.uint16)


def patched(packet: bytes, **fields: int) -> bytes:
    """Replace fields of a header, by the offsets above."""
    data = bytearray(packet)
    for name, value in fields.items():
        offset, form = FIELDS[name]
        struct.pack_into(form, data, offset, value)
    return bytes(data)


@pytest.mark.parametrize("seed", range(5))
def test_every_field_lies_at_its_offset_little_endian(seed: int) -> None:
    rng = random.Random(seed)
    values = {name: rng.randrange(1 << 8 * struct.calcsize(form)) for name, (_, form) in FIELDS.items()}
    packed = JfHeader(**values).pack()
    assert len(packed) == 48
    assert packed == patched(bytes(48), **values)
    values |= {"packet_number": 127, "detector": 3, "version": 2}
    assert parse(patched(bytes(8240), **values))[0] == JfHeader(**values)


def test_the_packets_of_a_frame_hold_four_rows_each_and_both_interfaces_count_from_0() -> None:
    for interfaces in (1, 2):
        sent = list(packets(IMAGE, JfHeader(7, bunch_id=9), interfaces))
        assert [interface for interface, _ in sent] == [index * interfaces // 128 for index in range(128)]
        for index, (_, packet) in enumerate(sent):
            assert len(packet) == 8240
            header, rows = parse(packet, interfaces)
            assert header == JfHeader(7, packet_number=index % (128 // interfaces), bunch_id=9)
            assert (rows == IMAGE[4 * index : 4 * index + 4]).all()


def test_a_packet_of_two_rows_is_read_as_one_of_four() -> None:
    for interfaces in (1, 2):
        for number in (0, 256 // interfaces - 1):
            head = patched(bytes(48), version=2, detector=3, packet_number=number)
            header, rows = parse(head + IMAGE[6:8].tobytes(), interfaces)
            assert header == JfHeader(0, packet_number=number)
            assert (rows == IMAGE[6:8]).all()
        with pytest.raises(PacketError, match=f"packet number {256 // interfaces}, the last is") as caught:
            parse(patched(bytes(4144), version=2, detector=3, packet_number=256 // interfaces), interfaces)
        assert caught.value.reason == "packet"


@pytest.mark.parametrize(
    ("packet", "interfaces", "reason"),
    [
        (bytes(8239), 1, "size"),
        (bytes(8246), 1, "size"),
        (bytes(4143), 1, "size"),
        (patched(bytes(4144), version=1, detector=3), 1, "version"),
        (b"", 1, "size"),
        (patched(bytes(8240), version=1, detector=3), 1, "version"),
        (patched(bytes(8240), version=2, detector=1), 1, "detector"),
        (patched(bytes(8240), version=2, detector=3, packet_number=128), 1, "packet"),
        (patched(bytes(8240), version=2, detector=3, packet_number=64), 2, "packet"),
        (patched(bytes(8240), version=1, detector=1, packet_number=500), 1, "version"),
        (patched(bytes(8240), version=2, detector=5, packet_number=500), 1, "detector"),
    ],
)
def test_what_is_no_packet_of_a_jungfrau_is_refused_by_the_first_reason(
    packet: bytes, interfaces: int, reason: str
) -> None:
    with pytest.raises(PacketError) as caught:
        parse(packet, interfaces)
    assert caught.value.reason == reason


def test_high_gain_and_storage_cell_are_bits_of_the_daq_info() -> None:
    header = JfHeader(1, daq_info=1 << 31 | 0xB << 8 | 1)
    assert (header.high_gain, header.storage_cell) == (True, 0xB)
    assert not JfHeader(1, daq_info=0xFFFF_FFFE).high_gain


@pytest.mark.parametrize("fields", [{"frame_number": 1 << 64}, {"frame_number": -1}, {"row": 1 << 16}])
def test_a_number_that_does_not_fit_its_field_is_said(fields: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match="cannot be sent"):
        JfHeader(**{"frame_number": 0} | fields).pack()


def test_what_is_no_image_of_a_module_or_no_number_of_interfaces_is_refused() -> None:
    images: list[Any] = [IMAGE[:511], IMAGE.astype(np.int16)]
    for image in images:
        with pytest.raises(InputError, match="a module's image is uint16"):
            next(packets(image, JfHeader(1)))
    with pytest.raises(ConfigError, match="1 or 2 interfaces, not on 3"):
        next(packets(IMAGE, JfHeader(1), 3))


def test_tshark_sees_a_udp_datagram_of_8240_bytes_from_a_little_endian_sender(
    tmp_path: Path, tshark: Callable[[Path, list[str]], list[list[str]]]
) -> None:
    _, packet = next(packets(IMAGE, JfHeader(0x0102030405060708)))
    with PcapWriter(tmp_path / "one.pcap") as capture:
        capture.write(bytes(Ether() / IP(dst="10.0.0.1") / UDP(dport=50001) / packet))
    [[length, payload]] = tshark(tmp_path / "one.pcap", ["udp.length", "udp.payload"])
    assert int(length) == 8248
    assert payload.startswith("0807060504030201")
