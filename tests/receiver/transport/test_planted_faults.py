"""The planted faults against the soft NIC: each is refused by its word, nothing else of the stream is."""

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from framelane.models.tx import tx
from framelane.receiver.transport.responder import Responder
from framelane.session.session import Session
from planted_faults import FAULTS, HARMLESS, PlantedFault, first_change

MakeSession = Callable[..., Session]
MakeImages = Callable[..., list[NDArray[np.uint16]]]
Stream = Callable[[PlantedFault], tuple[Session, list[bytes], list[bytes]]]


@pytest.fixture
def stream(make_session: MakeSession, make_images: MakeImages) -> Stream:
    """Make three frames: the session, their packets, and the same with a fault in."""

    def make(fault: PlantedFault) -> tuple[Session, list[bytes], list[bytes]]:
        session = make_session(segmentation=fault.segmentation)
        good = tx([image.tobytes() for image in make_images(session, 3)], session.tx_config())
        return session, good, fault.mutate(good, session)

    return make


def place(session: Session, packets: list[bytes]) -> tuple[Responder, NDArray[np.uint8], list[str]]:
    """A responder that has seen them, its memory, and the word for each packet: "" where it was placed."""
    memory = np.full(session.layout.ring_bytes, 0xEE, np.uint8)
    responder = Responder(memory, session)
    words = []
    for packet in packets:
        before = responder.counters.refused.copy()
        responder.receive(packet)
        words.append("".join(responder.counters.refused - before))
    return responder, memory, words


def test_there_are_enough_of_them_and_each_has_a_name_of_its_own() -> None:
    names = [fault.name for fault in FAULTS + HARMLESS]
    assert len(set(names)) == len(names)
    assert sum(fault.refused_by_nic for fault in FAULTS) >= 25
    assert all(fault.cause for fault in FAULTS)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_the_soft_nic_refuses_it_by_its_word_and_places_the_rest(stream: Stream, fault: PlantedFault) -> None:
    session, good, bad = stream(fault)
    _, whole, _ = place(session, good)
    responder, memory, words = place(session, bad)
    if fault.soft_nic_takes_it:
        assert not responder.counters.refused
        return
    at = first_change(good, bad)
    refused = [n for n, word in enumerate(words) if word]
    assert words[refused[0]] == fault.cause
    assert (refused[0] > at) if fault.seen_later else (refused[0] == at)
    assert {words[n] for n in refused[1:]} <= {"sequence"}, "the rest of the message"
    differ = np.flatnonzero(memory != whole)
    repeats = fault.name.startswith("a packet of an earlier frame")
    assert (memory[differ] == 0xEE).all(), "nothing but what is missing"
    assert (differ.size == 0) == repeats


@pytest.mark.parametrize("fault", HARMLESS, ids=lambda fault: fault.name)
def test_what_may_vary_is_placed(stream: Stream, fault: PlantedFault) -> None:
    session, good, bad = stream(fault)
    responder, memory, _ = place(session, bad)
    assert first_change(good, bad) > 0
    assert responder.counters.refused == Counter()
    assert np.array_equal(memory, place(session, good)[1])
