"""Packets by the addresses that they have: to several receivers; what has no path is counted, and said once."""

import contextlib
import socket
from collections.abc import Callable
from dataclasses import replace
from ipaddress import IPv4Address

from framelane.models.placement.flow import FrameEvent
from framelane.models.roce_tx import roce_icrc, wire
from framelane.models.tx import Tx
from framelane.session.session import Session
from framelane.source.udp_wire import UdpWire


def packets(session: Session, vlan: int | None = None) -> list[bytes]:
    config = session.tx_config()
    config = replace(config, qps=(replace(config.qps[0], vlan=vlan),))
    return Tx(config, lambda address, length: bytes(length)).frame(FrameEvent(0, 0, 0, 0))


def test_each_packet_goes_to_its_address_and_a_tag_stays_behind(make_session: Callable[..., Session]) -> None:
    with contextlib.ExitStack() as held:
        hosts = ("127.0.0.1", "127.0.0.3")
        ears = [held.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) for _ in hosts]
        ears[0].bind((hosts[0], 0))
        port = ears[0].getsockname()[1]
        ears[1].bind((hosts[1], port))
        sessions = [make_session(receiver={"mac": "02:00:00:00:00:02", "ip": host}, qpn=7) for host in hosts]
        sent = [packets(sessions[0], vlan=5), packets(sessions[1])]
        lonely = packets(make_session(source={"mac": "02:00:00:00:00:01", "ip": "192.0.2.1"}))
        wire_ = held.enter_context(contextlib.closing(UdpWire(port)))
        for _ in range(2):
            wire_.send([*sent[0], bytes(60), *sent[1], *lonely, *(sent[1][0][:cut] for cut in (1, 14, 17, 41, 53))])
        for ear, mine, session in zip(ears, sent, sessions, strict=True):
            ear.settimeout(10)
            for packet in 2 * mine:
                data, (host, from_port) = ear.recvfrom(1 << 16)
                assert (host, from_port) == (str(session.source.ip), session.src_port)
                head = packet[: wire.ip_offset(packet) + wire.IP_BYTES + wire.UDP_BYTES]
                assert head + data == packet
                assert roce_icrc.check(packet)
        assert IPv4Address("192.0.2.1").packed in lonely[0]
        assert wire_.lost == 2 * len(lonely)
        (fault,) = wire_.faults
        assert "cannot send from UDP 192.0.2.1" in fault


def test_a_closed_wire_leaves_its_addresses_to_others_and_goes_on_with_the_next_packets(
    make_session: Callable[..., Session],
) -> None:
    """As for a board that is configured for another address, or a queue pair that gets another port."""
    session = make_session(service="RC")
    source = str(session.source.ip)

    def free(port: int) -> bool:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other, contextlib.suppress(OSError):
            other.bind((source, port))
            return True
        return False

    with contextlib.ExitStack() as held:
        ear = held.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        ear.bind(("127.0.0.1", 0))
        ear.settimeout(10)
        port = ear.getsockname()[1]
        wire_ = held.enter_context(contextlib.closing(UdpWire(port)))
        for close, left in ((wire_.close_paths, (True, False)), (wire_.close, (True, True))):
            wire_.send(packets(session))
            assert ear.recvfrom(1 << 16)[1] == (source, session.src_port)
            assert (free(session.src_port), free(port)) == (False, False)
            close()
            assert (free(session.src_port), free(port)) == left
