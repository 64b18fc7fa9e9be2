"""`framelane bench rc_store`: receivers in trouble cost the others nothing as long as the store has room."""

import os
from pathlib import Path

import pytest

from framelane.bench.transmitter.bench_rc_store import DEPTHS, LIMIT, line, store_rows

PAGE = Path(__file__).resolve().parents[2] / "docs" / "measured" / "rc_store.md"
SOME = [1024] if os.environ.get("FRAMELANE_WIDTHS") == "commit" else DEPTHS


@pytest.mark.parametrize("depth", SOME)
def test_one_silent_one_slow_and_one_dead_receiver_of_eight_cost_the_others_nothing(depth: int) -> None:
    alone, beside = store_rows(depth)
    assert beside["frames"] >= LIMIT * alone["frames"]
    assert not alone["lost"] + beside["lost"]
    assert beside["held"] > 0.8 * depth, "the store is not what this is about"
    assert line(alone, beside) in PAGE.read_text(), "run framelane bench rc_store --docs docs/measured"
