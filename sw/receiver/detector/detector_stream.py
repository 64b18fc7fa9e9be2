"""One UDP port of a live detector: a thread that puts its packets into the slots of the ring."""

import errno
import os
import select
import socket
import threading
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from framelane.models.detector.detector_packets import DetectorPackets
from framelane.receiver.detector._placing import (
    EXAMPLE,
    FATES,
    INFO,
    OWNER,
    REFUSED,
    STATE,
    Batch,
    Frames,
    Stream,
    fill_missing,
)
from framelane.receiver.detector._receiving import CLOSED, FAILED, NEAR, Port, receiving
from framelane.receiver.detector.open_frames import OpenFrames
from framelane.receiver.detector.packet_batch import PacketBatch
from framelane.receiver.detector.placing_form import PlacingForm
from framelane.receiver.transport._recvmmsg import Datagrams

_POLLFD = np.dtype([("fd", "i4"), ("events", "i2"), ("revents", "i2")])
"""poll(2)."""


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

    Which frames may be written whoever has made `frames` decides. A thread receives from `port` after `start`, outside
    the interpreter lock while nobody has to decide.
    """

    def __init__(self, index: int, layout: Layout, words: NDArray[np.uint16], frames: OpenFrames) -> None:
        self.wants: tuple[int, int] | None = None
        """Why its packets wait, and the number of the detector with which they go on."""
        self.error: Exception | None = None
        """What ended the thread, if anything did."""
        self._packets, slots = layout.packets, len(frames.opened)
        self.modules = layout.modules_of(index)
        form = PlacingForm.of(layout.packets, layout.interfaces)
        port = layout.packets.ports(layout.interfaces)[index % layout.interfaces]
        rows, columns = layout.packets.share(layout.interfaces)
        self._share_units = rows * columns // form.unit_pixels
        self._geometry = form.unit_pixels, form.share_columns, self._share_units, form.module_pixels
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
        self._frames, self._line = frames, index * frames.turns.shape[1]
        self._near = max(1, min(NEAR, slots // 2))
        self._goes_on = threading.Event()
        self._batch = batch = PacketBatch(layout.packets)
        self._datagrams = Datagrams(batch.octets.reshape(-1), batch.starts, batch.room)
        self._polled: NDArray[np.void] = np.zeros(1, _POLLFD)
        self._closing = np.ones(1, np.int64)
        self._thread: threading.Thread | None = None
        self._loop = receiving(form)
        self._receive(0, 0)  # compiled now, and not while packets come
        self._closing[0] = 0

    @property
    def newest(self) -> int:
        """The newest frame of the session of which a packet came; -1 where none did."""
        return int(self.state["newest"][0])

    def has_all(self, frame: int) -> bool:
        """Whether its whole share of this frame of the session is in its slot."""
        slot = frame % len(self.at)
        return bool(self.at[slot] == frame and self.came[slot, 0] == self.units)

    def fill_missing(self, frame: int) -> None:
        """Fill with holes what has not come of its share of a frame that is shut."""
        slot = frame % len(self.at)
        if self.at[slot] != frame:
            self._bits[slot] = False
        fill_missing(self._ring, self._bits[slot], slot * self._pitch + self._start, self._step, *self._geometry)

    def start(self, port: socket.socket) -> None:
        """Receive from this socket, in a thread, until `stop`."""
        self._polled["fd"], self._polled["events"] = port.fileno(), select.POLLIN
        self._thread = threading.Thread(target=self._run, args=(port,), name="detector", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Receive no more, in a moment. May be called twice, as `join` may."""
        self._closing[0] = 1
        self._goes_on.set()

    def join(self) -> None:
        """Wait until it receives no more."""
        if self._thread is not None:
            self._thread.join()

    def go_on(self) -> None:
        """What it wanted is decided."""
        self.wants = None
        self._goes_on.set()

    def _run(self, port: socket.socket) -> None:
        at = count = 0
        try:
            while True:
                at, count, why = self._receive(at, count)
                if why == CLOSED:
                    return
                if why == FAILED:
                    count = self._datagrams.receive(port)  # says what is wrong, if anything is
                    self._batch.sizes[:count] = self._datagrams.sizes[:count]
                    continue
                self._goes_on.clear()
                self.wants = why, self._lowest(at, count)
                self._frames.ring()
                self._goes_on.wait()
        except Exception as error:  # whatever it is, the run ends with it
            self.error = error
            self._frames.ring()

    def _receive(self, at: int, count: int) -> tuple[int, int, int]:
        """Place the rest of the batch and what comes after it: where it stopped, and why (see `_receiving`)."""
        batch, frames, datagrams = self._batch, self._frames, self._datagrams
        port = Port(
            int(self._polled["fd"][0]), self._polled.ctypes.data, datagrams.address, datagrams.received, self._closing,
            *frames.bell, self._near, frames.turns.reshape(-1), self._line,
        )  # fmt: skip
        stream = Stream(
            self.at, self.came, self._bits, self.infos, self._owner, self.heard, self.state, self.refused, self.fates,
            self.examples, self._ring, self._pitch, self._start, self._step, self._share_units,
        )  # fmt: skip
        stopped: tuple[int, int, int] = self._loop(
            at,
            count,
            Batch(batch.octets, batch.words, batch.sizes),
            port,
            Frames(frames.signals, frames.where, frames.opened, frames.whole),
            stream,
        )
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
        reach = min(int(self._frames.where["reach"][0]), len(self._frames.opened) // 2)
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
