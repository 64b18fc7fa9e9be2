"""How a function says what it does while it works, to whoever wants to know."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

Progress = Callable[[str, int, int], object]
"""Gets what is done, how far that is, and of how many: 0 where that is not known. Another step ends the one before."""


def tell_nobody(what: str, done: int, total: int) -> None:
    """The `Progress` of one who does not want to know."""


_shown: list[Callable[[str], AbstractContextManager[object]]] = []


def show_long_work(how: Callable[[str], AbstractContextManager[object]]) -> None:
    """What takes a minute, and nobody has asked for, is shown by `how(what)` while it lasts, in the whole process."""
    _shown[:] = [how]


def long_work(what: str) -> AbstractContextManager[object]:
    """The block takes long: `what` it does is shown to whoever wants to know."""
    return _shown[0](what) if _shown else nullcontext()
