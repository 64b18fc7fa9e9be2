"""A board of `boards/` by its pins: all of its gateware by Verilator, and the other end of its line."""

import ctypes
from ipaddress import IPv4Address

import numpy as np

from framelane.base.errors import ConfigError
from framelane.driver.simulated.library import Design, Signature
from framelane.driver.simulated.simulation import Simulation, split
from framelane.models.gmii import gmii

_U64, _POINTER = ctypes.c_uint64, ctypes.c_void_p
BOARDS = ("colorlight_5a_75b", "ecpix_5")
"""Folders of `boards/` that can be simulated so."""
MAC = 0x02_00_00_00_00_01
IP = IPv4Address("192.168.1.50")
"""What a board has for addresses where its builder says nothing else."""
_SHORTEST = 60
_MOST = 4096
_POWER_UP = 8000
"""Cycles of the line until counters are cleared."""
_FUNCTIONS: dict[str, Signature] = {
    "pins_press": (None, [_U64]),
    "pins_send": (None, [_POINTER, _U64]),
    "pins_step": (None, [_U64]),
    "pins_counts": (None, [_POINTER]),
    "pins_take": (None, [_POINTER, _POINTER]),
    "pins_led": (ctypes.c_bool, []),
    "pins_uart_send": (None, [_POINTER, _U64]),
    "pins_uart_take": (_U64, [_POINTER, _U64]),
}


def pins_design(board: str, ip: IPv4Address = IP, *, uart: bool = False) -> Design:
    """The design of a board with the address `ip`, with a UART for its registers if `uart`."""
    if board not in BOARDS:
        raise ConfigError(f"{board!r} is not a board that can be simulated by its pins: give {' or '.join(BOARDS)}")
    return Design(
        "pins",
        f"{board}_pins",
        ("pins/pins_library.cpp",),
        _FUNCTIONS,
        {"Ip": int(ip), "Uart": int(uart)},
        folders=("boards/common", "boards/common/models", "boards/ecp5", "boards/ecp5/models", f"boards/{board}"),
        options=("--no-timing", "-DWITHOUT_TIMES"),
    )


class PinBoard(Simulation):
    """The board `board` after power-up, its link up. Frames are without FCS. The clock runs in `step` alone.

    With `uart` its registers may be reached by a UART too, which on a 5A-75B has the pins of button and LED.
    """

    def __init__(self, board: str, ip: IPv4Address = IP, *, uart: bool = False) -> None:
        super().__init__(pins_design(board, ip, uart=uart), None)
        self.wrong = 0
        """Packets that the board has sent with a wrong FCS, or that broke off: no host would see them."""
        self.press()

    def press(self) -> None:
        """Press the button: all begins anew, and whoever was the board's peer is forgotten."""
        self._call("pins_press", 100)
        self.step(_POWER_UP)

    def receive(self, frame: bytes) -> None:
        """Have the line bring a frame, behind those that are on their way."""
        line = gmii.sent(frame.ljust(_SHORTEST, b"\0"))
        self._call("pins_send", line, len(line))

    def step(self, cycles: int) -> None:
        """Run for some cycles of the line, a byte each."""
        self._call("pins_step", cycles)

    @property
    def led(self) -> bool:
        """Whether it is on."""
        on: bool = self._call("pins_led")
        return on

    def say(self, data: bytes) -> None:
        """Send bytes to the board's UART, behind those that are on their way."""
        self._call("pins_uart_send", data, len(data))

    def heard(self) -> bytes:
        """What the board's UART has said since this was asked last, `_MOST` bytes at most."""
        data = ctypes.create_string_buffer(_MOST)
        count: int = self._call("pins_uart_take", data, _MOST)
        return data.raw[:count]

    @property
    def cycle(self) -> int:
        """Cycles of the line since power-up."""
        return self._counts()[3]

    def take(self) -> list[bytes]:
        """The frames that the board has sent and that were not taken before."""
        n_packets, n_bytes, spoiled, _ = self._counts()
        lengths, data = np.empty(n_packets, np.uint32), np.empty(n_bytes, np.uint8)
        self._call("pins_take", data.ctypes.data, lengths.ctypes.data)
        self.wrong += spoiled - self._spoiled
        self._spoiled = spoiled
        received = [gmii.received(line) for line in split(data, lengths)]
        frames = [got[0] for got in received if got and not got[1]]
        self.wrong += len(received) - len(frames)
        return frames

    _spoiled = 0

    def _counts(self) -> list[int]:
        counts = np.empty(4, np.uint64)
        self._call("pins_counts", counts.ctypes.data)
        values: list[int] = counts.tolist()
        return values
