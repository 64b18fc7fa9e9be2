"""Docstrings are sentences of their own: what an attribute is, not what it is of."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_no_docstring_begins_with_of() -> None:
    places = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in sorted((ROOT / "sw").rglob("*.py"))
        for line in path.read_text().splitlines()
        if re.match(r'\s*"""Of ', line)
    ]
    assert places == []
