"""Geometries from TOML files: those of this package by name, and the user's (docs/geometry.md)."""

import tomllib
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from framelane.base.errors import InputError
from framelane.models.jungfrau.jf_geometry import Geometry

_MESSAGES = {
    "missing": "is missing",
    "extra_forbidden": "is no key of a geometry: remove it, or mend its spelling",
    "tuple_type": "is no list of tables: write [[module]] above each module",
    "too_short": "there is none: write [[module]] above each module",
    "model_type": "is no table: write [[module]] above it",
    "string_type": "is no text: put it in quotes",
    "int_type": "is no whole number",
    "bool_type": "is neither true nor false",
    "greater_than_equal": "is below {ge}",
    "literal_error": "is not {expected}",
}
_FOLDER = resources.files("framelane.receiver.geometry") / "geometries"


def names() -> list[str]:
    """The geometries of this package."""
    return sorted(file.name.removesuffix(".toml") for file in _FOLDER.iterdir() if file.name.endswith(".toml"))


def load(name: str) -> Geometry:
    """One of `names`, or a file. InputError says what is wrong with it, and where."""
    source = _FOLDER / f"{name}.toml" if name in names() else Path(name)
    try:
        tables = tomllib.loads(source.read_text(encoding="utf-8"))
        return Geometry.model_validate(_tuples(tables))
    except OSError as error:
        advice = f"give a file, or one of {', '.join(names())}"
        raise InputError(f"cannot read the geometry {name}: {error.strerror}: {advice}") from error
    except ValidationError as error:
        said = "; ".join(map(_sentence, error.errors()))
        raise InputError(f"the geometry {name} is not usable: {said}") from error
    except RecursionError as error:
        raise InputError(f"the geometry {name} is nested too deeply: needed are tables of numbers and words") from error
    except ValueError as error:  # of TOML, of its text, or of a number with thousands of digits
        raise InputError(f"the geometry {name} is no TOML: {error}") from error


def _tuples(tables: dict[str, Any]) -> dict[str, Any]:
    """TOML has lists where the geometry has tuples."""
    return {key: tuple(value) if isinstance(value, list) else value for key, value in tables.items()}


def _sentence(error: ErrorDetails) -> str:
    where, context = error["loc"], error.get("ctx", {})
    place = ": ".join(f"[[module]] {part}" if isinstance(part, int) else part for part in where if part != "module")
    ours = _MESSAGES.get(error["type"])
    said = ours.format(**context) if ours else error["msg"].removeprefix("Value error, ")
    return f"{place or '[[module]]'}: {said}" if where else said
