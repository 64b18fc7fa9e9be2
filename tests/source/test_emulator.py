"""The emulator: its packets are the golden transmitter's, byte for byte, in every form and however long it runs."""

import itertools
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from framelane.base.errors import ConfigError, InputError
from framelane.models.placement.flow import FrameEvent
from framelane.models.placement.slots import FREE_RUNNING
from framelane.models.roce_tx import roce_icrc
from framelane.models.roce_tx.wire import MTUS, parse
from framelane.models.tx import Tx, TxConfig
from framelane.session.session import Session
from framelane.source.emulator import Emulator

MakeSession = Callable[..., Session]


class Golden:
    """`models.tx` for one source, with all images of `images` in its memory, as whole images."""

    def __init__(self, session: Session, source: int, images: list[NDArray[np.uint16]]) -> None:
        share = session.rows // session.sources
        self._shares = [image[source * share : (source + 1) * share].tobytes() for image in images]
        self.tx = Tx(session.tx_config(source), self._read)

    def _read(self, address: int, length: int) -> bytes:
        index, at = address >> 40, address & (1 << 40) - 1
        return self._shares[index][at : at + length]

    def frame(self, number: int, index: int, timestamp_ns: int = 0, bunch_id: int = 0) -> list[bytes]:
        return self.tx.frame(FrameEvent(number, timestamp_ns, bunch_id, index << 40))


def images(session: Session, n: int = 3, seed: int = 1) -> list[NDArray[np.uint16]]:
    words = np.random.default_rng(seed).integers(0, 0x8000, (n, session.rows, session.columns), np.uint16)
    return list(words)


def run(session: Session, numbers: list[int], source: int = 0) -> None:
    """Compare frames of these numbers; each image comes again and again."""
    pictures = images(session)
    golden, emulator = Golden(session, source, pictures), Emulator(session, source)
    prepared = [emulator.prepare(picture) for picture in pictures]
    for step, number in enumerate(numbers):
        index, times = step % len(pictures), (10**18 + number, 7 * number)
        batch = emulator.frame(number, prepared[index], *times)
        assert batch is not None
        assert list(batch) == golden.frame(number, index, *times)


@pytest.mark.parametrize(
    ("service", "segmentation", "mtu"), list(itertools.product(["UC", "RC"], ["only", "message"], MTUS))
)
def test_every_service_form_and_mtu_has_the_bytes_of_the_model(
    make_session: MakeSession, service: str, segmentation: str, mtu: int
) -> None:
    session = make_session(service=service, segmentation=segmentation, mtu=mtu, window_end=FREE_RUNNING, rows=30)
    run(session, list(range(9)))


def test_frames_for_several_receivers_have_the_bytes_of_a_board_that_gives_bunches_in_turn(
    make_session: MakeSession,
) -> None:
    sessions = [make_session(window_end=40, qpn=qpn, psn=7 * qpn, base=qpn << 20, rkey=qpn) for qpn in (3, 4)]
    picture = images(sessions[0])[0]
    config = TxConfig(
        sessions[0].source.endpoint(),
        tuple(session.qp_context() for session in sessions),
        tuple(session.destination(qp=qp) for qp, session in enumerate(sessions)),
        (replace(sessions[0].flow(), destinations=2, bunch=3),),
    )
    golden = Tx(config, lambda address, length: picture.tobytes()[address:][:length])
    emulators = [Emulator(session) for session in sessions]
    prepared = [emulator.prepare(picture) for emulator in emulators]
    for number in range(40):
        end = 8 if number < 20 else 40  # credit stands still for a while
        to, own = number // 3 % 2, number // 6 * 3 + number % 3
        golden.bd_gen.window_ends[to] = emulators[to].window_end = end
        batch = emulators[to].frame(own, prepared[to], 10**18, 5 + number, number)
        assert list(batch or ()) == golden.frame(FrameEvent(number, 10**18, 5 + number, 0)), f"frame {number}"
        assert (batch is None) == (own >= end)


@pytest.mark.parametrize("seed", range(40))
def test_any_session_has_the_bytes_of_the_model(make_session: MakeSession, seed: int) -> None:
    rng = np.random.default_rng(seed)
    sources = int(rng.integers(1, 4))
    rows, columns = sources * int(rng.integers(1, 9)), int(rng.integers(1, 700))
    n_slots = int(rng.integers(1, 6))
    session = make_session(
        service=rng.choice(["UC", "RC"]),
        segmentation=rng.choice(["only", "message"]),
        mtu=int(rng.choice(MTUS)),
        sources=sources,
        rows=rows,
        columns=columns,
        n_slots=n_slots,
        qpn=int(rng.integers(1 << 24)),
        psn=(1 << 24) - int(rng.integers(1, 60)),
        rkey=int(rng.integers(1 << 32)),
        base=int(rng.integers(1 << 51)) << 12,
        window_end=FREE_RUNNING,
    )
    numbers = np.cumsum(rng.integers(1, 5, 12)) + int(rng.choice([0, (1 << 24) - 10, (1 << 40) - 5]))
    run(session, numbers.tolist(), source=int(rng.integers(sources)))


def test_frames_without_credit_are_dropped_whole_and_the_trailers_say_how_many(make_session: MakeSession) -> None:
    session = make_session()
    pictures = images(session)
    golden, emulator = Golden(session, 0, pictures), Emulator(session)
    prepared = emulator.prepare(pictures[0])
    sent = []
    for number in range(20):
        emulator.window_end = golden.tx.bd_gen.window_ends[0] = 4 if number < 10 else 15
        batch, expected = emulator.frame(number, prepared), golden.frame(number, 0)
        assert (list(batch) if batch else []) == expected
        sent += [number] if batch else []
    assert sent == [0, 1, 2, 3, 10, 11, 12, 13, 14]


def test_an_image_that_comes_again_is_not_spoilt_by_the_frames_between(make_session: MakeSession) -> None:
    session = make_session(window_end=FREE_RUNNING)
    emulator = Emulator(session)
    prepared = [emulator.prepare(picture) for picture in images(session, 2)]
    for number in range(200):
        batch = emulator.frame(number, prepared[number % 2])
    assert batch is not None
    packets = list(batch)
    assert all(map(roce_icrc.check, packets))
    assert b"".join(parse(packet)[1] for packet in packets[:-1]) == images(session, 2)[1].tobytes()


def test_an_image_of_another_shape_is_refused(make_session: MakeSession) -> None:
    session = make_session()
    emulator = Emulator(session)
    with pytest.raises(InputError, match=r"the image is uint16 \(16, 99\), the session's are \(16, 100\) of 2 bytes"):
        emulator.prepare(np.zeros((16, 99), np.uint16))
    with pytest.raises(InputError, match="the image is float32"):
        emulator.prepare(np.zeros((16, 100), np.float32))


def test_a_source_that_the_session_does_not_have_is_refused(make_session: MakeSession) -> None:
    with pytest.raises(ConfigError, match=r"source 2 is not in a session of 2: give 0..1"):
        Emulator(make_session(sources=2), 2)
