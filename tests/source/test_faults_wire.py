"""Impairments on the way: what is left of each frame is known to the pixel, from a capture and live."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from expected_frames import Forecast, Source
from framelane.session.session import Session
from framelane.source.impairments.impairments import Impairment, parse
from placed_packets import ReceivingHost, receive

MakeSession = Callable[..., Session]
MakeImages = Callable[..., list[NDArray[np.uint16]]]
FRAMES = 40
Run = Callable[..., tuple[Impairment, Forecast, ReceivingHost]]


@pytest.fixture(params=["pcap", "udp", "packet"])
def wire(request: pytest.FixtureRequest, tmp_path: Path) -> Path | tuple[str, str] | None:
    """Where packets come from: the folder of a capture, a pair of interfaces, or UDP on loopback (None)."""
    if request.param == "packet":
        interfaces: tuple[str, str] = request.getfixturevalue("network")
        return interfaces
    return tmp_path if request.param == "pcap" else None


@pytest.fixture(params=["only", "message"])
def run(
    request: pytest.FixtureRequest,
    wire: Path | tuple[str, str] | None,
    make_session: MakeSession,
    make_images: MakeImages,
) -> Run:
    """Send 40 frames of 5 packets with an impairment; what was done, the forecast, and what the receiver saw."""

    def run(text: str, seed: int = 1) -> tuple[Impairment, Forecast, ReceivingHost]:
        session = make_session(segmentation=request.param, n_slots=FRAMES)
        source = Source(session, make_images(session, 8))
        impairment = parse(text, seed)
        left = list(impairment(source.frames(FRAMES)))
        forecast = Forecast(source, left)
        host = receive(wire, session, left, forecast)
        return impairment, forecast, host

    return run


@pytest.mark.parametrize(
    "text",
    [
        "drop=0.1",
        "duplicate=0.1",
        "duplicate:7=0.1",
        "reorder=0.1",
        "reorder:3=0.1",
        "reorder:12=0.1",
        "corrupt:payload=0.1",
        "corrupt:icrc=0.1",
        "forge:reth.rkey=0.1",
        "truncate=0.1",
        "delay=0.1",
        "delay:3=0.1",
        "foreign=0.3",
        "die@97",
        "die:1=0.02",
        "die:3@31+112",
    ],
)
def test_the_holes_are_exactly_those_of_the_packets_that_are_left(run: Run, text: str) -> None:
    impairment, forecast, host = run(text)
    assert impairment.counts.total() > 0
    host.check(forecast)
