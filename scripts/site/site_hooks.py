"""What mkdocs does not do by itself: the order of the pages, those that are generated, and files beside docs/.

Pages link to sources, examples and the changelog as a repository's browser shows them. On the site those files lie in
`source/`, pages among them as pages.
"""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from cli_page import cli_page
from python_page import python_page
from rest_page import document, rest_page

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
SOURCE = PurePosixPath("source")
GENERATED = ("reference/cli.md", "reference/rest.md", "reference/python.md")
SECTIONS = (
    ("Tutorials", ("tutorials",)),
    ("How to", ("howto", "serve")),
    ("In your own design", ("integrating",)),
    ("Reference", ("reference", "detectors")),
    ("Explanation", ("explanation",)),
    ("Measured", ("measured", "records")),
    ("Decisions", ("decisions/gateware", "decisions/host")),
)
"""The sections of the site, and their folders. The pages of a folder are in the order of its README.md or index.md,
where that names them, else of their titles."""
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_WHOLE_LINK = re.compile(r"\[([^]]*)\]\(([^)\s]+)\)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """The navigation: every page of docs/ is in it."""
    nav: list[object] = [{"framelane": "index.md"}]
    for title, folders in SECTIONS:
        pages = [page for folder in folders for page in _pages(folder)]
        if title == "Explanation":
            pages.insert(0, "architecture.md")
        nav.append({title: pages})
    boards = sorted((ROOT / "boards").glob("*/*.md"))
    nav.append({"Boards": [str(SOURCE / path.relative_to(ROOT).as_posix()) for path in boards]})
    nav.append({"Kernel module": str(SOURCE / "kernel/README.md")})
    nav += ["glossary.md", {"Changes": str(SOURCE / "CHANGELOG.md")}]
    config.nav = nav
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages, and every file beside docs/ that a page links to."""
    described = document()
    made = dict(zip(GENERATED, (cli_page(), rest_page(described), python_page()), strict=True))
    made["reference/openapi.json"] = json.dumps(described, indent=2)
    for name, text in made.items():
        files.append(File.generated(config, name, content=text))
    wanted = [path for page in DOCS.rglob("*.md") for path in _outside(page)]
    held: set[Path] = set()
    while wanted:
        path = wanted.pop()
        if path in held:
            continue
        held.add(path)
        name = str(SOURCE / path.relative_to(ROOT).as_posix())
        files.append(File.generated(config, name, content=path.read_bytes()))
        if path.suffix == ".md":
            wanted += _outside(path)
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links to files beside docs/ lead to their copies; a folder has none, and is named."""
    uri = PurePosixPath(page.file.src_uri)
    copied = uri.is_relative_to(SOURCE)
    here = ROOT / uri.relative_to(SOURCE) if copied else DOCS / uri

    def replaced(found: re.Match[str]) -> str:
        path, hash_sign, anchor = found[2].partition("#")
        if not path or "://" in path:
            return found[0]
        target = Path(os.path.normpath(here.parent / path))
        if not target.is_relative_to(ROOT) or (target.is_relative_to(DOCS) and not copied and not target.is_dir()):
            return found[0]
        if target.is_dir():
            return found[1]
        inside = target.relative_to(DOCS) if target.is_relative_to(DOCS) else SOURCE / target.relative_to(ROOT)
        return f"[{found[1]}]({os.path.relpath(inside, uri.parent)}{hash_sign}{anchor})"

    return _WHOLE_LINK.sub(replaced, markdown)


def _index(folder: Path) -> Path | None:
    return next((folder / name for name in ("index.md", "README.md") if (folder / name).is_file()), None)


def _outside(page: Path) -> Iterator[Path]:
    """The files beside docs/ that a page links to."""
    for link in _LINK.findall(page.read_text()):
        path = Path(os.path.normpath(page.parent / link.partition("#")[0]))
        if "://" not in link and path.is_file() and path.is_relative_to(ROOT) and not path.is_relative_to(DOCS):
            yield path


def _pages(folder: str) -> list[str]:
    """The pages of a folder of docs/, its own first."""
    names = [path.relative_to(DOCS).as_posix() for path in (DOCS / folder).glob("*.md")]
    names += [name for name in GENERATED if name.startswith(f"{folder}/")]
    own = _index(DOCS / folder)
    order = _LINK.findall(own.read_text()) if own else []

    def place(name: str) -> tuple[bool, int, str]:
        base = PurePosixPath(name).name
        listed = order.index(base) if base in order else len(order)
        return own is None or base != own.name, listed, _title(name)

    return sorted(names, key=place)


def _title(name: str) -> str:
    path = DOCS / name
    if not path.is_file():
        return name
    found = re.search(r"^# (.+)$", path.read_text(), re.MULTILINE)
    return (found[1] if found else name).casefold() if "decisions" not in name else name
