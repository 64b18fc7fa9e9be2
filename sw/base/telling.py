"""How a function says what it does while it works, to whoever wants to know."""

from collections.abc import Callable

Progress = Callable[[str, int, int], object]
"""Gets what is done, how far that is, and of how many: 0 where that is not known. Another step ends the one before."""


def tell_nobody(what: str, done: int, total: int) -> None:
    """The `Progress` of one who does not want to know."""
