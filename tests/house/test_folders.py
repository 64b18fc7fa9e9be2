"""Folders: none holds too much, and the architecture's page has a line for each."""

import re
import subprocess
from collections import Counter
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[2]
MOST = 25
ALONE = {".", ".ci"}
"""Folders that need no line."""


def tracked() -> Counter[PurePosixPath]:
    """How many files of the repository each folder has."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return Counter(PurePosixPath(name).parent for name in names if (ROOT / name).is_file())


def described() -> set[str]:
    """The folders of the page's tables: `a/b/`, `c/` in one cell are a/b and a/c or a/b/c."""
    page = (ROOT / "docs" / "architecture.md").read_text()
    found: set[str] = set()
    for cell in re.findall(r"^\| (`[a-z0-9_/]+/`(?:, `[a-z0-9_/]+/`)*) \|", page, re.MULTILINE):
        first, *others = (name.rstrip("/") for name in re.findall(r"`([a-z0-9_/]+)`", cell))
        found |= {first, *(f"{PurePosixPath(first).parent}/{name}" for name in others)}
        found |= {f"{first}/{name}" for name in others}
    return found


def test_no_folder_has_too_many_files() -> None:
    assert {str(folder): n for folder, n in tracked().items() if n > MOST} == {}


def test_every_folder_has_its_line() -> None:
    known = described()
    folders = {str(folder) for folder in tracked()} - ALONE
    inner = {folder for folder in folders if folder.startswith(("tests/", "docs/"))}
    assert sorted(folders - inner - known) == []


def test_the_page_names_no_folder_that_is_gone() -> None:
    named = re.findall(r"^\| `([a-z0-9_/]+)/`", (ROOT / "docs" / "architecture.md").read_text(), re.MULTILINE)
    assert [name for name in named if not (ROOT / name).is_dir()] == []
