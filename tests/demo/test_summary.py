"""The verdict on a demo: what each fault is called, and that a good run has none."""

from dataclasses import replace
from typing import Any

import pytest

from framelane.demo.summary import Summary

GOOD = Summary(
    source="test",
    corrected_by="host",
    frames_sent=2,
    complete=2,
    incomplete=0,
    dropped_at_source=0,
    dropped_by_host=0,
    missing=0,
    incomplete_frames=[],
    unexplained_frames=[],
    holes=0,
    guarded_words=0,
    saturated=0,
    masked=0,
    accepted=2,
    packets=10,
    payload_bytes=1000,
    payload_efficiency=0.9,
    rtl_cycles=100,
    rtl_cycles_per_frame=50.0,
    ideal_beats=99,
    wall_s=1.0,
    arrived_pixels=500,
    compared_pixels=400,
    wrong_words=0,
    max_abs_error_photons=0.5,
    error_bound_photons=0.6,
    pixels_beyond_bound=0,
    drop=0.0,
    lost_packets=0,
    refused={},
    queue_drops=0,
    unplaced=0,
    identity_holds=True,
    lost=[],
)
LOST: dict[str, Any] = {"lost_packets": 1, "lost": [3], "complete": 1, "incomplete": 1, "incomplete_frames": [0]}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        LOST,
        LOST | {"refused": {"sequence": 2}},
        {"refused": {"icrc": 3}, "queue_drops": 2},
        {"arrived_pixels": 0, "compared_pixels": 0},
    ],
    ids=["nothing lost", "lost", "the rest of a message", "foreign packets", "nothing arrived"],
)
def test_a_run_in_order_has_no_fault(changes: dict[str, Any]) -> None:
    assert replace(GOOD, **changes).faults() == []


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"identity_holds": False}, "the loss identity does not hold"),
        (
            LOST | {"unexplained_frames": list(range(9))},
            "the holes or trailers of these frames are not exactly what was lost: 0, 1, 2, 3, 4, 5, ...",
        ),
        ({"unexplained_frames": [0]}, "the holes or trailers of these frames are not exactly what was lost: 0"),
        ({"wrong_words": 7}, "7 pixels arrived and are not what was sent"),
        ({"pixels_beyond_bound": 8}, "8 pixels are too far from their reference"),
        ({"compared_pixels": 0}, "no pixel has a reference: nothing is proved"),
        (
            LOST | {"unplaced": 4, "refused": {"icrc": 3}, "queue_drops": 1},
            "4 packets were sent and not placed: 3 icrc refused, 1 lost in the receiver's queue",
        ),
        ({"complete": 1, "dropped_at_source": 1}, "frames are incomplete though no packet was lost"),
    ],
)
def test_every_fault_has_its_sentence(changes: dict[str, Any], sentence: str) -> None:
    assert replace(GOOD, **changes).faults() == [sentence]
