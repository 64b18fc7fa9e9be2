"""Between a board and the receivers of its frames: their credit to its registers, its counts to them."""

from collections.abc import Sequence
from time import monotonic

from framelane.driver.board import Board
from framelane.driver.session_client import SessionClient

REPORT_S = 0.1
"""Seconds between the reports to the receivers."""


class CreditRelay:
    """Relays for the destinations of a configured board; destination k is source `sources[k]` of `clients[k]`."""

    def __init__(self, board: Board, clients: Sequence[SessionClient], sources: Sequence[int]) -> None:
        self._board = board
        self._clients = list(clients)
        self._sources = list(sources)
        self._given = [board.registers[f"destination[{k}].window_end"] for k in range(len(self._clients))]
        self._reported = monotonic()

    @property
    def closed(self) -> list[int]:
        """The destinations whose receiver has gone."""
        return [k for k, client in enumerate(self._clients) if client.closed]

    def step(self) -> None:
        """Give new credit to the board; tell the receivers, when it is time. TransportError where one has gone."""
        for k, client in enumerate(self._clients):
            window_end = client.window_end
            if window_end > self._given[k]:
                self._board.publish_credit(k, window_end)
                self._given[k] = window_end
        if monotonic() - self._reported >= REPORT_S:
            self.report()

    def report(self, ended: bool = False) -> None:
        """Tell each receiver which of its frames the board has come by, and not sent for want of credit."""
        destinations = self._board.counters().destinations
        for k, (client, source) in enumerate(zip(self._clients, self._sources, strict=True)):
            here = destinations[k]
            dropped = here.dropped + here.skipped
            client.report(source, here.sent + dropped, dropped, ended)
        self._reported = monotonic()
