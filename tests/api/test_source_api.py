"""`framelane.source` as from a notebook: frames to a receiver, in any thread, stopped by hand."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from emulation import receiving, saved
from framelane.base.errors import ConfigError
from framelane.session.session import Session
from framelane.source import Outcome, Stop, emulate, parse_impairments

MakeSession = Callable[..., Session]


def test_frames_arrive_and_the_outcome_says_the_same(make_session: MakeSession, network: tuple[str, str]) -> None:
    seen: list[int] = []
    ready: list[int] = []
    with receiving(make_session()) as live:
        outcome = emulate(
            to=live.to,
            port=live.udp_port,
            frames=20,
            ready=lambda: ready.append(len(live.images)),
            progress=lambda so_far: seen.append(so_far.offered),
        )
    assert (outcome.offered, outcome.sent, outcome.dropped, outcome.faults) == (20, 20, 0, [])
    assert sorted(live.images) == list(range(20))
    assert ready == [0], "before anything has left"
    assert seen == sorted(seen)
    assert 0 <= seen[0] <= seen[-1] <= 20


def test_a_run_without_end_is_stopped_from_another_thread(make_session: MakeSession, network: tuple[str, str]) -> None:
    stop, outcomes = Stop(), list[Outcome]()
    with receiving(make_session()) as live:
        run = threading.Thread(
            daemon=True,
            target=lambda: outcomes.append(
                emulate(
                    to=[live.to],
                    port=live.udp_port,
                    rate=20,
                    stop=stop,
                    progress=lambda so_far: setattr(stop, "wanted", so_far.offered >= 10),
                )
            ),
        )
        run.start()
        run.join(20)
        assert not run.is_alive()
    (outcome,) = outcomes
    assert outcome.faults == []
    assert outcome.offered >= 10
    assert outcome.notes == [f"ended by the caller, after {outcome.offered} frames"]
    assert live.tally().sent == outcome.offered, "the receiver was told the end"


def test_what_happened_on_the_way_is_counted(make_session: MakeSession, network: tuple[str, str]) -> None:
    line = parse_impairments("drop=0.1", seed=3)
    with receiving(make_session()) as live:
        outcome = emulate(to=live.to, port=live.udp_port, frames=50, impairment=line)
    assert outcome.sent == 50
    assert set(line.counts) == {"drop"}
    assert live.nic.counters.packets == outcome.packets - line.counts["drop"] < outcome.packets


def test_a_session_may_come_from_a_file_of_any_kind_of_path(
    make_session: MakeSession, network: tuple[str, str], tmp_path: Path
) -> None:
    path = saved(make_session(), tmp_path)
    for session in (path, str(path), [path]):
        outcome = emulate(session=session, transport="packet", interface="lo", frames=4)
        assert (outcome.sent, outcome.faults) == (4, [])


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({}, "needs its receiver's session"),
        ({"to": "a", "rate": 0}, "^rate 0 is not a frame rate: give frames per second"),
        ({"to": "a", "seed": -1}, "^seed -1 is negative: give 0 or more"),
        (
            {"to": ["a", "b"], "impairment": parse_impairments("drop=0.1")},
            "^impairment is for the way to one receiver: give one to, or session$",
        ),
        ({"to": "a", "calibration": "c.h5"}, "^calibration is for the frames of a file: give input as well$"),
        ({"to": "a:b"}, "^to 'a:b' is not a receiver: give HOST or HOST:PORT"),
        ({"to": "a", "transport": "packet"}, "^transport packet sends onto an interface: give interface$"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(arguments: dict[str, object], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        emulate(**arguments)  # type: ignore[arg-type]
