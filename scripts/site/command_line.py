"""The commands of `framelane` with their options, as data: what the site and the man pages are made of."""

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import typer


@dataclass(frozen=True)
class Parameter:
    """An option, or an argument: how it is written, what it does, its default ("" where there is none)."""

    spelling: str
    help: str
    default: str
    panel: str
    """The heading below which it is listed; "Arguments" or "Options" where none was given."""


@dataclass(frozen=True)
class Command:
    """A command: its whole name, how it is called, and paragraphs of what it does and of its exit status."""

    name: str
    usage: str
    help: str
    epilog: str
    parameters: tuple[Parameter, ...]
    commands: tuple["Command", ...]

    def all(self) -> Iterator["Command"]:
        """The command and those below it, in the order of `--help`."""
        yield self
        for command in self.commands:
            yield from command.all()

    def panels(self) -> dict[str, list[Parameter]]:
        """Its parameters by their heading, in the order of `--help`."""
        found: dict[str, list[Parameter]] = {}
        for parameter in self.parameters:
            found.setdefault(parameter.panel, []).append(parameter)
        return found


def command_line() -> Command:
    """The command `framelane`, and all below it."""
    from framelane.cli._main import app

    command = typer.main.get_command(app)
    return _command(command, typer.Context(command, info_name="framelane"))


def _command(command: Any, context: typer.Context) -> Command:
    below = [
        _command(each, typer.Context(each, info_name=name, parent=context))
        for name, each in getattr(command, "commands", {}).items()
        if not each.hidden
    ]
    return Command(
        name=context.command_path,
        usage=" ".join([context.command_path, *command.collect_usage_pieces(context)]),
        help=inspect.cleandoc(command.help or ""),
        epilog=inspect.cleandoc(command.epilog or ""),
        parameters=tuple(_parameter(each, context) for each in command.params if not getattr(each, "hidden", False)),
        commands=tuple(below),
    )


def _parameter(parameter: Any, context: typer.Context) -> Parameter:
    spelling, said = parameter.get_help_record(context)
    extra = re.search(r"\s*\[([^]]*)\]$", said)
    default = re.search(r"default: ([^;]*)", extra[1]) if extra else None
    argument = parameter.param_type_name == "argument"
    return Parameter(
        spelling=spelling,
        help=" ".join((said[: extra.start()] if extra else said).split()),
        default=default[1] if default else "",
        panel=parameter.rich_help_panel or ("Arguments" if argument else "Options"),
    )
