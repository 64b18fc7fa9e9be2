"""Where frames are dropped for want of credit the receiver says what to change, and the change helps."""

import re
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from framelane.receiver.live.keeping_up import KeepingUp
from framelane.receiver.live.packet_source import Live
from framelane.receiver.live.reception import receive
from framelane.session.session_link import Report
from framelane.session.session_plan import SessionPlan
from framelane.source import emulate
from own_source import own_address, own_port

STEP_S = 0.0005
TELL_S = 0.05
FRAMES = 2000
TOO_SLOW = r"is too slow, not its ring too small: it takes ([\d.]+) frames/s, and (\S+)/s were"
TOO_SMALL = r"the ring is too small, not the receiver too slow: .* write n_slots = (\d+) into the plan"


@dataclass(frozen=True)
class Load:
    """`FRAMES` frames of a source, and a receiver that takes so long for each, and besides stalls, (when, how long)."""

    rate: float
    takes_s: float
    n_slots: int
    stalls: tuple[tuple[float, float], ...] = ()


def simulated(load: Load) -> tuple[str, int]:
    """What the receiver says, in steps of time, and how many frames its source has dropped."""
    now, busy_until = 0.0, 0.0
    n_slots = load.n_slots
    judge = KeepingUp(n_slots, 0, lambda: now)
    waiting: list[int] = []
    offered = dropped = told = 0
    told_dropped, told_at, end = 0, 0.0, n_slots
    working = False
    todo = list(load.stalls)
    while offered < FRAMES:
        now += STEP_S
        while offered < min(FRAMES, int(now * load.rate) + 1):
            if offered < end:
                waiting.append(offered)
            else:
                dropped += 1
            offered += 1
        if now - told_at >= TELL_S:
            told, told_dropped, told_at = offered, dropped, now
            judge.told([Report(source=0, offered=told, dropped=told_dropped)])
        if todo and now >= todo[0][0]:
            busy_until = max(now, busy_until) + todo.pop(0)[1]
        if now < busy_until:
            continue
        if working:
            working = False
            judge.took()
            waiting.pop(0)
            end = max(end, (waiting[0] if waiting else offered - dropped) + n_slots)
        if waiting:
            working, busy_until = True, now + load.takes_s
        else:
            judge.waited(STEP_S)
            end = max(end, told + n_slots)
        judge.published(end)
    return judge.line(), dropped


def said(pattern: str, load: Load) -> tuple[str, ...]:
    """The numbers in what the receiver says."""
    line, dropped = simulated(load)
    assert dropped
    return numbers(pattern, line)


def numbers(pattern: str, line: str) -> tuple[str, ...]:
    """Those of the groups."""
    found = re.search(pattern, line)
    assert found, line
    return found.groups()


@pytest.mark.parametrize(
    "load",
    [
        Load(1000, 0.002, 64),
        Load(1000, 0.02, 4),
        Load(1000, 0.0015, 512),
        Load(500, 0.003, 16, ((1.0, 0.5),)),
    ],
)
def test_a_receiver_that_takes_too_long_for_each_frame_is_too_slow(load: Load) -> None:
    takes, offered = said(TOO_SLOW, load)
    assert float(takes) == pytest.approx(1 / load.takes_s, rel=0.35)
    assert float(offered) == pytest.approx(load.rate, rel=0.1)


@pytest.mark.parametrize(
    "load",
    [
        Load(1000, 0.0005, 64, ((0.5, 0.2),)),
        Load(1000, 0.0005, 64, ((0.5, 0.2), (1.0, 0.4))),
        Load(500, 0.0005, 4, ((0.3, 0.05), (0.6, 0.05))),
    ],
)
def test_a_receiver_that_stands_still_now_and_then_is_told_how_many_slots_are_enough(load: Load) -> None:
    wanted = int(said(TOO_SMALL, load)[0])
    assert wanted < 4 * load.rate * max(lasts for _, lasts in load.stalls)
    assert simulated(replace(load, n_slots=wanted)) == ("", 0)


def test_a_source_that_is_behind_another_one_is_named() -> None:
    now = 0.0
    judge = KeepingUp(8, 0, lambda: now)
    for number in range(3):
        now += 0.1
        ahead = Report(source=0, offered=10 * number + 1, dropped=number)
        judge.told([ahead, Report(source=1, offered=1, dropped=0)])
    assert "source 1 was 20 frames behind another one, and the ring has 8 slots" in judge.line()


def received(n_slots: int, rate: float, frames: int, pauses: Iterator[float]) -> tuple[list[str], int]:
    """The notes of a real run over UDP whose frames take so long each, and how many frames were dropped."""
    ends = {"source": own_address(), "receiver": "127.0.0.1"}
    nodes: dict[str, object] = {end: {"mac": "02:00:00:00:00:01", "ip": ip} for end, ip in ends.items()}
    fields = {"rows": 16, "columns": 96, "n_slots": n_slots, "mtu": 1024, "src_port": own_port()}
    plan = SessionPlan.model_validate(fields | nodes)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    with receive(Live(transport="udp", plan=plan, port=port, link_port=0)) as run:
        host, link = run.serve()
        with run.beside(emulate, to=f"{host}:{link}", port=port, rate=rate, frames=frames) as sent:
            for _ in run:
                time.sleep(next(pauses))
            outcome = sent.result(10)
    assert run.tally.holds
    assert ("says at its end whether it is too slow" in "".join(outcome.faults)) == bool(outcome.dropped)
    return run.notes, outcome.dropped


def test_a_real_receiver_says_which_it_is() -> None:
    notes, dropped = received(8, 400, 200, iter(lambda: 0.01, None))
    assert dropped
    assert "is too slow, not its ring too small: it takes " in "".join(notes)

    def once() -> Iterator[float]:
        for number in range(1000):
            yield 0.2 if number == 50 else 0.0

    notes, dropped = received(8, 400, 400, once())
    assert dropped
    slots = int(numbers(TOO_SMALL, "".join(notes))[0])
    assert 0.2 * 400 <= slots <= 400
    assert received(slots, 400, 400, once()) == ([], 0)
