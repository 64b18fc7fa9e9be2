"""The soft NIC of RC by UDP: the ring, the completions and every acknowledgement are those of a NIC.

The same cases run on the Linux driver in `sim/softroce/test_contract.py`.
"""

import contextlib
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from framelane.base.errors import ConfigError, TransportError
from framelane.models.rc.rc_remote import syndrome
from framelane.models.station import roce_rx
from framelane.models.station.roce_rx import FIRST_QPN, Event, Peer
from framelane.receiver.ring.ring import Ring
from framelane.receiver.transport.rc_softnic import RcSoftNic
from framelane.receiver.transport.udp_port import UdpPort
from framelane.session.session import Session
from framelane.source.udp_wire import UdpWire
from lossless_cases import LOSSLESS_RC
from lossy_cases import LOSSY_RC
from own_source import own_address, own_port
from transport_cases import Case, Outcome, outcome, refusals

PATIENCE_S = 10.0


@dataclass
class Link:
    """A board's wire, and a soft NIC at its other end."""

    session: Session
    ring: Ring
    nic: RcSoftNic
    wire: UdpWire
    port: int
    """UDP port of both sides."""

    def acknowledgements(self, count: int) -> list[tuple[int, int]]:
        """What has come back: PSN after the session's, and syndrome; as the board's receive path takes it."""
        found: list[tuple[int, int]] = []
        index, peer = self.session.source_qpn - FIRST_QPN, Peer(rc=True, ip=int(self.session.receiver.ip))
        end = time.monotonic() + PATIENCE_S
        while len(found) < count and time.monotonic() < end:
            for frame in self.wire.answers():
                event = roce_rx.receive(frame, {index: peer}.get)
                assert isinstance(event, Event), event
                found.append((event.psn - self.session.psn & 0xFFFFFF, syndrome(event)))
        return found


@pytest.fixture
def link(case: Case) -> Iterator[Link]:
    source = {"mac": "02:00:00:00:00:01", "ip": own_address()}
    session = Session.random(case.plan(source, {"mac": "02:00:00:00:00:02", "ip": "127.0.0.1"}))
    session = session.model_copy(update={"src_port": own_port()} | ({} if case.psn is None else {"psn": case.psn}))
    ring, port = Ring(session), UdpPort(session, 0)
    wire_ = UdpWire(port.address[1])
    with RcSoftNic(port, ring.memory, session) as nic:
        yield Link(session, ring, nic, wire_, port.address[1])
    wire_.close()


@pytest.mark.parametrize("case", [*LOSSLESS_RC, *LOSSY_RC], ids=lambda case: case.name)
def test_the_ring_the_completions_and_every_acknowledgement_are_those_of_the_case(case: Case, link: Link) -> None:
    sent, nic = case.make(link.session), link.nic
    link.wire.send([packet.frame for packet in sent])
    immediates: list[int] = []

    def poll() -> None:
        end = time.monotonic() + PATIENCE_S
        while nic.counters.packets < len(sent) and time.monotonic() < end:
            immediates.extend(completion.imm for completion in nic.poll(0.1))

    if case.ends:
        with pytest.raises(TransportError, match=case.ends):
            poll()
        with pytest.raises(TransportError, match=case.ends):
            nic.poll(0)
    else:
        poll()
    assert link.acknowledgements(len(case.replies)) == list(case.replies)
    assert Outcome(link.ring.memory.tobytes(), immediates) == outcome(link.session, sent)
    assert not link.wire.faults
    counters = nic.counters
    placed = [packet for packet in sent if not packet.refused]
    if not case.ends:
        again = refusals(sent).pop("duplicate", 0)
        assert counters.refused.total() == len(sent) - len(placed) - again
        assert (counters.packets, counters.placed, counters.behind) == (len(sent), len(placed), again)
    assert counters.completions == len(immediates)


@pytest.mark.parametrize("case", LOSSLESS_RC[:1], ids=lambda case: case.name)
def test_packets_of_others_are_not_answered(case: Case, link: Link) -> None:
    (first, *_) = case.make(link.session)
    other = link.session.model_copy(update={"qpn": link.session.qpn ^ 1})
    foreign = [packet.frame for packet in case.make(other)]
    corrupt = first.frame[:-1] + bytes([first.frame[-1] ^ 1])
    unreliable = [packet.frame for packet in case.make(link.session.model_copy(update={"service": "UC"}))]
    link.wire.send([*foreign, corrupt, *unreliable])
    end = time.monotonic() + PATIENCE_S
    wanted = len(foreign) + 1 + len(unreliable)
    while link.nic.counters.packets < wanted and time.monotonic() < end:
        assert link.nic.poll(0.1) == []
    assert link.nic.counters.refused == {"qpn": len(foreign), "icrc": 1, "service": len(unreliable)}
    assert link.wire.answers() == []


@pytest.mark.parametrize("case", LOSSLESS_RC[:1], ids=lambda case: case.name)
def test_a_source_at_the_receivers_address_is_told_to_move(case: Case, link: Link) -> None:
    here = link.session.receiver
    packets = [packet.frame for packet in case.make(link.session.model_copy(update={"source": here}))]
    link.wire.send(packets)
    (fault,) = link.wire.faults
    assert "a receiver has that address: give the transmitter another one" in fault


@pytest.mark.parametrize("case", LOSSLESS_RC[:1], ids=lambda case: case.name)
@pytest.mark.parametrize("changes", [{"service": "UC"}, {"sources": 2}])
def test_sessions_that_it_cannot_serve_are_refused(case: Case, link: Link, changes: dict[str, object]) -> None:
    session = link.session.model_copy(update=changes)
    port = UdpPort(session, 0)
    with contextlib.closing(port), pytest.raises(ConfigError, match="serves one source by RC"):
        RcSoftNic(port, link.ring.memory, session)


@pytest.mark.parametrize("case", LOSSLESS_RC[:1], ids=lambda case: case.name)
def test_an_answer_has_df_and_id_0_as_its_icrc_says(network: tuple[str, str], case: Case) -> None:
    """The kernel makes its IP header: also where path MTUs are not discovered, and others have an ID then."""
    Path("/proc/sys/net/ipv4/ip_no_pmtu_disc").write_text("1")
    source, receiver = ({"mac": f"02:00:00:00:00:0{n}", "ip": f"127.0.0.{n}"} for n in (2, 3))
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800)) as ear:
        ear.bind(("lo", 0x0800))
        ear.settimeout(PATIENCE_S)
        with contextlib.closing(UdpPort(Session.random(case.plan(source, receiver)))) as port:
            port.answer(bytes(20))
        packet = ear.recv(1 << 16)
    assert packet[26:34] == bytes([127, 0, 0, 3, 127, 0, 0, 2])
    assert packet[18:22] == bytes([0, 0, 0x40, 0])


@pytest.mark.parametrize("case", LOSSLESS_RC[:1], ids=lambda case: case.name)
@pytest.mark.parametrize(("size", "taken"), [(20, True), (64, True), (65, False), (60000, False)])
def test_what_is_longer_than_an_answer_is_not_taken_to_the_board(
    case: Case, link: Link, size: int, taken: bool
) -> None:
    link.wire.send([packet.frame for packet in case.make(link.session)])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.sendto(bytes(size), (str(link.session.source.ip), link.port))
        other.sendto(b"last", (str(link.session.source.ip), link.port))
    found: list[bytes] = []
    end = time.monotonic() + PATIENCE_S
    while not any(frame.endswith(b"last") for frame in found) and time.monotonic() < end:
        found += link.wire.answers()
    assert len(found) == 1 + taken
