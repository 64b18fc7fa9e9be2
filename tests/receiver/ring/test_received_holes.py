"""Holes of a received frame: counted once at most, and the same number whoever counts them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cable import Cable
from frame_pipeline_cases import calibration
from framelane.models.jungfrau.jf_correct import ERROR_WORD, G1_ZERO_WORD, SATURATED_WORD
from framelane.models.placement.slots import HOLE_WORD
from framelane.models.tx import tx
from framelane.receiver.pipeline.corrected import CorrectedImages
from framelane.receiver.pipeline.judging import Judging
from framelane.receiver.pipeline.pipeline import Pipeline
from framelane.receiver.pipeline.raw_words import RawWords
from framelane.receiver.ring.receiver import Receiver
from framelane.receiver.ring.ring import Ring
from framelane.receiver.ring.tally import Tally
from framelane.receiver.transport.softnic import SoftNic
from framelane.session.session import Session

MakeSession = Callable[..., Session]
SHAPE = 16, 100
FORBIDDEN = [HOLE_WORD + 1, 0xBFFF, ERROR_WORD, G1_ZERO_WORD, SATURATED_WORD]


@pytest.fixture
def receiver(make_session: MakeSession) -> Receiver:
    """One that has frames 0 and 1 in its cable; packet 1 of frame 1, 512 pixels, is lost."""
    session, cable = make_session(), Cable()
    images = [np.full(SHAPE, 7, np.uint16).tobytes()] * 2
    cable.waiting.extend(packet for n, packet in enumerate(tx(images, session.tx_config())) if n != 6)
    ring = Ring(session)
    return Receiver(ring, SoftNic(cable, ring.memory, session))


def test_frames_that_are_out_are_counted_and_counting_again_finds_the_same(receiver: Receiver) -> None:
    first, second = receiver.poll(0) + receiver.poll(0)
    assert receiver.tally() == Tally(2, 1, 1, 0, 0, 0)
    assert receiver.release(second)
    assert receiver.tally() == Tally(2, 1, 1, 0, 0, 0)
    assert (second.holes, second.complete) == (512, False), "known, though its slot is all holes by now"
    assert receiver.release(first)
    assert receiver.tally() == Tally(2, 1, 1, 0, 0, 0)


def test_frames_that_nobody_has_asked_are_counted_before_their_slots_are_filled(receiver: Receiver) -> None:
    first, second = receiver.poll(0) + receiver.poll(0)
    assert receiver.tally(out=False) == Tally(2, 0, 0, 0, 0, 0)
    assert receiver.release(second)
    assert receiver.release(first)
    assert receiver.tally() == Tally(2, 1, 1, 0, 0, 0)
    assert [frame.holes for frame in (first, second)] == [0, 512]


def test_what_a_pipeline_has_counted_is_not_counted_again(receiver: Receiver) -> None:
    first, second = receiver.poll(0) + receiver.poll(0)
    first.tell_holes(3)
    second.tell_holes(0)
    assert [(frame.holes, frame.complete) for frame in (first, second)] == [(3, False), (0, True)]
    assert receiver.release(first)
    assert receiver.release(second)
    assert receiver.tally() == Tally(2, 1, 1, 0, 0, 0)


@pytest.mark.parametrize("kind", ["raw", "corrected", "photons"])
def test_a_pipeline_counts_the_holes_that_the_ring_has_also_among_masked_pixels_and_other_codes(
    make_session: MakeSession, kind: str
) -> None:
    ring, fixed = Ring(make_session()), calibration(SHAPE)
    words = np.random.default_rng(5).choice(np.array([*FORBIDDEN, *range(40), HOLE_WORD], np.uint16), SHAPE)
    masked = (fixed.mantissa == 0).any(0)
    assert (masked & (words == HOLE_WORD)).any()
    assert (masked & (words != HOLE_WORD)).any()
    ring.image(0)[:] = words
    process: Any = {
        "raw": RawWords(),
        "corrected": CorrectedImages(SHAPE, Judging()),
        "photons": Pipeline(fixed, Judging()),
    }[kind]
    assert 0 < process(ring.image(0)).counts.holes == ring.holes(0)
