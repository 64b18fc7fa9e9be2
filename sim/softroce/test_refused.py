"""Every fault of `planted_faults`, replayed to the Linux driver: what it refuses, and what it places all the same.

A faulty packet leaves the memory as it was and ends no message; the good packets behind it are placed as by the soft
NIC, except where the fault ends the QP (see `PlantedFault`).
"""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from cases import Case, Step, Tried, load, try_all
from framelane.models.roce_tx import wire
from framelane.models.tx import tx
from framelane.receiver.ring.ring import Ring
from framelane.receiver.transport.responder import Responder
from framelane.session.session import Session
from framelane.session.session_plan import SessionPlan
from once import once
from planted_faults import FAULTS, HARMLESS, PlantedFault, first_change
from rdma_link import RdmaLink
from rdma_testbed import RdmaTestbed

FRAMES = 3
FULL = ("reth.length: more than the payload", "LAST before its time")
"""Linux 6.12 places these: of a packet with the whole path MTU it asks only that by the RETH more is to come, whatever
the opcode says."""
ALL = {fault.name: fault for fault in (*FAULTS, *HARMLESS) if not fault.unsafe}
REFUSED = [name for name, fault in ALL.items() if fault.refused_by_nic and name not in FULL]
PLACED = [name for name, fault in ALL.items() if not fault.refused_by_nic and name not in FULL]
WORK = Path(__file__).resolve().parents[2] / "build" / "softroce"


def plan(fault: PlantedFault, link: RdmaLink) -> SessionPlan:
    """A session over UC: frames of 3 packets and a rest."""
    return SessionPlan(
        source=link.source_node,
        receiver=link.receiver_node,
        segmentation=fault.segmentation,
        mtu=1024,
        n_slots=4,
        rows=16,
        columns=100,
    )


def stream(session: Session) -> list[bytes]:
    """The packets of whole frames, without a fault."""
    images = np.random.default_rng(3).integers(0, 0x4000, (FRAMES, session.rows, session.columns), np.uint16)
    return tx([image.tobytes() for image in images], session.tx_config())


def by_soft_nic(session: Session, packets: list[bytes]) -> tuple[Ring, list[int], int]:
    """The ring and the immediates of the soft NIC, and the first packet that it refused."""
    ring = Ring(session)
    responder = Responder(ring.memory, session)
    immediates, first = [], len(packets)
    for number, packet in enumerate(packets):
        completion = responder.receive(packet)
        immediates += [completion.imm] if completion else []
        if responder.counters.refused and first == len(packets):
            first = number
    return ring, immediates, first


def steps(fault: PlantedFault, session: Session) -> list[Step]:
    """The packets up to the one that a NIC refuses, this one, and the others; all in one where it refuses none."""
    good = stream(session)
    bad = fault.mutate(good, session)
    if not fault.refused_by_nic:
        return [Step(bad, FRAMES)]
    at = first_change(good, bad) if fault.soft_nic_takes_it else by_soft_nic(session, bad)[2]
    before, after = bad[:at], bad[at + 1 :]
    whole = len(by_soft_nic(session, before)[1])
    rest = len(by_soft_nic(session, before + after)[1]) - whole
    return [Step(before, whole), Step([bad[at]]), Step(after, 0 if fault.ends_qp else rest)]


@pytest.fixture(scope="module")
def tried(testbed: RdmaTestbed) -> dict[str, Tried]:
    """All faults, tried in one guest; build/softroce/refused.json says of which a packet was refused, and for what."""
    cases = [Case(plan(fault, testbed.link), partial(steps, fault), fault.ends_qp) for fault in ALL.values()]
    folder = WORK / "refused"
    with once(folder) as first:
        if first:
            try_all(testbed, cases, folder)
        found = dict(zip(ALL, load(cases, folder), strict=True))
        shown = {name: {"cause": ALL[name].cause, "refused": refused(found[name])} for name in (*REFUSED, *FULL)}
        (WORK / "refused.json").write_text(json.dumps(shown, indent=2) + "\n")
    return found


def refused(tried: Tried) -> bool:
    """Whether the second step wrote nothing and ended no message."""
    before, bad, _ = tried.after
    return np.array_equal(bad.memory, before.memory) and not bad.immediates


@pytest.mark.parametrize("name", REFUSED)
def test_linux_does_not_place_a_packet_with_this_fault(tried: dict[str, Tried], name: str) -> None:
    fault, found = ALL[name], tried[name]
    before, bad, rest = found.after
    ring, immediates, _ = by_soft_nic(found.session, found.steps[0].packets)
    assert np.array_equal(before.memory, ring.memory), "a packet before the fault is not as by the soft NIC"
    assert before.immediates == immediates
    assert refused(found)
    if fault.ends_qp:
        assert np.array_equal(rest.memory, bad.memory)
        assert rest.immediates == []
        return
    packets = [packet for step in (found.steps[0], found.steps[2]) for packet in step.packets]
    ring, immediates, _ = by_soft_nic(found.session, packets)
    assert np.array_equal(rest.memory, ring.memory), "a good packet behind the fault is not as by the soft NIC"
    assert before.immediates + rest.immediates == immediates


@pytest.mark.parametrize("name", PLACED)
def test_linux_places_a_packet_in_spite_of(tried: dict[str, Tried], name: str) -> None:
    found = tried[name]
    ring, immediates, _ = by_soft_nic(found.session, stream(found.session))
    assert np.array_equal(found.after[0].memory, ring.memory)
    assert found.after[0].immediates == immediates


@pytest.mark.parametrize("name", FULL)
def test_linux_places_a_full_packet_that_ends_its_message_too_early(tried: dict[str, Tried], name: str) -> None:
    before, bad, _ = tried[name].after
    (packet,) = tried[name].steps[1].packets
    written = np.flatnonzero(bad.memory != before.memory)
    assert bad.memory[written[0] : written[-1] + 1].tobytes() == wire.parse(packet)[1]
    assert bad.immediates == []


def test_at_least_25_causes_are_shown_to_be_refused() -> None:
    assert len(REFUSED) >= 25
    assert len({ALL[name].cause for name in REFUSED}) >= 12
