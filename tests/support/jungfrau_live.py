"""A live receiver of a detector's packets in this process, and a detector that waits for it."""

import secrets
import socket
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import TransportError
from framelane.base.stopping import Stop
from framelane.receiver import Live, Processing, Reception, Recorder, receive
from framelane.receiver.detector.detector_port import DetectorPort
from jungfrau_packets import Sent

_BATCH = 8
"""Packets that fit the shortest queue which a kernel gives to those without privileges."""


def free_ports(count: int) -> int:
    """The first of so many consecutive UDP ports that are free: any, as others who look run at the same time.

    They are below those that the kernel gives to whoever asks for none (ip_local_port_range).
    """
    for _ in range(100):
        port = 10000 + secrets.randbelow(10000)
        try:
            DetectorPort("127.0.0.1", list(range(port, port + count))).close()
        except TransportError:
            continue
        return port
    raise AssertionError(f"no {count} consecutive UDP ports are free")


@dataclass
class LiveDetector:
    """A run, what it has handed out, and its detector."""

    run: Reception
    port: int
    stop: Stop
    pause: threading.Event = field(default_factory=threading.Event)
    """Frames are taken only while it is set."""
    images: dict[int, NDArray[Any]] = field(default_factory=dict)
    """By the detector's number."""
    holes: dict[int, int] = field(default_factory=dict)
    order: list[int] = field(default_factory=list)
    sent: int = 0

    def send(self, packets: Iterable[Sent], wait: bool = True) -> None:
        """Send packets, a few at a time: when the receiver has taken the last ones, the next come."""
        waiting = list(packets)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            for at in range(0, len(waiting), _BATCH):
                for stream, packet in waiting[at : at + _BATCH]:
                    sock.sendto(packet, ("127.0.0.1", self.port + stream))
                    self.sent += 1
                if wait:
                    self.until(lambda: self.run.counters.packets >= self.sent)

    def until(self, condition: Any, within_s: float = 30.0) -> None:
        """Wait until it is so."""
        end = time.monotonic() + within_s
        while not condition():
            assert time.monotonic() < end, f"it has not come to be: {self.run.counters}, {self.order}"
            time.sleep(0.0002)


@contextmanager
def live_detector(
    modules: int = 1,
    interfaces: int = 1,
    processing: Processing | None = None,
    output: Path | None = None,
    **options: Any,
) -> Iterator[LiveDetector]:
    """A receiver, whose frames are kept, and written to `output`; when the block is left it has ended."""
    port, stop = free_ports(modules * interfaces), Stop()
    options["transport"] = "detector" if "detector" in options else "jungfrau"
    source = Live(host="127.0.0.1", port=port, modules=modules, interfaces=interfaces, **options)
    with receive(source, processing, stop=stop) as run:
        run.serve()
        detector = LiveDetector(run, port, stop)
        detector.pause.set()
        failed: list[BaseException] = []

        def take() -> None:
            try:
                if output is None:
                    for frame in run:
                        keep(frame)
                        detector.pause.wait()
                    return
                with Recorder(run, output, force=True) as recorder:
                    for frame in run:
                        keep(frame)
                        recorder.write(frame)
            except BaseException as error:
                failed.append(error)

        def keep(frame: Any) -> None:
            number = frame.detector_frame
            detector.order.append(number)
            detector.images[number], detector.holes[number] = np.array(frame.image), frame.holes

        thread = threading.Thread(target=take)
        thread.start()
        try:
            yield detector
        finally:
            stop.wanted = True
            detector.pause.set()
            thread.join(60)
        assert not failed, failed
