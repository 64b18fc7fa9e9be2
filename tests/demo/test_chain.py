"""The closed loop of the demo and its ledger: what they do when something holds back, or is wrong."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from framelane.base.errors import TransportError
from framelane.demo import chain as chain_module
from framelane.demo import link
from framelane.demo.chain import Chain, Sender
from framelane.demo.ledger import Ledger
from framelane.demo.link import LinkOptions
from framelane.demo.losses import Loss, Losses
from framelane.demo.sources import FileSource, SourceFrame
from framelane.driver.simulated.verilated import TxSimulator
from framelane.models.jungfrau.jf_correct import error_bound
from framelane.models.jungfrau.jf_fixed import quantize
from framelane.models.memory.frame_store import FrameInfo
from framelane.models.placement.trailer import Trailer
from framelane.models.roce_tx import wire
from framelane.models.tx import tx
from framelane.packets.pcap import PcapWriter
from framelane.receiver.jungfrau.jungfrau_file import JungfrauFile
from framelane.receiver.pipeline.judging import Judging
from framelane.receiver.pipeline.pipeline import Pipeline
from framelane.receiver.ring.receiver import ReceivedFrame
from framelane.receiver.ring.ring import Ring
from framelane.receiver.transport.softnic import SoftNic
from framelane.session.session import Session

IMAGE = np.arange(32 * 256, dtype=np.uint16).reshape(32, 256)
NOTHING = Loss((False,) * 5, 5, np.zeros((32, 256), np.bool_), trailer=False)
"""What a frame of 4 packets of pixels and the trailer loses where nothing is lost."""
TRAILER = Trailer(0, 0, 0, 0, 0, IMAGE.nbytes, 5, 0)


def no_change(sender: Sender) -> Sender:
    return sender


@contextlib.contextmanager
def chain(folder: Path, n_slots: int, way: Callable[[Sender], Sender] = no_change) -> Iterator[Chain]:
    options = LinkOptions()
    session = link.make_session(options, mtu=4096, n_slots=n_slots, slot_bytes=None, rows=32, columns=256)
    ring = Ring(session)
    with (
        link.open_link(options, session) as (sender, port),
        SoftNic(port, ring.memory, session) as transport,
        TxSimulator(session.tx_config(), window_end=session.window_end) as simulator,
        PcapWriter(folder / "tx.pcap") as capture,
    ):
        yield Chain(simulator, 512, capture, way(sender), transport, ring, Losses(session, drop=0, seed=1))


def test_a_frame_without_credit_is_dropped_at_the_source_and_nothing_is_overwritten(tmp_path: Path) -> None:
    with chain(tmp_path, n_slots=2) as loop:
        held: list[ReceivedFrame] = []
        for number in range(5):
            held += loop.send(FrameInfo(number, 0, 0), IMAGE + np.uint16(number))[1]
        assert [frame.number for frame in held] == [0, 1]
        assert all(np.array_equal(frame.image, IMAGE + np.uint16(frame.number)) for frame in held)
        tally = loop.receiver.tally(5)
        assert (tally.complete, tally.dropped_at_source, tally.missing) == (2, 3, 0)
        assert tally.holds
        for frame in held:
            assert loop.receiver.release(frame)
        _, (again,) = loop.send(FrameInfo(5, 0, 0), IMAGE)
        assert (again.number, again.complete) == (5, True)
        assert loop.traffic.packets == 3 * 5


@pytest.fixture
def sent(small_file: Path) -> Iterator[tuple[FileSource, SourceFrame]]:
    with JungfrauFile(small_file) as file:
        source = FileSource(file, 1)
        yield source, source.frame(0)


def test_the_ledger_finds_a_word_that_is_not_what_was_sent(sent: tuple[FileSource, SourceFrame]) -> None:
    source, frame = sent
    fixed = quantize(source.calibration)
    ledger = Ledger(source.calibration, fixed)
    image = frame.raw.copy()
    image[3, 4] ^= 1
    image[5, 6:9] = 0x8000
    ledger.add(frame, NOTHING, ReceivedFrame(0, 0, image, 3, (None,)), Pipeline(fixed, Judging())(image))
    assert ledger.wrong_words == 1
    assert ledger.holes == 3
    assert ledger.incomplete == [0]


def test_the_ledger_finds_a_photon_too_many(sent: tuple[FileSource, SourceFrame]) -> None:
    source, frame = sent
    fixed = quantize(source.calibration)
    result = Pipeline(fixed, Judging())(frame.raw)
    values = np.abs(result.image.astype(int)) <= 32700
    for extra, beyond in ((0, 0), (2, int(values.sum()))):
        ledger = Ledger(source.calibration, fixed)
        result.image[values] += np.int16(extra)
        ledger.add(frame, NOTHING, ReceivedFrame(0, 0, frame.raw, 0, (None,)), result)
        assert (ledger.compared, ledger.beyond, ledger.wrong_words) == (values.sum(), beyond, 0)


@pytest.mark.parametrize(
    ("lost", "arrived", "trailers", "unexplained"),
    [
        (slice(0, 0), slice(0, 0), (TRAILER,), []),
        (slice(5, 9), slice(5, 9), (TRAILER,), []),
        (slice(5, 9), slice(0, 0), (TRAILER,), [0]),
        (slice(0, 0), slice(5, 9), (TRAILER,), [0]),
        (slice(5, 9), slice(6, 10), (TRAILER,), [0]),
        (slice(0, 0), slice(0, 0), (None,), [0]),
    ],
    ids=["nothing lost", "just what was lost", "lost, but there", "there, but a hole", "others", "no trailer"],
)
def test_the_ledger_finds_holes_and_trailers_that_are_not_those_of_the_lost_packets(
    sent: tuple[FileSource, SourceFrame],
    lost: slice,
    arrived: slice,
    trailers: tuple[Trailer | None, ...],
    unexplained: list[int],
) -> None:
    source, frame = sent
    fixed = quantize(source.calibration)
    ledger = Ledger(source.calibration, fixed)
    pixels, image = NOTHING.pixels.copy(), frame.raw.copy()
    pixels[3, lost] = True
    image[3, arrived] = 0x8000
    received = ReceivedFrame(0, 0, image, int((image == 0x8000).sum()), trailers)
    ledger.add(frame, Loss((), 5, pixels, trailer=False), received, Pipeline(fixed, Judging())(image))
    assert ledger.unexplained == unexplained


@pytest.mark.parametrize(("placed", "unexplained"), [(0, []), (1, [7])])
def test_a_frame_of_which_something_was_placed_cannot_be_missing(
    sent: tuple[FileSource, SourceFrame], placed: int, unexplained: list[int]
) -> None:
    ledger = Ledger(sent[0].calibration, quantize(sent[0].calibration))
    ledger.miss(7, Loss((), placed, np.ones((32, 256), np.bool_), trailer=True))
    assert ledger.unexplained == unexplained


@pytest.mark.parametrize(
    ("segmentation", "gone", "holes", "placed"),
    [
        ("only", {1}, slice(2048, 4096), 4),
        ("message", {1}, slice(2048, 8192), 2),
        ("only", {3}, slice(6144, 8192), 4),
        ("message", {0}, slice(0, 8192), 1),
        ("only", {4}, slice(0, 0), 4),
        ("message", {4}, slice(0, 0), 4),
    ],
)
def test_a_lost_packet_costs_its_pixels_and_in_a_message_all_that_follow(
    make_session: Callable[..., Session],
    monkeypatch: pytest.MonkeyPatch,
    segmentation: str,
    gone: set[int],
    holes: slice,
    placed: int,
) -> None:
    """4 packets of 2048 pixels, and the trailer, from another slot than the first."""
    session = make_session(rows=32, columns=256, mtu=4096, segmentation=segmentation)
    packets = [wire.parse(packet)[0] for packet in tx([IMAGE.tobytes()] * 2, session.tx_config())[5:]]
    losses = Losses(session, drop=0.5, seed=1)
    draws = np.array([0.0 if index in gone else 1.0 for index in range(5)])
    monkeypatch.setattr(losses, "_rng", Mock(random=Mock(return_value=draws)))
    loss = losses.draw(packets)
    expected = np.zeros(32 * 256, np.bool_)
    expected[holes] = True
    assert np.array_equal(loss.pixels.reshape(-1), expected)
    assert (loss.placed, loss.trailer) == (placed, 4 in gone)
    assert {index for index, lost in enumerate(loss.packets) if lost} == gone


def test_a_reference_that_is_infinite_is_too_far(sent: tuple[FileSource, SourceFrame]) -> None:
    source, frame = sent
    fixed = quantize(source.calibration)
    frame.reference[:2] = np.inf
    ledger = Ledger(source.calibration, fixed)
    ledger.add(frame, NOTHING, ReceivedFrame(0, 0, frame.raw, 0, (TRAILER,)), Pipeline(fixed, Judging())(frame.raw))
    assert ledger.compared + ledger.beyond == np.isfinite(error_bound(frame.raw, source.calibration, fixed)).sum()
    assert ledger.beyond > 256


@dataclass
class Way:
    """A sender whose packets some accident changes."""

    sender: Sender
    change: Callable[[Sender, list[bytes]], None]

    def send(self, frames: list[bytes]) -> None:
        self.change(self.sender, frames)


def foreign_first(sender: Sender, frames: list[bytes]) -> None:
    """More foreign packets than of ours, and those later."""
    sender.send([frame[:-1] + bytes([frame[-1] ^ 1]) for frame in frames] * 2)
    threading.Timer(0.2, sender.send, [frames]).start()


def test_foreign_packets_are_refused_and_our_packets_waited_for(tmp_path: Path) -> None:
    with chain(tmp_path, 2, lambda sender: Way(sender, foreign_first)) as loop:
        loss, (frame,) = loop.send(FrameInfo(0, 0, 0), IMAGE)
        assert frame.complete
        assert loss.placed == loop.traffic.placeable == loop.traffic.packets == 5


def test_packets_of_ours_that_are_refused_are_waited_for_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chain_module, "PATIENCE_S", 0.5)
    spoilt = [1, 0]

    def spoil(sender: Sender, frames: list[bytes]) -> None:
        sender.send([frames[0][:-1] + bytes([frames[0][-1] ^ spoilt.pop(0)]), *frames[1:]])

    with chain(tmp_path, 2, lambda sender: Way(sender, spoil)) as loop:
        loss, (frame,) = loop.send(FrameInfo(0, 0, 0), IMAGE)
        assert (frame.holes, int(loss.pixels.sum())) == (2048, 0)
        start = time.monotonic()
        _, (frame,) = loop.send(FrameInfo(1, 0, 0), IMAGE)
        assert frame.complete
        assert time.monotonic() - start < 0.4


def test_packets_that_never_come_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chain_module, "PATIENCE_S", 0.2)

    def swallow(sender: Sender, frames: list[bytes]) -> None:
        sender.send(frames[1:])

    with (
        chain(tmp_path, 2, lambda sender: Way(sender, swallow)) as loop,
        pytest.raises(TransportError, match="1 of 5 packets did not come back"),
    ):
        loop.send(FrameInfo(0, 0, 0), IMAGE)
