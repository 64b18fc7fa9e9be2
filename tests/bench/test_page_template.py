"""Templates of measured pages: their prose is that of the page in docs, and no part is left out of it."""

import re
from pathlib import Path

import pytest

from framelane.bench.page_template import page_parts

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = sorted((ROOT / "sw/bench/templates").glob("*.md"))
_VALUE = re.compile(r"\{[^{}]*\}")


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.stem)
def test_the_prose_of_a_page_is_that_of_its_template(template: Path) -> None:
    page = (ROOT / "docs/measured" / template.name).read_text()
    at = 0
    for name, part in page_parts(template.stem).items():
        for prose in _VALUE.split(part):
            found = page.find(prose, at)
            assert found >= 0, f"{template.name}, part {name}: {prose!r}: write the page again, or mend the template"
            at = found + len(prose)


def test_text_before_the_first_part_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "odd.md").write_text("# A page\n\n<!-- head -->\ntext\n")
    monkeypatch.setattr("framelane.bench.page_template._FOLDER", tmp_path)
    with pytest.raises(ValueError, match=r"^templates/odd\.md begins with text of no part"):
        page_parts("odd")
