"""The way of a demo's packets: which of them are lost, and what of a frame is lost with them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from framelane.models.roce_tx.wire import Headers
from framelane.session.session import Session


@dataclass(frozen=True, eq=False, slots=True)
class Loss:
    """What one frame loses on the way.

    `packets` says of each of its packets whether it is lost, and `placed` how many the receiver has to place. `pixels`
    (rows, columns) bool are those that it must then find to be holes; `trailer`: the trailer does not come.
    """

    packets: tuple[bool, ...]
    placed: int
    pixels: NDArray[np.bool_]
    trailer: bool


class Losses:
    """Loses a share `drop` of the packets of `session`, drawn with `seed`.

    What is lost with a packet is worked out from the packets as they are sent, by no code of the receiver: a RETH says
    where its message belongs, and a message that has lost a packet ends there (InfiniBand vol. 1, 9.8.2).
    """

    def __init__(self, session: Session, drop: float, seed: int) -> None:
        self._session = session
        self._drop = drop
        self._rng = np.random.default_rng(seed)

    def draw(self, packets: Sequence[Headers]) -> Loss:
        """Lose some of the packets of one frame, which are in the order in which they are sent."""
        session = self._session
        lost = tuple((self._rng.random(len(packets)) < self._drop).tolist())
        pixels = np.zeros((session.rows, session.columns), np.bool_)
        trailer = broken = False
        placed = at = 0
        for headers, gone in zip(packets, lost, strict=True):
            if headers.reth:
                at, broken = (headers.reth.address - session.base) % session.slot_bytes, False
            broken |= gone
            placed += not broken
            if broken and at < session.image_bytes:
                pixels.reshape(-1)[at // 2 : (at + headers.payload_bytes) // 2] = True
            elif broken:
                trailer = True
            at += headers.payload_bytes
        return Loss(lost, placed, pixels, trailer)
