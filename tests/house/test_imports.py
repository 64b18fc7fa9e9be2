"""Imports: no module of tests imports another; what several share is in a module of its own."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TREES = ("sim", "tests")


def imported(path: Path) -> Iterator[str]:
    """The names of the modules that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
            yield from (alias.name for alias in node.names)


def test_nothing_imports_a_module_of_tests() -> None:
    files = [path for tree in TREES for path in sorted((ROOT / tree).rglob("*.py"))]
    tests = {path.stem for path in files if path.stem.startswith("test_")}
    assert {"test_tx", "test_imports"} <= tests
    found = {
        f"{path.relative_to(ROOT)} imports {name}"
        for path in files
        for name in imported(path)
        if name.rpartition(".")[2] in tests
    }
    assert sorted(found) == []
