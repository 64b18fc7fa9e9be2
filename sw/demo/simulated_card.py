"""A simulated board on PCIe that sends frames to a live receiver: `recv --transport pcie --device sim`."""

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import ConfigError
from framelane.driver.pcie.board_card import BoardCard
from framelane.driver.pcie.engine import PcieEngine
from framelane.driver.pcie.engine_endpoint import EngineEndpoint
from framelane.driver.pcie.page_plan import PagePlan
from framelane.driver.simulated.verilated_pcie import PcieSimulator
from framelane.models.memory.frame_store import FrameInfo
from framelane.session.session import Session

FRAMES = 10
"""So many frames, if not said."""
_PAGE_LOG2 = 16
_BUS = 1 << 32
_NS = 500_000
"""Between two frames: 2 kHz."""


def image_of(number: int, shape: tuple[int, int]) -> NDArray[np.uint16]:
    """Raw words of frame `number` in gain 0, drawn with its number."""
    return np.random.default_rng(number).integers(1, 1 << 14, shape, np.uint16)


class SimulatedCard(BoardCard):
    """The Verilated transmitter, whose clock runs while the receiver waits; it sends `frames`, then it has ended."""

    def __init__(
        self, simulator: PcieSimulator, session: Session, plan: PagePlan, memory: NDArray[np.uint8], frames: int
    ) -> None:
        super().__init__(simulator.board, EngineEndpoint(PcieEngine(simulator)), session, plan, memory)
        self.simulator, self._shape, self._frames = simulator, (session.rows, session.columns), frames
        self._next = self._end = 0

    def start(self, window_end: int) -> None:
        """See `Card`."""
        super().start(window_end)
        self._end = window_end

    def credit(self, window_end: int) -> None:
        """See `Card`."""
        super().credit(window_end)
        self._end = window_end

    def offered(self) -> tuple[int, int, bool]:
        """See `Card`."""
        with self.lock:
            return *super().offered()[:2], self._next == self._frames

    def wait(self, timeout_s: float) -> None:
        """See `Endpoint`: the next frame is sent where it has a slot, else time passes."""
        with self.lock:
            sends = self._next < min(self._frames, self._end)
            if sends:
                info = FrameInfo(self._next, self._next * _NS, self._next)
                self.simulator.frame(info, image_of(self._next, self._shape))
                self._next += 1
                self.simulator.run()
        if not sends:
            super().wait(timeout_s)


def simulated_card(
    frames: int | None = None, width: int = 512
) -> Callable[[Session, Callable[[int], NDArray[np.uint8]]], AbstractContextManager[SimulatedCard]]:
    """Opens it for a session: raw words of its size. ConfigError for sessions of another kind."""

    @contextlib.contextmanager
    def opened(session: Session, memory: Callable[[int], NDArray[np.uint8]]) -> Iterator[SimulatedCard]:
        if session.pixels != "raw":
            raise ConfigError('the simulated board on PCIe sends raw words: give pixels = "raw" in the plan')
        plan = PagePlan.of(session.layout, _PAGE_LOG2)
        pages = memory(plan.total_bytes)
        with PcieSimulator(width) as simulator:
            simulator.map(pages, _BUS)
            card = SimulatedCard(simulator, session, plan, pages, FRAMES if frames is None else frames)
            PcieEngine(simulator).open(plan, [_BUS + index * plan.page_bytes for index in range(plan.pages)])
            yield card

    return opened
