"""What takes the packets of a JUNGFRAU's modules from their UDP ports, to be compared."""

import contextlib
import threading
from collections.abc import Callable, Iterator

import numpy as np

from framelane.base.stopping import Stop
from framelane.models.jungfrau.jf_packet import MODULE_COLUMNS, MODULE_ROWS
from framelane.models.placement.slots import HOLE_WORD, SlotLayout
from framelane.packets.detector_file import JUNGFRAU, shipped
from framelane.receiver import Live, receive
from framelane.receiver.detector.detector_port import DetectorPort
from framelane.receiver.detector.detector_stream import Layout
from framelane.receiver.detector.detector_transport import DetectorTransport
from framelane.receiver.detector.packet_batch import BATCH, PacketBatch
from framelane.receiver.ring.memory import host_memory
from framelane.receiver.transport import sockets
from framelane.receiver.transport._recvmmsg import Datagrams

SLOTS = 32
HOST = "127.0.0.1"
_WAIT_S = 0.02

Taken = Callable[[], int]
"""How many packets were taken since the beginning."""


@contextlib.contextmanager
def throwing_away(ports: list[int], addresses: int = BATCH) -> Iterator[Taken]:
    """A thread for each port, which reads many packets in one call and forgets them.

    They come to so many `addresses` by turns; with one, all of them to the same memory.
    """
    counts, closing = [0] * len(ports), threading.Event()

    def run(index: int, datagrams: list[Datagrams]) -> None:
        sock = port.sockets[index]
        while not closing.is_set():
            for each in datagrams:
                while not (count := each.receive(sock)):
                    sockets.wait(sock, _WAIT_S)
                    if closing.is_set():
                        return
                counts[index] += count

    with DetectorPort(HOST, ports) as port, contextlib.ExitStack() as stack:
        for index in range(len(ports)):
            stack.callback(_started(run, index, _buffers(addresses)).join)
        stack.callback(closing.set)
        yield lambda: sum(counts)


@contextlib.contextmanager
def placing(ports: list[int], slots: int = SLOTS) -> Iterator[Taken]:
    """The transport, with a ring of so many `slots`, which are free again as soon as their frames are over."""
    image_bytes = len(ports) * MODULE_ROWS * MODULE_COLUMNS * 2
    layout = SlotLayout(slots, SlotLayout.needed(image_bytes), image_bytes)
    memory = host_memory(layout.ring_bytes)
    memory.view(np.uint16).fill(HOLE_WORD)
    closing = threading.Event()

    def run(detector: DetectorTransport) -> None:
        while not closing.is_set():
            detector.poll(_WAIT_S)
            if detector.told[0] + slots > detector.credit:
                detector.credit = detector.told[0] + slots
                detector.wake()

    with (
        DetectorPort(HOST, ports) as port,
        DetectorTransport(port, Layout(shipped(JUNGFRAU), len(ports), 1), memory, layout) as detector,
        contextlib.ExitStack() as stack,
    ):
        stack.callback(_started(run, detector).join)
        stack.callback(closing.set)
        yield lambda: detector.counters.placed


@contextlib.contextmanager
def handing_out(ports: list[int]) -> Iterator[Taken]:
    """All of `recv` but correction and file: frames are handed out, and their slots filled with holes again."""
    stop = Stop()
    source = Live(transport="jungfrau", host=HOST, ports=tuple(ports), modules=len(ports), slots=SLOTS)
    with receive(source, stop=stop) as run, contextlib.ExitStack() as stack:
        run.serve()

        def take() -> None:
            for _ in run:
                pass

        stack.callback(_started(take).join)
        stack.callback(setattr, stop, "wanted", True)
        yield lambda: run.counters.placed


def _buffers(addresses: int) -> list[Datagrams]:
    """Memory for packets at so many addresses, `BATCH` a call."""
    room = PacketBatch(shipped(JUNGFRAU)).octets.shape[1]
    memory = np.zeros(addresses * room, np.uint8)
    calls = np.array_split(np.arange(addresses) * room, -(-addresses // BATCH))
    return [Datagrams(memory, starts if len(starts) > 1 else np.repeat(starts, BATCH), room) for starts in calls]


def _started(run: Callable[..., None], *arguments: object) -> threading.Thread:
    thread = threading.Thread(target=run, args=arguments, daemon=True)
    thread.start()
    return thread
