"""The contract of all transports on the soft NIC: the same packets in, the same ring out, the same counters.

The same cases run on the Linux driver in `sim/softroce/test_contract.py`.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from framelane.base.errors import ConfigError
from framelane.packets.pcap import PcapWriter
from framelane.receiver.ring.ring import Ring
from framelane.receiver.transport.packet_port import PacketPort
from framelane.receiver.transport.pcap_port import PcapPort
from framelane.receiver.transport.softnic import SoftNic
from framelane.receiver.transport.transport import Transport
from framelane.receiver.transport.udp_port import UdpPort
from framelane.session.session import Session
from framelane.source.sender import PacketSender, UdpSender
from lossless_cases import LOSSLESS, LOSSLESS_RC
from lossy_cases import LOSSY, WRONG
from own_source import own_address, own_port
from transport_cases import Case, Outcome, outcome, refusals

Connect = Callable[[Session, Ring, list[bytes]], AbstractContextManager[Transport]]
PATIENCE_S = 10.0
CASES = [*LOSSLESS, *LOSSY, *WRONG]


@pytest.fixture(params=["pcap", "softnic-udp", "softnic-packet"])
def connect(request: pytest.FixtureRequest, tmp_path: Path) -> Connect:
    """Open a transport of each kind, with packets on their way to it."""

    @contextmanager
    def pcap(session: Session, ring: Ring, packets: list[bytes]) -> Iterator[Transport]:
        with PcapWriter(tmp_path / "x.pcap") as writer:
            for packet in packets:
                writer.write(packet)
        with SoftNic(PcapPort(tmp_path / "x.pcap"), ring.memory, session) as nic:
            yield nic

    @contextmanager
    def softnic_udp(session: Session, ring: Ring, packets: list[bytes]) -> Iterator[Transport]:
        port = UdpPort(session, 0)
        with SoftNic(port, ring.memory, session) as nic, UdpSender(session, port.address[1]) as sender:
            sender.send(packets)
            yield nic

    @contextmanager
    def softnic_packet(session: Session, ring: Ring, packets: list[bytes]) -> Iterator[Transport]:
        here, there = request.getfixturevalue("network")
        with SoftNic(PacketPort(there), ring.memory, session) as nic, PacketSender(here) as sender:
            sender.send(packets)
            yield nic

    kinds: dict[str, Connect] = {"pcap": pcap, "softnic-udp": softnic_udp, "softnic-packet": softnic_packet}
    if request.param == "softnic-udp" and request.getfixturevalue("case").below_udp:
        pytest.skip("the kernel takes the headers away before a UDP socket sees the packet")
    return kinds[request.param]


@pytest.fixture
def session(case: Case) -> Session:
    """Give the session of the case on loopback. The source's address and port are this test's own."""
    source = {"mac": "02:00:00:00:00:01", "ip": own_address()}
    made = Session.random(case.plan(source, {"mac": "02:00:00:00:00:02", "ip": "127.0.0.1"}))
    changes = {} if "src_port" in case.changes else {"src_port": own_port()}
    return made.model_copy(update=changes | ({} if case.psn is None else {"psn": case.psn}))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_ring_the_completions_and_the_counters_are_those_of_the_case(
    case: Case, session: Session, connect: Connect
) -> None:
    sent = case.make(session)
    ring = Ring(session)
    immediates: list[int] = []
    with connect(session, ring, [packet.frame for packet in sent]) as transport:
        deadline = time.monotonic() + PATIENCE_S
        while transport.counters.packets < len(sent) and time.monotonic() < deadline:
            immediates += [completion.imm for completion in transport.poll(0.1)]
        counters = transport.counters
    assert Outcome(ring.memory.tobytes(), immediates) == outcome(session, sent)
    placed = [packet for packet in sent if not packet.refused]
    assert counters.refused == refusals(sent), counters.examples
    assert (counters.packets, counters.placed) == (len(sent), len(placed))
    assert counters.payload_bytes == sum(len(packet.payload) for packet in placed)
    assert counters.completions == len(immediates)
    assert counters.lost == case.lost
    assert transport.refuses_late


@pytest.mark.parametrize("case", LOSSLESS_RC[:1], ids=lambda case: case.name)
def test_a_session_of_rc_needs_a_nic(case: Case, session: Session, tmp_path: Path) -> None:
    PcapWriter(tmp_path / "x.pcap").close()
    with pytest.raises(ConfigError, match="RC"):
        SoftNic(PcapPort(tmp_path / "x.pcap"), Ring(session).memory, session)


def test_every_case_is_there_once() -> None:
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names) > 40
