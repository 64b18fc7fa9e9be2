"""A UC responder for batches: the plain packets are taken by compiled code, the others by a `Responder`.

Both work on the same counters and the same state of the QP, so that what comes out is what the Responder alone would
have made of the same packets.
"""

import numpy as np
from numpy.typing import NDArray

from framelane.models.roce_tx.packet_batch import EMPTY, Batch
from framelane.receiver.transport._placing_kernel import COMPLETION, COUNTERS, FLOODS, OTHER, RULES, STATE, place
from framelane.receiver.transport.responder import QpState, Responder
from framelane.receiver.transport.transport import Completion, Counters
from framelane.session.session import Session


class FastResponder:
    """The QP of `session` with its one region `memory`: see `Responder`."""

    def __init__(self, memory: NDArray[np.uint8], session: Session) -> None:
        self._responder = Responder(memory, session)
        self._memory = memory
        local = session.receiver.endpoint()
        rules = (session.base, local.mac, local.ip, int(session.source.ip), session.rkey, session.qpn)
        ring = (session.sources == 1, session.sources, session.n_slots, session.layout.slot_bytes)
        self._rules = np.array([(*rules, session.mtu, *ring)], RULES)
        self._state = np.zeros(1, STATE)
        self._take(EMPTY, 0)  # what is not compiled yet is compiled now, and not while packets come

    @property
    def counters(self) -> Counters:
        """Live, not a copy."""
        return self._responder.counters

    @property
    def state(self) -> QpState:
        """Live, too."""
        return self._responder.state

    def receive(self, batch: Batch, first: int) -> tuple[int, Completion | None]:
        """Take the packets of a batch from `first` on, up to one that completes a message WITH_IMM.

        Returns the number of the first packet that was not taken, and the completion, if any.
        """
        at = first
        while at < len(batch):
            at, why = self._take(batch, at)
            if why == COMPLETION:
                return at, Completion(int(self._state["imm"][0]))
            if why == OTHER:
                completion = self._responder.receive(batch[at])
                at += 1
                if completion:
                    return at, completion
        return at, None

    def _take(self, batch: Batch, first: int) -> tuple[int, int]:
        """Let the compiled code go on from the state that the Responder has left, and the Responder from its own."""
        counters, qp = self._responder.counters, self._responder.state
        counted = [getattr(counters, name) for name in COUNTERS]
        ended = -1 if qp.ended is None else qp.ended
        known = [0 if reason in counters.refused else -1 for reason in FLOODS]
        refused = np.array([*known, -1], np.int64)
        self._state[0] = (*counted, qp.newest_psn, qp.offset, qp.left, qp.psn, ended, 0)
        at, why = place(batch.memory, batch.starts, batch.sizes, first, self._rules, self._state, refused, self._memory)
        *counted, qp.newest_psn, qp.offset, qp.left, qp.psn, ended, _ = self._state[0].item()
        for name, count in zip(COUNTERS, counted, strict=True):
            setattr(counters, name, count)
        qp.ended = None if ended < 0 else ended
        for reason, count in zip(FLOODS, refused[:-1].tolist(), strict=True):
            if count > 0:
                counters.refused[reason] += count
        return int(at), int(why)
