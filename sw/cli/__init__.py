"""The command `framelane`."""

import signal

_before = signal.getsignal(signal.SIGINT)
if _before is signal.default_int_handler:
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C in the imports is not an error of theirs
    except ValueError:  # imported by another thread than the main one
        _before = None

from framelane.cli._main import main  # noqa: E402

if _before is signal.default_int_handler:
    signal.signal(signal.SIGINT, _before)

__all__ = ["main"]
