"""The grandmaster and its network, by themselves: what they tell is the truth, but for what was asked to be wrong."""

from dataclasses import replace
from random import Random

import pytest

from framelane.models.time import time_counter
from framelane.models.time.grandmaster import Grandmaster, MasterSettings, Step, interval
from framelane.models.time.ptp_message import Announced, Flag, Kind, Message, PortIdentity
from framelane.models.time.ptp_network import BoardClock, Oscillator, Path, PtpNetwork
from framelane.models.time.time_counter import NS, SECOND

START = 1_800_000_000 * SECOND
HONEST = MasterSettings(port=PortIdentity(1), announced=Announced(grandmaster=1), log_sync=-3, log_delay=-3)
US = PortIdentity(2)


def messages(settings: MasterSettings, seconds: float) -> list[tuple[int, Message]]:
    master, sent = Grandmaster(settings, START), list[tuple[int, Message]]()
    while master.next_moment < START + seconds * SECOND:
        sent += master.act()
    return sent


@pytest.mark.parametrize("two_step", [False, True])
def test_a_sync_tells_when_it_left(two_step: bool) -> None:
    sent = messages(replace(HONEST, two_step=two_step), 2)
    syncs = {m.sequence: (at, m) for at, m in sent if m.kind is Kind.SYNC}
    told = {m.sequence: m for _, m in sent if m.kind is (Kind.FOLLOW_UP if two_step else Kind.SYNC)}
    assert list(syncs) == list(range(16)) == list(told)
    assert all(told[n].time_ns * NS == at for n, (at, _) in syncs.items())
    assert {Flag.TWO_STEP in m.flags for _, m in syncs.values()} == {two_step}
    assert sum(m.kind is Kind.ANNOUNCE for _, m in sent) == 2


def test_what_is_wrong_begins_when_it_shall() -> None:
    at = START + SECOND
    wrong = replace(HONEST, steps=(Step(at, 5 * NS),), rate_ppb=1000, rate_from=at, silent=((at, at + SECOND),))
    master = Grandmaster(wrong, START)
    assert master.time_at(at - 1) == at - 1
    assert master.time_at(at) - at == 5 * NS
    assert master.time_at(at + SECOND) - at - SECOND == 5 * NS + 1000 * NS
    assert [(m.kind, when >= at) for when, m in messages(wrong, 2) if when >= at] == []
    request = Message(kind=Kind.DELAY_REQ, source=US, sequence=7)
    assert master.answer(request, at + NS) is None
    assert master.answer(replace(request, domain=1), at - SECOND) is None
    answered = master.answer(request, at - SECOND + NS)
    assert answered
    assert (answered[1].time_ns, answered[1].requester) == ((at - SECOND) // NS + 4, US), "the next tick"


def test_a_leap_second_is_announced_and_counted() -> None:
    leap = replace(HONEST, leap_at=START + 2 * SECOND)
    said = [(m.announced.utc_offset_s, Flag.LEAP_61 in m.flags) for _, m in messages(leap, 4) if m.announced]
    assert said == [(37, True)] * 2 + [(38, False)] * 2
    silent = replace(leap, leap_unannounced=True)
    assert not any(Flag.LEAP_61 in m.flags for _, m in messages(silent, 4))


def test_the_boards_clock_is_the_counter_whatever_it_is_asked() -> None:
    now = [START]
    clock = BoardClock(Oscillator(ppm=50), lambda: now[0], Random(1))
    period = Oscillator(ppm=50).period / 2**16
    first, moment = clock.read(), clock.stamp_next(START)[0]
    now[0] += round(1000 * period) + NS
    edge, stamp = clock.stamp_next(now[0])
    cycles = round((edge - moment) / period)
    assert edge - moment == pytest.approx(cycles * period, abs=2)
    assert 0 <= edge - now[0] < period
    assert stamp == time_counter.advance(time_counter.Clock(first + 4 * NS), time_counter.Rate(), cycles).time
    clock.step(-7)
    assert (clock.read(), clock.steps) == (stamp - 7, [(now[0], -7)])
    assert clock.adjust(-1000.3) == pytest.approx(-1000.3, abs=0.06)
    now[0] += round(10**8 * period)
    assert clock.read() - stamp + 7 == pytest.approx(4 * NS * 10**8 * (1 - 1000.3e-9), abs=9 * NS)


def test_a_path_delays_and_loses_as_it_is_told() -> None:
    master = Grandmaster(replace(HONEST, two_step=False), START)
    path = Path(there=700, back=300, jitter=100, loss=0.25)
    network = PtpNetwork([master], path, Oscillator(ppm=10), start=START, identity=US, seed=3)
    network.clock.step(START)
    network.clock.adjust(-10_000)
    late: list[float] = []

    def board() -> float:
        while received := network.receive():
            message, stamp = received
            if message.kind is Kind.SYNC:
                late.append((stamp - message.time_ns * NS) / NS)
        return 1.0

    network.run(100, board)
    assert len(late) == pytest.approx(0.75 * 800, rel=0.1)
    assert 700 - 8 <= min(late) < 708
    assert 795 < max(late) <= 800 + 8
    assert master.sent[Kind.SYNC] == 100 * SECOND // interval(-3)
