"""Small documents: one without an end is not read; what is wrong is said with its line, and the key that was meant."""

import os
from pathlib import Path

import pytest
from pydantic import BaseModel, ConfigDict, ValidationError

from framelane.base.document_lines import Where, json_doubled, json_line, toml_line
from framelane.base.documents import MOST_BYTES, read_bytes, read_text
from framelane.base.errors import InputError
from framelane.base.validation import sentence

TOML = """# a comment with rows = 1
rows = 16
"quoted" = 1
source = { mac = "m", ip = "i" }

[station.arp]
ping = true

[[flow]]
name = "a"
[[flow]]
name = "b"
  every = 2
[flow.roi]
x = 1
"""
JSON = (
    '{\n "rows": 16,\n "source": {\n  "ip": 1,\n  "mac": "\\"ip\\": {"\n },\n "mac": 2,\n'
    ' "list": [{"rows": 1}, {"ip": 1}, [ ], {}]\n}\n'
)


class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid")
    minimum: int = 0


class Outer(BaseModel):
    model_config = ConfigDict(extra="forbid")
    rows: int
    part: Inner | None = None
    parts: list[Inner] = []


@pytest.mark.parametrize(
    ("where", "line"),
    [
        (("rows",), 2),
        (("quoted",), 3),
        (("source",), 4),
        (("source", "mac"), 4),
        (("station",), 6),
        (("station", "arp", "ping"), 7),
        (("station", "arp", "missing"), 6),
        (("flow",), 9),
        (("flow", 0, "name"), 10),
        (("flow", 1), 11),
        (("flow", 1, "name"), 12),
        (("flow", 1, "every"), 13),
        (("flow", 1, "missing"), 11),
        (("flow", 1, "roi", "x"), 15),
        (("missing",), None),
        ((), None),
    ],
)
def test_a_key_of_toml_is_found_on_its_line(where: Where, line: int | None) -> None:
    assert toml_line(TOML, where) == line


@pytest.mark.parametrize(
    ("where", "line"),
    [
        *[
            (("rows",), 2),
            (("source", "mac"), 5),
            (("source", "none"), 3),
            (("none",), None),
            (("mac",), 7),
            ((), None),
        ],
        *[(("source", "ip"), 4), (("source", "rows"), 3), (("list", 1, "ip"), 8), (("list", 2), 8), (("list", 9), 8)],
    ],
)
def test_a_key_of_json_is_found_on_its_line(where: Where, line: int | None) -> None:
    assert json_line(JSON, where) == line


@pytest.mark.parametrize(
    ("text", "doubled"),
    [
        (JSON, None),
        ('{"a": 1,\n"b": 2,\n"a": 3}', ("a", 3)),
        ('{"a": {"b": 1, "c": [1, 1, {"d": "b", "b": 0,\n"b": 0}]}, "b": 2}', ("b", 2)),
        ('["a", "a"]', None),
        ("", None),
    ],
)
def test_a_key_that_stands_twice_is_found(text: str, doubled: tuple[str, int] | None) -> None:
    assert json_doubled(text) == doubled


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"row": 1, "rows": 1}, "row: is not a key here: did you mean rows?"),
        ({"ROWS": 1, "rows": 1}, "ROWS: is not a key here: did you mean rows?"),
        ({"other": 1, "rows": 1}, "other: is not a key here: remove it, or give one of part, parts, rows"),
        ({"rows": 1, "part": {"minimun": 1}}, "part.minimun: is not a key here: did you mean minimum?"),
        ({"rows": 1, "parts": [{}, {"min": 1}]}, "parts[1].min: is not a key here: remove it, or give one of minimum"),
        ({}, "rows: is missing"),
        ({"rows": "x"}, "rows: is 'x': give a whole number"),
        ({"rows": "9" * 5000}, f"rows: is '{'9' * 59}...: give a smaller number"),
        ({"rows": []}, "rows: is a list: give a whole number"),
        ({"rows": True, "part": 3}, "part: is 3: give a table of keys"),
    ],
)
def test_what_is_wrong_is_said_with_the_key_that_was_meant(document: dict[str, object], said: str) -> None:
    with pytest.raises(ValidationError) as error:
        Outer.model_validate(document)
    assert sentence(error.value, Outer) == said


def test_a_file_without_an_end_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (Path("/dev/zero"), tmp_path, tmp_path / "pipe"):
        with pytest.raises(InputError, match=f"cannot read the plan {path}: it is a folder, a device or a pipe: give"):
            read_bytes(path, "plan")


def test_a_large_file_is_not_held(tmp_path: Path) -> None:
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(MOST_BYTES)
        assert len(read_bytes(path, "plan")) == MOST_BYTES
        file.truncate(1 << 40)
    with pytest.raises(InputError, match=f"large: it has more than {MOST_BYTES} bytes: it is another file"):
        read_bytes(path, "plan")


def test_the_place_of_what_is_no_text_is_said(tmp_path: Path) -> None:
    (tmp_path / "plan").write_bytes(b"a\nb\n\xff")
    with pytest.raises(InputError, match="plan is not text in UTF-8: line 3 has the byte 0xff"):
        read_text(tmp_path / "plan", "plan")
    with pytest.raises(InputError, match="embedded null byte"):
        read_text(Path("a\0b"), "plan")
