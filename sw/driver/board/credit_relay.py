"""Between a board and the receivers of its frames: their credit to its registers, its counts to them."""

from collections.abc import Sequence
from time import monotonic

from framelane.driver.board.board import Board
from framelane.driver.board.board_readings import DestinationCounters
from framelane.models.placement.slots import FREE_RUNNING
from framelane.session.session_client import SessionClient

REPORT_S = 0.1
"""Seconds between the reports to the receivers."""
LOOK_S = 0.01
"""Seconds after which the board is asked whether it begins to drop frames, of which the receivers hear at once."""


class CreditRelay:
    """Relays for the destinations of a configured board; destination k is source `sources[k]` of `clients[k]`."""

    def __init__(self, board: Board, clients: Sequence[SessionClient], sources: Sequence[int]) -> None:
        self._board = board
        self._clients: list[SessionClient | None] = list(clients)
        self._sources = list(sources)
        self._given = [board.registers[f"destination[{k}].window_end"] for k in range(len(self._clients))]
        self._reported = self._looked = monotonic()
        self._dropped = [0] * len(self._clients)
        """For each destination the dropped frames that its receiver knows of."""
        self._sent = [-1] * len(self._clients)
        """For each destination the frames that had been sent when its receiver heard last of more dropped ones."""
        counted = board.counters().destinations
        self._before = [_lost_to(client, counted[k]) for k, client in enumerate(clients)]
        """For each destination the frames that were sent to a receiver before this one, which never gets them."""

    @property
    def closed(self) -> list[int]:
        """The destinations whose receiver has gone, and was not dropped."""
        return [k for k, client in self._there() if client.closed]

    def client(self, k: int) -> SessionClient:
        """The link of destination `k`, which was not dropped."""
        client = self._clients[k]
        assert client
        return client

    def _there(self) -> list[tuple[int, SessionClient]]:
        return [(k, client) for k, client in enumerate(self._clients) if client]

    def drop(self, k: int) -> None:
        """Destination `k` has no receiver for now."""
        if client := self._clients[k]:
            client.close()
        self._clients[k] = None

    def replace(self, k: int, client: SessionClient) -> None:
        """Destination `k` has a receiver again, which the next step reports to.

        To one that was started anew all frames so far are dropped ones.
        """
        self._clients[k] = client
        self._given[k] = self._board.registers[f"destination[{k}].window_end"]
        self._before[k] = _lost_to(client, self._board.counters().destinations[k])
        self._dropped[k], self._sent[k] = 0, -1
        self._reported = monotonic() - REPORT_S

    def step(self) -> None:
        """Give new credit to the board; tell the receivers, when it is time, or frames begin to be dropped.

        TransportError where one has gone.
        """
        for k, client in self._there():
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
        for k, client in self._there():
            here = destinations[k]
            dropped = here.dropped + here.skipped
            client.report(self._sources[k], here.sent + here.failed + dropped, dropped + self._before[k], ended)
            if dropped > self._dropped[k]:
                self._dropped[k], self._sent[k] = dropped, here.sent
        self._reported = self._looked = monotonic()

    def _begins_to_drop(self) -> bool:
        """Whether a destination drops frames that its receiver does not know of, the first ones after one was sent."""
        self._looked = monotonic()
        destinations = self._board.counters().destinations
        seen = [(destinations[k], self._dropped[k], self._sent[k]) for k, _ in self._there()]
        return any(here.dropped + here.skipped > dropped and here.sent > sent for here, dropped, sent in seen)


def _lost_to(client: SessionClient, counted: DestinationCounters) -> int:
    """The frames that were sent before its receiver was started: it has given no credit but that of its session."""
    is_new = client.window_end == client.session.window_end != FREE_RUNNING
    return counted.sent + counted.failed if is_new else 0
