"""The session document: what a receiver publishes a transmitter reads; a bad one is refused with every field."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from framelane.base.errors import InputError
from framelane.session.session import Session

MakeSession = Callable[..., Session]


def test_a_session_is_read_as_it_was_saved(tmp_path: Path, make_session: MakeSession) -> None:
    session = make_session(segmentation="message", base=(1 << 64) - (1 << 20), sources=2)
    session.save(tmp_path / "session.json")
    assert Session.load(tmp_path / "session.json") == session
    assert list(tmp_path.iterdir()) == [tmp_path / "session.json"]


def test_a_document_is_its_owners_alone(tmp_path: Path, make_session: MakeSession) -> None:
    path = tmp_path / "session.json"
    path.touch(0o644)  # one of the run before
    umask = os.umask(0)
    try:
        make_session().save(path)
    finally:
        os.umask(umask)
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_document_that_does_not_say_what_its_pixels_are_is_of_raw_ones(
    tmp_path: Path, make_session: MakeSession
) -> None:
    document = json.loads(make_session(pixels="corrected").model_dump_json())
    assert document.pop("pixels") == "corrected"
    (tmp_path / "session.json").write_text(json.dumps(document))
    assert Session.load(tmp_path / "session.json").pixels == "raw"


def test_a_transmitter_is_configured_by_the_document_alone(make_session: MakeSession) -> None:
    session = make_session(sources=2)
    config = session.tx_config(source=1)
    (qp,) = config.qps
    assert (qp.dest_qpn, qp.rkey, qp.psn, qp.mtu) == (0x12345, 0xCAFEF00D, 0xFFFFFE, 1024)
    assert config.local == session.source.endpoint()
    assert qp.dst == session.receiver.endpoint()
    (ring,), (flow,) = config.destinations, config.flows
    assert (ring.base, ring.slot_bytes, ring.n_slots) == (session.base, session.slot_bytes, session.n_slots)
    assert flow.y1 * flow.destination_pitch == 1600, "the second half of the image"
    assert ring.trailer_offset == 4096 - 64
    assert (flow.payload_bytes, flow.source) == (1600, 1)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"mtu": 1500}, "mtu: 1500 is impossible: choose one of 256, 512, 1024, 2048, 4096"),
        ({"slot_bytes": 8192 + 1}, "slot_bytes: ring too small"),
        ({"rows": 32, "columns": 200}, "slot_bytes: ring too small"),
        ({"base": (1 << 64) - 4096}, "base: a ring of 16384 bytes at 0xfffffffffffff000 passes the end"),
        ({"qpn": 1 << 24}, "qpn: is 16777216: give less than 16777216 \\(line 1\\)"),
        ({"rkey": -1}, "rkey: is -1: give 0 or more"),
        ({"n_slots": "4"}, "n_slots: is '4': give a whole number"),
        ({"mtu": 1024.0}, "mtu: is 1024.0: give a whole number"),
        ({"sources": True}, "sources: is true: give a whole number"),
        (
            {"source": {"mac": "02:00:00:00:00", "ip": "127.0.0.1"}},
            "source.mac: is '02:00:00:00:00': give a MAC address",
        ),
        ({"source": {"mac": "02:00:00:00:00:01", "ip": "127.0.0.256"}}, "source.ip: is '127.0.0.256': give an IPv4"),
        ({"source": {"mac": "02:00:00:00:00:01", "ip": False}}, "source.ip: is false: give an IPv4"),
        ({"source": {"mac": "02:00:00:00:00:01", "ip": 1}}, "source.ip: is 1: give an IPv4"),
        ({"format": "framelane-session-2"}, "format: is 'framelane-session-2': give 'framelane-session-1'"),
        ({"service": "UD"}, "service: is 'UD': give 'UC' or 'RC'"),
        ({"pixels": "photons"}, "pixels: is 'photons': give 'raw' or 'corrected'"),
        ({"unit": "keV"}, "unit and fraction_bits are of corrected pixels"),
        ({"fraction_bits": 1}, "unit and fraction_bits are of corrected pixels"),
        ({"pixels": "corrected", "fraction_bits": 16}, "fraction_bits: is 16: give 15 or less"),
        ({"colour": 7}, "colour: is not a key here: remove it, or give one of base, columns, format"),
        ({"slots": 7}, "slots: is not a key here: did you mean n_slots"),
    ],
)
def test_a_bad_field_is_named(
    tmp_path: Path, make_session: MakeSession, changes: dict[str, Any], sentence: str
) -> None:
    path = tmp_path / "session.json"
    path.write_text(json.dumps(json.loads(make_session().model_dump_json()) | changes))
    with pytest.raises(InputError, match=f"the session .*session.json is not usable: {sentence}"):
        Session.load(path)


def test_a_field_that_stands_twice_is_refused(tmp_path: Path, make_session: MakeSession) -> None:
    path = tmp_path / "session.json"
    path.write_text(make_session().model_dump_json().replace('"qpn":', '"qpn":1,\n"qpn":'))
    with pytest.raises(InputError, match=r"session.json is not usable: qpn stands there twice \(line 2\): remove one"):
        Session.load(path)


def test_a_missing_field_is_on_the_line_of_what_it_is_missing_in(tmp_path: Path, make_session: MakeSession) -> None:
    path = tmp_path / "session.json"
    make_session().save(path)
    path.write_text(path.read_text().replace('"ip"', '"ipp"', 1))
    with pytest.raises(InputError, match=r"source.ip: is missing \(line 4\).*source.ipp: is not a key .*\(line 6\)"):
        Session.load(path)


def test_all_bad_fields_are_named_at_once(tmp_path: Path, make_session: MakeSession) -> None:
    document = json.loads(make_session().model_dump_json()) | {"psn": "x", "rows": 0}
    del document["rkey"]
    path = tmp_path / "session.json"
    path.write_text(json.dumps(document))
    with pytest.raises(InputError) as refusal:
        Session.load(path)
    assert [name for name in ("psn", "rkey", "rows") if f"{name}: " in str(refusal.value)] == ["psn", "rkey", "rows"]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": "framelane-session-1"'])
def test_what_is_not_a_document_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "session.json").write_text(text)
    with pytest.raises(InputError, match="is not usable"):
        Session.load(tmp_path / "session.json")


def test_a_document_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    (tmp_path / "session.json").write_bytes(b'{"qpn": "\xff\xfe"}')
    with pytest.raises(InputError, match="is not text in UTF-8: line 1 has the byte 0xff"):
        Session.load(tmp_path / "session.json")


def test_two_that_save_the_same_document_do_not_meet(
    tmp_path: Path, make_session: MakeSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, write = tmp_path / "session.json", Path.write_text

    def write_slowly(part: Path, text: str, **options: Any) -> int:
        monkeypatch.setattr(Path, "write_text", write)
        size = write(part, text, **options)
        with pytest.raises(InputError, match="another run is writing it"):
            make_session(psn=2).save(path)
        return size

    monkeypatch.setattr(Path, "write_text", write_slowly)
    make_session(psn=1).save(path)
    assert Session.load(path).psn == 1
    assert list(tmp_path.iterdir()) == [path]


def test_a_document_cannot_be_saved_where_there_is_no_folder(tmp_path: Path, make_session: MakeSession) -> None:
    with pytest.raises(InputError, match=r"cannot write .*/none/session.json: No such file"):
        make_session().save(tmp_path / "none" / "session.json")


@pytest.mark.parametrize("name", ["", ".", "folder", "pipe"])
def test_a_document_takes_the_place_of_a_file_only(
    tmp_path: Path, make_session: MakeSession, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="it is a folder or a device: give the name of a file"):
        make_session().save(Path(name))
    assert sorted(entry.name for entry in tmp_path.rglob("*")) == ["folder", "pipe"]
    assert (tmp_path / "pipe").is_fifo()


def test_a_file_of_another_kind_is_no_older_session(tmp_path: Path, make_session: MakeSession) -> None:
    path = tmp_path / "notes"
    for text in ("notes", "{}", '{"qpn": 1, "rkey": 1, "base": 1, "format": "mine"}'):
        path.write_text(text)
        with pytest.raises(InputError, match="notes: there is a file of this name that is not a session: give another"):
            make_session().save(path)
        assert path.read_text() == text
    make_session().save(path, force=True)
    assert Session.load(path) == make_session()
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_document_behind_a_link_is_replaced_and_the_link_stays(tmp_path: Path, make_session: MakeSession) -> None:
    target, link = tmp_path / "there" / "a.json", tmp_path / "b.json"
    target.parent.mkdir()
    make_session(psn=1).save(target)
    link.symlink_to(target)
    make_session().save(link)
    assert link.is_symlink()
    assert Session.load(target) == make_session()


def test_a_missing_document_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read the session .*none.json: No such file"):
        Session.load(tmp_path / "none.json")


def test_a_session_does_not_change(make_session: MakeSession) -> None:
    with pytest.raises(ValidationError, match="frozen"):
        make_session().rkey = 0
