"""What SoftRoCE does with any packets: the host's side."""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cases_guest import CASES, COMPLETIONS, MEMORY, PLANS, SESSIONS, put
from framelane.session.session import Session
from framelane.session.session_plan import SessionPlan
from rdma_testbed import RdmaTestbed
from run import Run

_PATIENCE_S = 600
"""For a computer that does much else at the same time; 30 s are enough."""


@dataclass(frozen=True, slots=True)
class Step:
    """Packets that are sent together, and how many messages WITH_IMM they are expected to end."""

    packets: list[bytes]
    completions: int = 0


@dataclass(frozen=True, slots=True)
class Case:
    """A plan, and what to send once its session is known.

    Cases with the same plan share a session, and the QP with it; not with one that has its `own`.
    """

    plan: SessionPlan
    steps: Callable[[Session], list[Step]]
    own: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class After:
    """After one step: the ring's bytes (uint8), and the immediates of the messages that ended in the step."""

    memory: NDArray[np.uint8]
    immediates: list[int]


@dataclass(frozen=True, slots=True)
class Tried:
    """A case that was tried: its session, its steps, and what was there after each."""

    session: Session
    steps: list[Step]
    after: list[After]


def try_all(testbed: RdmaTestbed, cases: list[Case], folder: Path) -> None:
    """Try all cases, one after the other, in one guest. What it needs and finds lies in `folder`: see `load`."""
    distinct = list(dict.fromkeys(_keys(cases)))
    put(folder / PLANS, [plan.model_dump(mode="json") for plan, _ in distinct])
    command = [sys.executable, str(Path(__file__).with_name("cases_guest.py")), str(folder)]
    with Run(testbed, command, folder, timeout_s=_PATIENCE_S) as run:
        run.wait_for(SESSIONS)
        numbers = [distinct.index(key) for key in _keys(cases)]
        put(folder / CASES, [_document(n, steps) for n, (_, steps) in zip(numbers, _steps(cases, folder), strict=True)])
        outcome = run.wait()
        if outcome.status:
            raise RuntimeError(f"the guest's script failed: {outcome.stderr.decode()}")


def load(cases: list[Case], folder: Path) -> list[Tried]:
    """What has become of each case."""
    immediates = json.loads((folder / COMPLETIONS).read_text())
    with (folder / MEMORY).open("rb") as file:
        return [
            Tried(
                session, each, [After(np.frombuffer(file.read(session.layout.ring_bytes), np.uint8), c) for c in came]
            )
            for (session, each), came in zip(_steps(cases, folder), immediates, strict=True)
        ]


def _keys(cases: list[Case]) -> list[tuple[SessionPlan, int | None]]:
    """Cases with the same key share a session."""
    return [(case.plan, number if case.own else None) for number, case in enumerate(cases)]


def _steps(cases: list[Case], folder: Path) -> list[tuple[Session, list[Step]]]:
    """Each case's session and steps."""
    keys = _keys(cases)
    sessions = dict(zip(dict.fromkeys(keys), json.loads((folder / SESSIONS).read_text()), strict=True))
    found = [Session.model_validate(sessions[key]) for key in keys]
    return [(session, case.steps(session)) for case, session in zip(cases, found, strict=True)]


def _document(number: int, steps: list[Step]) -> dict[str, Any]:
    texts = [{"packets": [packet.hex() for packet in s.packets], "completions": s.completions} for s in steps]
    return {"session": number, "steps": texts}
