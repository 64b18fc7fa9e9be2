"""The loss identity."""

from dataclasses import replace

import pytest

from framelane.receiver.ring.tally import Tally


def test_a_run_with_every_kind_of_loss_is_accounted_for() -> None:
    tally = Tally(sent=15, complete=5, incomplete=4, dropped_at_source=3, dropped_by_host=2, missing=1)
    assert tally.holds
    assert str(tally) == "15 sent = 5 complete + 4 incomplete + 3 dropped at source + 2 dropped by host + 1 missing"


def test_a_run_of_one_frame_can_be_whole_and_one_of_none_is_not() -> None:
    none = Tally(sent=0, complete=0, incomplete=0, dropped_at_source=0, dropped_by_host=0, missing=0)
    assert not none.whole
    assert replace(none, sent=1, complete=1).whole
    assert not replace(none, sent=1, incomplete=1).whole


@pytest.mark.parametrize("sent", [14, 16])
def test_a_frame_too_many_or_too_few_breaks_the_identity_and_says_so(sent: int) -> None:
    tally = Tally(sent=sent, complete=5, incomplete=4, dropped_at_source=3, dropped_by_host=2, missing=1)
    assert not tally.holds
    assert str(tally).endswith("1 missing: DOES NOT HOLD, 15 accounted for")
