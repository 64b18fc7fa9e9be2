"""An emulated board that is triggered: so many frames each time, with packets of chosen frames lost on the way."""

import contextlib
import time
from collections.abc import Collection, Iterator

import numpy as np

from framelane.models.roce_tx.packet_batch import Batch
from framelane.source.credit import open_credit
from framelane.source.emulate_images import images
from framelane.source.emulated_source import Route
from framelane.source.emulator import Emulator
from framelane.source.impairments.impair import Line
from framelane.source.sender import udp_session
from framelane.source.wire_options import WireOptions


class LossyLine(Line):
    """Loses the second packet of some frames, and all of others."""

    lost: Collection[int] = ()
    gone: Collection[int] = ()

    def send(self, batch: Batch, frame: int) -> None:
        packets = list(batch)
        if frame in self.gone:
            return
        if frame in self.lost:
            del packets[1]
        self._outlet.send(packets)


class TriggeredSource:
    """Sends its next frames by `fire`."""

    def __init__(self, route: Route) -> None:
        self._route = route

    def fire(self, frames: int) -> None:
        for _ in range(frames):
            assert self._route.send(self._route.offered, None) is not None
            time.sleep(0.001)
        end = time.monotonic() + 10
        while not self._route.tell():
            assert time.monotonic() < end, "the receiver's credit did not take what was told for 10 s"
            time.sleep(0.005)


@contextlib.contextmanager
def triggered(to: str, port: int, lost: Collection[int] = (), gone: Collection[int] = ()) -> Iterator[TriggeredSource]:
    """A source for the session that is served at `to`."""
    with open_credit(None, to, 0, None) as credit:
        session = udp_session(credit.session, 0)
        with WireOptions(transport="udp", port=port, interface=None).open(session, 0) as sender:
            emulator = Emulator(session, 0)
            prepared = [emulator.prepare(np.asarray(each)) for each in images(session, None, None, 1)]
            line = LossyLine(sender, None)
            line.lost, line.gone = lost, gone
            yield TriggeredSource(Route(emulator, prepared, credit, line))
