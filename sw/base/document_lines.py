"""The line of a document on which a key stands: parsers of TOML and JSON do not say."""

import json
import re
from collections.abc import Iterator

Where = tuple[int | str, ...]
"""Keys from the outermost on; of an array the index, from 0."""

_KEY = r"""[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*'"""
_DOTTED = rf"(?:{_KEY})(?:\s*\.\s*(?:{_KEY}))*"
_HEADER = re.compile(rf"\s*(\[\[?)\s*({_DOTTED})\s*\]\]?")
_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\r\n]*")
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
    """The same of a document in JSON, which has to be one."""
    at, found = 0, None
    for part in where:
        place = next((each for each in _members(text, at) if each[0] == part), None)
        if place is None:
            break
        _, found, at = place
    return None if found is None else _line(text, found)


def json_doubled(text: str) -> tuple[str, int] | None:
    """A key that stands twice in an object of a document in JSON, and the line of the second; None where none does."""
    waiting = [0]
    while waiting:
        seen: set[int | str] = set()
        for key, found, at in _members(text, waiting.pop()):
            if isinstance(key, str) and key in seen:
                return key, _line(text, found)
            seen.add(key)
            waiting.append(at)
    return None


def _members(text: str, at: int) -> Iterator[tuple[int | str, int, int]]:
    """The members of the object or array at this place: key or index, where it begins, and where its value does."""
    at = _past_space(text, at)
    opened = text[at : at + 1]
    if opened not in ("{", "["):
        return
    at, index = _past_space(text, at + 1), 0
    while text[at : at + 1] not in ("}", "]", ""):
        key, found = index, at
        if opened == "{":
            key, at = _DECODER.raw_decode(text, at)
            at = _past_space(text, _past_space(text, at) + 1)  # the colon
        yield key, found, at
        _, at = _DECODER.raw_decode(text, at)
        at = _past_space(text, at)
        if text[at : at + 1] == ",":
            at = _past_space(text, at + 1)
        index += 1


def _past_space(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


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
