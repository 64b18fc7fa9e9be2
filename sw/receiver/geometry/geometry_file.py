"""Geometries from TOML files: those of this package by name, and the user's (docs/howto/geometry.md)."""

import tomllib
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from framelane.base.document_lines import toml_line
from framelane.base.documents import read_text
from framelane.base.errors import InputError
from framelane.base.validation import all_said, on_line, spelled, words
from framelane.models.jungfrau.jf_geometry import Geometry

_MODULES = {
    "tuple_type": "is not a list of tables: write [[module]] above each module",
    "too_short": "there is none: write [[module]] above each module",
    "model_type": "is not a table: write [[module]] above it",
}
"""What is wrong with all modules, or a whole one."""
_FOLDER = resources.files("framelane.receiver.geometry") / "geometries"


def names() -> list[str]:
    """The geometries of this package."""
    return sorted(file.name.removesuffix(".toml") for file in _FOLDER.iterdir() if file.name.endswith(".toml"))


def load(name: str) -> Geometry:
    """One of `names`, or a file. InputError says what is wrong with it, and where."""
    if name in names():
        text = (_FOLDER / f"{name}.toml").read_text(encoding="utf-8")
    else:
        try:
            text = read_text(Path(name), "geometry")
        except InputError as error:
            advice = f"give a file, or one of {', '.join(names())}"
            raise InputError(f"{str(error).removesuffix(': give a file')}: {advice}") from error
    try:
        return Geometry.model_validate(_tuples(tomllib.loads(text)))
    except ValidationError as error:
        wrong = all_said(error, lambda each: _sentence(each) + on_line(toml_line(text, each["loc"])))
        raise InputError(f"the geometry {name} is not usable: {wrong}") from error
    except RecursionError as error:
        raise InputError(f"the geometry {name} is nested too deeply: needed are tables of numbers and words") from error
    except ValueError as error:  # of TOML, of its text, or of a number with thousands of digits
        raise InputError(f"the geometry {name} is not TOML: {error}") from error


def _tuples(tables: dict[str, Any]) -> dict[str, Any]:
    """TOML has lists where the geometry has tuples."""
    return {key: tuple(value) if isinstance(value, list) else value for key, value in tables.items()}


def _sentence(error: ErrorDetails) -> str:
    where = error["loc"]
    place = ": ".join(
        f"[[module]] {part}" if isinstance(part, int) else spelled((part,)) for part in where if part != "module"
    )
    said = _MODULES.get(error["type"]) or words(error, Geometry)
    return f"{place or '[[module]]'}: {said}" if where else said
