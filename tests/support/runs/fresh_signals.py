"""Signals as Python has them by default, whatever started the tests.

Under nohup a process and all that it starts ignore SIGHUP, and behind `&` in a script SIGINT: then no test can end a
program by that signal.
"""

import signal
from typing import Any

DEFAULTS: dict[signal.Signals, Any] = {
    signal.SIGHUP: signal.SIG_DFL,
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
    signal.SIGPIPE: signal.SIG_IGN,
}
"""What Python makes of them; a program that is started has SIG_DFL for each."""


def pytest_configure() -> None:
    """Put back what was ignored, for the tests and for what they start."""
    for number, handler in DEFAULTS.items():
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)
