"""Options as the command line spells them."""

from framelane.base.errors import FramelaneError, OptionError


def sentence(error: FramelaneError) -> str:
    """The message of an error, with `--link-port` for the option `link_port`."""
    if isinstance(error, OptionError):
        return error.spelled(lambda name: f"--{name.replace('_', '-')}")
    return str(error)
