"""A run as it is on the disk: its file, the others that belong to it, what is missing, and the next step."""

import datetime
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from framelane.base.any_path import AnyPath
from framelane.base.claim import is_claimed
from framelane.base.errors import InputError
from framelane.files.series import link, parts_of
from framelane.receiver.recovery.found_file import FoundFile, Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundPart:
    """A file that holds frames of a run."""

    path: Path
    frames: int | None
    """None where it is gone or cannot be read."""
    ended: bool
    why: str = ""
    """Why it cannot be read."""
    linked: bool = True
    """Whether the file of the run shows its frames."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRun:
    """What a run has left. Nothing is changed by looking."""

    path: Path
    kind: Kind
    ended: bool
    """Whether it came to its end."""
    written_now: bool
    """Whether a run of this machine is writing it."""
    frames: int
    """Frames that can be read, in all its files."""
    complete: int
    """Those of which all pixels came."""
    first: int | None
    last: int | None
    """Least and greatest number of a frame; None where none is known."""
    gaps: list[tuple[int, int]]
    """Numbers between these that no frame has: (first, last) of each gap."""
    last_ns: int | None
    """Time of the last frame by the clock of its source, in nanoseconds; None where it did not come."""
    written: datetime.datetime
    """When the newest of its files was changed last."""
    parts: list[FoundPart] = field(default_factory=list)
    """The files behind it, in their order: parts of a series, or files of ranks. Empty where it is one file."""
    troubles: list[str] = field(default_factory=list)
    """What is missing or wrong, a sentence each."""
    advice: list[str] = field(default_factory=list)
    """What can be done, a sentence each."""
    link_to: Path | None = None
    """A new file in which `link_run` shows all of the run's files, if `path` does not show them."""

    @property
    def sound(self) -> bool:
        """Whether the run came to its end and all of its frames are to be seen."""
        return self.ended and not self.troubles


def recover(path: AnyPath, *, check: bool = False) -> FoundRun:
    """What the run that wrote to `path` has left: a file of `framelane recv`, `jungfrau record`, or a master of ranks.

    The file itself may be gone, where others of its series are left. With `check` all images are read. InputError where
    there is nothing, the file is damaged, or holds no frames of framelane.
    """
    path = Path(path)
    parts = parts_of(path)
    if not path.is_file():
        if not parts:
            raise InputError(_nothing(path))
        return _series(path, [], parts, check)
    with FoundFile(path) as file:
        if file.ranks:
            return _ranks(file, check)
        if file.sources or (parts and parts[0].samefile(path)):
            return _series(path, file.sources, parts, check)
        troubles = _unreadable(file, check)
        strange = [f"{parts[0].name} and others are named as parts of it, but are of another run"] if parts else []
        return _found(path, [file], [], troubles, strange)


def link_run(path: AnyPath, output: AnyPath) -> int:
    """Write the new file `output`, which shows all parts of the series of `path` as one; how many it links.

    No other file is changed. InputError where there is no series, a part cannot be read, or `output` exists.
    """
    path, output = Path(path), Path(output)
    found = recover(path)
    parts = [part.path for part in found.parts if part.frames is not None]
    if found.kind == "frames of several receivers" or not parts:
        raise InputError(f"{path} is not a series of files, there is nothing to link: it can be read as it is")
    if output.exists():
        raise InputError(f"cannot write {output}: there is a file of this name: give a new one")
    link(output, parts, growing=False)
    return len(parts)


def _series(path: Path, linked: Sequence[Path], parts: Sequence[Path], check: bool) -> FoundRun:
    """A run that goes on in several files: by the files themselves, whatever the one that links them shows."""
    names = sorted({each.name: each for each in [*linked, *parts]}.values())
    shown = {each.name for each in linked}
    files: list[FoundFile] = []
    found: list[FoundPart] = []
    troubles: list[str] = []
    try:
        for name in names:
            try:
                file = FoundFile(name)
            except InputError as error:
                found.append(FoundPart(path=name, frames=None, ended=False, why=str(error), linked=name.name in shown))
                continue
            files.append(file)
            troubles += _unreadable(file, check)
            found.append(FoundPart(path=name, frames=file.frames, ended=file.ended, linked=name.name in shown))
        if not files:
            raise InputError(f"none of the files behind {path} can be read: {found[0].why}")
        troubles += [f"{part.path.name}: its frames are lost: {part.why}" for part in found if part.frames is None]
        hidden = [part for part in found if part.frames is not None and not part.linked]
        advice: list[str] = []
        link_to = None
        if hidden:
            listed = ", ".join(part.path.name for part in hidden)
            state = "does not show" if path.exists() else "is not there, which would show"
            troubles.append(f"{path.name} {state} the frames of {listed}")
            link_to = path if not path.exists() else path.with_stem(f"{path.stem}_whole")
        elif any(part.frames is None for part in found):
            advice.append("frames of files that are gone read as holes: put them beside the others, if you have them")
        return replace(_found(path, files, found, troubles, advice), link_to=link_to)
    finally:
        for file in files:
            file.close()


def _ranks(file: FoundFile, check: bool) -> FoundRun:
    """A master: it shows the frames that its ranks' files had when it was written."""
    found: list[FoundPart] = []
    troubles: list[str] = []
    again = False
    for rank, about in sorted(file.ranks.items()):
        promised = int(about.get("frames", 0))
        if "left_out" in about:
            troubles.append(f"rank {rank} was left out: {about['left_out']}")
        if about.get("unwritten"):
            troubles.append(f"rank {rank}: {about['unwritten']} frames came and were not written")
        if about.get("fault"):
            troubles.append(f"rank {rank} failed: {about['fault']}")
        if "file" not in about:
            continue
        path = file.path.parent / str(about["file"])
        try:
            with FoundFile(path) as own:
                found.append(FoundPart(path=path, frames=own.frames, ended=own.ended))
                troubles += _unreadable(own, check)
                if own.frames != promised:
                    again = True
                    troubles.append(f"{path.name} has {own.frames} frames, of which the master shows {promised}")
        except InputError as error:
            found.append(FoundPart(path=path, frames=None, ended=False, why=str(error)))
            troubles.append(f"rank {rank}: its {promised} images read as holes: {error}")
    names = " ".join(str(part.path) for part in found if part.frames is not None)
    whole = file.path.with_stem(f"{file.path.stem}_whole")
    advice = [f"framelane master {whole} {names}   writes a new master"] if again else []
    return _found(file.path, [file], found, troubles, advice)


def _found(
    path: Path, files: Sequence[FoundFile], parts: list[FoundPart], troubles: list[str], advice: list[str]
) -> FoundRun:
    numbers = np.unique(np.concatenate([file.numbers for file in files]))
    frames = sum(file.frames for file in files)
    troubles = [*troubles, *(f"{file.path.name} ended early: {file.fault}" for file in files if file.fault)]
    came = next((file.came for file in reversed(files) if file.came is not None), None)
    if came is not None and came > frames and all(part.frames is not None for part in parts):
        short = "it ended early"
        troubles = [
            *troubles,
            f"{came} frames came to the receiver, {came - frames} of them are not in the file: {short}",
        ]
    changed = max(each.stat().st_mtime for each in [*(file.path for file in files), *_present(parts)])
    return FoundRun(
        path=path,
        kind=files[0].kind,
        ended=files[-1].ended,
        written_now=is_claimed(path),
        frames=frames,
        complete=sum(file.complete for file in files),
        first=int(numbers[0]) if numbers.size else None,
        last=int(numbers[-1]) if numbers.size else None,
        gaps=list(_gaps(numbers)),
        last_ns=files[-1].last_ns,
        written=datetime.datetime.fromtimestamp(changed, datetime.UTC),
        parts=parts,
        troubles=troubles,
        advice=advice,
    )


def _present(parts: Sequence[FoundPart]) -> Iterator[Path]:
    return (part.path for part in parts if part.frames is not None)


def _gaps(numbers: NDArray[np.uint64]) -> Iterator[tuple[int, int]]:
    """The gaps between numbers that rise."""
    for at in np.flatnonzero(np.diff(numbers) > 1):
        yield int(numbers[at]) + 1, int(numbers[at + 1]) - 1


def _unreadable(file: FoundFile, check: bool) -> list[str]:
    bad = file.unreadable() if check else 0
    return [f"{file.path.name}: {bad} of {file.frames} images cannot be read, they are damaged"] if bad else []


def _nothing(path: Path) -> str:
    """Why there is no run, with the files of its ranks, if there are any."""
    if path.exists():
        return f"{path} is a folder, a device or a pipe: give an HDF5 file"
    ranks = sorted(path.parent.glob(f"{path.stem}_[0-9]*{path.suffix}"))
    if ranks:
        names = " ".join(map(str, ranks))
        return f"there is no file {path}, but files of its ranks: link them with `framelane master {path} {names}`"
    return (
        f"there is no file {path}, and none of its series: a run that was killed before its first frames were readable "
        "leaves none"
    )
