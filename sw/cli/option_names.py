"""Options as the command line spells them."""

from framelane.base.errors import FramelaneError, NamesOptions
from framelane.session.metadata_fields import FIELDS

_OTHERWISE = {"bad_modules": "bad-module", "impairment": "impair"}
_UNITS = "_mm", "_um", "_s", "_kev", "_angstrom"
"""How arguments on the experiment end, whose options have no unit in their names."""


def sentence(error: FramelaneError) -> str:
    """The message of an error, with `--link-port` for the option `link_port`."""
    return error.spelled(spelled) if isinstance(error, NamesOptions) else str(error)


def spelled(name: str) -> str:
    """The option for an argument of this name."""
    unit = next((unit for unit in _UNITS if name in FIELDS and name.endswith(unit)), "")
    return f"--{_OTHERWISE.get(name, name.removesuffix(unit).replace('_', '-'))}"
