"""`framelane recover`: what broken runs have left, in plain words."""

import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from framelane.receiver import FoundPart, FoundRun

STATUS = """Exit status 0: every run was ended, and all of its frames are to be seen.

1: a run was not ended, a file is gone, damaged or not linked, and is said.

2: bad options; nothing is written."""

_MOST_GAPS, _MOST_PARTS = 5, 12
_SINCE_1970_NS = 10**18
"""Times before (2001) are of a clock that began somewhere else."""


def recover(
    files: Annotated[list[Path], typer.Argument(help="Files as they were given to --output of recv or record.")],
    link: Annotated[
        Path | None, typer.Option(help="Write a new file that shows all parts of the one series given.")
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Read every image, too.")] = False,
) -> None:
    """Say what runs have left that were killed, or lost their disk: nothing of it is changed.

    Frames, complete ones, the last one's time, the files that belong together, what is missing, and what can be done.
    A file can be read as it is: it needs no repair.
    """
    from framelane.base.errors import InputError, OptionError
    from framelane.base.progress import say
    from framelane.cli.terminal import Terminal
    from framelane.receiver import link_run
    from framelane.receiver import recover as find

    console, sound = Terminal(), True
    if link is not None and len(files) != 1:
        raise OptionError("{link} is for one run, {0} files were given: give one", len(files))
    for path in files:
        try:
            found = find(path, check=check)
        except InputError as error:
            say(console, f"{path}: {error}")
            sound = False
            continue
        say(console, "\n".join(_lines(found)))
        sound = sound and found.sound
    if link is not None:
        linked = link_run(files[0], link)
        say(console, f"see {link}, which shows {linked} files as one")
    if not sound:
        raise typer.Exit(1)


def _lines(found: "FoundRun") -> list[str]:
    state = "ended" if found.ended else "being written" if found.written_now else "not ended: it was killed"
    return [
        f"{found.path}: {found.kind}, {state}",
        f"  frames: {found.frames} can be read, {found.complete} complete, {found.frames - found.complete} with holes",
        *_numbers(found),
        f"  last frame: {_time(found.last_ns)}; on the disk since {found.written:%Y-%m-%d %H:%M:%S} UTC or before",
        *_parts(found.parts),
        *(f"  missing: {trouble}" for trouble in found.troubles),
        *(f"  next: {advice}" for advice in _advice(found)),
    ]


def _advice(found: "FoundRun") -> list[str]:
    if found.link_to is not None:
        command = f"framelane recover {found.path} --link {found.link_to}"
        return [f"{command}   writes a new file that shows them all", *found.advice]
    return found.advice or ["it can be read as it is"]


def _numbers(found: "FoundRun") -> list[str]:
    if found.first is None:
        return []
    lines = [f"  numbers: {found.first} to {found.last}"]
    if found.gaps:
        count = sum(last - first + 1 for first, last in found.gaps)
        named = [f"{first}" if first == last else f"{first} to {last}" for first, last in found.gaps[:_MOST_GAPS]]
        more = ", ..." if len(found.gaps) > _MOST_GAPS else ""
        lines.append(f"  {count} numbers between are not there: {', '.join(named)}{more}")
    return lines


def _time(ns: int | None) -> str:
    if ns is None:
        return "its source told no time"
    if ns < _SINCE_1970_NS:
        return f"at {ns / 1e9:.6f} s of its source's clock"
    return f"at {datetime.datetime.fromtimestamp(ns / 1e9, datetime.UTC):%Y-%m-%d %H:%M:%S.%f} UTC"


def _parts(parts: "list[FoundPart]") -> list[str]:
    lines = [
        f"    {part.path.name}: " + ("cannot be read" if part.frames is None else f"{part.frames} frames")
        for part in parts
    ]
    if len(lines) > _MOST_PARTS:
        lines = [*lines[: _MOST_PARTS - 2], f"    ... {len(lines) - _MOST_PARTS + 1} more", lines[-1]]
    return [f"  files: {len(parts)}", *lines] if parts else []
