"""A simulated board whose clock runs by itself: a detector before it, a wire behind it, its registers for whoever asks.

One thread does it all, turn by turn: `BoardServer.attend` for the clients, then `ServedBoard.turn`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from time import monotonic, time_ns
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import ConfigError
from framelane.driver.registers.register_file import RegisterFile
from framelane.driver.registers.registers import Registers
from framelane.models.memory.frame_store import FrameInfo

TURN_S = 0.01
"""So long the clock runs between two looks at the clients, where there is something to do."""
IDLE_S = 0.02
"""So long a turn waits for clients, where there is not."""
_AT_A_TIME = 256
"""Clock cycles between two looks at the time."""
_LISTENS_S = 0.5
"""So long after a client has asked something the clock runs on: it may be waiting for something to happen."""
_BEATS, _REST = 3, 2000
"""Clock cycles a beat of the image, and more, from frame to frame: in by one beat a cycle, out with headers."""


_LEAVES = 500
"""Clock cycles in which the MAC has what the core had left for it."""


class Simulated(Registers, Protocol):
    """What is served: a simulated transmitter that takes a detector's frames (`SimulatedTop`)."""

    @property
    def cycle(self) -> int: ...

    def write_memory(self, address: int, data: bytes) -> None: ...

    def frame(self, info: FrameInfo, image: NDArray[np.uint16]) -> None: ...

    def step(self, cycles: int) -> None: ...

    def take(self) -> list[bytes]: ...

    def interrupt(self) -> bool: ...

    def receive(self, frame: bytes) -> None: ...


class Wire(Protocol):
    """The network behind the board (`framelane.source.udp_wire.UdpWire`)."""

    def send(self, packets: list[bytes]) -> None: ...

    def answers(self) -> Iterable[bytes]: ...

    def close_paths(self) -> None: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Exposure:
    """What the detector does while the board is armed: `images`, again and again, `rate` of them a second.

    None: as fast as they are simulated. `frames` after each reset of the board, None: until it is disarmed.
    """

    images: Sequence[NDArray[np.uint16]]
    rate: float | None = None
    frames: int | None = None


class ServedBoard:
    """`board` with a detector, and `memory_bytes` of memory; its packets go to `wire`, whose answers come to it.

    `beat_bytes` of its bus.

    The detector starts with the board: it sends while that is armed, and begins with frame 0 again after a reset.
    """

    def __init__(
        self,
        board: Simulated,
        exposure: Exposure,
        wire: Wire,
        memory_bytes: int,
        *,
        beat_bytes: int = 64,
    ) -> None:
        self._board, self._exposure, self._wire = board, exposure, wire
        self._memory_bytes = memory_bytes
        self._beats = -(-exposure.images[0].nbytes // beat_bytes)
        registers = RegisterFile(board)
        self._status = registers.find("status")
        command = registers.find("command")
        self._command = command.offset
        self._address = registers.find("local_ip").offset
        self._pairs = {registers.find(f"qp[{k}].control").offset for k in range(registers["sizes.qps"])}
        (self._reset,) = (1 << field.lsb for field in command.register.fields if field.name == "reset")
        self._asked = -_LISTENS_S
        self._free_at = 0
        """The clock cycle from which the detector can send its next frame."""
        self._due = 0.0
        self._number = 0
        self._armed = False
        self.offered = self.packets = 0
        """Frames that the detector has sent, packets that have left."""
        board.write_memory(memory_bytes - 1, bytes(1))  # now there is all of it

    def read(self, offset: int) -> int:
        """See `Registers`."""
        self._asked = monotonic()
        return self._board.read(offset)

    def write(self, offset: int, value: int) -> None:
        """See `Registers`."""
        self._asked = monotonic()
        self._board.write(offset, value)
        if offset == self._command and value & self._reset:
            self._number = 0
        elif offset in self._pairs:
            self._wire.close_paths()
        elif offset == self._address:
            self._board.step(_LEAVES)
            self._leave()
            self._wire.close()

    def write_memory(self, address: int, data: bytes) -> None:
        """Put `data` at `address` of the memory; ConfigError outside it."""
        if not 0 <= address <= self._memory_bytes - len(data):
            raise ConfigError(
                f"{len(data)} bytes at {address:#x} are not in the memory of {self._memory_bytes:#x} bytes: place them "
                "further down, or serve a board with more memory"
            )
        self._board.write_memory(address, data)

    def interrupt(self) -> bool:
        """Whether the board's interrupt is up."""
        self._asked = monotonic()
        return self._board.interrupt()

    def close(self) -> None:
        """See `Registers`: here it ends the board."""
        self._board.close()

    def turn(self) -> float:
        """Let the detector send what is due, the clock run, and packets leave; how long may be waited for clients."""
        status = {f.name: f.of(self._board.read(self._status.offset)) for f in self._status.register.fields}
        begins, self._armed = bool(status["armed"]) and not self._armed, bool(status["armed"])
        for frame in self._wire.answers():
            self._board.receive(frame)
        now = monotonic()
        if begins:
            self._due = now
        left = self._exposure.frames is None or self._number < self._exposure.frames
        waits = self._armed and left
        if waits and self._due <= now and self._free_at <= self._board.cycle:
            self._expose(now)
        if status["idle"] and self._free_at <= self._board.cycle and now - self._asked > _LISTENS_S:
            self._board.step(_AT_A_TIME)
            self._leave()
            return min(IDLE_S, max(0.0, self._due - now)) if waits else IDLE_S
        while monotonic() < now + TURN_S:
            self._board.step(_AT_A_TIME)
        self._leave()
        return 0.0

    def _expose(self, now: float) -> None:
        images, rate = self._exposure.images, self._exposure.rate
        info = FrameInfo(self._number, time_ns(), self._number)
        self._board.frame(info, images[self._number % len(images)])
        self._number += 1
        self.offered += 1
        self._free_at = self._board.cycle + _BEATS * self._beats + _REST
        self._due = now if rate is None else max(self._due + 1 / rate, now - 1 / rate)

    def _leave(self) -> None:
        packets = self._board.take()
        if packets:
            self.packets += len(packets)
            self._wire.send(packets)
