"""A receiver for an emulated source: the soft NIC, a ring and the session's link, in a thread of their own."""

import contextlib
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from framelane.receiver.ring.receiver import Receiver
from framelane.receiver.ring.ring import Ring
from framelane.receiver.ring.tally import Tally
from framelane.receiver.transport.packet_port import PacketPort
from framelane.receiver.transport.softnic import SoftNic
from framelane.receiver.transport.udp_port import UdpPort
from framelane.session.session import Session
from framelane.session.session_server import SessionServer

PATIENCE_S = 20.0
_QUIET_S = 0.3


class LiveReceiver:
    """Receives until all sources have told their end and nothing comes any more; `interface` None: by UDP."""

    def __init__(self, session: Session, interface: str | None = None, pause_s: float = 0.0) -> None:
        self.session = session
        self.images: dict[int, NDArray[np.uint16]] = {}
        self.drops: dict[int, int] = {}
        """By frame: what its trailers say of frames dropped before."""
        self._pause_s = pause_s
        self.ring = Ring(session)
        port = UdpPort(session, 0) if interface is None else PacketPort(interface)
        self.udp_port = port.address[1] if isinstance(port, UdpPort) else None
        self.nic = SoftNic(port, self.ring.memory, session)
        self.receiver = Receiver(self.ring, self.nic)
        self.server = SessionServer(session, "127.0.0.1", 0)
        self.to = f"127.0.0.1:{self.server.address[1]}"
        self._thread = threading.Thread(target=self._run)
        self.failed: list[BaseException] = []

    def tally(self) -> Tally:
        """What became of the frames that the sources have offered."""
        return self.receiver.tally(max(report.offered for report in self.server.reports.values()))

    def _run(self) -> None:
        try:
            deadline = time.monotonic() + PATIENCE_S
            last = time.monotonic()
            while time.monotonic() < deadline:
                seen = self.nic.counters.packets
                self._take(self.receiver.poll(0.02))
                if self.nic.counters.packets != seen:
                    last = time.monotonic()
                reports = self.server.reports.values()
                if time.monotonic() - last < _QUIET_S or len(reports) < self.session.sources:
                    continue
                offered, dropped = (min(getattr(r, name) for r in reports) for name in ("offered", "dropped"))
                self._take(self.receiver.settle(offered, dropped))
                if all(report.ended for report in reports):
                    return
        except BaseException as error:
            self.failed.append(error)
            self.server.close()  # the source does not wait for credit

    def _take(self, frames: list) -> None:  # type: ignore[type-arg]
        for frame in frames:
            self.images[frame.number] = frame.image.copy()
            self.drops[frame.number] = max((t.frames_dropped for t in frame.trailers if t), default=-1)
            time.sleep(self._pause_s)
            self.receiver.release(frame)
        self.server.publish(self.ring.window_end)

    def start(self) -> None:
        self._thread.start()

    def join(self) -> None:
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()
        assert not self.failed, self.failed


@contextlib.contextmanager
def receiving(session: Session, interface: str | None = None, pause_s: float = 0.0) -> Iterator[LiveReceiver]:
    """Run a receiver; at the end of the block it must have ended by itself."""
    live = LiveReceiver(session, interface, pause_s)
    with live.nic, live.server:
        live.start()
        yield live
        live.join()


def saved(session: Session, folder: Path) -> Path:
    """The session as a file."""
    session.save(folder / "session.json")
    return folder / "session.json"
