"""What acknowledgements and CNPs say: our model, scapy, which writes them, and tshark, which reads them, agree."""

from collections.abc import Callable
from pathlib import Path

import pytest

from framelane.models.station import roce_rx
from framelane.models.station.roce_rx import Event, EventKind, Peer, RoceDrop
from framelane.packets.pcap import PcapWriter

roce = pytest.importorskip("scapy.contrib.roce", reason="scapy is not installed: make setup")
from scapy.layers.inet import IP, UDP  # noqa: E402
from scapy.layers.l2 import Ether  # noqa: E402

Tshark = Callable[[Path, list[str]], list[list[str]]]
INDEX, PSN, MSN = 5, 0xFFFFFE, 0x800001
QPN = roce_rx.FIRST_QPN + INDEX
RECEIVER = Peer(rc=True, ip=0xC6336401)
FIELDS = [
    *("infiniband.bth.destqp", "infiniband.bth.psn", "infiniband.aeth.msn", "infiniband.aeth.syndrome.reserved"),
    *(f"infiniband.aeth.syndrome.{name}" for name in ("opcode", "credit_count", "timer", "error_code")),
]
NAKS = (EventKind.NAK_SEQUENCE, EventKind.NAK_INVALID, EventKind.NAK_ACCESS, EventKind.NAK_OPERATION)
CNP_OF_CONNECTX_4_LX = bytes.fromhex(
    "e41d2dab2bc27cfe90643b32080045c2003c718c4000401191610a0011010a001201000012b7002800008100ffff4000"
    "0118000000000000000000000000000000000000000082fd002a"
)


def table(index: int) -> Peer | None:
    return RECEIVER if index == INDEX else None


def acknowledge(syndrome: int) -> bytes:
    """As scapy writes it."""
    under = Ether(dst="02:00:00:00:00:22") / IP(src="198.51.100.1", dst="198.51.100.2")
    bth = roce.BTH(opcode="RC_ACKNOWLEDGE", dqpn=QPN, psn=PSN)
    return bytes(under / UDP(sport=0xC000, dport=4791, chksum=0) / bth / roce.AETH(syndrome=syndrome, msn=MSN))


def as_tshark_reads(values: list[str]) -> Event | RoceDrop:
    """What the model must say of a packet, from the fields that tshark shows; those that do not count are empty."""
    qpn, psn, msn, reserved, kind, *codes = values
    (code,) = [int(text) for text in codes if text] or [-1]
    known = {"0": EventKind.ACK, "1": EventKind.RNR, "3": NAKS[code] if code < len(NAKS) else None}.get(kind)
    if reserved != "0" or known is None:
        return RoceDrop.SYNDROME
    return Event(int(qpn) - roce_rx.FIRST_QPN, known, int(psn), code, int(msn))


def test_every_syndrome_means_what_tshark_reads(tshark: Tshark, tmp_path: Path) -> None:
    packets = [acknowledge(syndrome) for syndrome in range(256)]
    with PcapWriter(tmp_path / "x.pcap") as writer:
        for packet in packets:
            writer.write(packet)
    read = [as_tshark_reads(values) for values in tshark(tmp_path / "x.pcap", FIELDS)]
    assert [roce_rx.receive(packet, table) for packet in packets] == read
    assert sum(isinstance(reading, Event) for reading in read) == 32 + 32 + len(NAKS)


def test_a_cnp_that_a_nic_has_sent_is_read_and_none_with_one_bit_less_or_more() -> None:
    sender = Peer(rc=False, ip=0x0A001101)
    read = [roce_rx.receive(CNP_OF_CONNECTX_4_LX, lambda index: sender, first_qpn=0x100)]
    assert read == [Event(0x18, EventKind.CNP, 0)]
    for at in range(14, len(CNP_OF_CONNECTX_4_LX)):
        for bit in range(8):
            wrong = bytearray(CNP_OF_CONNECTX_4_LX)
            wrong[at] ^= 1 << bit
            found = roce_rx.receive(bytes(wrong), lambda index: sender, first_qpn=0x100)
            assert found == read[0] if at in (40, 41, 46) else isinstance(found, RoceDrop), f"byte {at}"


def test_scapys_cnp_is_read() -> None:
    under = Ether() / IP(src="198.51.100.1", dst="198.51.100.2") / UDP(sport=0, dport=4791, chksum=0)
    packet = bytes(under / roce.cnp(dqpn=QPN))
    assert roce_rx.receive(packet, table) == Event(INDEX, EventKind.CNP, 0)
    assert roce_rx.receive(packet + bytes(60), table) == Event(INDEX, EventKind.CNP, 0)
    for length in range(len(packet)):
        assert roce_rx.receive(packet[:length], table) is RoceDrop.LENGTH
