"""Linux and the simulated station on one wire: ping, arping, and the kernel's own table of neighbours."""

import ipaddress
import json
import re
import shutil
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest
from scapy.layers.inet import ICMP, IP
from scapy.layers.l2 import ARP, Dot1Q, Ether
from scapy.packet import Raw

from framelane.driver.neighbour_ports import NeighbourConfig
from framelane.driver.neighbour_tap import CLOCKS_PER_MS, STATION, Station, ip_command
from framelane.driver.tap import Tap
from framelane.driver.verilated_neighbour import NeighbourSimulator
from framelane.models.arp import Resolved
from framelane.models.errors import TransportError

_Found = TypeVar("_Found")

TAP = "tap0"
TAG = b"\x81\x00"
HOST, US = "10.77.0.1", "10.77.0.2"
ABSENT = "10.77.0.9"
PATIENCE_S = 20.0


class Wire:
    """The station's end is closed by `counters`; Linux' end is the interface `TAP` with the address HOST."""

    def __init__(self, simulator: NeighbourSimulator, tap: Tap) -> None:
        self.station = Station(simulator, tap)
        self._counters: dict[str, int] | None = None

    def counters(self) -> dict[str, int]:
        """What the station has counted until now, without zeros; it then stops."""
        if self._counters is None:
            self._counters = {name: count for name, count in self.station.close().items() if count}
        return self._counters

    def resolve(self, address: str, tci: int | None = None) -> Resolved:
        """Have the station ask Linux for an address."""
        self.station.ask(int(ipaddress.IPv4Address(address)), tci)
        return self.until(lambda: self.station.taken().resolved)[0]

    @staticmethod
    def until(look: Callable[[], _Found]) -> _Found:
        """What `look` returns, once that is something."""
        deadline = time.monotonic() + PATIENCE_S
        while not (found := look()):
            assert time.monotonic() < deadline, "nothing has come"
            time.sleep(0.01)
        return found


@pytest.fixture
def wire(network: tuple[str, str]) -> Iterator[Wire]:
    """A tap device in a network of its own, with the station at its other end."""
    try:
        tap = Tap(TAP)
    except TransportError as reason:
        pytest.skip(str(reason))
    config = NeighbourConfig(STATION, clocks_per_ms=CLOCKS_PER_MS, timeout_ms=50)
    with tap, NeighbourSimulator(config) as simulator:
        ip_command(f"address add {HOST}/24 dev {TAP}")
        ip_command(f"link set {TAP} up")
        wire = Wire(simulator, tap)
        yield wire
        wire.counters()


def tool(name: str) -> str:
    if not shutil.which(name):
        pytest.skip(f"{name} is not installed: apt-get install iputils-{name}")
    return name


def ping(*options: str, address: str = US) -> tuple[int, str]:
    """Ping's exit status and what it says."""
    done = subprocess.run([tool("ping"), "-n", *options, address], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout


def lost_share(report: str) -> float:
    found = re.search(r"([\d.]+)% packet loss", report)
    assert found, report
    return float(found[1])


@pytest.mark.parametrize("size", [0, 1, 17, 18, 19, 56, 1000, 1471, 1472])
def test_linux_pings_the_station_with_any_size(wire: Wire, size: int) -> None:
    status, report = ping("-c", "3", "-i", "0.2", "-s", str(size), "-p", "a5c30ff1")
    assert (status, lost_share(report)) == (0, 0), report
    assert f"{size + 8} bytes from {US}: icmp_seq=3 ttl=64" in report
    assert "wrong data" not in report
    assert wire.counters()["echo_answered"] == 3


def test_a_flood_of_pings_is_answered(wire: Wire) -> None:
    status, report = ping("-A", "-q", "-c", "300", "-s", "200")
    assert (status, lost_share(report)) == (0, 0), report
    counters = wire.counters()
    assert counters["echo_answered"] == 300
    assert "echo_busy" not in counters


def test_fragments_and_options_are_dropped_and_counted(wire: Wire) -> None:
    status, report = ping("-c", "2", "-i", "0.01", "-W", "1", "-s", "1473")
    assert (status, lost_share(report)) == (1, 100)
    status, report = ping("-c", "2", "-i", "0.01", "-W", "1", "-R")
    assert (status, lost_share(report)) == (1, 100)
    assert ping("-c", "1", "-Q", "0xb8")[0] == 0
    counters = wire.counters()
    assert (counters["drop_fragment"], counters["drop_options"]) == (4, 2)
    assert counters["echo_answered"] == 1


def test_arping_gets_its_answers(wire: Wire) -> None:
    done = subprocess.run(
        [tool("arping"), "-c", "3", "-w", "5", "-I", TAP, US], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stdout
    assert "Received 3 response(s)" in done.stdout
    assert "[02:00:00:00:00:02]" in done.stdout.lower()
    assert wire.counters()["arp_answered"] == 3


def test_duplicate_address_detection_finds_the_station_and_is_no_conflict(wire: Wire) -> None:
    command = [tool("arping"), "-D", "-c", "2", "-w", "3", "-I", TAP]
    assert subprocess.run([*command, US], capture_output=True, timeout=60).returncode == 1
    assert subprocess.run([*command, ABSENT], capture_output=True, timeout=60).returncode == 0
    counters = wire.counters()
    assert counters["arp_answered"] >= 1
    assert "arp_conflict" not in counters


def test_linux_learns_the_station_from_its_announcement(network: tuple[str, str]) -> None:
    """With arp_accept the kernel makes a neighbour of who announces himself (ip-sysctl)."""
    with Tap(TAP) as tap:
        ip_command(f"address add {HOST}/24 dev {TAP}")
        ip_command(f"link set {TAP} up")
        accept = Path(f"/proc/sys/net/ipv4/conf/{TAP}/arp_accept")
        try:
            accept.write_text("1")
        except OSError as reason:
            pytest.skip(f"arp_accept cannot be set: {reason}")
        config = NeighbourConfig(STATION, clocks_per_ms=CLOCKS_PER_MS)
        with NeighbourSimulator(config) as simulator:
            wire = Wire(simulator, tap)
            try:
                table = Wire.until(lambda: neighbours(US))
            finally:
                wire.counters()
        assert "02:00:00:00:00:02" in table


def neighbours(address: str) -> str:
    command = ["ip", "neigh", "show", "to", address, "dev", TAP]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_the_station_resolves_linux_and_finds_nobody_where_nobody_is(wire: Wire) -> None:
    found = wire.resolve(HOST)
    shown = subprocess.run(["ip", "-o", "link", "show", TAP], capture_output=True, text=True, check=True).stdout
    assert found.mac is not None
    assert found.mac.to_bytes(6).hex(":") in shown
    assert wire.resolve(ABSENT) == Resolved(int(ipaddress.IPv4Address(ABSENT)), None)
    counters = wire.counters()
    assert (counters["arp_resolved"], counters["arp_unresolved"]) == (1, 1)


def test_another_with_the_stations_address_is_counted_and_answered_by_an_announcement(wire: Wire) -> None:
    ip_command(f"address add {US}/32 dev {TAP}")
    command = [tool("arping"), "-U", "-c", "3", "-w", "4", "-I", TAP, "-s", US, US]
    wire.station.taken()
    subprocess.run(command, capture_output=True, timeout=60)
    announcement = bytes.fromhex(
        "ffffffffffff 020000000002 0806 0001 0800 06 04 0001 020000000002 0a4d0002 000000000000"
    )
    Wire.until(lambda: [f for f in wire.station.taken().frames if f[:38] == announcement])
    assert wire.counters()["arp_conflict"] >= 1


def test_a_tagged_vlan_is_answered_in_its_vlan(wire: Wire) -> None:
    try:
        ip_command(f"link add link {TAP} name {TAP}.5 type vlan id 5")
    except TransportError as reason:
        pytest.skip(f"no VLAN can be made here: {reason}")
    ip_command(f"address del {HOST}/24 dev {TAP}")
    ip_command(f"address add {HOST}/24 dev {TAP}.5")
    ip_command(f"link set {TAP}.5 up")
    status, report = ping("-c", "3", "-i", "0.2")
    assert (status, lost_share(report)) == (0, 0), report
    assert wire.resolve(HOST, 5).mac is not None
    assert wire.counters()["echo_answered"] == 3


def test_tagged_frames_are_answered_in_their_vlan(wire: Wire) -> None:
    """The same without a VLAN interface: frames that scapy has built, straight to the wire."""
    ether = Ether(dst="02:00:00:00:00:02", src="02:00:00:00:00:01") / Dot1Q(vlan=5, prio=6)
    question = ether / ARP(hwsrc="02:00:00:00:00:01", psrc=HOST, pdst=US)
    echo = ether / IP(src=HOST, dst=US) / ICMP(id=1, seq=2) / Raw(bytes(range(256)) * 5)
    answers = []
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as raw:
        raw.bind((TAP, 0))
        for frame in (question, echo):
            wire.station.taken()
            raw.send(bytes(frame))
            answers.append(Ether(Wire.until(lambda: [f for f in wire.station.taken().frames if f[12:14] == TAG])[0]))
    assert [(answer[Dot1Q].vlan, answer[Dot1Q].prio) for answer in answers] == [(5, 6)] * 2
    assert answers[0].answers(question)
    assert answers[1][ICMP].answers(echo[ICMP])
    assert answers[1][Raw].load == echo[Raw].load


def test_the_program_runs_a_command_beside_the_station() -> None:
    own = ["unshare", "--map-root-user", "--net"]
    if not shutil.which("unshare") or subprocess.run([*own, "true"], capture_output=True).returncode:
        pytest.skip("no network can be made: unshare --map-root-user --net is refused")
    program = [sys.executable, "-m", "framelane.driver.neighbour_tap"]
    done = subprocess.run(
        [*own, *program, "--", tool("ping"), "-c", "1", US], capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["echo_answered"] == 1
    done = subprocess.run([*own, *program, "--", "false"], capture_output=True, text=True, timeout=200)
    assert done.returncode == 1


def test_garbage_on_the_wire_changes_nothing(wire: Wire) -> None:
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as raw:
        raw.bind((TAP, 0))
        target = bytes.fromhex("020000000002") + bytes.fromhex("020000000001")
        for n in range(200):
            raw.send(target + struct.pack(">H", (0x0806, 0x0800, 0x8808, 0x86DD)[n % 4]) + bytes([n]) * (n % 60 + 1))
    status, report = ping("-c", "3", "-i", "0.2")
    assert (status, lost_share(report)) == (0, 0), report
    assert wire.counters()["arp_malformed"] >= 1
