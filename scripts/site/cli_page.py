"""The page of the command line, from the commands themselves."""

from command_line import Command, Parameter, command_line
from plain_text import cell, markdown

_HEAD = """# Command line

Made from the commands themselves: what `framelane COMMAND --help` prints. `framelane --install-completion` teaches your
shell the commands and their options.
"""


def cli_page() -> str:
    """The page, as Markdown."""
    return "\n".join([_HEAD, *(_section(command) for command in command_line().all())])


def _section(command: Command) -> str:
    parts = [f"## {command.name}", markdown(command.help), f"    {command.usage}"]
    parts += [_table(panel, parameters) for panel, parameters in command.panels().items()]
    if command.epilog:
        parts.append(markdown(command.epilog))
    return "\n\n".join(parts) + "\n"


def _table(panel: str, parameters: list[Parameter]) -> str:
    rows = [f"| {panel} | | default |", "|---|---|---|"]
    for each in parameters:
        default = "" if not each.default or each.default.startswith("no-") else f"`{each.default}`"
        rows.append(f"| {cell(f'`{each.spelling}`')} | {cell(each.help)} | {cell(default)} |")
    return "\n".join(rows)
