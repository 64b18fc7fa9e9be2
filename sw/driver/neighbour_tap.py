"""The simulated station as a neighbour of Linux: its MAC is one end of a tap device, the kernel's network the other.

    unshare --map-root-user --net python -m framelane.driver.neighbour_tap -- ping -c 3 10.77.0.2

runs a command beside it, in a network of its own, prints the station's counters as JSON, and ends with the command's
status. The simulated clock runs `CLOCKS_PER_MS` cycles in a millisecond; frames come as on a line of 1 Gb/s to a
station of 250 MHz, `CLOCKS_PER_BYTE` cycles a byte.
"""

import argparse
import ipaddress
import json
import subprocess
import sys
import threading
import time

from framelane.driver.neighbour_ports import NeighbourConfig
from framelane.driver.tap import Tap
from framelane.driver.verilated_neighbour import NeighbourSimulator, Sent
from framelane.models.errors import FramelaneError, TransportError
from framelane.models.wire import Endpoint

CLOCKS_PER_MS = 100
CLOCKS_PER_BYTE = 2
STATION = Endpoint(0x02_00_00_00_00_02, int(ipaddress.IPv4Address("10.77.0.2")))
_FRAME_BYTES_MIN = 60
_WAIT_S = 0.0005
_CYCLES_MAX = 50 * CLOCKS_PER_MS


class Station:
    """A simulated station on a tap device, in a thread of its own until it is closed. `tap` is its to use."""

    def __init__(self, simulator: NeighbourSimulator, tap: Tap) -> None:
        self._simulator, self._tap = simulator, tap
        self._questions: list[tuple[int, int | None]] = []
        self._sent = Sent([], [])
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="station")
        self._thread.start()

    def _run(self) -> None:
        passed = time.monotonic()
        while not self._over.is_set():
            self._tap.wait(_WAIT_S)
            while (frame := self._tap.receive()) is not None:
                frame = frame.ljust(_FRAME_BYTES_MIN, b"\0")  # as a MAC pads them
                self._simulator.receive(frame)
                self._let_pass(CLOCKS_PER_BYTE * len(frame))
            now = time.monotonic()
            cycles = min(int((now - passed) * 1000 * CLOCKS_PER_MS), _CYCLES_MAX)
            passed = now
            with self._lock:
                if self._questions and self._simulator.resolve(*self._questions[0]):
                    self._questions.pop(0)
            self._let_pass(max(cycles, 1))

    def _let_pass(self, cycles: int) -> None:
        sent = self._simulator.run(cycles)
        for frame in sent.frames:
            self._tap.send(frame)
        with self._lock:
            self._sent.frames.extend(sent.frames)
            self._sent.resolved.extend(sent.resolved)

    def ask(self, ip: int, tci: int | None = None) -> None:
        """Have the station resolve an address; `taken` tells how that ended."""
        with self._lock:
            self._questions.append((ip, tci))

    def taken(self) -> Sent:
        """What the station has sent, and what it has resolved, since the last time."""
        with self._lock:
            sent, self._sent = self._sent, Sent([], [])
        return sent

    def close(self) -> dict[str, int]:
        """Stop the clock; the station's counters."""
        self._over.set()
        self._thread.join()
        return self._simulator.counters()


def ip_command(arguments: str) -> None:
    """Run `ip` of iproute2; TransportError with what it says."""
    try:
        subprocess.run(["ip", *arguments.split()], check=True, capture_output=True, text=True)
    except FileNotFoundError as error:
        raise TransportError("the command `ip` is missing: install iproute2") from error
    except subprocess.CalledProcessError as error:
        raise TransportError(f"`ip {arguments}`: {error.stderr.strip()}") from error


def run_beside(
    command: list[str], host: str, config: NeighbourConfig, name: str = "tap0"
) -> tuple[int, dict[str, int]]:
    """Run `command` while the station is there; its exit status, and the station's counters.

    `host` is the address of Linux' end, as 10.77.0.1/24.
    """
    with NeighbourSimulator(config) as simulator, Tap(name) as tap:
        ip_command(f"address add {host} dev {name}")
        ip_command(f"link set {name} up")
        station = Station(simulator, tap)
        try:
            status = subprocess.run(command, check=False).returncode
        finally:
            counters = station.close()
    return status, counters


def main() -> int:
    """The command line; see above."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--host", default="10.77.0.1/24", help="address of Linux' end")
    parser.add_argument("--station", default=str(ipaddress.IPv4Address(STATION.ip)), help="address of the station")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    local = Endpoint(STATION.mac, int(ipaddress.IPv4Address(options.station)))
    try:
        status, counters = run_beside(
            options.command, options.host, NeighbourConfig(local, clocks_per_ms=CLOCKS_PER_MS)
        )
    except FramelaneError as error:
        print(error, file=sys.stderr)
        return 2
    print(json.dumps({name: count for name, count in counters.items() if count}))
    return status


if __name__ == "__main__":
    sys.exit(main())
