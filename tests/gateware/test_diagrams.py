"""Timing diagrams of the pages: drawn of what benches recorded, which is cut where nothing changes."""

import shutil
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import diagrams
from waves import Waves


def test_all_diagrams_are_current() -> None:
    assert list(diagrams.PAGES.glob("*.json"))
    assert diagrams.outdated(diagrams.PAGES) == [], "run scripts/packaging/diagrams.py"


def test_a_diagram_that_is_not_what_was_recorded_is_named(tmp_path: Any) -> None:
    source = diagrams.PAGES / "no_gap.json"
    shutil.copy(source, tmp_path / "a.json")
    shutil.copy(source, tmp_path / "b.json")
    shutil.copy(source.with_suffix(".svg"), tmp_path / "b.svg")
    assert diagrams.outdated(tmp_path) == ["a.svg"]
    (tmp_path / "b.json").write_text(source.read_text().replace("tvalid", "tvalue", 1))
    assert diagrams.outdated(tmp_path) == ["a.svg", "b.svg"]


def test_cycles_in_which_nothing_changes_are_cut() -> None:
    watched: list[Any] = []
    bits = {"a": f"00010{15 * '1'}00", "b": f"{20 * '0'}10"}

    def signal(values: Iterator[str]) -> Any:
        return SimpleNamespace(_handle=SimpleNamespace(get_signal_val_binstr=lambda: next(values)))

    dut = SimpleNamespace(**{name: signal(iter(values)) for name, values in bits.items()})
    bench: Any = SimpleNamespace(dut=dut, clk=SimpleNamespace(_name="clk"), watch=watched.append)
    waves = Waves(bench, "a", "b")
    for _ in bits["a"]:
        watched[0]()
    assert waves.lanes() == [
        {"name": "clk", "wave": "p...|..."},
        {"name": "a", "wave": "0101|.0."},
        {"name": "b", "wave": "0...|.10"},
    ]
