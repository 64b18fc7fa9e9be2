"""Each header field, wrong: corrupted on the way, and by the sender; from a capture and on an interface."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from expected_frames import Forecast, Source
from framelane.session.session import Session
from framelane.source.impairments.impairments import parse
from framelane.source.impairments.packet_fields import NAMES
from placed_packets import ReceivingHost, receive

MakeSession = Callable[..., Session]
MakeImages = Callable[..., list[NDArray[np.uint16]]]
Run = Callable[..., tuple[Source, list[bytes], list[bytes], Callable[[Forecast], ReceivingHost]]]
FRAMES = 6
FIRST, MIDDLE, TRAILER = 10, 11, 14
"""Packet numbers in the third frame, where a message has several packets."""

UNGUARDED = {"eth.src", "udp.checksum", "bth.resv8a"}
"""What neither the IPv4 checksum nor the ICRC covers, nor a soft NIC looks at."""

FREE = UNGUARDED | {"ip.tos", "ip.id", "ip.ttl", "udp.src", "bth.se", "bth.m", "bth.ack", "bth.resv7"}
"""What a sender may choose."""

REFUSED = sorted(set(NAMES) - FREE - {"ip.flags", "ip.fragment", "bth.psn", "imm", "payload"})
"""What a sender may not, whichever the value."""


@pytest.fixture(params=["pcap", "packet"])
def wire(request: pytest.FixtureRequest, tmp_path: Path) -> Path | tuple[str, str]:
    """Where whole packets come from: the folder of a capture, or a pair of interfaces."""
    if request.param == "packet":
        interfaces: tuple[str, str] = request.getfixturevalue("network")
        return interfaces
    return tmp_path


@pytest.fixture(params=["only", "message"])
def run(
    request: pytest.FixtureRequest,
    wire: Path | tuple[str, str],
    make_session: MakeSession,
    make_images: MakeImages,
) -> Run:
    """Impair six frames: the source, its packets, those that are left, and a receiver for these."""

    def run(text: str) -> tuple[Source, list[bytes], list[bytes], Callable[[Forecast], ReceivingHost]]:
        session = make_session(segmentation=request.param, n_slots=FRAMES)
        source = Source(session, make_images(session, 8))
        packets = source.frames(FRAMES)
        impairment = parse(text)
        left = list(impairment(packets))
        assert len(impairment.record) == 1, "one packet has that field"
        return source, packets, left, lambda forecast: receive(wire, session, left, forecast)

    return run


def at(name: str) -> int:
    """A packet that has the field."""
    return TRAILER if name == "imm" else FIRST


@pytest.mark.parametrize("name", NAMES)
def test_a_field_corrupted_on_the_way_costs_its_packet_or_nothing(run: Run, name: str) -> None:
    source, packets, left, receive_left = run(f"corrupt:{name}@{at(name)}")
    forecast = Forecast(source, packets if name in UNGUARDED else left)
    host = receive_left(forecast)
    host.check(forecast)
    assert forecast.count("complete") == FRAMES - (name not in UNGUARDED)


@pytest.mark.parametrize("name", REFUSED)
def test_a_field_that_the_sender_may_not_choose_costs_its_packet(run: Run, name: str) -> None:
    source, _, left, receive_left = run(f"forge:{name}@{at(name)}")
    forecast = Forecast(source, left)
    receive_left(forecast).check(forecast)
    assert (forecast.count("complete"), forecast.count("incomplete")) == (FRAMES - 1, 1)


@pytest.mark.parametrize("name", sorted(FREE))
def test_a_field_that_the_sender_may_choose_costs_nothing(run: Run, name: str) -> None:
    source, packets, _, receive_left = run(f"forge:{name}@{at(name)}")
    forecast = Forecast(source, packets)
    receive_left(forecast).check(forecast)


def test_a_psn_of_an_earlier_frame_costs_its_packet(run: Run) -> None:
    source, _, left, receive_left = run(f"forge:bth.psn:-1000@{FIRST}")
    forecast = Forecast(source, left)
    host = receive_left(forecast)
    host.check(forecast)
    assert host.counters.refused["late"] == 1


def test_a_psn_that_jumps_ahead_costs_no_more_than_its_own_message(run: Run) -> None:
    source, packets, _, receive_left = run(f"forge:bth.psn:+1000@{FIRST}")
    if source.session.segmentation == "message":
        packets = packets[: FIRST + 1] + packets[TRAILER:]
    forecast = Forecast(source, packets)
    host = receive_left(forecast)
    host.check(forecast)
    assert host.counters.skipped == 1000


def test_an_immediate_of_a_source_that_is_not_there_is_a_stray_and_loses_no_frame(run: Run) -> None:
    source, packets, _, receive_left = run(f"forge:imm:0xff000002@{TRAILER}")
    forecast = Forecast(source, packets)
    host = receive_left(forecast)
    assert host.receiver.strays == 1
    assert "there is no source 255 in a session of 1" in host.receiver.first_stray
    host.receiver.strays = 0
    host.check(forecast)
