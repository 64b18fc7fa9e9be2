"""The seam between a live receiver and a board on PCIe of this host: its memory, its credit, what it has sent."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from framelane.receiver.transport.pcie.endpoint import Endpoint
from framelane.session.session import Session


class Card(Endpoint, Protocol):
    """A board whose engine may write to `ring` and `queue` (uint8) of this process until it is closed.

    FramelaneError where it does not answer. May be called by several threads.
    """

    @property
    def ring(self) -> NDArray[np.uint8]: ...

    @property
    def queue(self) -> NDArray[np.uint8]: ...

    def start(self, window_end: int) -> None:
        """Send the frames of the session from now on, below this number."""

    def credit(self, window_end: int) -> None:
        """Frames below this number have a clean slot."""

    def offered(self) -> tuple[int, int, bool]:
        """Frames that it has offered since frame 0, those dropped for want of credit, and whether it has ended."""


Memory = Callable[[int], NDArray[np.uint8]]
"""Makes memory of so many bytes, zeros that begin with a page."""
OpenCard = Callable[[Session, Memory], AbstractContextManager[Card]]
"""Opens a board for a session."""
