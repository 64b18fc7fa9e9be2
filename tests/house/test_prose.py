"""A docstring says what a thing is: it is a sentence of its own, not the end of one that the name begins."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_no_docstring_begins_with_of() -> None:
    places = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for folder in ("boards", "examples", "models", "scripts", "sim", "sw", "tests")
        for path in sorted((ROOT / folder).rglob("*.py"))
        for line in path.read_text().splitlines()
        if re.match(r'\s*"""Of\b', line)
    ]
    assert places == []
