"""The doctor's account of PSNs: what is lost, late, or there twice, whatever the order in which it comes."""

import random
from collections.abc import Iterable

import pytest

from framelane.doctor.packets.psn import PsnTrack

PSN = 0xFFFFF0
"""The session's first: the PSN wraps soon."""


def account(arrivals: Iterable[int], first: int = PSN) -> tuple[int, int, int]:
    """PSNs that are lost, came late and came twice, as the doctor counts packets that many after the first."""
    track = PsnTrack(first, 5)
    for number, at in enumerate(arrivals, 1):
        track.take(first + at & 0xFFFFFF, number)
    track.finish()
    return track.lost, track.reordered, track.duplicates


def expected(arrivals: Iterable[int]) -> tuple[int, int, int]:
    """The same by sets."""
    seen: set[int] = set()
    late = twice = 0
    for at in arrivals:
        twice += at in seen
        late += at not in seen and bool(seen) and at < max(seen)
        seen.add(at)
    return len(set(range(max(seen) + 1)) - seen), late, twice


@pytest.mark.parametrize("late", [(5, 4, 6, 3, 7), (5, 3, 7, 4, 6), (7, 3, 5, 6, 4), (4, 6, 5, 7, 3)])
def test_a_gap_is_closed_in_any_order(late: tuple[int, ...]) -> None:
    before = (0, 1, 2, 8, 9, 12, 13)
    assert account((*before, *late)) == (2, 5, 0)
    assert account((*before, *late[:3])) == (4, 3, 0)
    assert account((*before, *late, 10, 11)) == (0, 7, 0)
    assert account((*before, *late, *late)) == (2, 5, 5)


@pytest.mark.parametrize(
    ("ahead", "code", "detail", "lost"),
    [
        (0, "", "", 0),
        (1, "lost", "PSN 0xfffff0 is missing", 1),
        (4, "lost", "4 PSNs are missing, 0xfffff0 to 0xfffff3", 4),
        (5, "begun-late", "PSN 0xfffff5: 5 packets after the session's first, 0xfffff0", 0),
        (500, "begun-late", "PSN 0x1e4: 500 packets after the session's first, 0xfffff0", 0),
        (-1, "psn-before-session", "PSN 0xffffef, the session's first is 0xfffff0", 0),
    ],
)
def test_a_stream_that_begins_within_a_frame_of_the_sessions_first_has_lost_what_was_before(
    ahead: int, code: str, detail: str, lost: int
) -> None:
    track = PsnTrack(PSN, 5)
    said = [(number, finding.cause.code, finding.detail) for number, finding in track.take(PSN + ahead & 0xFFFFFF, 7)]
    assert said == ([(7, code, detail)] if code else [])
    assert track.lost == lost
    assert track.take(PSN + ahead + 1 & 0xFFFFFF, 8) == []
    assert (track.lost, track.reordered, track.duplicates) == (lost, 0, 0)


def test_packets_that_were_refused_are_not_missing() -> None:
    track = PsnTrack(PSN, 5)
    track.take(PSN, 1)
    track.fill(PSN + 3)
    ((_, finding),) = track.take(PSN + 5, 2)
    assert finding.detail == "3 of 4 PSNs are missing, 0xfffff1 to 0xfffff4"
    track.fill(PSN + 1)
    assert track.lost == 2


@pytest.mark.parametrize("seed", range(20))
def test_the_account_is_right_whatever_is_lost_late_or_doubled(seed: int) -> None:
    draw = random.Random(seed)
    arrivals = [0]
    for at in range(1, 300):
        if draw.random() < 0.85:
            arrivals.insert(max(1, len(arrivals) - draw.choice((0, 0, 0, 1, 5, 20))), at)
        if draw.random() < 0.1:
            arrivals.append(draw.choice(arrivals))
    assert account(arrivals) == expected(arrivals)
