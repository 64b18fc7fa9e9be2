"""What can go wrong with a run in a guest."""

from framelane.base.errors import FramelaneError


class CannotStart(FramelaneError):
    """Something is missing on this computer: the message says what, and how to get it. Tests are skipped for it."""


class GuestEnded(FramelaneError):
    """The guest ended before its command did: a panic, a power-off."""


class TimedOut(FramelaneError):
    """The command did not end in its time; the guest was ended."""
