"""The prose of the pages in `docs/measured`: Markdown in `templates/`, one file a page, in parts with names."""

import re
from importlib import resources
from importlib.resources.abc import Traversable

_FOLDER = resources.files("framelane.bench") / "templates"
_BEGIN = re.compile(r"^<!-- (\w+) -->\n", re.MULTILINE)


def page_parts(page: str, folder: Traversable = _FOLDER) -> dict[str, str]:
    """The parts of the page's template by name, to be filled by `str.format`. A line `<!-- NAME -->` begins each."""
    before, *found = _BEGIN.split((folder / f"{page}.md").read_text(encoding="utf-8"))
    if before:
        raise ValueError(f"templates/{page}.md begins with text of no part: put a line <!-- NAME --> before it")
    return dict(zip(found[::2], found[1::2], strict=True))
