"""PTP messages and their frames beside scapy, which writes them, and tshark, which reads them."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scapy.contrib.ptp_v2 import PTP
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Dot1Q, Ether

from framelane.base.errors import PacketError
from framelane.models.roce_tx.wire import Endpoint
from framelane.models.time.ptp_frame import Transport, unwrap, wrap
from framelane.models.time.ptp_message import Announced, Flag, Kind, Message, PortIdentity, clock_identity, parse
from framelane.packets.pcap import PcapWriter

US = Endpoint(0x02_00_00_00_00_02, 0x0A_4D_00_02)
LOCAL = PortIdentity(clock_identity(US.mac))
IDENTITIES = st.builds(PortIdentity, st.integers(0, (1 << 64) - 1), st.integers(0, 0xFFFF))
OCTETS = st.integers(0, 255)
ANNOUNCED = st.builds(
    Announced,
    grandmaster=st.integers(0, (1 << 64) - 1),
    utc_offset_s=st.integers(-(1 << 15), (1 << 15) - 1),
    priority1=OCTETS,
    clock_class=OCTETS,
    accuracy=OCTETS,
    variance=st.integers(0, 0xFFFF),
    priority2=OCTETS,
    steps_removed=st.integers(0, 0xFFFF),
    time_source=OCTETS,
)


@st.composite
def messages(draw: st.DrawFn) -> Message:
    kind = draw(st.sampled_from(Kind))
    return Message(
        kind=kind,
        source=draw(IDENTITIES),
        sequence=draw(st.integers(0, 0xFFFF)),
        time_ns=draw(st.integers(0, (1 << 48) * 10**9 - 1)),
        correction=draw(st.integers(-(1 << 63), (1 << 63) - 1)),
        domain=draw(OCTETS),
        flags=Flag(draw(st.sampled_from([0, *Flag, 0x023F]))),
        log_interval=draw(st.integers(-128, 127)),
        requester=draw(IDENTITIES) if kind is Kind.DELAY_RESP else None,
        announced=draw(ANNOUNCED) if kind is Kind.ANNOUNCE else None,
    )


def by_scapy(message: Message) -> bytes:
    """The same message, written by scapy; what it does not know of a Delay_Resp is behind it."""
    seconds, nanoseconds = divmod(message.time_ns, 10**9)
    stamp = {Kind.FOLLOW_UP: "preciseOriginTimestamp", Kind.DELAY_RESP: "receiveTimestamp"}
    field = stamp.get(message.kind, "originTimestamp")
    fields: dict[str, Any] = {f"{field}_seconds": seconds, f"{field}_nanoseconds": nanoseconds}
    behind = b""
    if message.requester:
        behind = message.requester.clock.to_bytes(8) + message.requester.port.to_bytes(2)
    if said := message.announced:
        fields |= {
            "currentUtcOffset": said.utc_offset_s & 0xFFFF,
            "grandmasterPriority1": said.priority1,
            "grandmasterClockClass": said.clock_class,
            "grandmasterClockAccuracy": said.accuracy,
            "grandmasterClockVariance": said.variance,
            "grandmasterPriority2": said.priority2,
            "grandmasterIdentity": said.grandmaster,
            "stepsRemoved": said.steps_removed,
            "timeSource": said.time_source,
        }
    control = {Kind.SYNC: 0, Kind.DELAY_REQ: 1, Kind.FOLLOW_UP: 2, Kind.DELAY_RESP: 3}.get(message.kind, 5)
    packet: Any = PTP(
        messageType=int(message.kind),
        messageLength={Kind.DELAY_RESP: 54, Kind.ANNOUNCE: 64}.get(message.kind, 44),
        domainNumber=message.domain,
        flags=0,
        correctionField=message.correction & (1 << 64) - 1,
        clockIdentity=message.source.clock,
        portNumber=message.source.port,
        sequenceId=message.sequence,
        controlField=control,
        logMessageInterval=message.log_interval & 0xFF,
        **fields,
    )
    data = bytearray(bytes(packet) + behind)
    data[6:8] = int(message.flags).to_bytes(2)  # scapy's names of the flags are at other bits
    return bytes(data)


@given(messages())
def test_a_message_is_scapys_and_is_read_again(message: Message) -> None:
    assert message.pack() == by_scapy(message)
    assert parse(message.pack() + b"\x55" * 7) == message


@given(messages(), st.integers(0, 60))
def test_a_message_that_is_cut_is_refused(message: Message, kept: int) -> None:
    data = message.pack()
    with pytest.raises(PacketError, match="length"):
        parse(data[: min(kept, len(data) - 1)])


@pytest.mark.parametrize(
    ("at", "value", "reason"),
    [(0, 0x0C, "other"), (0, 0x02, "other"), (1, 1, "version"), (3, 43, "length"), (40, 0x3C, "time")],
)
def test_what_is_no_message_of_ours_is_refused(at: int, value: int, reason: str) -> None:
    data = bytearray(Message(kind=Kind.SYNC, source=LOCAL, sequence=1).pack())
    data[at] = value
    with pytest.raises(PacketError) as refused:
        parse(bytes(data))
    assert refused.value.reason == reason


def scapys_frame(message: Message, transport: Transport, tci: int | None) -> bytes:
    layers = Ether(src="02:00:00:00:00:02", dst="01:00:5e:00:01:81" if transport == "udp" else "01:1b:19:00:00:00")
    if tci is not None:
        layers /= Dot1Q(prio=tci >> 13, vlan=tci & 0xFFF)
    if transport == "udp":
        port = 319 if message.kind in (Kind.SYNC, Kind.DELAY_REQ) else 320
        layers /= IP(src="10.77.0.2", dst="224.0.1.129", id=0, flags="DF", ttl=1)
        layers /= UDP(sport=port, dport=port, chksum=0)
    else:
        layers.lastlayer().type = 0x88F7
    return bytes(layers / message.pack()).ljust(60, b"\0")


@pytest.mark.parametrize("tci", [None, 5, 0xE005])
@pytest.mark.parametrize("transport", ["ethernet", "udp"])
@settings(max_examples=30)
@given(message=messages())
def test_a_frame_is_scapys_and_is_read_again(transport: Transport, tci: int | None, message: Message) -> None:
    frame = wrap(message, transport, US, tci)
    assert frame == scapys_frame(message, transport, tci)
    read = unwrap(frame)
    assert (read.transport, read.tci, read.src.mac) == (transport, tci, US.mac)
    assert parse(read.payload) == message


@pytest.mark.parametrize(("at", "value"), [(12, 0x86), (14, 0x46), (20, 0x20), (24, 0), (36, 2), (39, 7), (39, 200)])
def test_a_frame_that_is_none_of_ptp_is_refused(at: int, value: int) -> None:
    frame = bytearray(wrap(Message(kind=Kind.SYNC, source=LOCAL, sequence=1), "udp", US))
    frame[at] = value
    with pytest.raises(PacketError):
        unwrap(bytes(frame))


TIMES = {Kind.SYNC: "sdr.origintimestamp", Kind.DELAY_REQ: "sdr.origintimestamp", Kind.ANNOUNCE: "an.origintimestamp"}
TIMES |= {Kind.FOLLOW_UP: "fu.preciseorigintimestamp", Kind.DELAY_RESP: "dr.receivetimestamp"}
HEAD = ["messagetype", "versionptp", "messagelength", "domainnumber", "flags.twostep", "flags.timescale"]
HEAD += ["flags.utcreasonable", "correction.ns", "clockidentity", "sourceportid", "sequenceid", "controlfield"]
HEAD += ["logmessageperiod"]
BODY = ["dr.requestingsourceportidentity", "dr.requestingsourceportid", "an.origincurrentutcoffset", "timesource"]
BODY += ["an.localstepsremoved", "an.grandmasterclockidentity", "an.grandmasterclockclass"]
BODY += ["an.grandmasterclockaccuracy", "an.grandmasterclockvariance", "an.priority1", "an.priority2"]


@pytest.mark.parametrize("transport", ["ethernet", "udp"])
def test_tshark_reads_what_was_meant(
    transport: Transport, tshark: Callable[[Path, list[str]], list[list[str]]], tmp_path: Path
) -> None:
    said = Announced(grandmaster=0x1122_3344_5566_7788, utc_offset_s=38, priority1=7, clock_class=6, priority2=9)
    base = Message(kind=Kind.SYNC, source=LOCAL, sequence=0xBEEF, time_ns=1_800_000_000_123_456_789, domain=24)
    flags = Flag.PTP_TIMESCALE | Flag.UTC_OFFSET_VALID
    kinds = [
        replace(base, flags=Flag.TWO_STEP, log_interval=-4),
        replace(base, kind=Kind.DELAY_REQ),
        replace(base, kind=Kind.FOLLOW_UP, correction=5 << 16, log_interval=-4),
        replace(base, kind=Kind.DELAY_RESP, requester=PortIdentity(0xABCD, 3), log_interval=-4),
        replace(base, kind=Kind.ANNOUNCE, flags=flags, announced=said),
    ]
    with PcapWriter(tmp_path / "x.pcap") as capture:
        for message in kinds:
            capture.write(wrap(message, transport, US))
    times = sorted(set(TIMES.values()))
    fields = [*HEAD, *BODY, *(f"{each}.{unit}" for each in times for unit in ("seconds", "nanoseconds"))]
    rows = tshark(tmp_path / "x.pcap", [f"ptp.v2.{field}" for field in fields])
    for message, row in zip(kinds, rows, strict=True):
        read = dict(zip(fields, row, strict=True))
        seconds, nanoseconds = divmod(message.time_ns, 10**9)
        where = TIMES[message.kind]
        assert (read[f"{where}.seconds"], read[f"{where}.nanoseconds"]) == (str(seconds), str(nanoseconds))
        flags = message.flags
        assert [read[name] for name in HEAD] == [
            str(int(message.kind)),
            "2",
            str(len(message.pack())),
            "24",
            str(int(Flag.TWO_STEP in flags)),
            str(int(Flag.PTP_TIMESCALE in flags)),
            str(int(Flag.UTC_OFFSET_VALID in flags)),
            str(message.correction >> 16),
            str(LOCAL.clock),
            "1",
            str(0xBEEF),
            {0: "0", 1: "1", 8: "2", 9: "3", 11: "5"}[message.kind],
            str(message.log_interval),
        ]
        if message.kind is Kind.DELAY_RESP:
            assert [read[name] for name in BODY[:2]] == [str(0xABCD), "3"]
        if message.kind is Kind.ANNOUNCE:
            quality = ["38", str(0x20), "0", str(said.grandmaster), "6", str(0x21), str(0x4E5D), "7", "9"]
            assert [read[name] for name in BODY[2:]] == quality
