"""Options as the command line spells them."""

from framelane.base.errors import FramelaneError, NamesOptions

_OTHERWISE = {"bad_modules": "bad-module", "energy_kev": "energy", "impairment": "impair"}
"""Options that have another name than the argument."""


def sentence(error: FramelaneError) -> str:
    """The message of an error, with `--link-port` for the option `link_port`."""
    return error.spelled(_spell) if isinstance(error, NamesOptions) else str(error)


def _spell(name: str) -> str:
    return f"--{_OTHERWISE.get(name, name.replace('_', '-'))}"
