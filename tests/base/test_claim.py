"""One run at a time writes a file, and no older one is replaced in silence."""

import multiprocessing
import signal
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest

from framelane.base import claim as claim_module
from framelane.base.claim import Claim, is_claimed, json_with
from framelane.base.errors import InputError, InputOptionError
from framelane.base.part_file import PartFile
from framelane.cli.option_names import sentence

REPORT = json_with("a report", "sent")


def test_an_older_file_is_replaced_only_where_it_is_said(tmp_path: Path) -> None:
    target = tmp_path / "frames.h5"
    target.write_text("older")
    with pytest.raises(InputOptionError) as refused:
        PartFile(target)
    assert sentence(refused.value) == (
        f"cannot write {target}: there is a file of this name: give another, or --force to replace it"
    )
    assert target.read_text() == "older"
    with PartFile(target, force=True) as part:
        part.path.write_text("newer")
        assert target.read_text() == "older"
    assert target.read_text() == "newer"
    assert [*tmp_path.iterdir()] == [target]


def test_an_empty_file_holds_nothing_that_could_be_lost(tmp_path: Path) -> None:
    target = tmp_path / "made_by_mktemp"
    target.touch()
    with PartFile(target) as part:
        part.path.write_text("new")
    assert target.read_text() == "new"


def test_what_is_renewed_is_of_the_same_kind_or_it_is_said(tmp_path: Path) -> None:
    target = tmp_path / "notes.json"
    for text in ("notes", '{"mine": 1}', "[]", "[" * 100_000):
        target.write_text(text)
        with pytest.raises(
            InputOptionError, match="a file of this name that is not a report: give another, or force to"
        ):
            Claim(target, kind=REPORT, renews=True)
        assert target.read_text() == text
        Claim(target, kind=REPORT, force=True).release()
    target.write_text('{"sent": 1, "more": 2}')
    Claim(target, kind=REPORT, renews=True).release()
    with pytest.raises(InputOptionError, match="there is a file of this name: give another"):
        Claim(target, kind=REPORT)


def test_a_file_that_came_while_another_was_written_stays(tmp_path: Path) -> None:
    target = tmp_path / "result"
    part = PartFile(target)
    part.path.write_text("ours")
    target.write_text("somebody's")
    with pytest.raises(InputOptionError, match="there is a file of this name"):
        part.keep()
    part.discard()
    assert target.read_text() == "somebody's"
    assert [*tmp_path.iterdir()] == [target]


def test_two_names_of_a_file_are_one(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("file")
    claim = Claim(tmp_path / "link")
    with pytest.raises(InputError, match="another run is writing it"):
        Claim(tmp_path / "file", force=True)
    claim.release()
    Claim(tmp_path / "file").release()


def _hold(target: Path, held: Event) -> None:
    Claim(target)
    held.set()
    signal.pause()


def test_a_run_that_was_killed_holds_nothing(tmp_path: Path) -> None:
    target = tmp_path / "frames.h5"
    context = multiprocessing.get_context("spawn")
    held = context.Event()
    process = context.Process(target=_hold, args=(target, held))
    process.start()
    assert held.wait(60)
    assert is_claimed(target)
    with pytest.raises(InputError, match=r"frames\.h5: another run is writing it: give another"):
        Claim(target, force=True)
    process.kill()
    process.join()
    assert not is_claimed(target)
    Claim(target).release()
    assert not [*tmp_path.iterdir()]


def test_a_lock_that_was_removed_in_the_last_moment_is_nobodys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the opening of its file and the lock its holder has gone, and somebody else has come."""
    target, others = tmp_path / "f", [Claim(tmp_path / "f")]
    real = claim_module._open

    def late(path: Path) -> int:
        monkeypatch.setattr(claim_module, "_open", real)
        opened = real(path)
        others.pop().release()
        others.append(Claim(target))
        return opened

    monkeypatch.setattr(claim_module, "_open", late)
    with pytest.raises(InputError, match="another run is writing it"):
        Claim(target)
    others.pop().release()
    assert not [*tmp_path.iterdir()]
