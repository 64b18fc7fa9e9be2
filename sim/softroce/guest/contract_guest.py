"""The contract of all transports on RDMA verbs, for a machine with an RDMA device: run there by `test_contract.py`.

The cases are those of `transport_cases`. Where the Linux driver differs from the specification, the case says
so (`rxe_places`, `known`), and the driver must do exactly that.
"""

import socket
import struct
from collections.abc import Iterator
from typing import Literal

import pytest

from framelane.base.errors import TransportError
from framelane.models.roce_tx import roce_icrc, wire
from framelane.session.session import Session
from framelane.source.sender import PacketSender
from lossless_cases import LOSSLESS, LOSSLESS_RC
from lossy_cases import LOSSY, LOSSY_RC, WRONG
from transport_cases import Case, Outcome, outcome
from verbs_link import LINK, collect, opened

ACKNOWLEDGE = 0x11
BTH = wire.ETH_BYTES + wire.IP_BYTES + wire.UDP_BYTES


@pytest.fixture(scope="module")
def sender() -> Iterator[PacketSender]:
    with PacketSender(LINK.sender) as sender:
        yield sender


@pytest.fixture
def heard() -> Iterator[socket.socket]:
    """Hear what the device sends to the source."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(wire.ETHERTYPE_IPV4)) as heard:
        heard.bind((LINK.sender, wire.ETHERTYPE_IPV4))
        heard.setblocking(False)
        yield heard


def replies(heard: socket.socket, session: Session) -> list[tuple[int, int]]:
    """The acknowledgements that came back: PSN after the session's, and syndrome (vol. 1, 9.2 and 9.3.5)."""
    found: list[tuple[int, int]] = []
    while True:
        try:
            packet = heard.recv(65536)
        except BlockingIOError:
            return found
        assert roce_icrc.check(packet)
        opcode, _, _, qpn, psn, aeth = struct.unpack_from(">BBHIII", packet, BTH)
        assert (opcode, qpn) == (ACKNOWLEDGE, session.source_qpn)
        found.append((psn - session.psn & 0xFFFFFF, aeth >> 24))


@pytest.mark.parametrize("case", [*LOSSLESS, *LOSSY, *WRONG], ids=lambda case: case.name)
def test_over_uc_the_ring_and_the_completions_are_those_of_the_case(
    case: Case, sender: PacketSender, heard: socket.socket
) -> None:
    check_uc(case, "events", sender, heard)


@pytest.mark.parametrize("case", LOSSLESS[:2], ids=lambda case: case.name)
def test_polling_sees_what_events_tell(case: Case, sender: PacketSender, heard: socket.socket) -> None:
    check_uc(case, "polling", sender, heard)


def check_uc(case: Case, completions: Literal["events", "polling"], sender: PacketSender, heard: socket.socket) -> None:
    transport, ring = opened(case.plan(LINK.source_node, LINK.receiver_node), psn=case.psn, completions=completions)
    with transport:
        sent = case.make(transport.session)
        sender.send(packet.frame for packet in sent)
        expected = outcome(transport.session, sent, rxe=True)
        immediates = collect(transport, len(expected.immediates))
        assert Outcome(ring.memory.tobytes(), immediates) == expected
        assert transport.counters.completions == len(expected.immediates)
        assert not transport.counters.refused
        assert replies(heard, transport.session) == []
        if case in LOSSLESS:
            assert transport.nic.writes() == len(sent), "the NIC and the source count the same writes"
        assert bool(case.known) == any(packet.rxe_places is not None for packet in sent)
        assert not transport.refuses_late


@pytest.mark.parametrize("case", [*LOSSLESS_RC, *LOSSY_RC], ids=lambda case: case.name)
def test_over_rc_every_acknowledgement_is_that_of_the_case_too(
    case: Case, sender: PacketSender, heard: socket.socket
) -> None:
    transport, ring = opened(case.plan(LINK.source_node, LINK.receiver_node), psn=case.psn)
    with transport:
        sent = case.make(transport.session)
        sender.send(packet.frame for packet in sent)
        expected = outcome(transport.session, sent, rxe=True)
        if case.ends:
            with pytest.raises(TransportError, match=case.ends):
                collect(transport, 1)
            with pytest.raises(TransportError, match=case.ends):
                transport.poll(0)
        immediates = [] if case.ends else collect(transport, len(expected.immediates))
        assert Outcome(ring.memory.tobytes(), immediates) == expected
        assert replies(heard, transport.session) == list(case.replies)
