"""Geometries from TOML files: those of this package by name, and the user's (docs/geometry.md)."""

import tomllib
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from framelane.models.errors import InputError
from framelane.models.jf_geometry import Geometry

_MESSAGES = {"missing": "is missing", "extra_forbidden": "is no key of a geometry: remove it, or mend its spelling"}
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
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"the geometry {name} is no TOML: {error}") from error
    except ValidationError as error:
        said = "; ".join(_sentence(each["loc"], each["type"], each["msg"]) for each in error.errors())
        raise InputError(f"the geometry {name} is not usable: {said}") from error


def _tuples(tables: dict[str, Any]) -> dict[str, Any]:
    """TOML has lists where the geometry has tuples."""
    return {key: tuple(value) if isinstance(value, list) else value for key, value in tables.items()}


def _sentence(where: tuple[int | str, ...], kind: str, message: str) -> str:
    place = ": ".join(f"[[module]] {part}" if isinstance(part, int) else part for part in where if part != "module")
    said = _MESSAGES.get(kind, message.removeprefix("Value error, "))
    return f"{place or '[[module]]'}: {said}" if where else said
