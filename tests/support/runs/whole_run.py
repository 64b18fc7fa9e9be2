"""Whether a run is of all tests and of one commit: only such a run leaves tests to other commits."""

import os

import pytest

import widths

ASKING = ("keyword", "markexpr", "lf", "stepwise", "deselect", "ignore", "ignore_glob")
"""pytest's options that ask for certain tests."""


def of_one_commit(config: pytest.Config) -> bool:
    """Whether this is `make test`: of a commit, and without any test that is asked for by itself."""
    asked = [name for name in ASKING if getattr(config.option, name, None)]
    by_name = config.args_source is not pytest.Config.ArgsSource.TESTPATHS
    commit = os.environ.get("FRAMELANE_WIDTHS") == "commit" and widths.commit_of_checkout()
    return bool(commit and not asked and not by_name)
