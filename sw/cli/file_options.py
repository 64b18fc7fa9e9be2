"""Options of what a file of frames says and holds, of every command that writes one."""

import functools
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from framelane.cli.option_names import spelled
from framelane.session.metadata_fields import FIELDS, Number

_EXPERIMENT = "The experiment (docs/reference/files.md)"
_READERS = "For other readers"
Command = Callable[..., None]


def takes_metadata(command: Command) -> Command:
    """Give the command the options of `Metadata`, which it gets as `metadata`."""

    @functools.wraps(command)
    def with_metadata(**given: Any) -> None:
        from framelane.receiver import Metadata

        values = {name: value for name in FIELDS if name not in taken and (value := given.pop(name)) is not None}
        path = given.pop("metadata")
        metadata = Metadata(**values)
        command(**given, metadata=metadata if path is None else Metadata.load(path).updated(metadata))

    own = [each for each in inspect.signature(command).parameters.values() if each.name != "metadata"]
    taken = {each.name for each in own}
    return shown(with_metadata, [*own, *(each for each in _experiment() if each.name not in taken)])


def takes_file_options(command: Command) -> Command:
    """Give the command those options too that say how pixels are written; it gets all as `options`, `FileOptions`."""

    @functools.wraps(command)
    def with_options(metadata: Any, photons_as: Any, no_checksum: bool, **given: Any) -> None:
        from framelane.receiver import FileOptions

        options = FileOptions(metadata=metadata, photons_as=photons_as, checksum=not no_checksum)
        command(**given, options=options)

    own = [each for each in inspect.signature(command).parameters.values() if each.name != "options"]
    return takes_metadata(shown(with_options, [*own, *_readers()]))


def shown(command: Command, parameters: list[inspect.Parameter]) -> Command:
    """Let typer see these parameters."""
    changed: Any = command
    changed.__signature__ = inspect.Signature([each.replace(kind=each.KEYWORD_ONLY) for each in parameters])
    changed.__annotations__ = {each.name: each.annotation for each in parameters}
    return command


def _experiment() -> Iterator[inspect.Parameter]:
    yield _option(
        "metadata", Path, "TOML file whose table metadata describes the experiment; options override it.", _EXPERIMENT
    )
    for name, field in FIELDS.items():
        kind: Any = float if isinstance(field, Number) else Literal[field.choices] if field.choices else str
        said = field.wanted if isinstance(field, Number) else field.said
        yield _option(name, kind, f"{said[0].upper()}{said[1:]}.", _EXPERIMENT)


def _readers() -> Iterator[inspect.Parameter]:
    as_ = "Write pixels in a type without codes (docs/reference/files.md), for viewers that do not know the codes."
    yield _option("photons_as", Literal["float32", "int32", "uint16"], as_, _READERS)
    checksum = typer.Option(
        "--no-checksum",
        help="Write images without checksum, for readers that refuse it, such as XDS plugins.",
        rich_help_panel=_READERS,
    )
    yield inspect.Parameter("no_checksum", _KIND, default=False, annotation=Annotated[bool, checksum])


_KIND = inspect.Parameter.KEYWORD_ONLY


def _option(name: str, kind: Any, said: str, panel: str) -> inspect.Parameter:
    option = typer.Option(spelled(name), help=said, rich_help_panel=panel)
    return inspect.Parameter(name, _KIND, default=None, annotation=Annotated[kind | None, option])
