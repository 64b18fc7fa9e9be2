"""The simulated transmitter and Linux on one wire, a tap device, in a network that is the test's own."""

import ipaddress
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import pytest

from framelane.base.errors import TransportError
from framelane.driver.board.board import Board
from framelane.driver.board.network import Network, Station
from framelane.driver.board.station import text
from framelane.driver.simulated.tap import Tap
from framelane.driver.simulated.tap_board import TapBoard, ip_command
from framelane.driver.simulated.verilated_rc import SLOW_HZ, SimulatedRcBoard
from framelane.models.roce_tx.wire import Endpoint
from framelane.models.tx import TxConfig

_Found = TypeVar("_Found")

TAP = "tap0"
HOST, US, ABSENT = "10.77.0.1", "10.77.0.2", "10.77.0.9"
OUR_MAC = "02:00:00:00:00:02"
LOCAL = Endpoint(0x02_00_00_00_00_02, int(ipaddress.IPv4Address(US)))
NETWORK = Network(Station(arp_timeout_ms=1))
PATIENCE_S = 20.0


class Wire:
    """Linux' end is the interface `TAP` with the address HOST, the board's has OUR_MAC and US."""

    def __init__(self, tap_board: TapBoard) -> None:
        self.tap_board = tap_board
        self.board = Board(tap_board, timeout_s=PATIENCE_S)

    def counters(self) -> dict[str, int]:
        """What the station has counted until now, without zeros."""
        station = self.board.counters().station
        assert station
        return {name: count for name, count in station.events.items() if count}

    def resolve(self, address: str) -> str:
        """Have the station ask who has an address; his MAC. BoardError where nobody answers."""
        return text(self.board.resolve(ip(address)))

    @staticmethod
    def until(look: Callable[[], _Found]) -> _Found:
        """What `look` returns, once that is something."""
        deadline = time.monotonic() + PATIENCE_S
        while not (found := look()):
            assert time.monotonic() < deadline, "nothing has come"
            time.sleep(0.01)
        return found


def skip_without_tap(name: str = TAP) -> Tap:
    """A tap device."""
    try:
        return Tap(name)
    except TransportError as reason:
        pytest.skip(str(reason))


@contextmanager
def tap_wire() -> Iterator[Wire]:
    """A station that answers ARP and ping, and soon gives up asking; its link comes up when all is there."""
    with skip_without_tap() as tap, SimulatedRcBoard(clock_hz=SLOW_HZ) as simulated:
        ip_command(f"address add {HOST}/24 dev {TAP}")
        ip_command(f"link set {TAP} up")
        Board(simulated).configure(TxConfig(LOCAL, (), (), ()), network=NETWORK)
        with TapBoard(simulated, tap) as board:
            yield Wire(board)


def tool(name: str) -> str:
    """Ping or arping, if it is that of iputils; there are others."""
    if not shutil.which(name) or b"iputils" not in subprocess.run([name, "-V"], capture_output=True).stdout:
        pytest.skip(f"{name} is not installed: apt-get install iputils-{name}")
    return name


def ping(*options: str) -> tuple[int, float, str]:
    """Ping the station: the exit status, the share in per cent that was lost, and what else is said."""
    command = [tool("ping"), "-n", "-W", "10", *options, US]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    found = re.search(r"([\d.]+)% packet loss", done.stdout)
    assert found, done.stdout + done.stderr
    assert icmp_errors() == 0, "Linux has refused answers"
    return done.returncode, float(found[1]), done.stdout


def icmp_errors() -> int:
    """ICMP that Linux itself has refused: ping takes answers with a wrong checksum."""
    lines = Path("/proc/thread-self/net/snmp").read_text().splitlines()
    names, values = (line.split()[1:] for line in lines if line.startswith("Icmp:"))
    return int(dict(zip(names, values, strict=True))["InErrors"])


def ip(address: str) -> int:
    """An address as an integer."""
    return int(ipaddress.IPv4Address(address))


def neighbour(address: str) -> str:
    """What Linux knows of a neighbour."""
    command = ["ip", "neigh", "show", "to", address, "dev", TAP]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def tap_mac() -> str:
    """The MAC of Linux' end."""
    shown = subprocess.run(["ip", "-o", "link", "show", TAP], capture_output=True, text=True, check=True).stdout
    found = re.search(r"link/ether ([0-9a-f:]{17})", shown)
    assert found, shown
    return found[1]
