"""The Verilated gateware with six clocks: raw and corrected packets equal the model, faults are counted."""

import dataclasses
import random
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from framelane.base.errors import ConfigError, InputError, SimulationError
from framelane.driver.registers.entries import FrameRing
from framelane.driver.simulated.verilated_board import give_credit
from framelane.driver.simulated.verilated_top import Clocks, TopSimulator, lay_out
from framelane.models.jungfrau.jf_correct import PixelCode
from framelane.models.jungfrau.jf_fixed import FixedCalibration
from framelane.models.memory.frame_store import FrameInfo, FrameStore
from framelane.models.memory.image_writer import Correction
from framelane.models.placement import trailer
from framelane.models.placement.slot_ring import SlotRing
from framelane.models.roce_tx import wire
from framelane.models.tx import TxConfig
from framelane.models.tx_stream import TxStream
from framelane.session.session import Session

MakeSession = Callable[..., Session]
ROWS, COLUMNS = 33, 77
"""No whole number of beats, of lines or of pages."""
PAGE = 4096
WIDTHS = [(64, Clocks()), (512, Clocks(pixel=3001, memory=7019, tx=3103, rx=3109))]


@pytest.fixture
def session(make_session: MakeSession) -> Session:
    return make_session(rows=ROWS, columns=COLUMNS, mtu=512)


def constants(high_gain: bool = False) -> FixedCalibration:
    words = np.random.default_rng(3).integers(0, 1 << 16, (2, 3, ROWS, COLUMNS), np.uint16)
    words[1][words[1] < 4000] = 0
    return FixedCalibration(words[0], words[1], (17, 25, 14), high_gain=high_gain)


def both_images(session: Session, offset: int) -> TxConfig:
    """Two flows: the raw images to one receiver, the corrected ones to another."""
    config = session.tx_config()
    (qp,), (ring,), (flow,) = config.qps, config.destinations, config.flows
    return dataclasses.replace(
        config,
        qps=(qp, dataclasses.replace(qp, dest_qpn=0x22, rkey=0xF00D)),
        destinations=(ring, dataclasses.replace(ring, qp=1, base=ring.base + (1 << 40))),
        flows=(flow, dataclasses.replace(flow, first_destination=1, source_offset=offset)),
    )


def golden(config: TxConfig, ring: FrameRing, correction: Correction | None) -> TxStream:
    image_bytes = correction.image_bytes if correction else None
    store = FrameStore(SlotRing(ring.base, ring.slot_bytes, ring.slots), image_bytes)
    return TxStream(config, store, correction)


def image(chance: random.Random, size: int = ROWS * COLUMNS) -> NDArray[np.uint16]:
    return np.frombuffer(chance.randbytes(2 * size), "<u2").copy()


def numbers(packets: list[bytes]) -> list[int]:
    """The detector's number of each frame that has left, by its trailer."""
    ends = [payload for headers, payload in map(wire.parse, packets) if headers.imm is not None]
    return [end.detector_frame for end in map(trailer.unpack, ends) if end]


@pytest.mark.parametrize("high_gain", [False, True])
@pytest.mark.parametrize(("width", "clocks"), WIDTHS)
def test_raw_and_corrected_packets_equal_the_model(
    width: int, clocks: Clocks, high_gain: bool, session: Session
) -> None:
    chance = random.Random(width)
    ring, correction = lay_out(constants(high_gain), slots=3)
    config = both_images(session, correction.offset)
    model = golden(config, ring, correction)
    with TopSimulator(
        config, ring, correction, width, clocks=clocks, latency=60, memory_stall=0.2, sink_stall=0.3, seed=5
    ) as simulator:
        for number in (0, 1, 5, 6, 1 << 40):
            info = FrameInfo(number, chance.getrandbits(64), chance.getrandbits(64), chance.randrange(8))
            pixels = image(chance)
            simulator.frame(info, pixels)
            packets = simulator.run()
            assert packets == model.frame(info, pixels.tobytes())
            assert {wire.parse(packet)[0].dest_qpn for packet in packets} == {session.qpn, 0x22}
        counters = simulator.board.counters()
        assert simulator.gaps == 0
    assert (counters.frames, counters.mismatches, counters.constant_errors, counters.read_errors) == (5, 0, 0, 0)


def test_without_a_correction_the_store_has_raw_images_only(session: Session) -> None:
    chance = random.Random(2)
    ring, config = FrameRing(PAGE, 2 * PAGE, 2), session.tx_config()
    model = golden(config, ring, None)
    with TopSimulator(config, ring) as simulator:
        for number in range(3):
            info, pixels = FrameInfo(number, 0, 0), image(chance)
            simulator.frame(info, pixels)
            assert simulator.run() == model.frame(info, pixels.tobytes())


def test_frames_that_come_faster_than_the_link_takes_them_are_lost_whole_and_counted(session: Session) -> None:
    chance = random.Random(4)
    ring, correction = lay_out(constants(), slots=2)
    config = both_images(session, correction.offset)
    frames = [(FrameInfo(number, 0, 0), image(chance)) for number in range(60)]
    with TopSimulator(config, ring, correction, sink_stall=0.5) as simulator:
        for frame in frames:
            simulator.frame(*frame)
        packets = simulator.run()
        counters = simulator.board.counters()
    sent = set(numbers(packets))
    model = golden(config, ring, correction)
    expected = [
        packet
        for info, pixels in frames
        for packet in model.frame(info, pixels.tobytes(), late=info.number not in sent)
    ]
    assert packets == expected
    assert 10 < len(sent) < 50
    assert (counters.frames, counters.frames_lost) == (len(sent), 60 - len(sent))


def test_frames_in_a_row_leave_at_the_pace_of_the_packets(make_session: MakeSession) -> None:
    """64 x 1024 pixels, corrected: a frame's beats, those of its packets' headers, and little else a frame."""
    shape = 64, 1024
    session = make_session(rows=shape[0], columns=shape[1], mtu=4096)
    plane = np.full((3, *shape), 40_000, np.uint16)
    ring, correction = lay_out(FixedCalibration(plane, plane, (20, 20, 20)))
    config = session.tx_config()
    config = dataclasses.replace(config, flows=(dataclasses.replace(config.flows[0], source_offset=correction.offset),))
    pixels = image(random.Random(6), session.rows * session.columns)
    faster = Clocks(pixel=3907, memory=3889, tx=3851, rx=3853)
    with TopSimulator(config, ring, correction, clocks=faster, latency=100) as simulator:
        cycles = []
        for frames in (range(1), range(1, 2), range(2, 12)):
            before = simulator.cycles
            for number in frames:
                simulator.frame(FrameInfo(number, 0, 0), pixels)
            simulator.run()
            cycles.append(simulator.cycles - before)
        assert simulator.board.counters().frames == 12
    beats = session.image_bytes // 64
    headers = 2 * (session.image_bytes // session.mtu) + 3
    assert cycles[1] < 2 * beats + headers + 1000, "in whole, then out"
    assert cycles[2] - cycles[1] < 9 * (beats + headers + 16)


def test_constants_outside_the_memory_mask_their_pixels_and_are_counted(session: Session) -> None:
    ring, correction = lay_out(constants())
    config = both_images(session, correction.offset)
    far = dataclasses.replace(correction, base=1 << 40)
    with TopSimulator(config, ring, correction) as simulator:
        simulator.board.configure(config, ring, far)
        give_credit(simulator.board, config, 10)
        simulator.board.arm()
        simulator.frame(FrameInfo(0, 0, 0), np.full(ROWS * COLUMNS, 3000, np.uint16))
        packets = simulator.run()
        assert simulator.board.counters().constant_errors > 0
        assert "constant_error" in simulator.board.errors().names
    corrected = [p for h, p in map(wire.parse, packets) if h.dest_qpn == 0x22 and h.imm is None]
    assert (np.frombuffer(b"".join(corrected), "<i2") == PixelCode.MASKED).all()


@pytest.mark.parametrize("more", [64, 1, -1, -64])
def test_a_frame_that_does_not_fit_its_constants_is_not_sent_and_the_next_is_right(more: int, session: Session) -> None:
    chance = random.Random(8)
    ring, correction = lay_out(constants())
    config = both_images(session, correction.offset)
    model = golden(config, ring, correction)
    with TopSimulator(config, ring, correction) as simulator:
        simulator.frame(FrameInfo(0, 0, 0), image(chance, ROWS * COLUMNS + more))
        pixels = image(chance)
        simulator.frame(FrameInfo(1, 0, 0), pixels)
        packets = simulator.run()
        counters = simulator.board.counters()
    assert set(numbers(packets)) == {1}
    assert (counters.frames_bad, counters.mismatches) == (1, 1)
    model.frame(FrameInfo(0, 0, 0), bytes(session.image_bytes + 2 * more))
    expected = model.frame(FrameInfo(1, 0, 0), pixels.tobytes())
    assert packets == expected


def test_slots_outside_the_memory_make_every_frame_bad(session: Session) -> None:
    ring, correction = lay_out(constants())
    config = both_images(session, correction.offset)
    with TopSimulator(config, ring, correction) as simulator:
        simulator.board.configure(config, dataclasses.replace(ring, base=1 << 40), correction)
        simulator.board.arm()
        simulator.frame(FrameInfo(0, 0, 0), np.zeros(ROWS * COLUMNS, np.uint16))
        assert simulator.run() == []
        assert simulator.board.counters().frames_bad == 1


def test_clocks_that_cannot_be_are_refused() -> None:
    with pytest.raises(ConfigError, match="the clock tx cannot have a period of 0 ps"):
        Clocks(tx=0)


def test_a_frame_without_pixels_is_refused(session: Session) -> None:
    ring, correction = lay_out(constants())
    with TopSimulator(session.tx_config(), ring, correction) as simulator:
        with pytest.raises(InputError, match="frame 7 has no pixels"):
            simulator.frame(FrameInfo(7, 0, 0), np.zeros((0, 5), np.uint16))
        assert simulator.run() == []


def test_work_that_does_not_end_is_an_error(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    ring, correction = lay_out(constants())
    with TopSimulator(session.tx_config(), ring, correction, latency=1000) as simulator:
        monkeypatch.setattr(simulator, "_patience", 900)
        simulator.frame(FrameInfo(0, 0, 0), np.zeros(ROWS * COLUMNS, np.uint16))
        with pytest.raises(SimulationError, match="nothing moved for 900 cycles"):
            simulator.run()
