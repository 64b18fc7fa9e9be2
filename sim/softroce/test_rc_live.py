"""RC to SoftRoCE live: its acknowledgements go back into the running simulation, and packets are lost both ways.

The Verilated transmitter with RC, a wire with seeded impairments, and three queue pairs of the Linux driver, all in the
guest. The simulated clock stands still while the driver works (see `rc_live_wire.py`).
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from framelane.driver.simulated.verilated_rc import SimulatedRcBoard
from framelane.models.placement.slots import HOLE_WORD
from once import once
from own_nic import OwnNic
from rc_live_plan import (
    FATAL,
    MORTAL,
    NOT_READY,
    PHASES,
    PHASES_FILE,
    SERVICES,
    numbers,
    plan_of,
    ring_file,
    slot,
)
from rc_live_rules import Counted, broken
from rdma_link import RdmaLink
from rdma_testbed import RdmaTestbed
from run import Run

HERE = Path(__file__).with_name("rc_live")
WORK = HERE.parents[2] / "build" / "softroce"
PATIENCE_S = 900
"""For a computer that does much else at the same time; 40 s are enough."""
NAMES = [phase.name for phase in PHASES]


@pytest.fixture(scope="module")
def folder(testbed: RdmaTestbed) -> Path:
    """What the guest has left; the numbers are in build/softroce/rc_live.json, with the verdict."""
    if isinstance(testbed, OwnNic):
        pytest.skip("an RNIC may join acknowledgements: what it must answer is known of rxe only")
    found = WORK / "rc_live"
    with once(found) as first:
        if first:
            SimulatedRcBoard().close()  # compiled here: the guest may not write, and is slow
            command = [sys.executable, str(HERE / "rc_live_guest.py"), str(found)]
            with Run(testbed, command, found, timeout_s=PATIENCE_S) as run:
                outcome = run.wait()
                assert (outcome.status, outcome.stderr) == (0, b""), outcome.stderr.decode()
            summary = summarize(json.loads((found / PHASES_FILE).read_text()))
            (WORK / "rc_live.json").write_text(json.dumps(summary, indent=2) + "\n")
    return found


@pytest.fixture(scope="module")
def document(folder: Path) -> dict[str, Any]:
    """What was counted."""
    found: dict[str, Any] = json.loads((folder / PHASES_FILE).read_text())
    return found


def summarize(document: dict[str, Any]) -> dict[str, Any]:
    """For each phase the counters that are not 0, and whether the rules hold."""
    found: dict[str, Any] = {}
    for each in document["phases"]:
        sides = {
            key: {k: n for k, n in value.items() if n} if isinstance(value, dict) else value
            for key, value in each.items()
        }
        found[each["name"]] = {"passed": not broken(Counted(each)) and not document["wrong"]} | sides
    return found


@pytest.mark.parametrize("name", NAMES)
def test_the_counters_of_both_sides_agree_with_what_was_injected(document: dict[str, Any], name: str) -> None:
    assert broken(Counted(document["phases"][NAMES.index(name)])) == {}


def test_no_counter_of_either_side_could_be_one_more_without_being_noticed(document: dict[str, Any]) -> None:
    bounded_only = {"rc_deferred", "rc_timed_out"}
    for phase in document["phases"]:
        for side in ("device", "transmitter"):
            for name in phase[side].keys() - bounded_only:
                other = phase | {side: phase[side] | {name: phase[side][name] + 1}}
                assert broken(Counted(other)), f"{phase['name']}: {side} {name}"


def test_every_answer_of_the_driver_is_the_one_of_the_model_responder(document: dict[str, Any]) -> None:
    assert document["wrong"] == []


@pytest.mark.parametrize("index", range(len(SERVICES)))
def test_every_frame_lies_in_memory_as_it_was_offered_and_nothing_else_was_written(
    document: dict[str, Any], folder: Path, index: int
) -> None:
    slot_bytes = plan_of(index, RdmaLink()).layout.slot_bytes
    for life, expected in enumerate(rings(document, index)):
        found = np.frombuffer((folder / ring_file(SERVICES[index].name, life)).read_bytes(), np.uint8)
        different = np.flatnonzero(found != np.frombuffer(expected, np.uint8)) // slot_bytes
        assert set(different.tolist()) == set(), f"slots in life {life}"


def rings(document: dict[str, Any], index: int) -> list[bytearray]:
    """What must be in the rings of a service, one for each of its lives."""
    plan = plan_of(index, RdmaLink())
    layout = plan.layout
    blank = np.full(layout.ring_bytes // 2, HOLE_WORD, "<u2").tobytes()
    found, dropped = [bytearray(blank)], 0
    for phase, counted in zip(PHASES, document["phases"], strict=True):
        if index == MORTAL and phase.happens == "reborn":
            found.append(bytearray(blank))
        for number in () if index == MORTAL and phase.happens in FATAL else numbers(phase):
            at = layout.slot_offset(number)
            found[-1][at : at + layout.slot_bytes] = slot(plan, number, dropped)
        dropped += counted["transmitter"][f"dropped[{index}]"]
    return found


def test_every_frame_is_told_once_and_in_order(document: dict[str, Any]) -> None:
    for index, lives in enumerate(document["receivers"]):
        expected: list[list[int]] = [[]]
        for phase in PHASES:
            expected += [[]] if index == MORTAL and phase.happens == "reborn" else []
            expected[-1] += [] if index == MORTAL and phase.happens in FATAL else numbers(phase)
        assert [life["immediates"] for life in lives] == expected


def test_a_storm_loses_packets_in_both_directions_and_messages_go_on_in_their_middle(document: dict[str, Any]) -> None:
    counted = Counted(document["phases"][NAMES.index("lossy")])
    for network in (counted.there, counted.back):
        assert min(network["lost"], network["duplicated"], network["corrupted"]) > 0
    assert counted.device["out_of_seq_request"]
    assert counted.device["duplicate_request"]
    assert counted.wire["resumed"]
    assert counted.transmitter["rc_timed_out"]


def test_receivers_that_do_not_look_are_waited_for(document: dict[str, Any]) -> None:
    counted = Counted(document["phases"][NAMES.index("not ready")])
    assert counted.device["send_rnr_err"] >= NOT_READY * len(SERVICES)


@pytest.mark.parametrize(("happens", "reason"), [("dies", "TIMEOUT"), ("lies", "ACCESS")])
def test_a_queue_pair_that_fails_says_why_and_the_others_run_until_it_is_started_anew(
    document: dict[str, Any], happens: str, reason: str
) -> None:
    k = next(k for k, phase in enumerate(PHASES) if phase.happens == happens)
    running = ["RUN"] * len(SERVICES)
    assert document["phases"][k - 1]["states"] == running
    assert document["phases"][k]["states"] == [*running[:-1], reason]
    assert document["phases"][k + 1]["states"] == running


def test_the_receiver_of_a_wrong_rkey_says_so(document: dict[str, Any]) -> None:
    reasons = [life["reason"] for life in document["receivers"][MORTAL]]
    assert ["wrong rkey" in reason for reason in reasons] == [False, True, False]
