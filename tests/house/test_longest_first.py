"""What takes longest is handed out first, and a large bench runs one width a commit."""

import subprocess
import sys
import zlib
from pathlib import Path

import pytest

import starts
import widths
from longest_first import guess, read, scope_of

ROOT = Path(__file__).resolve().parents[2]


def test_tests_of_a_module_stay_together_but_for_benches() -> None:
    assert (
        scope_of("tests/receiver/live/test_recv.py::test_a[1]")
        == scope_of("tests/receiver/live/test_recv.py::test_b")
        == "tests/receiver/live/test_recv.py"
    )
    oracles = [
        scope_of(f"tests/gateware/test_roce_oracles.py::test_{name}]")
        for name in ("a[64 bits", "b[64 bits-x", "a[512 bits")
    ]
    assert oracles[0] == oracles[1] != oracles[2]
    assert scope_of("sim/cocotb/memory/test_mm2s.py::test_mm2s[64]") != scope_of(
        "sim/cocotb/memory/test_mm2s.py::test_mm2s[512]"
    )


def test_what_has_not_been_measured_is_guessed_with_the_large_benches_first() -> None:
    large = guess("sim/cocotb/test_tx_with_rc.py::test_tx_with_rc[64]")
    assert large > guess("sim/cocotb/memory/test_mm2s.py::test_mm2s[64]") > guess("tests/models/test_wire.py::test_a")


@pytest.mark.parametrize("text", ["", "[]", '{"a": "b"}', "{"])
def test_durations_that_cannot_be_read_are_none(tmp_path: Path, text: str) -> None:
    assert read(tmp_path / "none.json") == {}
    (tmp_path / "some.json").write_text(text)
    assert read(tmp_path / "some.json") == {}


def test_the_longest_runs_first_the_next_time(tmp_path: Path) -> None:
    (tmp_path / "build").mkdir()
    plugin = (ROOT / "tests" / "support" / "runs" / "longest_first.py").read_text()
    (tmp_path / "tests" / "support" / "runs").mkdir(parents=True)
    (tmp_path / "tests" / "support" / "runs" / "longest_first.py").write_text(plugin)
    (tmp_path / "conftest.py").write_text('pytest_plugins = ("longest_first",)\n')
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = tests/support/runs\n")
    for n, seconds in enumerate((0.0, 1.5, 0.4)):
        (tmp_path / f"test_{n}.py").write_text(f"import time\n\ndef test_it():\n    time.sleep({seconds})\n")

    def order() -> list[str]:
        command = [sys.executable, "-m", "pytest", "-v", "-n", "1", "--dist", "loadscope", "."]
        out = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=200).stdout
        assert "3 passed" in out, out
        return [line.split("test_")[1][0] for line in out.splitlines() if "PASSED" in line]

    assert sorted(order()) == ["0", "1", "2"]
    assert order() == ["1", "2", "0"]


def test_each_commit_has_one_width_and_all_have_their_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRAMELANE_WIDTHS", "commit")
    several = (64, 128, 256, 512, 1024)
    drawn = []
    for number in range(20):
        monkeypatch.setattr(widths, "turn_of_checkout", lambda number=number: number)
        drawn += widths.some_widths("tx", several)
        assert widths.some_widths("tx", several) == drawn[-1:]
    for first in range(16):
        assert set(drawn[first : first + 5]) == set(several), "no width waits longer than there are widths"
    assert len({widths.some_widths(block, several)[0] for block in ("tx", "tx_rc", "bd_gen", "mm2s")}) > 1
    monkeypatch.setattr(widths, "turn_of_checkout", lambda: None)
    assert widths.some_widths("tx") == list(widths.WIDTHS), "in doubt all"


def test_a_commit_has_the_turn_behind_its_parents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def git(*arguments: str) -> None:
        named = ("-c", "user.name=a", "-c", "user.email=a@b")
        subprocess.run(["git", *named, "-C", str(tmp_path), *arguments], check=True, capture_output=True, timeout=60)

    def turn(folder: Path) -> int | None:
        monkeypatch.setattr(widths, "gateware_root", lambda: folder)
        widths.commit_of_checkout.cache_clear()
        widths._git.cache_clear()
        return widths.turn_of_checkout()

    assert turn(tmp_path) is None
    git("init", "-q")
    turns = []
    for _ in range(3):
        git("commit", "-q", "--allow-empty", "-m", "a")
        turns.append(turn(tmp_path))
    assert turns == [1, 2, 3]
    shallow = tmp_path / "shallow"
    git("clone", "-q", "--depth", "1", tmp_path.as_uri(), str(shallow))
    assert turn(shallow) == zlib.crc32(widths.commit_of_checkout().encode())
    monkeypatch.undo()
    widths.commit_of_checkout.cache_clear()
    widths._git.cache_clear()


def test_a_width_can_be_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FRAMELANE_WIDTHS", raising=False)
    assert widths.some_widths("tx") == list(widths.WIDTHS)
    monkeypatch.setenv("FRAMELANE_WIDTHS", "64")
    assert widths.some_widths("tx") == [64]
    monkeypatch.setenv("FRAMELANE_WIDTHS", "65")
    with pytest.raises(ValueError, match=r"FRAMELANE_WIDTHS=65: give all, commit, or one of 64, 128, 256, 512, 1024"):
        widths.some_widths("tx")


def test_registers_start_as_others_with_each_commit_and_a_failure_can_be_seen_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("FRAMELANE_START", "FRAMELANE_STARTS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(starts, "commit_of_checkout", lambda: "a")
    (first,) = starts.starts("tx", 1)
    assert starts.starts("tx", 1) == [first]
    monkeypatch.setenv("FRAMELANE_STARTS", "3")
    several = starts.starts("tx", 1)
    assert several[0] == first
    monkeypatch.setattr(starts, "commit_of_checkout", lambda: "b")
    assert len({*several, *starts.starts("tx", 1), *starts.starts("tx", 2)}) == 9
    monkeypatch.setenv("FRAMELANE_START", "17")
    assert starts.starts("tx", 1) == [17]
