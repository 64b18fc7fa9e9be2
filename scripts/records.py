"""Records of long runs, so that what has not changed since need not be run in every test: `docs/records/*.json`.

A record holds for each run that ended well the digest of all that its result depends on: the sources that its block is
built from, how it is run, the versions of the tools. A run whose digest is there would end as it did. A source that is
changed, added or taken away changes the digest of every run it is a part of, and those are run.
"""

import hashlib
import json
import random
import re
import secrets
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "records"

RARELY = 0.1
"""How often a sample may have a run that takes long, at the least."""


@dataclass(frozen=True)
class Made:
    """A run that ended well: the digest of all that it depends on, and how long it took, in seconds."""

    inputs: str
    seconds: int


def parts(tops: Iterable[str], sources: Mapping[str, str]) -> dict[str, str]:
    """The files of `sources`, text by name, that the modules `tops` can be built from.

    A module or package is in the file of its name. An instance begins a line: its module, then `#(` or its own name and
    `(`. A package stands before `::`. A run is given these files alone: were one missing, it would not end well.
    """
    found: dict[str, str] = {}
    wanted = [f"{top}.sv" for top in tops]
    while wanted:
        name = wanted.pop()
        if name in sources and name not in found:
            found[name] = sources[name]
            wanted += [f"{word}.sv" for word in _named(sources[name])]
    return found


@cache
def _named(text: str) -> list[str]:
    """What a source may instantiate, and the packages that it names."""
    text = code(text)
    return re.findall(r"^\s*(\w+)\s+(?:#\s*\(|\w+\s*\()", text, re.MULTILINE) + re.findall(r"(\w+)::", text)


@cache
def code(text: str) -> str:
    """A source of Verilog without its comments, but with those that Verilator obeys."""
    return re.sub(r"//(?!\s*verilator\b).*|/\*(?!\s*verilator\b).*?\*/", "", text)


def digest(files: Mapping[str, str], programs: Iterable[Path], tools: Iterable[str], *settings: object) -> str:
    """One number for the sources, text by name, our programs that run on them, the tools' versions, the settings.

    Comments and spaces of the sources do not count.
    """
    whole = [
        [(name, code(text).split()) for name, text in sorted(files.items())],
        [path.read_text() for path in programs],
        [version(tool) for tool in tools],
        settings,
    ]
    return hashlib.sha256(repr(whole).encode()).hexdigest()


def read(path: Path) -> dict[str, Made]:
    """Read a record; SystemExit where it is not one. Without a file nothing was run."""
    if not path.is_file():
        return {}
    try:
        return {name: Made(str(entry[0]), int(entry[1])) for name, entry in json.loads(path.read_text()).items()}
    except (ValueError, LookupError, TypeError, AttributeError) as reason:
        raise SystemExit(f"{path.relative_to(ROOT)} is not a record, remove it: {reason}") from None


def write(path: Path, old: Mapping[str, Made], new: Mapping[str, Made]) -> None:
    """Write a record, a line a run. One that was run again on the same inputs keeps its line."""
    kept = {name: old[name] if name in old and old[name].inputs == made.inputs else made for name, made in new.items()}
    lines = (f'  {json.dumps(name)}: ["{made.inputs}", {made.seconds}]' for name, made in sorted(kept.items()))
    path.parent.mkdir(exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    part.replace(path)


def _commit() -> str:
    """The commit that is checked out; anything where there is none to be found."""
    try:
        done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError:
        return secrets.token_hex(8)
    return done.stdout.strip() if done.returncode == 0 else secrets.token_hex(8)


def sample(names: Iterable[str], record: Mapping[str, Made], seconds: float, least: int) -> list[str]:
    """Choose runs that took so many seconds together, others with each commit: a record that is wrong is found out.

    A run that alone took longer stands back more often the longer it took, but never more than nine times in ten. There
    are at least `least`: whoever writes to the record that runs take hours cannot leave all out.
    """
    chance = random.Random(_commit())
    shuffled = chance.sample(ordered := sorted(names), len(ordered))
    rare = [name for name in shuffled if chance.random() > max(RARELY, seconds / max(record[name].seconds, 1))]
    chosen: list[str] = []
    for name in [name for name in shuffled if name not in rare] + rare:
        if len(chosen) >= least and (seconds <= 0 or name in rare):
            break
        chosen.append(name)
        seconds -= max(record[name].seconds, 1)
    return chosen
