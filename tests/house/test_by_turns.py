"""Two checkouts measured by turns: what has changed is seen, wherever in the package the bench is."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from by_turns import compared

ROOT = Path(__file__).resolve().parents[2]
BENCH = """
LENGTH = 4
def measure():
    print("what a bench says")
    return [{{"kernel": "count", "batch": batch, "us": {us} * batch * LENGTH}} for batch in {batches}], []
"""


def checkout(root: Path, folder: str, us: float, batches: tuple[int, ...] = (1, 10)) -> Path:
    """One whose bench takes so many microseconds."""
    package = root / "sw" / folder
    package.mkdir(parents=True)
    (root / "models").mkdir()
    for place in (root / "sw", package, root / "models"):
        (place / "__init__.py").touch()
    (package / "bench_kernels.py").write_text(BENCH.format(us=us, batches=batches))
    return root


def by_turns(tmp_path: Path, *checkouts: Path) -> subprocess.CompletedProcess[str]:
    options = ["--rounds", "3", "--set", "bench_kernels.LENGTH=2", "--json", str(tmp_path / "all.json")]
    command = [sys.executable, str(ROOT / "scripts/benches/by_turns.py"), *map(str, checkouts), "bench_kernels:measure"]
    return subprocess.run([*command, *options], capture_output=True, text=True, timeout=60, check=False)


def test_a_bench_that_takes_longer_is_seen_though_it_has_moved(tmp_path: Path) -> None:
    before, after = checkout(tmp_path / "a", "cli", 10.0), checkout(tmp_path / "b", "bench", 12.5)
    ended = by_turns(tmp_path, before, after)
    assert ended.returncode == 0, ended.stderr
    assert [line for line in ended.stdout.splitlines() if "kernel" in line][1:] == [
        "| kernel count, batch 1 | us | 20 | 25 | 1.250 | 1.250 | 1.250 | 1.000 | 1.000 |",
        "| kernel count, batch 10 | us | 200 | 250 | 1.250 | 1.250 | 1.250 | 1.000 | 1.000 |",
    ]
    runs = json.loads((tmp_path / "all.json").read_text())["bench_kernels:measure"]
    assert runs == [[[[f"kernel count, batch {n}", "us", us * n] for n in (1, 10)] for us in (20, 25)]] * 3


def test_rows_that_are_gone_are_named(tmp_path: Path) -> None:
    ended = by_turns(tmp_path, checkout(tmp_path / "a", "cli", 1.0), checkout(tmp_path / "b", "cli", 1.0, (1,)))
    assert ended.returncode == 1
    assert "rows are not the same in both checkouts: kernel count, batch 10" in ended.stdout


def test_a_bench_that_fails_ends_all(tmp_path: Path) -> None:
    broken = checkout(tmp_path / "b", "cli", 1.0)
    (broken / "sw/cli/bench_kernels.py").write_text("LENGTH = 1\ndef measure():\n    raise OSError('no such board')\n")
    ended = by_turns(tmp_path, checkout(tmp_path / "a", "cli", 1.0), broken)
    assert ended.returncode == 1
    assert "no such board" in ended.stderr
    assert "bench_kernels:measure failed, see above" in ended.stderr


def test_ratios_are_those_of_rounds_and_what_differs_anyway_is_that_of_one_checkout() -> None:
    (found,) = compared([({("row", "us"): 10.0}, {("row", "us"): us}) for us in (11.0, 12.0, 13.0)])
    assert found.ratio == pytest.approx((1.2, 1.1, 1.3))
    assert found.anyway == pytest.approx((1.0, 12 / 11))
    assert (found.before, found.after) == (10.0, 12.0)
