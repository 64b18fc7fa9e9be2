"""The doctor and the Linux driver on random accidents: what it says that SoftRoCE places is what lies in the memory."""

import random
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from cases import Case, Step, Tried, load, try_all
from doctor_cases import examine, impaired, written
from framelane.doctor.cause import Placer
from framelane.models.tx import tx
from framelane.receiver.ring.ring import Ring
from framelane.session.session import Session
from framelane.session.session_plan import SessionPlan
from framelane.source.impairments import packet_fields
from once import once
from rdma_link import RdmaLink
from rdma_testbed import RdmaTestbed

SEEDS = range(24)
FRAMES = 3
WORK = Path(__file__).resolve().parents[2] / "build" / "softroce"


def plan(seed: int, link: RdmaLink) -> SessionPlan:
    """A session over UC, of single packets or of messages by turns; frames of 3 packets and a rest."""
    return SessionPlan(
        source=link.source_node,
        receiver=link.receiver_node,
        segmentation=("only", "message")[seed % 2],
        mtu=1024,
        n_slots=4,
        rows=16,
        columns=100,
    )


def safe(packet: bytes) -> bool:
    """Linux 6.1 does not survive a RETH that announces nothing with a payload behind it."""
    return packet_fields.read(packet, "reth.length") != 0


def steps(seed: int, session: Session) -> list[Step]:
    """A stream with some accidents."""
    images = np.random.default_rng(seed).integers(0, 0x4000, (FRAMES, session.rows, session.columns), np.uint16)
    good = tx([image.tobytes() for image in images], session.tx_config())
    damaged = impaired(good, session, random.Random(seed), cut=False)
    packets = [packet for packet in damaged if safe(packet)]
    placed = examine(packets, session).placed
    ends = [packet_fields.read(packet, "imm") is not None for packet in packets]
    return [Step(packets, sum(Placer.SOFT_ROCE in each and end for each, end in zip(placed, ends, strict=True)))]


@pytest.fixture(scope="module")
def tried(testbed: RdmaTestbed) -> list[Tried]:
    """All streams, each on its own QP, in one guest."""
    cases = [Case(plan(seed, testbed.link), partial(steps, seed), own=True) for seed in SEEDS]
    folder = WORK / "doctor"
    with once(folder) as first:
        if first:
            try_all(testbed, cases, folder)
        return load(cases, folder)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_the_doctor_calls_placed_by_softroce_is_in_the_memory_and_nothing_else(
    tried: list[Tried], seed: int
) -> None:
    found = tried[seed]
    packets = found.steps[0].packets
    examined = examine(packets, found.session)
    expected = Ring(found.session).memory
    written(packets, [Placer.SOFT_ROCE in placed for placed in examined.placed], expected, found.session.base)
    report = [(group.cause.code, group.first, group.detail) for group in examined.diagnosis.groups]
    assert np.array_equal(found.after[0].memory, expected), report
