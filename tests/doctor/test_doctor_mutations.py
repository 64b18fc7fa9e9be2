"""The doctor on random accidents: its verdict is the responder's, it never breaks down, and it always has a reason."""

import random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from doctor_cases import examine, impaired, make, respond, stream
from framelane.doctor import report
from framelane.doctor.cause import Placer
from framelane.doctor.diagnosis import diagnose

STREAMS = {
    (segmentation, sources): (session, stream(session, 5))
    for segmentation in ("only", "message")
    for sources in (1, 2)
    for session in [make(segmentation=segmentation, sources=sources)]
}


@pytest.mark.parametrize("form", STREAMS)
@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 1 << 32))
@example(seed=291615)  # a trailer's message that was written elsewhere ends no frame
def test_on_any_accident_the_verdict_is_the_responders(form: tuple[str, int], seed: int) -> None:
    session, sent = STREAMS[form]
    damaged = impaired(sent, session, random.Random(seed))
    found = examine(damaged, session)
    verdict = [Placer.SOFT_NIC in placed for placed in found.placed]
    assert verdict == respond(damaged, session)
    if not all(verdict):
        assert found.diagnosis.groups
        refused = sum(group.count for group in found.diagnosis.groups if Placer.SOFT_NIC in group.refused_by)
        assert refused >= verdict.count(False)


@settings(max_examples=200, deadline=None)
@given(packets=st.lists(st.binary(max_size=200), max_size=20))
def test_rubbish_is_not_placed_and_breaks_nothing(packets: list[bytes]) -> None:
    session = make()
    found = examine(packets, session)
    assert not any(found.placed)
    assert report.lines(found.diagnosis, session)
    assert report.document(found.diagnosis, session)["packets"] == len(packets)


@settings(max_examples=200, deadline=None)
@given(seed=st.integers(0, 1 << 32), cut=st.integers(1, 200))
def test_a_capture_with_a_snap_length_is_said_to_be_cut(seed: int, cut: int) -> None:
    session, sent = STREAMS["only", 1]
    draw = random.Random(seed)
    packets = [(0, packet[:cut], len(packet)) for packet in impaired(sent, session, draw, cut=False)]
    found = diagnose(packets, session)
    assert found.placed[Placer.SOFT_NIC] == 0 or cut >= 118
    assert "cut-by-capture" in {group.cause.code for group in found.groups}
