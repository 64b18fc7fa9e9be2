"""A service in any state, frames that come while it is asked, and what must be left of its runs."""

import contextlib
import threading
from collections.abc import Set
from typing import Literal

from framelane.base.errors import FramelaneError
from framelane.receiver import recover
from framelane.serve import Client
from framelane.source import Stop, emulate
from served import Served, configuration

BeginState = Literal["idle", "armed", "running"]


class Sender:
    """A source that goes on in a thread while calls are made."""

    def __init__(self) -> None:
        self.stop, self.thread = Stop(), threading.Thread()

    def begin(self, here: Served) -> None:
        self.end()
        status, configured = here.service.status(), here.service.configuration
        if not status["address"] or configured is None or configured.source.transport != "udp":
            return
        stop = self.stop = Stop()

        def send() -> None:
            with contextlib.suppress(FramelaneError):  # the run may end before it has begun
                emulate(to=status["address"], port=configured.source.port, rate=200, frames=400, stop=stop)

        self.thread = threading.Thread(target=send)
        self.thread.start()

    def end(self) -> None:
        self.stop.wanted = True
        if self.thread.ident:
            self.thread.join(30)


def bring_to(here: Served, state: BeginState, sender: Sender) -> None:
    """Lead the service to `state`; "running" has frames on their way from `sender`."""
    with Client(here.url) as client:
        client.abort()
        if state != "idle":
            client.configure(configuration())
            client.arm()
        if state == "running":
            sender.begin(here)
            client.wait_for("running", 20)


def check_ended(here: Served, begun: Set[str]) -> None:
    """End the run. Each of the files `begun` was ended in order, with what its loss identity says."""
    import h5py

    with Client(here.url) as client:
        client.abort()
        assert client.status()["state"] in ("idle", "ended", "error")
    for path in (here.service.folder / name for name in begun):
        assert recover(path).sound, path
        with h5py.File(path) as file:
            loss = dict(file["entry/loss"].attrs)
            assert loss.pop("sent") == sum(loss.values())
            assert loss["complete"] + loss["incomplete"] == len(file["entry/data/frame_number"])
