"""A verbs transport on the link to SoftRoCE, for the tests that run in the guest."""

import time
from typing import Any

from framelane.receiver.ring.memory import host_memory
from framelane.receiver.ring.ring import Ring
from framelane.receiver.transport.verbs import VerbsTransport
from framelane.receiver.transport.verbs.gid import find_gid
from framelane.session.session_plan import SessionPlan
from rdma_link import RdmaLink
from transport_cases import PLAN

LINK = RdmaLink.of()
GID = find_gid(LINK.receiver_node.ip)
PATIENCE_S = 2.0
QUIET_S = 0.03
"""So long nothing comes when the driver has done with all packets: it works on a packet as it arrives."""


def plan_of(**changes: Any) -> SessionPlan:
    """A session between the two ends of the link."""
    return SessionPlan(**{**PLAN, "source": LINK.source_node, "receiver": LINK.receiver_node, **changes})


def opened(plan: SessionPlan, **options: Any) -> tuple[VerbsTransport, Ring]:
    """A transport for `plan`, and its ring full of holes."""
    memory = host_memory(plan.layout.ring_bytes)
    transport = VerbsTransport(memory, plan, **{"gid_index": GID.index, **options})
    return transport, Ring(transport.session, memory)


def collect(transport: VerbsTransport, expected: int) -> list[int]:
    """The immediates that come: as many as are expected, and those that come after."""
    immediates: list[int] = []
    deadline = time.monotonic() + PATIENCE_S
    while len(immediates) < expected and time.monotonic() < deadline:
        immediates += [completion.imm for completion in transport.poll(0.1)]
    deadline = time.monotonic() + PATIENCE_S
    while (found := transport.poll(QUIET_S)) and time.monotonic() < deadline:
        immediates += [completion.imm for completion in found]
    return immediates
