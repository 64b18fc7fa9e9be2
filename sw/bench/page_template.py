"""The prose of the pages in `docs/measured`: Markdown in `templates/`, one file a page, in parts with names."""

import re
from importlib import resources

_FOLDER = resources.files("framelane.bench") / "templates"
_BEGIN = re.compile(r"^<!-- (\w+) -->\n", re.MULTILINE)


def page_parts(page: str) -> dict[str, str]:
    """The parts of `templates/<page>.md` by name, to be filled by `str.format`. A line `<!-- NAME -->` begins each."""
    before, *found = _BEGIN.split((_FOLDER / f"{page}.md").read_text(encoding="utf-8"))
    if before:
        raise ValueError(f"templates/{page}.md begins with text of no part: put a line <!-- NAME --> before it")
    return dict(zip(found[::2], found[1::2], strict=True))
