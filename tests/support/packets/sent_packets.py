"""A transmitter's packets, and what has come of them."""

import contextlib
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from framelane.models.tx import tx
from framelane.receiver.transport.packet_port import PacketPort
from framelane.session.session import Session

MakeImages = Callable[..., list[NDArray[np.uint16]]]


def sent(session: Session, make_images: MakeImages) -> list[bytes]:
    """The packets of three frames."""
    return tx((image.tobytes() for image in make_images(session, 3)), session.tx_config())


def drain(port: PacketPort) -> list[bytes]:
    """All that has come and comes soon. The port is closed then."""
    seen: list[bytes] = []
    with contextlib.closing(port):
        while packets := list(port.batch(1.0)):
            seen += packets
    return seen
