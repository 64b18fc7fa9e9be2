"""Pages that repeat what the sources say: the bits of the packetizer's structs."""

import re
from pathlib import Path

import pytest

from framelane.driver.ports import MESSAGE_T, QP_T, QP_WRITE_T, Struct
from framelane.models.roce_segment import Status

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "packetizer.md").read_text()


def rows(heading: str) -> list[tuple[str, int]]:
    """Names and bits of the table of fields below `heading`, in its order."""
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    found: list[tuple[str, int]] = []
    for names, bits in re.findall(r"^\| (`[^|]+`) \| ([\d, ]+) \|", section, re.MULTILINE):
        found += zip(re.findall(r"`(\.?\w+(?:\.\w+)?)`", names), map(int, bits.split(",")), strict=True)
    return found


@pytest.mark.parametrize(
    ("struct", "heading", "inner"),
    [(QP_WRITE_T, "QPs", False), (QP_T, "QPs", True), (MESSAGE_T, "Messages", False)],
)
def test_a_table_of_fields_is_the_packed_struct(struct: Struct, heading: str, inner: bool) -> None:
    named = [(name.rpartition(".")[2], bits) for name, bits in rows(heading) if name.startswith(".") == inner]
    assert named == list(struct.fields.items())


def test_the_codes_of_the_status_are_those_of_the_model() -> None:
    codes = re.findall(r"^\| (\d) \| ([A-Z_]+) \|", PAGE, re.MULTILINE)
    assert [(int(code), name) for code, name in codes] == [(status.value, status.name) for status in Status]
