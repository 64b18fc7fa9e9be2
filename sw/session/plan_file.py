"""The plan of a session as a TOML file, written by hand."""

import tomllib
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from framelane.base.document_lines import toml_line
from framelane.base.documents import read_text
from framelane.base.errors import InputError
from framelane.base.validation import sentence
from framelane.session.metadata import Metadata
from framelane.session.session_plan import SessionPlan


def load_plan(path: Path) -> SessionPlan:
    """Read the `SessionPlan`; InputError names the file and every field that is wrong, in `[metadata]` too."""
    text, tables = _read(path)
    if "metadata" in tables:
        Metadata.of_table(tables.pop("metadata"), path, text)
    try:
        plan = SessionPlan.model_validate(tables)
    except ValidationError as error:
        said = sentence(error, SessionPlan, lambda where: toml_line(text, where))
        raise InputError(f"the plan {path} is not usable: {said}") from error
    if plan.rows % plan.sources:
        raise InputError(
            f"the plan {path} is not usable: {plan.rows} rows do not part evenly among {plan.sources} sources"
        )
    return plan


def load_metadata(path: Path) -> Metadata:
    """What the plan says of the experiment, its table `[metadata]`; nothing where it has none. InputError as above."""
    text, tables = _read(path)
    return Metadata.of_table(tables.get("metadata", {}), path, text)


def _read(path: Path) -> tuple[str, dict[str, Any]]:
    """The plan as text, and its tables."""
    text = read_text(path, "plan")
    try:
        return text, tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # of tomllib, for a number of 5,000 digits and 1,000 brackets too
        raise InputError(f"the plan {path} is not TOML: {error}") from error
