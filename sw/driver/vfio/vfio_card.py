"""A board behind VFIO for a live receiver: `recv --transport pcie --device 0000:03:00.0`."""

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from framelane.driver.board.board import Board
from framelane.driver.pcie.board_card import BoardCard
from framelane.driver.pcie.page_plan import PagePlan
from framelane.driver.vfio.group import ROOT
from framelane.driver.vfio.vfio_endpoint import open_vfio
from framelane.session.session import Session

Memory = Callable[[int], NDArray[np.uint8]]


def vfio_card(
    address: str, *, interrupts: bool = True, root: Path = ROOT
) -> Callable[[Session, Memory], AbstractContextManager[BoardCard]]:
    """Opens engine 0 of the PCI device at `address` for a session, in pages of 2 MiB; see `open_vfio`.

    With `interrupts` a receiver sleeps until one comes, without it looks every 0.1 ms.
    """

    @contextlib.contextmanager
    def opened(session: Session, memory: Memory) -> Iterator[BoardCard]:
        plan = PagePlan.of(session.layout)
        pages = memory(plan.total_bytes)
        with open_vfio(address, plan, pages, interrupts=interrupts, root=root) as found:
            yield BoardCard(Board(found.registers), found.endpoint, session, plan, pages)

    return opened
