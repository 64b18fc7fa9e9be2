"""One UDP port of a live detector: a thread that puts its packets into the slots of the ring."""

import errno
import os
import socket
import threading
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from framelane.models.detector.detector_packets import DetectorPackets
from framelane.receiver.detector._placing import ALL, EXAMPLE, FATES, INFO, OWNER, REFUSED, STATE, placing
from framelane.receiver.detector.packet_batch import PacketBatch
from framelane.receiver.detector.packet_fate import Fate
from framelane.receiver.detector.placing_form import PlacingForm
from framelane.receiver.transport import sockets
from framelane.receiver.transport._recvmmsg import Datagrams

_WAIT_S = 0.05


@dataclass(frozen=True, slots=True)
class Layout:
    """Whose packets come: of `modules` modules, each of which sends on `interfaces` ports."""

    packets: DetectorPackets
    modules: int
    interfaces: int

    @property
    def shared(self) -> bool:
        """Whether packets of all modules come to the same ports, and have the module's number in their headers."""
        return self.packets.header.module_number is not None

    @property
    def streams(self) -> int:
        """UDP ports."""
        return self.interfaces * (1 if self.shared else self.modules)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the image: modules lie one above the other."""
        return self.modules * self.packets.module.rows, self.packets.module.columns

    def modules_of(self, stream: int) -> list[int]:
        """The modules whose packets come to a port."""
        return list(range(self.modules)) if self.shared else [stream // self.interfaces]


class DetectorStream:
    """Stream number `index` of `layout`, into `words`, the ring's (slots, words of a slot) uint16.

    `where` (1, `WHERE`) and `opened` (slots) are whoever's that decides which frames are open: it changes them, and
    reads what is here, while it holds the `lock` of every stream. A thread receives from `port` after `start`, outside
    the interpreter lock but for some lines for every batch; `woken` is set when there may be something to decide.
    """

    def __init__(
        self,
        index: int,
        layout: Layout,
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
        self._packets, slots = layout.packets, len(opened)
        self.modules = layout.modules_of(index)
        form = PlacingForm.of(layout.packets, layout.interfaces)
        port = layout.packets.ports(layout.interfaces)[index % layout.interfaces]
        rows, columns = layout.packets.share(layout.interfaces)
        self._share_units = rows * columns // form.unit_pixels
        first, self._step = port.row, form.columns
        if port.flip == "rows":
            first, self._step = port.row + rows - 1, -form.columns
        self._start = self.modules[0] * form.module_pixels + first * form.columns + port.column
        self.at, self.came = np.full(slots, -1, np.int64), np.zeros((slots, 2), np.int64)
        self.infos: NDArray[np.void] = np.zeros(slots, INFO)
        self.heard = np.zeros(len(self.modules), np.int64)
        """Packets of each of its modules."""
        self.refused = np.full(REFUSED, -1, np.int64)
        self.fates = np.zeros(FATES + len(form.constants), np.int64)
        self.examples = np.zeros((len(self.fates), EXAMPLE), np.int64)
        self.state: NDArray[np.void] = np.zeros(1, STATE)
        self.state["newest"] = -1
        self.units = len(self.modules) * self._share_units
        """Units of a share, in `came`."""
        self._bits, self._owner = np.zeros((slots, self.units), np.bool_), np.zeros(1, OWNER)
        self._ring, self._pitch = words.reshape(-1), words.shape[1]
        self._where, self._opened, self._woken = where, opened, woken
        self._goes_on = threading.Event()
        self._batch = PacketBatch(layout.packets)
        self._closing = False
        self._thread: threading.Thread | None = None
        self._loop = placing(form)
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
        batch = self._batch
        datagrams = Datagrams(batch.octets.reshape(-1), batch.starts, batch.room)
        try:
            while not self._closing:
                count = datagrams.receive(port)
                if count:
                    batch.sizes[:count] = datagrams.sizes[:count]
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
        stopped: tuple[int, int] = self._loop(
            batch.octets[:count], batch.words[:count], batch.sizes[:count], first, self._where, self._opened, self.at,
            self.came, self._bits, self.infos, self._owner, self.heard, self.state, self.refused, self.fates,
            self.examples, self._ring, self._pitch, self._start, self._step, self._share_units,
        )  # fmt: skip
        return stopped

    def _lowest(self, first: int, count: int) -> int:
        """The lowest number in the rest of the batch that is near its first: packets may come in any order."""
        packets, known, batch = self._packets, set(self._packets.packet_bytes), self._batch
        rest = [bytes(batch.rows[index][: packets.header.bytes]) for index in range(first, count)]
        own = [
            packets.read(header, "frame_number")
            for header, size in zip(rest, batch.sizes[first:count], strict=True)
            if int(size) in known and packets.is_own(header)  # before a shorter one is what was there before
        ]
        number = packets.read(rest[0], "frame_number")
        reach = min(int(self._where["reach"][0]), len(self._opened) // 2)
        return min(
            (each for each in own if abs(packets.ahead(each, number)) <= reach),
            key=lambda each: packets.ahead(each, number),
            default=number,
        )


def explain(error: Exception) -> str:
    """Why packets can no longer be received."""
    if isinstance(error, OSError):
        return f"cannot receive by UDP: {os.strerror(error.errno or errno.EIO)}"
    return f"packets can no longer be placed: {type(error).__name__}: {error}"
