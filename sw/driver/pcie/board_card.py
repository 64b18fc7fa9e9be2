"""A board on PCIe of this host, as a live receiver wants it (`receiver.transport.pcie.card.Card`)."""

import threading
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from framelane.driver.board.board import Board
from framelane.driver.board.network import Network
from framelane.driver.pcie.engine_endpoint import EngineEndpoint
from framelane.driver.pcie.over_pcie import over_pcie
from framelane.driver.pcie.page_plan import PagePlan
from framelane.session.session import Session


class BoardCard:
    """`board` sends frames of `session` by `endpoint`'s engine into `memory`, which is that of `plan`.

    A thread that waits for an interrupt holds nobody up; all else goes one after the other.
    """

    def __init__(
        self, board: Board, endpoint: EngineEndpoint, session: Session, plan: PagePlan, memory: NDArray[np.uint8]
    ) -> None:
        self.ring = memory[: plan.ring_bytes]
        self.queue = memory[plan.event_offset : plan.event_offset + plan.queue_bytes]
        self.lock = threading.RLock()
        self._board, self._endpoint, self._session = board, endpoint, session

    def start(self, window_end: int) -> None:
        """See `Card`: the board is configured anew, and armed."""
        with self.lock:
            self._board.configure(over_pcie(self._session.tx_config()), network=Network(unacknowledged=True))
            self._board.publish_credit(0, window_end)
            self._board.arm()

    def credit(self, window_end: int) -> None:
        """See `Card`."""
        with self.lock:
            self._board.publish_credit(0, window_end)

    def offered(self) -> tuple[int, int, bool]:
        """See `Card`: frames offered, those dropped for want of credit, and that a detector may go on for ever."""
        with self.lock:
            here = self._board.counters().destinations[0]
        dropped = here.dropped + here.skipped
        return here.sent + here.failed + dropped, dropped, False

    def consumed(self, count: int) -> None:
        """See `Endpoint`."""
        with self.lock:
            self._endpoint.consumed(count)

    def wait(self, timeout_s: float) -> None:
        """See `Endpoint`."""
        self._endpoint.wait(timeout_s)

    def faults(self) -> Mapping[str, str]:
        """See `Endpoint`."""
        with self.lock:
            return self._endpoint.faults()

    def failed(self) -> str:
        """See `Endpoint`."""
        with self.lock:
            return self._endpoint.failed()

    def close(self) -> None:
        """See `Endpoint`. The board is disarmed first: an engine comes to rest when no frames come."""
        with self.lock:
            try:
                self._board.disarm()
            finally:
                self._endpoint.close()
