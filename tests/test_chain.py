"""The closed loop of the demo and its ledger: what they do when something holds back, or is wrong."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from framelane.cli import link
from framelane.cli.chain import Chain
from framelane.cli.ledger import Ledger
from framelane.cli.link import LinkOptions
from framelane.cli.sources import FileSource, SourceFrame
from framelane.driver.verilated import TxSimulator
from framelane.models.bd_gen import FrameEvent
from framelane.models.jf_fixed import quantize
from framelane.models.tx import TxConfig
from framelane.receiver.jungfrau_file import JungfrauFile
from framelane.receiver.pcap import PcapWriter
from framelane.receiver.pipeline import Pipeline
from framelane.receiver.receiver import ReceivedFrame
from framelane.receiver.ring import Ring
from framelane.receiver.softnic import SoftNic
from framelane.receiver.veto import Veto

IMAGE = np.arange(32 * 256, dtype=np.uint16).reshape(32, 256)


@contextlib.contextmanager
def chain(folder: Path, n_slots: int) -> Iterator[Chain]:
    options = LinkOptions()
    session = link.make_session(options, 1, mtu=4096, n_slots=n_slots, slot_bytes=None, rows=32, columns=256)
    ring = Ring(session)
    with (
        link.open_link(options, session) as (sender, port),
        SoftNic(port, ring.memory, session) as transport,
        TxSimulator(TxConfig.of(session)) as simulator,
        PcapWriter(folder / "tx.pcap") as capture,
    ):
        yield Chain(simulator, 512, capture, sender, transport, ring, drop=0, seed=1)


def test_a_frame_without_credit_is_dropped_at_the_source_and_nothing_is_overwritten(tmp_path: Path) -> None:
    with chain(tmp_path, n_slots=2) as loop:
        held: list[ReceivedFrame] = []
        for number in range(5):
            held += loop.send(FrameEvent(number, 0, 0, 0), IMAGE + np.uint16(number))
        assert [frame.number for frame in held] == [0, 1]
        assert all(np.array_equal(frame.image, IMAGE + np.uint16(frame.number)) for frame in held)
        tally = loop.receiver.tally(5)
        assert (tally.complete, tally.dropped_at_source, tally.missing) == (2, 3, 0)
        assert tally.holds
        for frame in held:
            assert loop.receiver.release(frame)
        (again,) = loop.send(FrameEvent(5, 0, 0, 0), IMAGE)
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
    ledger.add(frame, ReceivedFrame(0, 0, image, 3, (None,)), Pipeline(fixed, Veto(20))(image))
    assert ledger.wrong_words == 1
    assert ledger.holes == 3
    assert ledger.incomplete == [0]


def test_the_ledger_finds_a_photon_too_many(sent: tuple[FileSource, SourceFrame]) -> None:
    source, frame = sent
    fixed = quantize(source.calibration)
    result = Pipeline(fixed, Veto(20))(frame.raw)
    values = np.abs(result.image.astype(int)) <= 32700
    for extra, beyond in ((0, 0), (2, int(values.sum()))):
        ledger = Ledger(source.calibration, fixed)
        result.image[values] += np.int16(extra)
        ledger.add(frame, ReceivedFrame(0, 0, frame.raw, 0, (None,)), result)
        assert (ledger.compared, ledger.beyond, ledger.wrong_words) == (values.sum(), beyond, 0)
