"""A board that is armed with the receiver, and given its credit, in a thread of its own."""

import contextlib
import json
import threading
import time
from pathlib import Path

from framelane.base.errors import FramelaneError, TransportError
from framelane.base.part_file import PartFile
from framelane.driver import Board, BoardConfig, configure, open_board
from framelane.driver.board.credit_relay import CreditRelay
from framelane.serve.configuration import BoardSetting
from framelane.session.session_client import SessionClient

_STEP_S = 0.001
_LOOK_S = 1.0
_CALL_S = 30.0
"""So long at most the board may take to be armed, or disarmed."""


class BoardLine:
    """Configures the board of `setting` for the sessions in `folder`, arms it when it is told to, and disarms it.

    FramelaneError where it cannot be configured, or a receiver cannot be reached. `fault` says what ended it later.
    """

    def __init__(self, setting: BoardSetting, folder: Path) -> None:
        self.fault = ""
        self.sentences: list[str] = []
        """What the board says that is wrong with it."""
        with contextlib.ExitStack() as opened:
            self._board: Board = opened.enter_context(open_board(setting.address))
            file = folder / "board.json"
            with PartFile(file, force=True) as part:
                document = setting.document.model_dump(mode="json", exclude_none=True)
                part.path.write_text(json.dumps(document, indent=2))
            self._config: BoardConfig = configure(self._board, file)
            clients = [opened.enter_context(self._link(k)) for k in range(len(self._config.destinations))]
            self._relay = CreditRelay(self._board, clients, self._config.sources)
            self._held = opened.pop_all()
        self._wanted, self._armed, self._over = threading.Event(), threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="board", daemon=True)
        self._thread.start()

    def arm(self) -> None:
        """Let frames go. TransportError where the board does not do it."""
        self._wanted.set()
        if not self._armed.wait(_CALL_S) or self.fault:
            raise TransportError(self.fault or f"the board was not armed within {_CALL_S:g} s: see its status")

    def disarm(self) -> None:
        """Let no more frames go, wait until those under way have left, and tell the receivers that this was all."""
        self._over.set()
        self._wanted.set()
        self._thread.join(_CALL_S)

    def close(self) -> None:
        """Disarm, and let go of the board."""
        self.disarm()
        self._held.close()

    def _link(self, k: int) -> SessionClient:
        config = self._config
        host, beside = str(config.sessions[k].receiver.ip), config.session_files[k]
        return SessionClient(host, config.link_port(k), config.sources[k], relay="framelane serve", beside=beside)

    def _run(self) -> None:
        try:
            self._wanted.wait()
            if self._over.is_set():
                return
            self._relay.step()
            self._board.arm()
            self._armed.set()
            try:
                self._follow()
            finally:
                self._board.disarm()
                self._board.wait_idle()
            if not self._relay.closed:
                self._relay.report(ended=True)
        except FramelaneError as error:
            self.fault = str(error)
        finally:
            self._armed.set()

    def _follow(self) -> None:
        looked = time.monotonic()
        while not self._over.wait(_STEP_S):
            if self._relay.closed:
                return
            self._relay.step()
            if time.monotonic() - looked > _LOOK_S:
                state, looked = self._board.state(), time.monotonic()
                self.sentences = [*state.sentences(), *self._board.errors().sentences()]
                if not state.armed:
                    self.fault = "somebody else has disarmed the board, or it was reset"
                    return
