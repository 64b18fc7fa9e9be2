"""What decision 0017 compares is what docs/measured/files.md has measured."""

from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_the_decision_has_the_table_of_the_measured_page() -> None:
    page = (DOCS / "measured" / "files.md").read_text()
    table = page.split("## Side by side")[1].split("\n\n")[2]
    assert table.startswith("| way | frames/s |")
    assert table in (DOCS / "decisions" / "host" / "0017-growing-files.md").read_text(), "copy it there"
