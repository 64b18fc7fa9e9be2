"""Between a board and the receivers of its frames: their credit to its registers, its counts to them."""

from collections.abc import Sequence
from time import monotonic

from framelane.driver.board import Board
from framelane.driver.session_client import SessionClient

REPORT_S = 0.1
"""Seconds between the reports to the receivers."""
LOOK_S = 0.01
"""Seconds after which the board is asked whether it begins to drop frames, of which the receivers hear at once."""


class CreditRelay:
    """Relays for the destinations of a configured board; destination k is source `sources[k]` of `clients[k]`."""

    def __init__(self, board: Board, clients: Sequence[SessionClient], sources: Sequence[int]) -> None:
        self._board = board
        self._clients = list(clients)
        self._sources = list(sources)
        self._given = [board.registers[f"destination[{k}].window_end"] for k in range(len(self._clients))]
        self._reported = self._looked = monotonic()
        self._dropped = [0] * len(self._clients)
        """For each destination the dropped frames that its receiver knows of."""
        self._sent = [-1] * len(self._clients)
        """For each destination the frames that had been sent when its receiver heard last of more dropped ones."""

    @property
    def closed(self) -> list[int]:
        """The destinations whose receiver has gone."""
        return [k for k, client in enumerate(self._clients) if client.closed]

    def step(self) -> None:
        """Give new credit to the board; tell the receivers, when it is time, or frames begin to be dropped.

        TransportError where one has gone.
        """
        for k, client in enumerate(self._clients):
            window_end = client.window_end
            if window_end > self._given[k]:
                self._board.publish_credit(k, window_end)
                self._given[k] = window_end
        now = monotonic()
        if now - self._reported >= REPORT_S or (now - self._looked >= LOOK_S and self._begins_to_drop()):
            self.report()

    def report(self, ended: bool = False) -> None:
        """Tell each receiver which of its frames the board has come by, and not sent for want of credit."""
        destinations = self._board.counters().destinations
        for k, (client, source) in enumerate(zip(self._clients, self._sources, strict=True)):
            here = destinations[k]
            dropped = here.dropped + here.skipped
            client.report(source, here.sent + dropped, dropped, ended)
            if dropped > self._dropped[k]:
                self._dropped[k], self._sent[k] = dropped, here.sent
        self._reported = self._looked = monotonic()

    def _begins_to_drop(self) -> bool:
        """Whether a destination drops frames that its receiver does not know of, the first ones after one was sent."""
        self._looked = monotonic()
        seen = zip(self._board.counters().destinations, self._dropped, self._sent, strict=False)
        return any(here.dropped + here.skipped > dropped and here.sent > sent for here, dropped, sent in seen)
