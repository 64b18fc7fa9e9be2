"""How the frames of a demo go from the gateware into the ring: as packets of a network, or over PCIe."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from framelane.demo import link
from framelane.demo.chain import Chain, Traffic
from framelane.demo.link import LinkOptions
from framelane.demo.losses import Loss, Losses
from framelane.demo.pcie_chain import PcieChain, open_pcie
from framelane.driver.simulated.verilated import TxSimulator
from framelane.driver.simulated.verilated_top import TopSimulator, lay_out
from framelane.models.jungfrau.jf_fixed import FixedCalibration
from framelane.models.memory.frame_store import FrameInfo
from framelane.packets.pcap import PcapWriter
from framelane.receiver.ring.receiver import ReceivedFrame, Receiver
from framelane.receiver.ring.ring import Ring
from framelane.receiver.transport.softnic import SoftNic
from framelane.receiver.transport.transport import Counters
from framelane.session.session import Session


class Way(Protocol):
    """An open chain: what was sent, and what arrived."""

    receiver: Receiver
    traffic: Traffic

    @property
    def counters(self) -> Counters: ...

    @property
    def cycles(self) -> int: ...

    def send(self, info: FrameInfo, image: NDArray[np.uint16]) -> tuple[Loss, list[ReceivedFrame]]: ...


OpenWay = Callable[[Path], contextlib.AbstractContextManager[Way]]
"""Opens it, with a folder for its capture, and builds the gateware for it."""


@contextlib.contextmanager
def ready(
    options: LinkOptions, session: Session, fixed: FixedCalibration, width: int, drop: float, seed: int
) -> Iterator[OpenWay]:
    """What can fail before there are results has been done: sockets are open."""
    if options.transport == "pcie":

        def over_pcie(work: Path) -> contextlib.AbstractContextManager[PcieChain]:
            return open_pcie(session, width, None if session.pixels == "raw" else lay_out(fixed))

        yield over_pcie
        return
    ring = Ring(session)
    with (
        link.open_link(options, session) as (sender, port),
        SoftNic(port, ring.memory, session) as transport,
    ):

        @contextlib.contextmanager
        def over_packets(work: Path) -> Iterator[Chain]:
            with _transmitter(width, session, fixed) as simulator, PcapWriter(work / "tx.pcap") as capture:
                yield Chain(simulator, width, capture, sender, transport, ring, Losses(session, drop, seed))

        yield over_packets


def _transmitter(width: int, session: Session, fixed: FixedCalibration) -> TxSimulator | TopSimulator:
    """The gateware that sends what `session` wants, with the bus of `width` bits."""
    config = session.tx_config()
    if session.pixels == "raw":
        return TxSimulator(config, width, window_end=session.window_end)
    ring, correction = lay_out(fixed)
    config = replace(config, flows=tuple(replace(flow, source_offset=correction.offset) for flow in config.flows))
    return TopSimulator(config, ring, correction, width, window_end=session.window_end)
