"""One UDP port of a live JUNGFRAU: a thread that puts its packets into the slots of the ring."""

import errno
import os
import socket
import threading

import numpy as np
from numpy.typing import NDArray

from framelane.models.jungfrau.jf_packet import DETECTOR, HEADER, MODULE_COLUMNS, MODULE_ROWS, VERSION
from framelane.receiver.jungfrau._live_kernel import ALL, EXAMPLE, REFUSED, STATE, place
from framelane.receiver.jungfrau.packet_batch import BATCH, PacketBatch
from framelane.receiver.jungfrau.packet_fate import Fate
from framelane.receiver.jungfrau.packet_units import FEW, MANY, UNIT_ROWS
from framelane.receiver.transport import sockets
from framelane.receiver.transport._recvmmsg import Datagrams

_WAIT_S = 0.05


class LiveStream:
    """Stream number `index`, of `interfaces` a module, into `words`, the ring's (slots, words of a slot) uint16.

    `where` (1, `WHERE`) and `opened` (slots) are whoever's that decides which frames are open: it changes them, and
    reads what is here, while it holds the `lock` of every stream. A thread receives from `port` after `start`, outside
    the interpreter lock but for some lines for every batch; `woken` is set when there may be something to decide.
    """

    def __init__(
        self,
        index: int,
        interfaces: int,
        words: NDArray[np.uint16],
        where: NDArray[np.void],
        opened: NDArray[np.int64],
        woken: threading.Event,
    ) -> None:
        self.lock = threading.Lock()
        self.wants: tuple[int, int] | None = None
        """Why its packets wait, and the number of the detector with which they go on."""
        self.error: Exception | None = None
        """What ended the thread, if anything did."""
        slots, rows = len(opened), MODULE_ROWS // interfaces
        self._start = index * rows * MODULE_COLUMNS
        self.at, self.came = np.full(slots, -1, np.int64), np.zeros((slots, 2), np.int64)
        self.infos: NDArray[np.void] = np.zeros(slots, HEADER)
        self.refused = np.full(REFUSED, -1, np.int64)
        self.fates = np.zeros(len(Fate), np.int64)
        self.examples = np.zeros((len(Fate), EXAMPLE), np.int64)
        self.state: NDArray[np.void] = np.zeros(1, STATE)
        self.state["newest"] = -1
        self.units = rows // UNIT_ROWS
        """Of a share, in `came`."""
        self._bits, self._owner = np.zeros((slots, self.units), np.bool_), np.zeros(1, HEADER)
        self._ring, self._pitch = words.reshape(-1), words.shape[1]
        self._where, self._opened, self._woken = where, opened, woken
        self._goes_on = threading.Event()
        self._batch = PacketBatch()
        self._closing = False
        self._thread: threading.Thread | None = None
        self._place(0, 0)  # compiled now, and not while packets come

    @property
    def newest(self) -> int:
        """The newest frame of the session of which a packet came; -1 where none did."""
        return int(self.state["newest"][0])

    def has_all(self, frame: int) -> bool:
        """Whether its whole share of this frame of the session is in its slot."""
        slot = frame % len(self.at)
        return bool(self.at[slot] == frame and self.came[slot, 0] == self.units)

    def start(self, port: socket.socket) -> None:
        """Receive from this socket, in a thread, until `stop`."""
        self._thread = threading.Thread(target=self._run, args=(port,), name="detector", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Receive no more. May be called twice."""
        self._closing = True
        self._goes_on.set()
        if self._thread is not None:
            self._thread.join()

    def go_on(self) -> None:
        """What it wanted is decided. The caller holds its lock."""
        self.wants = None
        self._goes_on.set()

    def _run(self, port: socket.socket) -> None:
        packets = self._batch.packets
        datagrams = Datagrams(
            packets.view(np.uint8).reshape(-1), np.arange(BATCH) * packets.strides[0], packets.strides[0]
        )
        try:
            while not self._closing:
                count = datagrams.receive(port)
                if count:
                    self._batch.sizes[:count] = datagrams.sizes[:count]
                    self._take(count)
                else:
                    sockets.wait(port, _WAIT_S)
        except Exception as error:  # whatever it is, the run ends with it
            self.error = error
            self._woken.set()

    def _take(self, count: int) -> None:
        """Place a batch, and wait where somebody has to decide first."""
        at = 0
        while at < count and not self._closing:
            with self.lock:
                before = int(self.state["whole"][0]), int(self.fates[Fate.SLOT])
                at, why = self._place(at, count)
                if why != ALL:
                    self._goes_on.clear()
                    self.wants = why, self._lowest(at, count)
                after = int(self.state["whole"][0]), int(self.fates[Fate.SLOT])
            if why != ALL:
                self._woken.set()
                self._goes_on.wait()
            elif before != after:
                self._woken.set()

    def _place(self, first: int, count: int) -> tuple[int, int]:
        batch = self._batch
        stopped: tuple[int, int] = place(
            batch.packets[:count], batch.headers[:count], batch.sizes[:count], first, self._where, self._opened,
            self.at, self.came, self._bits, self.infos, self._owner, self.state, self.refused, self.fates,
            self.examples, self._ring, self._pitch, self._start,
        )  # fmt: skip
        return stopped

    def _lowest(self, first: int, count: int) -> int:
        """The lowest number in the rest of the batch that is near its first: packets may come in any order."""
        headers = self._batch.headers[first:count]
        read = np.isin(self._batch.sizes[first:count], (FEW, MANY))  # before a shorter one is what was there before
        own = headers[read & (headers["version"] == VERSION) & (headers["detector"] == DETECTOR)]["frame_number"]
        number = int(headers["frame_number"][0])
        reach = int(self._where["reach"][0])
        return min([n for n in map(int, own) if abs(n - number) <= min(reach, len(self._opened) // 2)], default=number)


def explain(error: Exception) -> str:
    """Why packets can no longer be received."""
    if isinstance(error, OSError):
        return f"cannot receive by UDP: {os.strerror(error.errno or errno.EIO)}"
    return f"packets can no longer be placed: {type(error).__name__}: {error}"
