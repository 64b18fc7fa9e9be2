"""Impairments of packets: what they do, that exactly that is told, and that a seed repeats it."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from framelane.base.errors import ConfigError, PacketError
from framelane.models.roce_tx import roce_icrc, wire
from framelane.models.tx import tx
from framelane.session.session import Session
from framelane.source.impairments.foreign_packets import FOREIGN_PACKETS
from framelane.source.impairments.impairments import Deed, parse
from framelane.source.impairments.packet_fields import NAMES, is_trailer, read, seal, span, width, write

MakeSession = Callable[..., Session]
MakeImages = Callable[..., list[NDArray[np.uint16]]]
FRAMES, PACKETS = 20, 5


@pytest.fixture
def packets(make_session: MakeSession, make_images: MakeImages) -> list[bytes]:
    """Twenty frames of five packets."""
    session = make_session()
    images = make_images(session, 4)
    return tx([images[n % 4].tobytes() for n in range(FRAMES)], session.tx_config())


def test_the_layout_of_the_fields_is_that_of_the_packets(packets: list[bytes]) -> None:
    """Every field of a packet read by its name, against the packet's own parser."""
    for packet in packets[:PACKETS]:
        headers, payload = wire.parse(packet)
        found = {name: read(packet, name) for name in NAMES}
        assert headers.reth
        assert found == {
            "eth.dst": headers.dst.mac, "eth.src": headers.src.mac, "eth.type": 0x0800,
            "ip.version": 4, "ip.ihl": 5, "ip.tos": 0, "ip.length": len(packet) - 14, "ip.id": 0, "ip.flags": 2,
            "ip.fragment": 0, "ip.ttl": 64, "ip.protocol": 17, "ip.checksum": int.from_bytes(packet[24:26], "big"),
            "ip.src": headers.src.ip, "ip.dst": headers.dst.ip,
            "udp.src": headers.src_port, "udp.dst": 4791, "udp.length": len(packet) - 34, "udp.checksum": 0,
            "bth.opcode": headers.opcode, "bth.se": 0, "bth.m": 1, "bth.pad": 0, "bth.tver": 0, "bth.pkey": 0xFFFF,
            "bth.resv8a": 0, "bth.qpn": headers.dest_qpn, "bth.ack": 0, "bth.resv7": 0, "bth.psn": headers.psn,
            "reth.va": headers.reth.address, "reth.rkey": headers.reth.rkey, "reth.length": len(payload),
            "imm": headers.imm, "payload": int.from_bytes(payload, "big"),
            "icrc": int.from_bytes(packet[-4:], "big"),
        }  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_field_is_written_in_its_own_bits_only(packets: list[bytes], name: str) -> None:
    packet = packets[PACKETS - 1]
    at = span(packet, name)
    assert at
    if name != "payload":
        assert at[1] == width(name)
    start, bits = at
    ones = write(packet, name, -1)
    changed = int.from_bytes(packet, "big") | ((1 << bits) - 1) << len(packet) * 8 - start - bits
    assert ones == changed.to_bytes(len(packet), "big")
    assert write(ones, name, read(packet, name) or 0) == packet


def test_fields_lie_behind_a_vlan_tag(packets: list[bytes]) -> None:
    tagged = packets[0][:12] + bytes.fromhex("81000064") + packets[0][12:]
    for name in set(NAMES) - {"eth.type"}:
        assert read(tagged, name) == read(packets[0], name)


def test_what_is_no_rdma_write_has_no_such_fields(packets: list[bytes]) -> None:
    assert [size for size in range(len(packets[0])) if span(packets[0][:size], "reth.va")] == list(
        range(74, len(packets[0]))
    )
    assert span(write(packets[0], "eth.type", 0x0806), "ip.ttl") is None
    assert span(write(packets[0], "bth.opcode", 0x81), "reth.va") is None
    assert [n for n, packet in enumerate(packets) if is_trailer(packet)] == list(range(4, 100, 5))
    for size in range(60):
        assert seal(packets[0][:size])[14:] is not None


def test_a_sealed_packet_is_right_again_whatever_it_has_in_it(packets: list[bytes]) -> None:
    bad = write(write(write(packets[0], "ip.ttl", 3), "bth.psn", 99), "payload", 5)
    headers, payload = wire.parse(seal(bad))
    assert (headers.ttl, headers.psn, payload[-1]) == (3, 99, 5)
    assert roce_icrc.check(seal(bad))
    with pytest.raises(PacketError):
        wire.parse(bad)


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("drop@2+4", [0, 1, 3, 5, 6, 7]),
        ("duplicate@2", [0, 1, 2, 2, 3, 4, 5, 6, 7]),
        ("duplicate:3@2", [0, 1, 2, 3, 4, 5, 2, 6, 7]),
        ("reorder@2", [0, 1, 3, 2, 4, 5, 6, 7]),
        ("reorder:3@1+2", [0, 3, 4, 1, 5, 2, 6, 7]),
        ("reorder:9@1", [0, 2, 3, 4, 5, 6, 7, 1]),
        ("delay@1", [0, 2, 3, 4, 1, 5, 6, 7]),
        ("delay:2@1", [0, 2, 3, 4, 5, 6, 7, 1]),
        ("delay@4", [0, 1, 2, 3, 4, 5, 6, 7]),
        ("die@3", [0, 1, 2]),
        ("die:1@3", [0, 1, 2, 5, 6, 7]),
        ("drop@2,duplicate@2+3", [0, 1, 3, 3, 4, 5, 6, 7]),
        ("reorder:2@0,drop@1", [2, 0, 3, 4, 5, 6, 7]),
    ],
)
def test_packets_come_out_in_this_order(packets: list[bytes], text: str, order: list[int]) -> None:
    out = list(parse(text)(packets[:8]))
    assert [packets.index(packet) for packet in out] == order


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["corrupt", "forge"])
def test_one_field_has_another_value_and_the_record_says_which(packets: list[bytes], name: str, kind: str) -> None:
    at = 9
    line = parse(f"{kind}:{name}@{at}", seed=5)
    out = list(line(packets))
    assert [n for n in range(len(packets)) if out[n] != packets[n]] == [at]
    old, new = read(packets[at], name), read(out[at], name)
    assert old is not None
    (deed,) = line.record
    if span(out[at], name):
        assert new is not None
        assert new != old
        assert deed.what == f"{name}: " + ("one bit" if name == "payload" else f"{old:#x} became {new:#x}")
    assert (deed.index, deed.frame, deed.kind) == (at, 1, kind)
    wrong = out[at]
    repaired = {"ip.checksum", "icrc"} - {name} if kind == "forge" else set()
    differ = {field for field in NAMES if span(wrong, field) and read(wrong, field) != read(packets[at], field)}
    if name not in ("eth.type", "ip.protocol", "bth.opcode", "bth.pad"):  # else other fields are read elsewhere
        assert {name} <= differ <= {name} | repaired


@pytest.mark.parametrize(
    ("text", "value"), [("bth.psn:7", 7), ("bth.psn:0x10", 16), ("bth.psn:+3", 3), ("bth.psn:-5", 0xFFFFFB)]
)
def test_a_value_can_be_chosen_or_added_to(packets: list[bytes], text: str, value: int) -> None:
    assert read(packets[2], "bth.psn") == 0
    assert read(list(parse(f"forge:{text}@2")(packets))[2], "bth.psn") == value


def test_a_packet_without_the_field_is_left_as_it_is_and_not_recorded(packets: list[bytes]) -> None:
    line = parse("corrupt:imm=1")
    out = list(line(packets))
    assert [n for n in range(len(packets)) if out[n] != packets[n]] == list(range(4, 100, 5))
    assert [deed.index for deed in line.record] == list(range(4, 100, 5))


def test_a_cut_packet_is_a_piece_of_its_beginning(packets: list[bytes]) -> None:
    out = list(parse("truncate=1", seed=3)(packets))
    assert all(14 <= len(cut) < len(whole) for cut, whole in zip(out, packets, strict=True))
    assert all(whole.startswith(cut) for cut, whole in zip(out, packets, strict=True))
    assert len({len(cut) for cut in out}) > 50
    assert [len(cut) for cut in parse("truncate:60=1")(packets)] == [60] * len(packets)


@pytest.mark.parametrize("name", FOREIGN_PACKETS)
def test_a_foreign_packet_comes_behind_and_is_right_in_itself(packets: list[bytes], name: str) -> None:
    line = parse(f"foreign:{name}@3+4", seed=1)
    out = list(line(packets))
    assert out[:4] + out[5:6] + out[7:] == packets
    for foreign in (out[4], out[6]):
        assert foreign not in packets
        if span(foreign, "icrc"):
            assert roce_icrc.check(foreign)
    assert [deed.index for deed in line.record] == [3, 4]
    assert name in line.record[0].what


def test_the_record_accounts_for_every_packet_that_is_not_there(packets: list[bytes]) -> None:
    line = parse("drop=0.1,duplicate=0.1,corrupt:payload=0.1", seed=2)
    out = list(line(packets))
    counts = line.counts
    assert min(counts.values()) > 0
    assert counts == {kind: sum(deed.kind == kind for deed in line.record) for kind in counts}
    assert len(out) == len(packets) - counts["drop"] + counts["duplicate"]
    lost = {deed.index for deed in line.record if deed.kind == "drop"}
    assert {n for n, packet in enumerate(packets) if packet not in out} >= lost
    assert all(deed.frame == deed.index // PACKETS for deed in line.record)


def test_a_share_is_that_share(packets: list[bytes]) -> None:
    line = parse("drop=0.25", seed=8)
    for frame in range(200):
        line.feed(packets, frame)
    assert line.counts["drop"] == pytest.approx(5000, rel=0.05)
    assert parse("drop=1")(packets).__next__ is not None
    assert list(parse("drop=1")(packets)) == []
    assert list(parse("drop=0")(packets)) == packets


def test_the_same_seed_does_the_same_and_another_does_not(packets: list[bytes]) -> None:
    text = "drop=0.05,reorder:3=0.05,corrupt:bth.qpn=0.05,truncate=0.05,foreign=0.05"
    first, again, other = (list(parse(text, seed)(packets)) for seed in (1, 1, 2))
    assert first == again != other


@pytest.mark.parametrize("size", [1, 3, 7, 100])
def test_how_the_stream_is_cut_into_pieces_makes_no_difference(packets: list[bytes], size: int) -> None:
    text = "drop=0.05,reorder:3=0.05,duplicate:9=0.05,corrupt:icrc=0.05,foreign=0.05,die:1@33"
    whole, pieces = parse(text, 4), parse(text, 4)
    out: list[bytes] = []
    for start in range(0, len(packets), PACKETS):
        frame = packets[start : start + PACKETS]
        for at in range(0, PACKETS, size):
            piece = frame[at : at + size]
            out += piece if pieces.spares(len(piece)) else pieces.feed(piece, start // PACKETS)
    assert [*out, *pieces.flush()] == list(whole(packets))
    assert pieces.record == whole.record


def test_a_frame_ends_with_the_trailers_of_all_its_sources(packets: list[bytes]) -> None:
    line = parse("drop@0+9+10+19+20", sources=2)
    list(line(packets))
    assert [deed.frame for deed in line.record] == [0, 0, 1, 1, 2]


def test_who_takes_note_of_the_deeds_keeps_them(packets: list[bytes]) -> None:
    noted: list[Deed] = []
    line = parse("drop=0.5", note=noted.append)
    list(line(packets))
    assert line.record == []
    assert len(noted) == line.counts["drop"] > 0


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", 'there is no "": choose one of drop, duplicate, reorder, corrupt, forge, truncate, delay, foreign, die'),
        ("dorp=0.1", 'impairment "dorp=0.1": there is no "dorp": choose one of drop,'),
        ("drop=0.1,", 'there is no "": choose one of'),
        ("drop", "say how often, drop=0.01 (a share of the packets), or to which packets, drop@17+23"),
        ("drop=2", '"2" is not a share of the packets: give 0 to 1'),
        ("drop=nan", '"nan" is not a share of the packets'),
        ("drop=", '"" is not a share of the packets'),
        ("drop@x", '"x" is not a number from 0 on'),
        ("drop@3+-1", '"-1" is not a number from 0 on'),
        ("drop:3=0.1", '"3" is too much: leave it out'),
        ("reorder:0=0.1", '"0" is not a number from 1 on'),
        ("truncate:13=0.1", '"13" is not a number from 14 on'),
        ("corrupt=0.1", "name a field, corrupt:FIELD: choose one of eth.dst, eth.src,"),
        ("forge:bth.foo=0.1", "name a field, forge:FIELD: choose one of eth.dst,"),
        ("forge:ip.ttl:256=0.1", "ip.ttl has 8 bits: give 0 to 0xff"),
        ("forge:ip.ttl:+-1=0.1", '"-1" is not a number from 0 on'),
        ("corrupt:payload:1=0.1", 'payload has no value to choose: leave "1" out'),
        (
            "foreign:me=0.1",
            'there is no foreign packet "me": choose one of session, host, receiver, port, cnp, ack, arp',
        ),
    ],
)
def test_what_cannot_be_done_is_one_sentence_with_the_choices(text: str, sentence: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(sentence)) as error:
        parse(text)
    assert "\n" not in str(error.value)


def test_the_page_says_every_kind_field_and_foreign_packet_and_its_examples_work() -> None:
    page = Path(__file__).parents[2] / "docs" / "howto" / "fault_injection.md"
    text = page.read_text()
    examples = re.findall(
        r"`((?:drop|duplicate|reorder|corrupt|forge|truncate|delay|foreign|die)[^` ]*[=@][^` ]*)`", text
    )
    examples += re.findall(r"--impair (\S+)", text)
    assert len(examples) > 15
    for example in examples:
        parse(example)
    assert all(f"`{name}`" in text for name in (*NAMES, *FOREIGN_PACKETS))
