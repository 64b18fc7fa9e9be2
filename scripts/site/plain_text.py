"""Docstrings and help are plain text with code between backquotes; on the site they are Markdown."""

import re


def markdown(text: str, folder: str = "reference") -> str:
    """Plain text as Markdown of a page in a folder of docs/: its signs are escaped, and pages that it names are links.

    Lines that are indented are code, and stay.
    """
    return "\n".join(line if line.startswith("    ") else _line(line, folder) for line in text.split("\n"))


def cell(text: str, folder: str = "reference") -> str:
    """The same in a cell of a table."""
    return markdown(" ".join(text.split()), folder).replace("|", "\\|")


def _line(line: str, folder: str) -> str:
    parts = line.split("`")
    for place in range(0, len(parts), 2):
        escaped = re.sub(r"(?<!\w)([*_])|([*_])(?!\w)|([<\[])", lambda sign: "\\" + sign[0], parts[place])
        parts[place] = re.sub(
            r"\bdocs/([a-z0-9_/]+)/([a-z0-9_]+\.md)", lambda page: _link(page[1], page[2], folder), escaped
        )
    return "`".join(parts)


def _link(of: str, name: str, folder: str) -> str:
    return f"[{name.removesuffix('.md')}]({name if of == folder else f'../{of}/{name}'})"
