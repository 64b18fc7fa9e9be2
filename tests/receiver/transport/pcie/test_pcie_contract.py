"""The contract of all transports on the simulated PCIe endpoint: the same writes in, the same ring out.

The cases are those of `transport_cases`, as far as a device can send them: whose immediates come with trailers, and in
which nothing is refused.
"""

import os
import time

import pytest

from framelane.driver.simulated.verilated_pcie_lane import PcieLaneSimulator
from framelane.models.placement import trailer
from framelane.session.session import Session
from lossless_cases import LOSSLESS
from lossy_cases import LOSSY
from simulated_device import Device, lane
from transport_cases import Case, Outcome, Sent, outcome

SOURCE, RECEIVER = ({"mac": f"02:00:00:00:00:0{n}", "ip": f"192.0.2.{n}"} for n in (1, 2))


def session_of(case: Case) -> Session:
    return Session.random(case.plan(SOURCE, RECEIVER))


def send(there: Device[PcieLaneSimulator], sent: Sent) -> None:
    """What a packet of a network would have brought, as a write of the device."""
    there.simulator.give(sent.offset, sent.payload, trailer.unpack(sent.payload) if sent.imm is not None else None)


def can_be_sent(case: Case) -> bool:
    sent = case.make(session_of(case))
    ends = [trailer.unpack(each.payload) for each in sent if each.imm is not None and len(each.payload) == 64]
    return (
        not any(each.refused for each in sent)
        and len(ends) == sum(each.imm is not None for each in sent)
        and None not in ends
    )


CASES = [case for case in (*LOSSLESS, *LOSSY) if can_be_sent(case)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_ring_and_the_completions_are_those_of_the_case(case: Case) -> None:
    session = session_of(case)
    sent = case.make(session)
    immediates: list[int] = []
    with lane(session) as there:
        for each in sent:
            send(there, each)
            immediates += [completion.imm for completion in there.transport.poll(0)]
        counters = there.transport.counters
        assert Outcome(there.ring.memory.tobytes(), immediates) == outcome(session, sent)
        assert counters.completions == len(immediates)
        assert not counters.refused, counters.examples
        assert there.simulator.counts.faults == 0
        assert there.transport.refuses_late


def test_most_cases_of_the_contract_can_be_sent() -> None:
    assert len(CASES) > 20


@pytest.mark.parametrize("width", [256, 512] if os.environ.get("FRAMELANE_WIDTHS") == "all" else [128])
def test_at_other_widths_the_ring_is_the_same(width: int) -> None:
    (case,) = [case for case in CASES if case.name == "more frames than slots"]
    session = session_of(case)
    sent = case.make(session)
    with lane(session, width) as there:
        immediates = []
        for each in sent:
            send(there, each)
            immediates += [completion.imm for completion in there.transport.poll(0)]
        assert Outcome(there.ring.memory.tobytes(), immediates) == outcome(session, sent)


def test_nothing_to_come_is_awaited_no_longer_than_asked() -> None:
    with lane(session_of(CASES[0])) as there:
        start = time.monotonic()
        assert there.transport.poll(0.05) == there.transport.poll(0) == []
        assert 0.05 <= time.monotonic() - start < 1


def test_closing_stops_the_engine_takes_the_memory_away_and_does_no_harm_twice() -> None:
    session = session_of(CASES[0])
    sent = CASES[0].make(session)
    with lane(session) as there:
        there.transport.close()
        before = there.ring.memory.tobytes()
        send(there, sent[0])
        assert there.ring.memory.tobytes() == before
        assert there.simulator.counts.tlps == there.simulator.counts.faults == 0, "the engine sends nothing"
        there.transport.close()
        there.engine.open(there.plan, there.pages)
        send(there, sent[0])
        assert there.simulator.counts.faults > 0, "its memory is not there any more"
        assert there.ring.memory.tobytes() == before
