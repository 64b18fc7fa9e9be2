"""Descriptions of detectors' packets from TOML files: those of this package by name, and the user's.

docs/detectors/packets.md says what stands in one.
"""

import tomllib
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from framelane.base.document_lines import toml_line
from framelane.base.documents import read_text
from framelane.base.errors import InputError
from framelane.base.validation import all_said, on_line, spelled, words
from framelane.models.detector.detector_packets import DetectorPackets

JUNGFRAU = "jungfrau"
_FOLDER = resources.files("framelane.packets") / "detectors"


def names() -> list[str]:
    """The detectors of this package."""
    return sorted(file.name.removesuffix(".toml") for file in _FOLDER.iterdir() if file.name.endswith(".toml"))


def load_detector(name: str | Path) -> DetectorPackets:
    """One of `names`, or a file. InputError says what is wrong with it, and where."""
    if str(name) in names():
        return shipped(str(name))
    try:
        text = read_text(Path(name), "description of a detector")
    except InputError as error:
        advice = f"give a file, or one of {', '.join(names())}"
        raise InputError(f"{str(error).removesuffix(': give a file')}: {advice}") from error
    return _parsed(text, str(name))


@cache
def shipped(name: str) -> DetectorPackets:
    """One of `names`."""
    return _parsed((_FOLDER / f"{name}.toml").read_text(encoding="utf-8"), name)


def _parsed(text: str, name: str) -> DetectorPackets:
    what = f"the description {name} of a detector"
    try:
        return DetectorPackets.model_validate(_tuples(tomllib.loads(text)))
    except ValidationError as error:
        said = all_said(error, lambda each: _said(each) + on_line(toml_line(text, each["loc"])))
        raise InputError(f"{what} is not usable: {said}") from error
    except RecursionError as error:
        raise InputError(f"{what} is nested too deeply: needed are tables of numbers and words") from error
    except ValueError as error:  # of TOML, of its text, or of a number with thousands of digits
        raise InputError(f"{what} is not TOML: {error}") from error


def _said(error: ErrorDetails) -> str:
    where = error["loc"]
    if error["type"] == "tuple_type" and len(where) == 1:
        return f"{where[0]}: is not a list of tables: write [[{where[0]}]] above each"
    return ": ".join(filter(None, (spelled(where), words(error, DetectorPackets))))


def _tuples(value: Any) -> Any:
    """TOML has lists where a description has tuples."""
    if isinstance(value, list):
        return tuple(map(_tuples, value))
    return {key: _tuples(each) for key, each in value.items()} if isinstance(value, dict) else value
