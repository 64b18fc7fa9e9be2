"""Imports: no module of tests imports another; what several share is in a module of its own."""

from pathlib import Path

from changed import imported

ROOT = Path(__file__).resolve().parents[2]
TREES = ("sim", "tests")


def test_nothing_imports_a_module_of_tests() -> None:
    files = [path for tree in TREES for path in sorted((ROOT / tree).rglob("*.py"))]
    tests = {path.stem for path in files if path.stem.startswith("test_")}
    assert {"test_tx", "test_imports"} <= tests
    found = {
        f"{path.relative_to(ROOT)} imports {name}"
        for path in files
        for name in imported(str(path.relative_to(ROOT)))
        if name.rpartition(".")[2] in tests
    }
    assert sorted(found) == []
