"""RC live: one queue pair of the RDMA device, and beside it the model that says what it must answer."""

import time

from framelane.base.errors import TransportError
from framelane.models.rc.rc_responder import Manner, RcResponder, Region
from framelane.receiver.ring.memory import host_memory
from framelane.receiver.ring.ring import Ring
from framelane.receiver.transport.verbs import VerbsTransport
from framelane.receiver.transport.verbs.gid import Gid
from framelane.session.session_plan import SessionPlan

_PATIENCE_S = 10.0
_RNR_CODE = 8
"""As the transport asks for: 160 us."""


class LiveReceiver:
    """A transport with its ring, and the model. `looks`: takes its completions; while not, receives are used up.

    The model gets the packets that the device gets, so it knows what that must do: Linux' rxe, in `Manner.RXE`.
    """

    def __init__(self, index: int, plan: SessionPlan, psn: int, *, gid: Gid, receives: int) -> None:
        memory = host_memory(plan.layout.ring_bytes)
        self.transport = VerbsTransport(
            memory, plan, device=gid.device, gid_index=gid.index, receives=receives, psn=psn
        )
        self.session = self.transport.session
        self.ring = Ring(self.session, memory)
        region = Region(self.session.base, self.session.rkey, bytearray(plan.layout.ring_bytes))
        self.model = RcResponder(psn, plan.mtu, region, qp=index, manner=Manner.RXE)
        self.model.receives, self.model.rnr_code = receives, _RNR_CODE
        self.looks = True
        self.immediates: list[int] = []
        self.reason = ""
        """Why the transport has ended, by itself."""

    def look(self) -> None:
        """Take the completions that must be there by now. TransportError where one does not come."""
        deadline = time.monotonic() + _PATIENCE_S
        while self.looks and len(self.immediates) < len(self.model.immediates):
            found = [completion.imm for completion in self.transport.poll(0.01)]
            self.immediates += found
            self.model.receives += len(found)
            if time.monotonic() > deadline:
                raise TransportError(f"{len(self.model.immediates)} trailers were placed, {self.immediates} were told")

    def await_end(self) -> None:
        """Wait until the transport says why it has ended."""
        deadline = time.monotonic() + _PATIENCE_S
        while not self.reason and time.monotonic() < deadline:
            try:
                self.immediates += [completion.imm for completion in self.transport.poll(0.1)]
            except TransportError as error:
                self.reason = str(error)
