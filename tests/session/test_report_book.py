"""What a source may report: no more than it may have sent, and than can have been offered by now."""

from collections.abc import Callable

import pytest

from framelane.session.attempts import Reason, Refused
from framelane.session.report_book import ReportBook
from framelane.session.session import Session
from framelane.session.session_link import Report

MakeSession = Callable[..., Session]


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def note(book: ReportBook, offered: int, dropped: int, relayed: bool = False, window_end: int = 4) -> Reason | None:
    """Why it is refused; None where it is kept."""
    try:
        book.note(Report(source=0, offered=offered, dropped=dropped), window_end, relayed)
    except Refused as refused:
        return refused.reason
    assert book.reports[0].offered == offered
    return None


@pytest.mark.parametrize("window_end", [4, 104, (1 << 64) - 1], ids=["new", "later", "free running"])
def test_a_source_cannot_have_offered_more_frames_than_its_rate_allows(
    make_session: MakeSession, window_end: int
) -> None:
    clock = Clock()
    first = 100 if window_end == 104 else 0
    book = ReportBook(make_session(window_end=window_end), 1000, clock)
    assert note(book, first + 110, first + 110, window_end=window_end) is Reason.IMPOSSIBLE
    assert note(book, first + 109, first + 109, window_end=window_end) is None
    clock.now += 1
    assert note(book, first + 1120, first + 1120, window_end=window_end) is Reason.IMPOSSIBLE
    assert note(book, first + 1119, first + 1119, window_end=window_end) is None


@pytest.mark.parametrize("late_s", [0.0, 1.0])
def test_an_honest_source_at_the_most_that_was_said_is_never_refused(make_session: MakeSession, late_s: float) -> None:
    """Its clock is 50 ppm fast; 40 hours at 100 frames/s."""
    clock = Clock()
    book = ReportBook(make_session(), 100, clock)
    begun = clock.now + late_s
    for hour in range(40):
        clock.now = begun + 3600 * (hour + 1)
        offered = int((clock.now - begun) * 100 * (1 + 50e-6))
        assert note(book, offered, offered) is None, f"hour {hour}"


def test_no_rate_is_too_great_for_the_book(make_session: MakeSession) -> None:
    for rate in (1e308, float("inf")):
        clock = Clock()
        book = ReportBook(make_session(), rate, clock)
        clock.now += 1e6
        assert note(book, 1 << 62, 1 << 62) is None


def test_a_board_that_was_there_before_counts_on_from_its_first_report(make_session: MakeSession) -> None:
    clock = Clock()
    book = ReportBook(make_session(), 1000, clock)
    assert note(book, 1 << 62, 1 << 62, relayed=True) is Reason.IMPOSSIBLE
    assert note(book, 5_000_000_000, 5_000_000_000) is Reason.IMPOSSIBLE, "a source begins with the session"
    clock.now += 3600
    assert note(book, 5_000_000_000, 5_000_000_000, relayed=True) is None
    assert note(book, 5_000_000_110, 5_000_000_110, relayed=True) is Reason.IMPOSSIBLE, "an hour that it did not use"
    clock.now += 1
    assert note(book, 5_000_001_100, 5_000_001_096, relayed=True) is None


def test_frames_that_were_sent_had_credit(make_session: MakeSession) -> None:
    book = ReportBook(make_session(), 1000, Clock())
    assert note(book, 5, 0) is Reason.IMPOSSIBLE
    assert note(book, 5, 6) is Reason.IMPOSSIBLE
    assert note(book, 5, 1) is None
    assert note(book, 4, 1) is Reason.FEWER
    assert note(book, 5, 0, window_end=5) is Reason.FEWER
