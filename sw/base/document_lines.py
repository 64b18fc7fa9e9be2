"""On which line of a document a key stands: parsers of TOML and JSON do not tell."""

import re

Where = tuple[int | str, ...]
"""Keys from the outermost on; of an array the index, from 0."""

_KEY = r"""[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*'"""
_DOTTED = rf"(?:{_KEY})(?:\s*\.\s*(?:{_KEY}))*"
_HEADER = re.compile(rf"\s*(\[\[?)\s*({_DOTTED})\s*\]\]?")
_ASSIGNMENT = re.compile(rf"\s*({_DOTTED})\s*=")


def toml_line(text: str, where: Where) -> int | None:
    """The line, from 1, of the key `where`, or of what it is in; None for the whole document.

    A key inside an inline table is on the line of that table.
    """
    best, line = 0, None
    table: Where = ()
    counts: dict[Where, int] = {}
    for number, each in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(each):
            table = _parts(header[2])
            if header[1] == "[[":
                counts[table] = counts.get(table, -1) + 1
            table = _indexed(table, counts)
            found = table
        elif assignment := _ASSIGNMENT.match(each):
            found = table + _parts(assignment[1])
        else:
            continue
        depth = min(len(found), len(where))  # [[flow]] is where flow is
        if best < depth and where[:depth] == found[:depth] and (depth == len(found) or header):
            best, line = depth, number
    return line


def json_line(text: str, where: Where) -> int | None:
    """The same of a JSON object: keys are looked for one behind the other."""
    at, found = 0, None
    for part in where:
        if not isinstance(part, str):
            continue
        match = re.compile(rf'"{re.escape(part)}"\s*:').search(text, at)
        if match is None:
            break
        at, found = match.end(), match.start()
    return None if found is None else text.count("\n", 0, found) + 1


def _parts(dotted: str) -> Where:
    return tuple(part.strip("\"'") for part in re.findall(_KEY, dotted))


def _indexed(table: Where, counts: dict[Where, int]) -> Where:
    """With the index behind each array of tables."""
    found: Where = ()
    for n in range(1, len(table) + 1):
        found += (table[n - 1],)
        if table[:n] in counts:
            found += (counts[table[:n]],)
    return found
