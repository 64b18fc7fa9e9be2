"""What the doctor makes of wrong ICRCs: the mistakes of gateware by name, a flipped bit by its place, else nothing."""

import random
import zlib
from collections.abc import Callable

import pytest

from doctor_cases import examine, make, stream
from framelane.doctor.packets import icrc_mistakes
from framelane.models.roce_tx import roce_icrc

ODD = make(rows=15, columns=33)
PACKET = stream(ODD)[0]
"""An image in one packet, with 2 bytes of pad."""
BODY = PACKET[:-4]


def masked(*unmasked: int, fill: int = 0xFF) -> bytes:
    """IPv4 and what follows, with the fields that count as ones set to `fill`, but for some offsets."""
    data = bytearray(BODY[14:])
    for at in set(roce_icrc.VARIANT) - set(unmasked):
        data[at] = fill
    return bytes(data)


def with_zeros(*offsets: int) -> bytes:
    data = bytearray(masked())
    for at in offsets:
        data[at] = 0
    return bytes(data)


ONES = b"\xff" * 8
RIGHT = zlib.crc32(ONES + masked())
MISTAKES: dict[str, tuple[int, str]] = {
    "high byte first": (int.from_bytes(RIGHT.to_bytes(4, "little"), "big"), "its bytes are sent in reverse order"),
    "bits reversed": (int(f"{RIGHT:032b}"[::-1], 2), "its 32 bits are in reverse order"),
    "no ones": (zlib.crc32(masked()), "the 8 bytes of ones"),
    "zeros for ones": (zlib.crc32(bytes(8) + masked()), "8 bytes of zeros"),
    "seed 0": (zlib.crc32(ONES + masked(), 0xFFFFFFFF), "the seed is 0"),
    "TTL": (zlib.crc32(ONES + masked(8)), "TTL not masked"),
    "IP checksum": (zlib.crc32(ONES + masked(10, 11)), "the second byte of the IP checksum not masked"),
    "resv8a": (zlib.crc32(ONES + masked(32)), "resv8a of the BTH"),
    "nothing masked": (zlib.crc32(ONES + BODY[14:]), "TOS, TTL"),
    "masked by zeros": (zlib.crc32(ONES + masked(fill=0)), "count as zeros, should be ones"),
    "UDP length 0": (zlib.crc32(ONES + with_zeros(24, 25)), "the UDP length counts as zeros"),
    "lengths 0": (zlib.crc32(ONES + with_zeros(2, 3, 24, 25)), "are still 0"),
    "an FCS": (zlib.crc32(BODY), "an FCS, not an ICRC"),
    "no IP": (zlib.crc32(BODY[34:]), "without IP"),
    "payload only": (zlib.crc32(BODY[70:]), "it covers the payload only"),
    "headers only": (zlib.crc32(ONES + masked()[: 70 - 14]), "it does not cover the payload"),
    "no pad": (zlib.crc32(ONES + masked()[:-2]), "it does not cover the pad"),
    "no ones, high byte first": (
        int.from_bytes(zlib.crc32(masked()).to_bytes(4, "little"), "big"),
        "in place of the LRH are missing (seed 0xdebb20e3 is the same); its bytes are sent in reverse order",
    ),
    "zero": (0, "never filled in"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_of_gateware_is_named(name: str) -> None:
    value, text = MISTAKES[name]
    assert value != RIGHT
    found = examine([BODY + value.to_bytes(4, "little")], ODD)
    group = found.groups["icrc-mistake"]
    assert text in group.detail
    if name not in ("no ones, high byte first", "nothing masked"):
        assert ";" not in group.detail, "one mistake explains it"


def test_a_pad_is_there_for_the_mistakes_to_miss() -> None:
    assert BODY[-2:] == b"\0\0"
    assert roce_icrc.check(PACKET)


def test_the_icrc_of_the_packet_before_is_a_pipeline_that_is_one_late() -> None:
    sent = stream(make())
    late = [sent[0], sent[1][:-4] + sent[0][-4:], sent[2][:-4] + sent[1][-4:]]
    found = examine(late, make())
    assert found.groups["icrc-mistake"].count == 2
    assert "one packet late" in found.groups["icrc-mistake"].detail


def test_castagnolis_polynomial_is_recognized() -> None:
    value = 0xFFFFFFFF
    for byte in ONES + masked():
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ 0x82F63B78 if value & 1 else value >> 1
    found = examine([BODY + (value ^ 0xFFFFFFFF).to_bytes(4, "little")], ODD)
    assert "CRC-32C" in found.groups["icrc-mistake"].detail


@pytest.mark.parametrize(("byte", "place"), [(14 + 12, "IP header"), (34, "UDP header"), (46 + 5, "BTH")])
def test_a_flipped_bit_of_a_header_is_found_as_well(byte: int, place: str) -> None:
    bad = bytearray(PACKET)
    bad[byte] ^= 0x10
    detail = examine([bytes(bad)], ODD).groups["icrc-bit-flip"].detail
    assert detail == f"bit 4 of byte {byte} of the frame ({place})"


def test_every_bit_of_the_payload_is_found_where_it_is() -> None:
    session = ODD
    draw = random.Random(2)
    for _ in range(60):
        byte, bit = draw.randrange(70, len(BODY)), draw.randrange(8)
        bad = bytearray(PACKET)
        bad[byte] ^= 1 << bit
        assert f"bit {bit} of byte {byte} " in examine([bytes(bad)], session).groups["icrc-bit-flip"].detail


def test_random_damage_is_not_explained_by_a_mistake() -> None:
    draw = random.Random(5)

    def damaged() -> bytes:
        bad = bytearray(PACKET)
        for at in draw.sample(range(70, len(BODY)), 9):
            bad[at] ^= draw.randrange(1, 256)
        return bytes(bad)

    found = examine([damaged() for _ in range(40)], ODD)
    assert {code for code in found.bad if code.startswith("icrc")} == {"icrc"}


def test_a_mistake_is_known_again_however_many_packets_were_damaged_before() -> None:
    session, draw = make(), random.Random(1)
    sent = stream(session, 30)
    wrong = [packet[:-4] + draw.randbytes(4) for packet in sent[:100]]
    late: Callable[[bytes], bytes] = lambda packet: packet[:-4] + packet[-4:][::-1]  # noqa: E731
    found = examine([late(sent[0]), *wrong[1:], *map(late, sent[100:])], session)
    assert found.groups["icrc-mistake"].count == 51


def damaged(packet: bytes, byte: int, bit: int) -> bytes:
    bad = bytearray(packet)
    bad[byte] ^= 1 << bit
    return bytes(bad)


def test_a_flipped_bit_is_found_in_packets_of_any_length_in_any_order() -> None:
    session = make()
    whole, _, _, rest, trailer = stream(session)[:5]
    found = examine([damaged(p, 80, 3) for p in (trailer, rest, whole, rest, trailer)], session)
    assert found.groups["icrc-bit-flip"].count == 5
    assert {value[: len("bit 3 of byte 80")] for value in found.groups["icrc-bit-flip"].values} == {"bit 3 of byte 80"}


def test_a_difference_that_only_a_longer_packet_can_have_is_no_flipped_bit() -> None:
    """A bit before the packet's beginning is none of it, though a longer packet was seen before."""
    session = make()
    whole, rest = stream(session)[0], stream(session)[3]
    covered = len(rest) - 4 - 14
    before = damaged(whole, len(whole) - 4 - covered - 1, 3)  # one byte further from its end than the other one begins
    difference = int.from_bytes(whole[-4:], "little") ^ int.from_bytes(roce_icrc.append(before[:-4])[-4:], "little")
    wrong = int.from_bytes(rest[-4:], "little") ^ difference
    found = examine([before, rest[:-4] + wrong.to_bytes(4, "little")], session)
    assert found.groups["icrc-bit-flip"].count == 1
    assert found.groups["icrc"].first == 2


@pytest.mark.parametrize(
    ("byte", "place"),
    [
        (26, "IP header"),
        (33, "IP header"),
        (34, "UDP header"),
        (35, "UDP header"),
        (47, "BTH"),
        (53, "BTH"),
        (54, "RETH or ImmDt"),
        (69, "RETH or ImmDt"),
        (70, "byte 0 of the payload or pad"),
        (len(BODY) - 1, f"byte {len(BODY) - 71} of the payload or pad"),
    ],
)
def test_a_flipped_bit_is_placed_in_its_header_up_to_the_last_byte(byte: int, place: str) -> None:
    text = examine([damaged(PACKET, byte, 0)], ODD).groups["icrc-bit-flip"].detail
    assert text == f"bit 0 of byte {byte} of the frame ({place})"


def test_a_flipped_bit_is_found_in_every_packet_of_a_message() -> None:
    session = make(segmentation="message")
    for number, packet in enumerate(stream(session)[:5]):
        sent = stream(session)[:5]
        sent[number] = damaged(packet, len(packet) - 9, 6)
        assert examine(sent, session).groups["icrc-bit-flip"].first == number + 1


def test_the_ways_with_the_fewest_mistakes_are_tried_first() -> None:
    """Each part of an explanation is a mistake, and each field that is not masked; all fields together are one."""
    ways = [(weight, text) for weight, text, _ in icrc_mistakes._ways()]
    assert [weight for weight, _ in ways] == sorted(weight for weight, _ in ways)
    assert ways[0] == (0, "")
    plain = [(weight, text) for weight, text in ways if "not masked" not in text]
    assert all(weight == len([part for part in text.split("; ") if part]) for weight, text in plain)
    masks = [(weight, text) for weight, text in ways if "not masked" in text and ";" not in text]
    one = [text for weight, text in masks if weight == 1]
    fields = max(text.count(", ") for _, text in masks) + 1
    assert sorted(text.count(", ") + 1 for text in one) == [1] * fields + [fields]
