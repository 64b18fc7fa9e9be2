"""The gateware's source files in the order in which a compiler takes them: each behind all that it uses."""

import re
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def uses(text: str) -> list[str]:
    """The names that may be packages, before `::`, then those that may be modules, where an instance begins a line."""
    code = re.sub(r"//.*|/\*.*?\*/", "", text)
    return [*re.findall(r"(\w+)::", code), *re.findall(r"^\s*(\w+)\s+(?:#\s*\(|\w+\s*\()", code, re.MULTILINE)]


def in_order(tops: Iterable[str], root: Path = ROOT) -> list[Path]:
    """The files of `root`/hw that the modules `tops` are built from, relative to `root`.

    Every module and package is in the file of its name. SystemExit where a top has none, or where files use each other
    in a ring.
    """
    files = {path.stem: path for path in sorted((root / "hw").rglob("*.sv"))}
    done: list[Path] = []
    under_way: list[str] = []

    def visit(name: str) -> None:
        if name in under_way:
            raise SystemExit(f"{' -> '.join([*under_way, name])}: these files use each other in a ring, break it")
        if files[name] in done:
            return
        under_way.append(name)
        for other in uses(files[name].read_text()):
            if other in files and other != name:
                visit(other)
        under_way.pop()
        done.append(files[name])

    for top in tops:
        if top not in files:
            raise SystemExit(f"there is no top {top}: no file {top}.sv in hw/")
        visit(top)
    return [path.relative_to(root) for path in done]
