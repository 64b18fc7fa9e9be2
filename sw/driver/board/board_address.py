"""Boards by a text: `uio:/dev/uio0`, `pci:0000:03:00.0`, `udp:HOST`, `uart:/dev/ttyUSB0`, `sim`, `sim:SOCKET`."""

import re
from pathlib import Path

from framelane.base.errors import ConfigError
from framelane.driver.board.board import Board
from framelane.driver.registers.mmap_registers import ROOT, open_pci
from framelane.driver.registers.registers import Registers
from framelane.driver.registers.socket_registers import open_socket
from framelane.driver.registers.uart_registers import open_uart
from framelane.driver.registers.udp_registers import open_udp
from framelane.driver.registers.uio import open_uio_device

_SERVED = "sim:"
_LONELY = "sim", "sim:rc"
_UDP = "udp:"
_UART = "uart:"
_UIO = re.compile(r"uio:(?:/dev/)?(uio\d+)")
_PCI = re.compile(r"pci:([0-9a-f]{4,8}:)?([0-9a-f]{2}:[0-9a-f]{2}\.[0-7])(?::([0-5]))?", re.IGNORECASE)


def open_board(address: str) -> Board:
    """The board at `address`: uio:/dev/uio0, pci:0000:03:00.0 (`...:2` for its BAR 2), udp:HOST, uart:/dev/ttyUSB0,
    sim:SOCKET, sim or sim:rc.

    Use it in a `with` block, or close it: the board goes on as it is, but for `sim` and `sim:rc`, which are gone then.
    ConfigError for a text that names none; BoardError where it is not there, does not answer or is not known;
    SimulationError where none can be simulated.
    """
    board = Board(open_registers(address))
    try:
        board.probe()
    except BaseException:
        board.close()
        raise
    return board


def open_registers(address: str, root: Path = ROOT) -> Registers:
    """The registers of a board; ConfigError for a text that names none.

    `sim` is a fresh simulated one, `sim:rc` one without frame store and correction, whose frames lie in its memory
    already; their links are up, and nobody is at the other end. `sim:SOCKET` is the simulated one that `framelane board
    serve` keeps at that socket. `udp:HOST` or `udp:HOST:PORT` is a board whose registers are reached over the network
    (docs/integrating/udp_registers.md), `uart:/dev/ttyUSB0` one on a serial line (docs/integrating/uart_registers.md).

    BoardError where there is no such device, or it cannot be had; SimulationError where none can be simulated.
    """
    if address in _LONELY:
        from framelane.driver.board.lonely_board import LonelyRcBoard, LonelyTop

        return LonelyTop() if address == "sim" else LonelyRcBoard()  # may build the simulator
    if address.startswith(_SERVED):
        return open_socket(address.removeprefix(_SERVED))
    if address.startswith(_UDP):
        return open_udp(address.removeprefix(_UDP))
    if address.startswith(_UART):
        return open_uart(address.removeprefix(_UART))
    if match := _UIO.fullmatch(address):
        return open_uio_device(match[1], root)
    if match := _PCI.fullmatch(address):
        return open_pci(f"{match[1] or '0000:'}{match[2]}".lower(), int(match[3] or 0), root)
    raise ConfigError(
        f"{address!r} names no board: give uio:/dev/uio0, pci:0000:03:00.0 (pci:0000:03:00.0:2 for its BAR 2), "
        "udp:HOST, uart:/dev/ttyUSB0, sim, sim:rc, or sim:SOCKET of `framelane board serve`"
    )


def check_neighbours(address: str) -> None:
    """ConfigError where the board of that text has a link without neighbours that could answer."""
    if address in _LONELY:
        from framelane.driver.board.lonely_board import NOBODY

        raise ConfigError(NOBODY)
