"""Templates of measured pages: their prose is that of the page in docs, and no part is left out of it."""

import re
from pathlib import Path

import pytest

from framelane.bench.page_template import page_parts

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = [path for top in ("sw/bench", "scripts") for path in sorted((ROOT / top / "templates").glob("*.md"))]
_VALUE = re.compile(r"\{[^{}]*\}")


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.stem)
def test_the_prose_of_a_page_is_that_of_its_template(template: Path) -> None:
    measured = ROOT / "docs" / "measured" / template.name
    (found_at,) = [measured] if measured.is_file() else (ROOT / "docs").rglob(template.name)
    page = found_at.read_text()
    text, at = template.read_text(), 0
    parts = page_parts(template.stem, template.parent) if text.startswith("<!-- ") else {"head": text}
    for name, part in parts.items():
        for prose in _VALUE.split(part):
            found = page.find(prose, at)
            assert found >= 0, f"{template.name}, part {name}: {prose!r}: write the page again, or mend the template"
            at = found + len(prose)


def test_text_before_the_first_part_is_refused(tmp_path: Path) -> None:
    (tmp_path / "odd.md").write_text("# A page\n\n<!-- head -->\ntext\n")
    with pytest.raises(ValueError, match=r"^templates/odd\.md begins with text of no part"):
        page_parts("odd", tmp_path)
