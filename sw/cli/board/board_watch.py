"""What `framelane board follow` does where a receiver of RC fails: the others go on, and it may come back."""

import functools
import socket
from time import monotonic

from rich.console import Console

from framelane.base.errors import BoardError, ConfigError
from framelane.base.progress import say
from framelane.cli.board.board_status import names_of
from framelane.driver import Board, BoardConfig
from framelane.driver.board.credit_relay import CreditRelay
from framelane.models.rc.rc_protocol import RcState
from framelane.session.reconnecting import Reconnecting
from framelane.session.session_client import SessionClient

LOOK_S = 1.0
"""Seconds between two looks at the queue pairs."""
_NEXT = "start its receiver anew, and it is taken in again; the others go on meanwhile"


def link_of(config: BoardConfig, k: int) -> SessionClient:
    """The link of destination `k`, as a relay of the source that the board is there.

    Its token is that of a receiver of this user here, or else in the session's document.
    """
    host, name = str(config.sessions[k].receiver.ip), f"board follow on {socket.gethostname()}"[:64]
    return SessionClient(host, config.link_port(k), config.sources[k], relay=name, beside=config.session_files[k])


def called(name: str, client: SessionClient) -> str:
    """A receiver by its name, and where its link is; behind it, why it has gone, if it has."""
    host, port = client.address
    return f"{name} ({host}, link at TCP {port}) {client.ended}".rstrip()


class BoardWatch:
    """Watches over the receivers of a `relay`. Closes the connections that it makes with `close`."""

    def __init__(self, board: Board, config: BoardConfig, relay: CreditRelay, console: Console) -> None:
        self._board, self._config, self._relay, self._console = board, config, relay, console
        self._names = names_of(config)
        self._away: dict[int, Reconnecting] = {}
        self._clients: list[SessionClient] = []
        self._dead: set[int] = set()
        self._stuck: list[str] = []
        self._said: dict[int, str] = {}
        """The last thing said of each destination."""
        self._looked = monotonic()
        self.disarmed = False
        """Whether somebody else has disarmed the board."""

    def step(self) -> bool:
        """Let those of RC go that have gone, and take in those that are back; whether there is a reason to go on."""
        for k in self._relay.closed:
            others = len(self._config.destinations) - len(self._away) - 1
            if self._config.sessions[k].service != "RC" or not others:
                return False
            gone = called(self._config.destinations[k], self._relay.client(k))
            say(self._console, f"{gone}; its frames are lost: {_NEXT}")
            self._relay.drop(k)
            self._away[k] = Reconnecting(functools.partial(link_of, self._config, k))
        for k in list(self._away):
            if client := self._away[k].take():
                self._welcome(k, client)
        if monotonic() - self._looked >= LOOK_S:
            self._look()
        return not self.disarmed

    def close(self) -> None:
        """Wait for nobody any more."""
        for away in self._away.values():
            away.close()
        for client in self._clients:
            client.close()

    def _welcome(self, k: int, client: SessionClient) -> None:
        """Start its queue pair for the session that it has now; it is asked again later where that cannot be."""
        name, index = self._config.destinations[k], self._config.tx.destinations[k].qp
        try:
            if not self._serves(index, client):
                asked = self._config.network.asked_of(index)
                self._board.rearm(index, client.session, None if asked is None else self._board.resolve(asked))
        except (BoardError, ConfigError) as error:
            client.close()
            self._away[k] = Reconnecting(functools.partial(link_of, self._config, k))
            if str(error) != self._said.get(k):
                say(self._console, f"{name} is back, but cannot be taken in: {error}", style="red")
            self._said[k] = str(error)
            return
        del self._away[k]
        self._said.pop(k, None)
        self._clients.append(client)
        self._relay.replace(k, client)
        say(self._console, f"{name} is back: queue pair {index} runs")

    def _serves(self, index: int, client: SessionClient) -> bool:
        """Whether the queue pair runs for that session already: of another source of it, or it was never away."""
        entry, session = f"qp[{index}]", client.session
        known = self._board.registers[f"{entry}.peer.dest_qpn"], self._board.registers[f"{entry}.start.psn"]
        return known == (session.qpn, session.psn) and self._board.registers[f"{entry}.rc_state.state"] != RcState.ERROR

    def _look(self) -> None:
        self._looked = monotonic()
        state = self._board.state()
        self.disarmed = not state.armed
        for sentence in state.sentences():
            if sentence not in self._stuck:
                say(self._console, sentence, style="red")
        self._stuck = state.sentences()
        dead = {pair.index: pair for pair in self._board.queue_pairs() if pair.why}
        for index, pair in dead.items():
            if index not in self._dead:
                say(self._console, pair.sentence(self._names.get(index), _NEXT), style="red")
        self._dead = set(dead)
