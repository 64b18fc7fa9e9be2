"""Links between the pages of the repository: each leads to a file that is there, and to a heading that it has."""

import os
import re
import subprocess
from functools import cache
from pathlib import Path

from site_hooks import GENERATED

ROOT = Path(__file__).resolve().parents[2]


@cache
def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as browsers of repositories and mkdocs make them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    found: set[str] = set()
    for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE):
        words = re.sub(r"\[([^]]+)\]\([^)]*\)", r"\1", heading).strip().lower()
        found.add(re.sub(r"[^\w\- ]", "", words).replace(" ", "-"))
    return found


def pages() -> list[Path]:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return [ROOT / name for name in names if "templates" not in Path(name).parts and (ROOT / name).is_file()]


def broken(page: Path) -> list[str]:
    """The links of a page that lead nowhere; those that the site generates are followed when it is built."""
    bad = []
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        path, _, anchor = link.partition("#")
        if "://" in link:
            continue
        target = Path(os.path.normpath(page.parent / path)) if path else page
        if target.is_relative_to(ROOT / "docs") and str(target.relative_to(ROOT / "docs")) in GENERATED:
            continue
        if not target.exists() or (anchor and anchor not in anchors(target)):
            bad.append(f"{page.relative_to(ROOT)}: {link}")
    return bad


def test_every_link_leads_to_a_file_and_a_heading() -> None:
    assert [bad for page in pages() for bad in broken(page)] == []


def test_a_page_that_sources_and_messages_name_is_there() -> None:
    command = ["git", "grep", "-InoE", r"docs/[a-z0-9_/-]+\.md", "--", "*", ":!tests/house", ":!CHANGELOG.md"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    named = {line.rsplit(":", 1)[1] for line in found}
    made_up = {"docs/two.md"}
    assert sorted(name for name in named - made_up if not (ROOT / name).is_file()) == []
