"""The plan of a session as a TOML file, written by hand."""

import tomllib
from pathlib import Path

from pydantic import ValidationError

from framelane.base.errors import InputError
from framelane.session.session_plan import SessionPlan, sentence


def load_plan(path: Path) -> SessionPlan:
    """Read the `SessionPlan`; InputError names the file and every field that is wrong."""
    try:
        plan = SessionPlan.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise InputError(f"cannot read the plan {path}: {error.strerror}") from error
    except ValidationError as error:
        raise InputError(f"the plan {path} is not usable: {sentence(error)}") from error
    except (ValueError, RecursionError) as error:  # of tomllib, for a number of 5,000 digits and 1,000 brackets too
        raise InputError(f"the plan {path} is no TOML: {error}") from error
    if plan.rows % plan.sources:
        raise InputError(
            f"the plan {path} is not usable: {plan.rows} rows do not part evenly among {plan.sources} sources"
        )
    return plan
