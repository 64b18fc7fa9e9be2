"""A PCIe engine as a receiver's transport wants it: its credit, its interrupt, its errors."""

import time
from collections.abc import Callable, Mapping
from typing import Protocol

from framelane.driver.pcie.engine import PcieEngine

POLL_S = 0.0001
"""So long a receiver sleeps between two looks where there is no interrupt: below the time of a frame at 2 kHz."""


class Interrupt(Protocol):
    """Where the engine's interrupts arrive."""

    def wait(self, timeout_s: float) -> bool:
        """Whether one has come since the last call, within that time."""


class EngineEndpoint:
    """`engine`, which writes to memory that `release` takes away from it; see `transport.pcie.endpoint.Endpoint`.

    With `interrupt`, the engine's interrupts end a wait; without, a wait is a short sleep.
    """

    def __init__(
        self, engine: PcieEngine, release: Callable[[], None] = lambda: None, interrupt: Interrupt | None = None
    ) -> None:
        self._engine, self._release, self._interrupt = engine, release, interrupt
        self._closed = False

    def consumed(self, count: int) -> None:
        """See `Endpoint`."""
        self._engine.consumed(count)

    def wait(self, timeout_s: float) -> None:
        """See `Endpoint`."""
        if self._interrupt is None:
            time.sleep(min(timeout_s, POLL_S))
        else:
            self._interrupt.wait(timeout_s)

    def faults(self) -> Mapping[str, str]:
        """See `Endpoint`."""
        return self._engine.faults()

    def failed(self) -> str:
        """See `Endpoint`."""
        if not self._engine.failed():
            return ""
        return (
            "the PCIe engine sends nothing any more: its link was down, or took nothing for the watchdog's time: look "
            "at the slot (`lspci -vv`), then start this receiver again"
        )

    def close(self) -> None:
        """See `Endpoint`. The engine is stopped first, then its memory taken away, so also where it does not stop."""
        if self._closed:
            return
        self._closed = True
        try:
            self._engine.stop()
        finally:
            self._release()
