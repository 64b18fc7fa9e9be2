"""Man pages of all commands, from the commands themselves, into a folder.

scripts/site/man_pages.py FOLDER
"""

import re
import sys
from importlib.metadata import version
from pathlib import Path

from command_line import Command, command_line


def pages() -> dict[str, str]:
    """Each page, in the format of man(7), by its file's name: `framelane-recv.1`."""
    root = command_line()
    names = [_name(each) for each in root.all()]
    return {f"{_name(each)}.1": _page(each, names) for each in root.all()}


def _name(command: Command) -> str:
    return command.name.replace(" ", "-")


def _page(command: Command, names: list[str]) -> str:
    title = _name(command).upper()
    first, *more = command.help.split("\n\n")
    lines = [
        f'.TH "{title}" 1 "" "framelane {version("framelane")}" "framelane"',
        *(".SH NAME", f"{_text(_name(command))} \\- {_text(_one(first)).rstrip('.')}"),
        *(".SH SYNOPSIS", f".B {_text(command.usage)}"),
    ]
    if more:
        lines.append(".SH DESCRIPTION")
        lines += [line for paragraph in more for line in (".PP", _text(_one(paragraph)))]
    for panel, parameters in command.panels().items():
        lines.append(f'.SH "{_text(panel.upper())}"')
        for each in parameters:
            default = f" Default: {each.default}." if each.default and not each.default.startswith("no-") else ""
            lines += [".TP", f".B {_text(each.spelling)}", _text(f"{each.help}{default}") or "\\&"]
    if command.commands:
        lines.append(".SH COMMANDS")
        for below in command.commands:
            lines += [".TP", f".BR {_text(_name(below))} (1)", _text(_one(below.help.split("\n\n")[0]))]
    if command.epilog:
        lines.append(".SH EXIT STATUS")
        lines += [line for part in command.epilog.split("\n\n") for line in (".PP", _text(_one(part)))]
    others = [name for name in names if name != _name(command) and name.count("-") <= 1]
    lines += [".SH SEE ALSO", ", ".join(f"\\fB{_text(name)}\\fR(1)" for name in others)]
    return "\n".join(lines) + "\n"


def _one(text: str) -> str:
    return " ".join(text.split())


def _text(text: str) -> str:
    """Text without what man would take for its own."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("`", "")
    return re.sub(r"^(?=[.'])", r"\\&", text, flags=re.MULTILINE)


def main() -> None:
    """Write them."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text)


if __name__ == "__main__":
    main()
