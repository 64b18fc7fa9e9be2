"""Linux and the simulated transmitter on one wire: ping, arping, and the kernel's own table of neighbours."""

import socket
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from scapy.layers.inet import ICMP, IP
from scapy.layers.l2 import ARP, Dot1Q, Ether
from scapy.packet import Raw

from framelane.base.errors import BoardError, TransportError
from framelane.driver.board.station import text
from framelane.driver.simulated.tap_board import ip_command
from tap_wire import ABSENT, HOST, OUR_MAC, TAP, US, Wire, neighbour, ping, tap_mac, tap_wire, tool

TAG = b"\x81\x00"


@pytest.fixture
def wire(network: tuple[str, str]) -> Iterator[Wire]:
    with tap_wire() as wire:
        yield wire


@pytest.mark.parametrize("size", [0, 1, 17, 18, 19, 56, 1000, 1471, 1472])
def test_linux_pings_the_transmitter_with_any_size(wire: Wire, size: int) -> None:
    status, lost, report = ping("-c", "3", "-i", "0.2", "-s", str(size), "-p", "a5c30ff1")
    assert (status, lost) == (0, 0), report
    assert f"{size + 8} bytes from {US}: icmp_seq=3 ttl=64" in report
    assert "wrong data" not in report
    assert wire.counters()["echo_answered"] == 3


def test_a_flood_of_pings_is_answered(wire: Wire) -> None:
    status, lost, report = ping("-A", "-q", "-c", "300", "-s", "200")
    assert (status, lost) == (0, 0), report
    counters = wire.counters()
    assert counters["echo_answered"] == 300
    assert "echo_busy" not in counters


def test_fragments_and_options_are_dropped_and_counted(wire: Wire) -> None:
    assert ping("-c", "2", "-i", "0.01", "-W", "1", "-s", "1473")[:2] == (1, 100)
    assert ping("-c", "2", "-i", "0.01", "-W", "1", "-R")[:2] == (1, 100)
    assert ping("-c", "1", "-Q", "0xb8")[0] == 0
    counters = wire.counters()
    assert (counters["rx_fragment"], counters["rx_options"]) == (4, 2)
    assert counters["echo_answered"] == 1


def test_arping_gets_its_answers(wire: Wire) -> None:
    command = [tool("arping"), "-c", "3", "-w", "5", "-I", TAP, US]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout
    assert "Received 3 response(s)" in done.stdout
    assert f"[{OUR_MAC}]" in done.stdout.lower()
    assert wire.counters()["arp_answered"] == 3


def test_duplicate_address_detection_finds_the_transmitter_and_is_no_conflict(wire: Wire) -> None:
    command = [tool("arping"), "-D", "-c", "2", "-w", "3", "-I", TAP]
    assert subprocess.run([*command, US], capture_output=True, timeout=60).returncode == 1
    assert subprocess.run([*command, ABSENT], capture_output=True, timeout=60).returncode == 0
    counters = wire.counters()
    assert counters["arp_answered"] >= 1
    assert "arp_conflict" not in counters


def test_linux_learns_the_transmitter_from_its_announcement(network: tuple[str, str]) -> None:
    """With arp_accept the kernel makes a neighbour of who announces himself (ip-sysctl)."""
    accept = Path("/proc/sys/net/ipv4/conf/default/arp_accept")
    try:
        accept.write_text("1")
    except OSError as reason:
        pytest.skip(f"arp_accept cannot be set: {reason}")
    with tap_wire() as wire:
        assert OUR_MAC in wire.until(lambda: neighbour(US))
        assert "arp_answered" not in wire.counters()


def test_the_transmitter_resolves_linux_and_finds_nobody_where_nobody_is(wire: Wire) -> None:
    assert wire.resolve(HOST) == tap_mac()
    with pytest.raises(BoardError, match=f"nobody answers ARP for {ABSENT}"):
        wire.resolve(ABSENT)
    assert wire.resolve(HOST) == tap_mac()
    counters = wire.counters()
    assert (counters["arp_resolved"], counters["arp_unresolved"]) == (2, 1)


def test_another_with_the_transmitters_address_is_counted_and_answered_by_an_announcement(wire: Wire) -> None:
    ip_command(f"address add {US}/32 dev {TAP}")
    command = [tool("arping"), "-U", "-c", "3", "-w", "4", "-I", TAP, "-s", US, US]
    announcement = bytes.fromhex(
        "ffffffffffff 020000000002 0806 0001 0800 06 04 0001 020000000002 0a4d0002 000000000000"
    )
    wire.until(lambda: [f for f in wire.tap_board.take() if f[:38] == announcement])  # of the link
    subprocess.run(command, capture_output=True, timeout=60, check=False)
    wire.until(lambda: [f for f in wire.tap_board.take() if f[:38] == announcement])
    assert wire.counters()["arp_conflict"] >= 1
    state = wire.board.station()
    assert state
    assert text(state.conflict_mac) == tap_mac()


def test_a_tagged_vlan_is_answered_in_its_vlan(wire: Wire) -> None:
    try:
        ip_command(f"link add link {TAP} name {TAP}.5 type vlan id 5")
    except TransportError as reason:
        pytest.skip(f"no VLAN can be made here: {reason}")
    ip_command(f"address del {HOST}/24 dev {TAP}")
    ip_command(f"address add {HOST}/24 dev {TAP}.5")
    ip_command(f"link set {TAP}.5 up")
    status, lost, report = ping("-c", "3", "-i", "0.2")
    assert (status, lost) == (0, 0), report
    with pytest.raises(BoardError, match="nobody answers"):
        wire.resolve(HOST)
    wire.board.registers.write_register("station", {"has_vlan": 1, "tci": 5})
    assert wire.resolve(HOST) == tap_mac()
    assert wire.counters()["echo_answered"] == 3


def test_tagged_frames_are_answered_in_their_vlan(wire: Wire) -> None:
    """The same without a VLAN interface: frames that scapy has built, straight to the wire."""
    ether = Ether(dst=OUR_MAC, src="02:00:00:00:00:01") / Dot1Q(vlan=5, prio=6)
    question = ether / ARP(hwsrc="02:00:00:00:00:01", psrc=HOST, pdst=US)
    echo = ether / IP(src=HOST, dst=US) / ICMP(id=1, seq=2) / Raw(bytes(range(256)) * 5)
    answers = []
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as raw:
        raw.bind((TAP, 0))
        for frame in (question, echo):
            wire.tap_board.take()
            raw.send(bytes(frame))
            answers.append(Ether(wire.until(lambda: [f for f in wire.tap_board.take() if f[12:14] == TAG])[0]))
    assert [(answer[Dot1Q].vlan, answer[Dot1Q].prio) for answer in answers] == [(5, 6)] * 2
    assert answers[0].answers(question)
    assert answers[1][ICMP].answers(echo[ICMP])
    assert answers[1][Raw].load == echo[Raw].load


def test_garbage_on_the_wire_changes_nothing(wire: Wire) -> None:
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as raw:
        raw.bind((TAP, 0))
        target = bytes.fromhex("020000000002") + bytes.fromhex("020000000001")
        for n in range(200):
            raw.send(target + struct.pack(">H", (0x0806, 0x0800, 0x8808, 0x86DD)[n % 4]) + bytes([n]) * (n % 60 + 1))
    status, lost, report = ping("-c", "3", "-i", "0.2")
    assert (status, lost) == (0, 0), report
    assert wire.counters()["arp_malformed"] >= 1
