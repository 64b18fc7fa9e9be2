"""Packets for the measurements of the soft NIC."""

import numpy as np

from framelane.models.placement.slots import FREE_RUNNING
from framelane.models.roce_tx import wire
from framelane.models.tx import tx
from framelane.session.session import Session
from framelane.session.session_plan import Node, SessionPlan

PAYLOADS = (1024, 2048, 4096)
ROWS, COLUMNS = 512, 1024
"""An image of one JUNGFRAU module, 1 MiB."""


def session(mtu: int, n_slots: int) -> Session:
    """On loopback, WRITE ONLY with so many bytes of payload.

    Of two sources, of which one sends: from a session of one, the same packets again would be late.
    """
    source, receiver = (
        Node(mac=f"02:00:00:00:00:0{n}", ip=ip)  # type: ignore[arg-type]  # pydantic makes an address of it
        for n, ip in ((1, "127.0.0.2"), (2, "127.0.0.1"))
    )
    plan = SessionPlan(
        source=source, receiver=receiver, mtu=mtu, n_slots=n_slots, rows=ROWS, columns=COLUMNS, sources=2
    )
    return Session.random(plan, FREE_RUNNING)


def packets(of: Session) -> list[bytes]:
    """A frame of the session's first source for each slot of the ring."""
    rng = np.random.default_rng(1)
    return tx((rng.bytes(of.image_bytes // of.sources) for _ in range(of.n_slots)), of.tx_config())


def line_bytes(sent: list[bytes]) -> float:
    """What a packet takes of an Ethernet line, in bytes, on average."""
    return float(np.mean([len(packet) + wire.LINE_BYTES for packet in sent]))
