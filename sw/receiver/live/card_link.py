"""Stands for the link where the board is in this host: credit goes to its registers, reports come from them."""

from collections.abc import Collection
from time import monotonic

from framelane.receiver.transport.pcie.card import Card
from framelane.session.attempts import Attempts
from framelane.session.session_link import Report

_ASK_S = 0.05
"""Seconds between two looks at what the board has sent: each copies all of its counters."""


class CardLink:
    """The board sends from the moment when this is made, with credit for frames below `window_end`."""

    address = ("PCIe", 0)
    """There is none: nobody else can find the session."""

    def __init__(self, card: Card, window_end: int) -> None:
        self.attempts = Attempts()
        self.gone: Collection[int] = []
        self._card, self._given = card, window_end
        card.start(window_end)
        self._asked = monotonic()
        self._reports: dict[int, Report] = {}

    @property
    def reports(self) -> dict[int, Report]:
        """What the board has done; empty before it was asked first."""
        if (now := monotonic()) - self._asked >= _ASK_S:
            self._asked = now
            offered, dropped, ended = self._card.offered()
            self._reports = {0: Report(source=0, offered=offered, dropped=dropped, ended=ended)}
        return self._reports

    def publish(self, window_end: int) -> None:
        """Give credit."""
        if window_end > self._given:
            self._given = window_end
            self._card.credit(window_end)
