"""How well a clock that PTP sets keeps a master's time; the truth is the simulation's own time."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from framelane.base.errors import SimulationError
from framelane.bench.runner import Measurement, Target
from framelane.bench.transmitter.ptp import ptp_page
from framelane.bench.transmitter.ptp.ptp_case import FOLLOWED_S, Case, board
from framelane.bench.transmitter.ptp.ptp_disturbances import DISTURBANCES, disturbance_row
from framelane.bench.transmitter.ptp.ptp_two_boards import PAIRS, two_boards
from framelane.driver.ptp.slave import PtpSlave
from framelane.models.time.ptp_network import PtpNetwork

HELD_S = (10.0, 60.0)
_LOOK_S = 0.1
TRIGGERS = 10_000

LIMIT_LOCK_S = 20.0
LIMIT_MEAN_NS = 1.0
LIMIT_RMS_NS = 2.0


CASES = [
    *(Case(ppm=ppm, seed=seed) for ppm in (-100, 100) for seed in (1, 2, 3)),
    *(Case(ppm=ppm, shape="exponential", two_step=False, seed=4) for ppm in (-100, 100)),
    Case(ppm=0, seed=5),
    Case(ppm=100, log=-6, lock_ns=8.0),
    Case(ppm=100, log=-5, lock_ns=15.0),
    Case(ppm=100, log=-4, lock_ns=30.0),
    Case(ppm=100, jitter_ns=0.0),
    Case(ppm=100, jitter_ns=100.0),
    Case(ppm=100, wander_ppb=0.1, lock_ns=15.0),
    Case(ppm=100, wander_ppb=1.0, lock_ns=100.0),
]


def looks(network: PtpNetwork, slave: PtpSlave, until: float) -> Iterator[tuple[float, float]]:
    """Seconds and the clock's error in ns, ten times a second."""
    while network.seconds() < until - 1e-6:
        network.run(_LOOK_S, slave.steer)
        yield network.seconds(), network.error_ns()


def row(case: Case, followed_s: float = FOLLOWED_S) -> dict[str, Any]:
    """Run one case. SimulationError where it never locks."""
    network, slave = board(case)
    lock_s, errors, said, unlocked = math.nan, list[float](), list[float](), 0
    steps = 0
    for seconds, error in looks(network, slave, followed_s):
        status = slave.status
        if math.isnan(lock_s) and status.locked:
            lock_s, steps = seconds, status.steps
        if not math.isnan(lock_s):
            errors.append(error)
            said.append(status.uncertainty_ns or 0.0)
            unlocked += not status.locked
    if not errors:
        raise SimulationError(f"{case} never locked")
    before = network.error_ns()
    held = dict.fromkeys(HELD_S, math.nan)
    if followed_s == FOLLOWED_S:
        for after in HELD_S:
            *_, (_, error) = looks(network, slave, FOLLOWED_S + after)
            held[after] = error - before
    found = np.array(errors)
    return {
        "ppm": case.ppm,
        "jitter_ns": case.jitter_ns,
        "shape": case.shape,
        "wander_ppb": case.wander_ppb,
        "messages_per_s": 2.0**-case.log,
        "steps": 2 if case.two_step else 1,
        "seed": case.seed,
        "lock_ns": case.lock_ns,
        "lock_s": lock_s,
        "mean_ns": float(found.mean()),
        "rms_ns": ptp_page.root(found),
        "worst_ns": float(np.abs(found).max()),
        "said_ns": float(np.mean(said)),
        "steps_after_lock": slave.status.steps - steps,
        "unlocked_looks": unlocked,
        **{f"held_{after:.0f}_s_ns": held[after] for after in HELD_S},
        "promised": case.promised,
    }


def measure() -> Measurement:
    """One row a case; the targets are of +-100 ppm, 1 us of jitter, 128 messages a second."""
    rows = [row(case) for case in CASES]
    disturbances = [disturbance_row(each) for each in DISTURBANCES]
    pairs = [two_boards(TRIGGERS, pair) for pair in PAIRS]
    apart = [float(np.abs(stamps.differences).max()) for stamps in pairs]
    promised = [each for each in rows if each["promised"]]
    what = "+-100 ppm, 1 us of jitter, 128 messages a second"
    steps = sum(each["steps_after_lock"] for each in (*rows, *disturbances))
    targets = [
        _target(f"lock, {what}", max(each["lock_s"] for each in promised), "s", LIMIT_LOCK_S),
        _target(f"mean offset after lock, {what}", max(abs(each["mean_ns"]) for each in promised), "ns", LIMIT_MEAN_NS),
        _target(f"rms offset after lock, {what}", max(each["rms_ns"] for each in promised), "ns", LIMIT_RMS_NS),
        _target("steps after lock, all cases", steps, "", 0),
        _target(f"frame stamps of two boards, worst of {TRIGGERS:,}", apart[0], "ns", ptp_page.CLOCK_NS),
        _target("frame stamps of other pairs, worst of as many each", max(apart[1:]), "ns", ptp_page.CLOCK_NS),
    ]
    shown = [short(each) for each in rows]
    return Measurement(rows, targets, shown=shown, page=ptp_page.page(rows, disturbances, pairs))


def _target(what: str, value: float, unit: str, limit: float) -> Target:
    return Target(what=what, value=value, unit=unit, limit=limit, better="lower")


def short(each: dict[str, Any]) -> dict[str, Any]:
    """A row for the console."""
    names = ("ppm", "jitter_ns", "shape", "wander_ppb", "messages_per_s", "lock_s", "mean_ns", "rms_ns", "worst_ns")
    return {name: each[name] for name in (*names, "held_10_s_ns", "held_60_s_ns")}
