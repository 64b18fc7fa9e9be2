"""The command `framelane`."""

from framelane.cli._main import main

__all__ = ["main"]
