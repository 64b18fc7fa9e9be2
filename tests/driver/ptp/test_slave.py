"""A board's clock beside a simulated grandmaster, good and bad: it locks, or says why not."""

from dataclasses import replace

import pytest

from framelane.base.errors import ConfigError
from framelane.driver.ptp.settings import PtpSettings
from framelane.driver.ptp.status import PtpState
from framelane.models.time.grandmaster import MasterSettings, Step
from framelane.models.time.ptp_message import Announced, Kind
from framelane.models.time.ptp_network import Oscillator, Path
from framelane.models.time.time_counter import NS
from ptp_run import BETTER, HONEST, QUIET, SETTINGS, PtpRun, at, silent_until

LOCKING = [PtpState.LISTENING, PtpState.MEASURING, PtpState.TRACKING, PtpState.LOCKED]
LOCKED_BY = 15.0
OFF_NS = 12.0
"""So far the clock is off at most with a path of 200 ns of jitter and 32 messages a second, once it is locked."""


@pytest.mark.parametrize("two_step", [False, True])
@pytest.mark.parametrize("ppm", [-100, 100])
def test_it_locks_with_one_step_and_stays(ppm: float, two_step: bool) -> None:
    run = PtpRun([replace(HONEST, two_step=two_step)], oscillator=Oscillator(ppm=ppm))
    run.run(LOCKED_BY)
    assert run.states == LOCKING
    errors: list[float] = []
    last = run.run(30, lambda status, error: errors.append(error if status.locked else 1e9))
    assert max(map(abs, errors)) < OFF_NS
    assert run.steps == 1
    assert last.path_delay_ns == pytest.approx(500, abs=10)
    assert last.rate_ppb == pytest.approx(-1000 * ppm, abs=50)
    assert (last.master, last.utc_offset_s, last.tai, last.fault, last.warning) == (
        "000000.0000.000001-1",
        37,
        True,
        "",
        "",
    )
    assert last.counters["unanswered"] == 0
    assert last.counters["answered"] == last.counters["requests"] > 500


@pytest.mark.parametrize("step_ns", [1_000, -1_000, 10**9])
def test_a_master_that_steps_is_named_and_not_followed(step_ns: int) -> None:
    run = PtpRun([replace(HONEST, steps=(Step(at(LOCKED_BY + 1), step_ns * NS),))])
    run.run(LOCKED_BY)
    last = run.run(50)
    assert last.state is PtpState.HOLDOVER
    assert told(last.fault) == pytest.approx(step_ns, abs=20 + 1e-3 * abs(step_ns))
    assert abs(run.error_ns) < OFF_NS, "it keeps the time that it had"
    assert run.steps == 1
    assert last.holdover_s > 30
    held = next(seen for seen in run.history if seen.status.state is PtpState.HOLDOVER)
    assert held.seconds - LOCKED_BY - 1 < 0.3, "it is not called locked any more at once"


def test_a_master_that_steps_and_comes_back_is_followed_again_without_a_step() -> None:
    wrong = replace(HONEST, steps=(Step(at(16), 5_000 * NS), Step(at(22), -5_000 * NS)))
    run = PtpRun([wrong])
    last = run.run(50, lambda status, error: None if run.network.seconds() < 10 else _near(error))
    assert last.state is PtpState.LOCKED
    assert run.states == [*LOCKING, PtpState.HOLDOVER, PtpState.TRACKING, PtpState.LOCKED]
    assert run.steps == 1


def told(sentence: str) -> float:
    """The ns that a sentence tells of a step, or of a way."""
    told_of = sentence.removeprefix("the master's time made a step of ").removeprefix("the way from the master became ")
    number, unit, *_ = told_of.split()
    return float(number) * {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[unit]


def _near(error: float) -> None:
    assert abs(error) < 50


def test_a_step_is_followed_when_somebody_says_so() -> None:
    run = PtpRun([replace(HONEST, steps=(Step(at(16), 5_000 * NS),))])
    run.run(25)
    run.slave.restart()
    last = run.run(45)
    assert last.state is PtpState.LOCKED
    assert run.steps == 2
    assert run.error_ns == pytest.approx(5_000, abs=OFF_NS)


def test_a_master_whose_rate_changes_is_named_and_not_followed() -> None:
    run = PtpRun([replace(HONEST, rate_ppb=2_000, rate_from=at(16))])
    last = run.run(40)
    assert last.state is PtpState.HOLDOVER
    assert last.fault.startswith("the rate between the master and this clock changed by -")
    assert abs(run.error_ns) < OFF_NS


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (replace(HONEST, rate_ppb=500_000), "the master's rate is +458 ppm off this clock's nominal one"),
        (replace(HONEST, receipt_shift=-5_000 * NS), "by its stamps the path takes -"),
        (
            replace(HONEST, receipt_shift=500_000 * NS),
            "by its stamps the path takes 250.5 us each way, but it has answered",
        ),
    ],
)
def test_a_master_that_cannot_be_right_never_gets_a_lock(wrong: MasterSettings, sentence: str) -> None:
    run = PtpRun([wrong])
    last = run.run(15)
    assert last.fault.startswith(sentence)
    assert run.states == [PtpState.LISTENING, PtpState.MEASURING]
    assert run.steps == 0


def test_it_holds_over_a_master_that_vanishes_and_takes_it_again() -> None:
    run = PtpRun([replace(HONEST, silent=((at(16), at(40)),))])
    gone = run.run(35)
    assert (gone.state, gone.fault) == (PtpState.HOLDOVER, "no master announces itself any more")
    assert abs(run.error_ns) < OFF_NS
    assert run.run(55).state is PtpState.LOCKED
    assert run.steps == 1


def test_a_master_without_sync_is_named() -> None:
    run = PtpRun([replace(HONEST, log_sync=7)])
    assert run.run(15).fault == "the master announces itself, but sends no Sync"


def test_a_better_master_takes_over_and_a_lying_one_does_not() -> None:
    better = silent_until(replace(HONEST, port=BETTER, announced=Announced(grandmaster=5, priority1=1)), 12)
    run = PtpRun([HONEST, better])
    last = run.run(35, lambda status, error: None if run.network.seconds() < 10 else _near(error))
    assert (last.state, last.master, run.steps) == (PtpState.LOCKED, "000000.0000.000005-1", 1)
    run = PtpRun([HONEST, replace(better, steps=(Step(0, 5_000 * NS),))])
    last = run.run(35)
    assert (last.state, last.master) == (PtpState.HOLDOVER, "000000.0000.000005-1")
    assert told(last.fault) == pytest.approx(5_000, abs=25)
    assert abs(run.error_ns) < OFF_NS


@pytest.mark.parametrize("ns", [300, 1500])
def test_a_path_that_changes_both_ways_costs_nothing(ns: float) -> None:
    run = PtpRun([HONEST])
    run.run(16)
    run.network.path = Path(there=ns, back=ns, jitter=200)
    errors: list[float] = []
    last = run.run(40, lambda _, error: errors.append(abs(error)))
    assert last.state is PtpState.LOCKED
    assert last.path_delay_ns == pytest.approx(ns, abs=10)
    assert max(errors) < 2 * OFF_NS
    assert last.warning == ""


def test_a_path_that_changes_one_way_is_told_and_costs_half_of_it() -> None:
    run = PtpRun([HONEST])
    run.run(16)
    run.network.path = Path(there=1500, back=500, jitter=200)
    last = run.run(50)
    assert told(last.warning) == pytest.approx(1000, abs=20)
    assert (last.counters["asymmetries"], run.steps) == (1, 1)
    assert run.error_ns == pytest.approx(-500, abs=2 * OFF_NS)


def test_an_asymmetry_that_is_known_costs_nothing() -> None:
    run = PtpRun(
        [HONEST], path=Path(there=900, back=300, jitter=200), settings=PtpSettings(lock_ns=20, asymmetry_ns=300)
    )
    assert run.run(25).state is PtpState.LOCKED
    assert abs(run.error_ns) < OFF_NS


def test_a_leap_second_moves_no_clock_and_is_told_of_where_nobody_announced_it() -> None:
    run = PtpRun([replace(HONEST, leap_at=at(16))])
    last = run.run(25)
    assert (last.state, last.utc_offset_s, last.warning) == (PtpState.LOCKED, 38, "")
    assert abs(run.error_ns) < OFF_NS
    run = PtpRun([replace(HONEST, leap_at=at(16), leap_unannounced=True)])
    assert run.run(20).warning == "the master changed TAI - UTC by 1 s, which it had not announced as a leap second"


def test_other_domains_are_not_heard() -> None:
    run = PtpRun([replace(HONEST, domain=3)])
    last = run.run(5)
    assert (last.state, last.master) == (PtpState.LISTENING, None)
    assert last.counters["other_domain"] > 100
    assert run.network.masters[0].sent[Kind.DELAY_RESP] == 0
    last = PtpRun([replace(HONEST, domain=3)], settings=replace(SETTINGS, domain=3)).run(12)
    assert last.state is PtpState.LOCKED


def test_lost_messages_cost_time_only() -> None:
    run = PtpRun([HONEST], path=replace(QUIET, loss=0.2))
    last = run.run(30)
    assert last.state is PtpState.LOCKED
    assert abs(run.error_ns) < OFF_NS
    counted = last.counters
    assert counted["unanswered"] == pytest.approx(0.36 * counted["requests"], rel=0.15)


def test_it_begins_with_the_time_that_it_has_where_that_is_near() -> None:
    run = PtpRun([HONEST], oscillator=Oscillator(ppm=0.05))
    run.network.clock.step(at(0) - run.network.clock.read() + 400 * NS)
    assert run.run(25).state is PtpState.LOCKED
    assert (run.slave.status.steps, run.steps) == (0, 1), "400 ns are slewed"


def test_an_oscillator_that_wanders_is_followed() -> None:
    run = PtpRun([HONEST], oscillator=Oscillator(ppm=-20, wander_ppb=3.0), settings=PtpSettings(lock_ns=400))
    errors: list[float] = []
    run.run(20)
    last = run.run(120, lambda status, error: errors.append(abs(error)))
    assert last.state is PtpState.LOCKED
    assert max(errors) < 200
    assert (last.fault, run.steps) == ("", 1)


@pytest.mark.parametrize(
    "wrong", [{"domain": 256}, {"lock_ns": 0}, {"window_s": float("nan")}, {"announce_timeout": 1}, {"log_delay": -8}]
)
def test_settings_that_cannot_be_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong)).replace("domain", "PTP domain")):
        PtpSettings(**wrong)  # type: ignore[arg-type]
