"""`framelane board follow`: the credit of the receivers to the board, as long as the run lasts."""

import contextlib
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console

from framelane.base.errors import ConfigError, InputError, TransportError
from framelane.base.progress import say
from framelane.base.stopping import stop_on_signals
from framelane.cli.board.board_watch import BoardWatch, called, link_of
from framelane.driver import Board, BoardConfig
from framelane.driver.board.credit_relay import CreditRelay
from framelane.driver.config.as_configured import check_as_configured
from framelane.driver.config.board_config import load
from framelane.driver.config.configuring import calibrate
from framelane.session.session_client import SessionClient, WrongToken

_STEP_S = 0.001
_NOTICED_S = 0.1


@contextlib.contextmanager
def _one_may_go(relay: CreditRelay) -> Iterator[None]:
    """A receiver that goes just as it is told something is one that has gone, as any other."""
    try:
        yield
    except TransportError:
        time.sleep(_NOTICED_S)
        if not relay.closed:
            raise


def _connected(config: BoardConfig, k: int) -> SessionClient:
    """`link_of`; where that fails, the receiver has its name, and a token is said to be of another run."""
    try:
        return link_of(config, k)
    except WrongToken as error:
        raise TransportError(
            f"receiver {config.destinations[k]!r}: {error}: the token in {config.session_files[k]} is of another run, "
            "or another receiver listens there: bring the session that it publishes now, and configure the board"
        ) from error
    except (InputError, TransportError) as error:
        kind = InputError if isinstance(error, InputError) else TransportError
        raise kind(f"receiver {config.destinations[k]!r}: {error}") from error


def run(board: Board, file: Path, console: Console) -> None:
    """Arm the board that was configured with `file`, relay until a signal comes or a receiver goes, and disarm it.

    A receiver of RC may go and come back, as long as there are others. It ends, too, where somebody else has disarmed
    the board.

    TransportError where a receiver cannot be reached, ConfigError where it has another session by now, or the board was
    configured for another one.
    """
    config = load(file, board.probe(), calibrate)
    with ExitStack() as stack, stop_on_signals() as stop:
        clients = []
        for k, session in enumerate(config.sessions):
            client = stack.enter_context(_connected(config, k))
            if client.session != session:
                raise ConfigError(
                    f"the receiver {called(config.destinations[k], client)} has another session than "
                    f"{config.session_files[k]}, which {file} names: it was started anew; configure the board with the "
                    "session that it publishes"
                )
            clients.append(client)
        check_as_configured(board.registers, config, file)
        relay = CreditRelay(board, clients, config.sources)
        relay.step()
        board.arm()
        say(console, f"armed, {len(clients)} receivers give credit: Ctrl-C disarms the board")
        watch = BoardWatch(board, config, relay, console)
        stack.callback(watch.close)
        try:
            while not stop.wanted and watch.step():
                with _one_may_go(relay):
                    relay.step()
                time.sleep(_STEP_S)
        finally:
            board.disarm()
            board.wait_idle()
        if relay.closed:
            for k in relay.closed:
                say(console, f"disarmed: the receiver {called(config.destinations[k], relay.client(k))}")
            return
        if watch.disarmed:
            say(console, "somebody else has disarmed the board: `framelane board disarm` or `configure`, or a reset")
        relay.report(ended=True)
        counters = board.counters().destinations
    for k, name in enumerate(config.destinations):
        here = counters[k]
        say(console, f"{name}: {here.sent} frames sent, {here.dropped + here.skipped} dropped")
