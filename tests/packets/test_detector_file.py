"""Descriptions of detectors' packets: what is wrong with one is said in a sentence, with its place."""

import re
from pathlib import Path

import numpy as np
import pytest

from framelane.base.errors import InputError
from framelane.models.detector.detector_packets import (
    ConstantField,
    DetectorPackets,
    Header,
    HeaderField,
    IndexField,
    Interfaces,
    Module,
    Packet,
    Pixels,
    Port,
    TimeField,
)
from framelane.models.detector.detector_sent import packets
from framelane.models.jungfrau import jf_packet
from framelane.packets.detector_file import JUNGFRAU, load_detector, names, shipped
from made_up_detector import ODD, example

ROOT = Path(__file__).resolve().parents[2]
_MORE_SIZES = "".join(f"[[packet]]\npixels = {pixels}\n" for pixels in (3, 2, 1)) + "[[interfaces]]"
PACKET_NUMBER = "packet_number = { offset = 0, width = 2, first = 1000 }"


def test_those_of_this_package_are_loaded_by_name() -> None:
    assert names() == ["eiger", "example", "jungfrau"]
    sizes = {name: load_detector(name).packet_bytes for name in names()}
    assert sizes == {"eiger": [4144, 1072], "example": [2070], "jungfrau": [8240, 4144]}


def test_the_jungfrau_s_is_that_of_its_model_field_by_field() -> None:
    described = shipped(JUNGFRAU)
    dtype = jf_packet.HEADER
    fields = {name: (each[1], each[0].itemsize) for name, each in (dtype.fields or {}).items()}
    assert {name: (field.offset, field.width) for name, field in described.header.fields.items()} == fields
    assert described.packet_bytes == list(jf_packet.ROWS_BY_BYTES)
    header = described.header
    assert header.constant["version"].value == jf_packet.VERSION
    assert header.constant["detector"].value == jf_packet.DETECTOR
    assert header.timestamp is not None
    assert header.timestamp.unit_ns == jf_packet.TICK_NS
    image = np.random.default_rng(1).integers(0, 1 << 16, (512, 1024), np.uint16)
    for interfaces in (1, 2):
        numbers = {"frame_number": 7, "bunch_id": 9, "daq_info": 0x501, "row": 3}
        model = jf_packet.packets(image, jf_packet.JfHeader(**numbers), interfaces)
        assert list(packets(described, image, numbers, interfaces)) == list(model)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('name = "odd"', "", "name: is missing"),
        ('name = "odd"', 'name = ""', "name: is empty"),
        ('name = "odd"', r'name = "a\u0007"', "name: give at most 60 letters"),
        ('byte_order = "big"', 'byte_order = "network"', "byte_order: is 'network': give 'little' or 'big' (line 3)"),
        ("[module]", "[modules]", "module: is missing; modules: is not a key here: did you mean module?"),
        ("bytes = 11", "bytes = 0", "header.bytes: is 0: give 1 or more (line 6)"),
        ("bytes = 11", "bytes = 10", "board ends with byte 10, the header with byte 9"),
        ("bytes = 11", "byte = 11", "header.byte: is not a key here: did you mean bytes? (line 6)"),
        (PACKET_NUMBER, "", "header.packet_number: is missing (line 5)"),
        (PACKET_NUMBER, "packet_number = 0", "header.packet_number: is 0: give a table of keys (line 7)"),
        (
            "offset = 0, width = 2",
            "offset = 1, width = 2",
            "kind begins at byte 2, where packet_number is (up to byte 2)",
        ),
        (
            "offset = 0, width = 2",
            "offset = -1, width = 2",
            "header.packet_number.offset: is -1: give 0 or more (line 7)",
        ),
        ("offset = 0, width = 2", "offset = 0, width = 0", "header.packet_number.width: is 0: give 1 or more (line 7)"),
        ("offset = 0, width = 2", "offset = 0, width = 9", "header.packet_number.width: is 9: give 8 or less (line 7)"),
        ("offset = 0, width = 2", "offset = 0, width = 2.5", "header.packet_number.width: is 2.5: give a whole number"),
        ("first = 1000", "first = 65535", "the last packet number is 65536 (interfaces with 4 ports): it does not fit"),
        ("offset = 3, width = 2,", "offset = 3, width = 1,", "a number of 1 byte comes again after 256 frames"),
        ("value = 0xA5", "value = 256", "constant.kind: the value 256 does not fit 1 bytes: give 255 or less"),
        ("kind =", "late =", "packets are refused for late already: give another name"),
        ("kind =", "board =", "two fields have the same name"),
        ("kind =", "Kind =", "'Kind' is not a name for a field"),
        ("board =", "bunch_id =", "two fields have the same name"),
        ("rows = 6", "rows = 0", "module.rows: is 0: give 1 or more"),
        ("rows = 6", "rows = 6000000", "a module of 6000000 x 20 pixels is too large"),
        (
            'byte_order = "little"\n\n[[',
            'guard = "none"\n\n[[',
            "pixels.guard: is 'none': give 'gain_code' or 'hole_word'",
        ),
        ("pixels = 15", "pixels = 0", "packet[0].pixels: is 0: give 1 or more (line 25)"),
        ("pixels = 15", "pixels = 16", "packets of 16 pixels do not fill a port's 30, 14 are left"),
        ("pixels = 15", "pixels = 5", "packet: two of them have as many pixels"),
        ("columns = 20", "columns = 40000", "pixels of the module are of no port"),
        (
            "rows = 3\n",
            "",
            "port 0 has 6 x 10 pixels from row 3, column 0 on, and lies outside of the module of 6 x 20",
        ),
        ("{ row = 0, column = 0 }", "{ row = 0, column = 9 }", "port 2 has pixels that port 1 has, too"),
        ("{ row = 0, column = 0 }", "{ row = 4, column = 0 }", "port 2 has 3 x 10 pixels from row 4"),
        ("{ row = 0, column = 0 },\n", "", "30 pixels of the module are of no port: give their rows and columns"),
        ('flip = "rows"', 'flip = "columns"', "interfaces[0].port[1].flip: is 'columns': give 'none' or 'rows'"),
        ("[[interfaces]]", "[[packet]]", "packet[2].rows: is not a key here"),
        ("[[interfaces]]", _MORE_SIZES, "packet: 5 sizes are too many: give at most 4"),
        (
            "[[packet]]\npixels = 5\n\n[[interfaces]]",
            "[interfaces]",
            "interfaces: is not a list of tables: write [[interfaces]]",
        ),
        (
            "value = 0xA5",
            "value = 0x10000000000000000",
            "constant.kind.value: is 18446744073709551616: give 18446744073709551615",
        ),
        ("= {", "= [", "is not TOML"),
        ("[header.identity]", "[header.identity]\nlong = { offset = 40, width = 8 }", "long ends with byte 47"),
    ],
)
def test_what_cannot_be_is_one_sentence_with_its_place(old: str, new: str, sentence: str, tmp_path: Path) -> None:
    assert old in ODD
    path = tmp_path / "odd.toml"
    path.write_text(ODD.replace(old, new, 1))
    with pytest.raises(InputError) as caught:
        load_detector(path)
    said = str(caught.value)
    assert sentence in said
    assert said.startswith(f"the description {path} of a detector is ")
    assert "\n" not in said.partition("is not TOML")[0]


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ("constant", "constant: 5 are too many: give at most 4"),
        ("identity", "identity: 5 fields of 7 bytes together are too many: give at most 4 of 8 bytes"),
    ],
)
def test_more_fields_than_are_compared_are_refused(table: str, sentence: str, tmp_path: Path) -> None:
    extra = "".join(
        f"field_{at} = {{ offset = {at}, width = 1{', value = 0' if table == 'constant' else ''} }}\n"
        for at in range(11, 15)
    )
    path = tmp_path / "odd.toml"
    path.write_text(
        ODD.replace("bytes = 11", "bytes = 15").replace(f"[header.{table}]\n", f"[header.{table}]\n{extra}")
    )
    with pytest.raises(InputError) as caught:
        load_detector(path)
    assert sentence in str(caught.value)


def test_a_file_that_is_not_there_or_is_no_text_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="give a file, or one of eiger, example, jungfrau"):
        load_detector(tmp_path / "nowhere.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff")
    with pytest.raises(InputError, match="is not text in UTF-8"):
        load_detector(tmp_path / "bytes.toml")
    (tmp_path / "deep.toml").write_text("a = " + "[" * 5000)
    with pytest.raises(InputError, match=r"is not TOML|nested too deeply"):
        load_detector(tmp_path / "deep.toml")


def test_the_page_shows_the_example_and_has_every_key() -> None:
    page = (ROOT / "docs" / "detectors" / "packets.md").read_text()
    assert (ROOT / "sw" / "packets" / "detectors" / "example.toml").read_text() in page
    keys = page.partition("\n## Every key\n")[2].partition("\n## ")[0]
    tables = DetectorPackets, Header, HeaderField, IndexField, TimeField, ConstantField, Module, Pixels, Packet, Port
    for table in (*tables, Interfaces):
        for key in table.model_fields:
            assert re.search(rf"[`\[. ]{key}(`|\]| = )", keys), key


def test_the_packet_that_the_page_takes_apart_is_that_of_the_example() -> None:
    page = (ROOT / "docs" / "detectors" / "packets.md").read_text()
    shown = re.findall(r"^\| [\d, to]+ \| ((?:[0-9a-f]{2} ?)+) \|", page, re.MULTILINE)
    packet = list(example(7))[2 * 4 + 2][1]
    assert bytes.fromhex(" ".join(shown)) == packet[:22]
