"""Prints the part of `constraints.txt` that some extras of framelane need, with hashes, for pip's `--require-hashes`.

    scripts/locked.py sim dev >requirements.txt     what framelane itself needs, and these extras of pyproject.toml
    scripts/locked.py --only install                these extras alone

Which package needs which is in the comments of `constraints.txt` ("via"), so all others stay out, those for a GPU above
all. Run with any Python from 3.11 on, without packages.
"""

import argparse
import re
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "constraints.txt"


@dataclass(frozen=True)
class Pin:
    """A package of the lock: its lines as pip reads them, and the names of those that need it."""

    text: str
    via: frozenset[str]


def canonical(name: str) -> str:
    """A name as package indexes compare it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(lock: str) -> dict[str, Pin]:
    """The packages of a lock by name. ValueError for one without hashes."""
    found = {}
    for block in re.split(r"^(?=[A-Za-z0-9])", lock, flags=re.MULTILINE)[1:]:
        lines = block.splitlines()
        text = "\n".join(line for line in lines if not line.strip().startswith("#"))
        name = re.match(r"[\w.-]+", block)
        if not name or "--hash=sha256:" not in text:
            raise ValueError(f"{lines[0]}: not a version with hashes, run make lock")
        via = re.findall(r"^ +# +(?:via )?([\w.-]+)(?: \(pyproject\.toml\))?$", block, re.MULTILINE)
        found[canonical(name[0])] = Pin(text.strip() + "\n", frozenset(map(canonical, via)) - {"via"})
    return found


def needed(lock: dict[str, Pin], direct: list[str]) -> list[str]:
    """The names of `direct` requirements, and of all that they need. ValueError for one that is not locked."""
    names = {canonical(re.split(r"[^\w.-]", line, maxsplit=1)[0]) for line in direct}
    if missing := sorted(names - lock.keys()):
        raise ValueError(f"{', '.join(missing)}: not in constraints.txt, run make lock")
    while more := {name for name, pin in lock.items() if name not in names and pin.via & names}:
        names |= more
    return sorted(names)


def main() -> int:
    """Print them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("extra", nargs="*", help="of pyproject.toml")
    parser.add_argument("--only", action="store_true", help="without what framelane itself needs")
    options = parser.parse_args()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    if unknown := sorted(set(options.extra) - extras.keys()):
        raise SystemExit(f"pyproject.toml has no extra {', '.join(unknown)}: there are {', '.join(extras)}")
    direct = [line for extra in options.extra for line in extras[extra]]
    try:
        lock = pins(LOCK.read_text())
        names = needed(lock, direct if options.only else [*project["dependencies"], *direct])
    except ValueError as reason:
        raise SystemExit(f"constraints.txt: {reason}") from None
    print("".join(lock[name].text for name in names), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
