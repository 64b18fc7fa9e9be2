"""Whose packets a JUNGFRAU's UDP ports get: foreign packets are told from them by modId, row and column."""

import numpy as np
from numpy.typing import NDArray

from framelane.models.jungfrau.jf_packet import HEADER

_IDENTITY = ["module_id", "row", "column"]


class StreamOwners:
    """The owner of each stream, by a header in `owners`: the first that sent a whole share of a frame there."""

    def __init__(self, streams: int) -> None:
        self.owners: NDArray[np.void] = np.zeros(streams, HEADER)
        """`HEADER` (streams), version 0 where the owner is not known."""

    def learn(self, placed: NDArray[np.bool_], infos: NDArray[np.void]) -> bool:
        """Learn from a frame's packets, bool (modules, 128), and a header of each stream; whether anything is new."""
        if self.owners["version"].all():
            return False
        whole = placed.reshape(self.owners.size, -1).all(1) & (self.owners["version"] == 0)
        self.owners[whole] = infos[whole]
        return bool(whole.any())

    def foreign(self, infos: NDArray[np.void]) -> NDArray[np.bool_]:
        """The streams whose header in `infos`, if any, is not of the owner; bool (streams)."""
        known = (self.owners["version"] > 0) & (infos["version"] > 0)
        foreign: NDArray[np.bool_] = known & (self.owners[_IDENTITY] != infos[_IDENTITY])
        return foreign
