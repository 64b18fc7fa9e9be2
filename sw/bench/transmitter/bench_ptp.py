"""How well a clock that PTP sets keeps a master's time; the truth is the simulation's own time."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import SimulationError
from framelane.bench.runner import Measurement, Target
from framelane.bench.transmitter import ptp_page
from framelane.driver.ptp.settings import PtpSettings
from framelane.driver.ptp.slave import PtpSlave
from framelane.models.time.grandmaster import Grandmaster, MasterSettings
from framelane.models.time.ptp_message import Announced, PortIdentity
from framelane.models.time.ptp_network import Oscillator, Path, PtpNetwork
from framelane.models.time.time_counter import NS, SECOND

START = 1_800_000_000 * SECOND
FOLLOWED_S = 140.0
"""So long the master is there; then it vanishes."""
HELD_S = (10.0, 60.0)
_LOOK_S = 0.1
TRIGGERS = 10_000
_TRIGGER_S = 0.01

LIMIT_LOCK_S = 20.0
LIMIT_MEAN_NS = 1.0
LIMIT_RMS_NS = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One row: an oscillator, a network, a master that sends 2^-`log` messages of each kind a second."""

    ppm: float
    shape: Literal["uniform", "exponential"] = "uniform"
    jitter_ns: float = 1000.0
    log: int = -7
    lock_ns: float = 5.0
    two_step: bool = True
    wander_ppb: float = 0.0
    seed: int = 1

    @property
    def promised(self) -> bool:
        """Whether the targets are of this one."""
        return abs(self.ppm) == 100 and (self.log, self.jitter_ns, self.wander_ppb) == (-7, 1000.0, 0.0)


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


def board(case: Case) -> tuple[PtpNetwork, PtpSlave]:
    """A board's clock, not yet set, in the network of `case`, and what sets it."""
    settings = MasterSettings(
        port=PortIdentity(1),
        announced=Announced(grandmaster=1),
        two_step=case.two_step,
        log_sync=case.log,
        log_delay=case.log,
        silent=((START + round(FOLLOWED_S * SECOND), START + 1000 * SECOND),),
    )
    oscillator = Oscillator(ppm=case.ppm, wander_ppb=case.wander_ppb)
    path = Path(jitter=case.jitter_ns, shape=case.shape)
    masters = [Grandmaster(settings, START)]
    network = PtpNetwork(masters, path, oscillator, start=START, identity=PortIdentity(2), seed=case.seed)
    wanted = PtpSettings(lock_ns=case.lock_ns)
    return network, PtpSlave(network.clock, network, wanted, monotonic=network.seconds, seed=case.seed)


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
        "rms_ns": rms(found),
        "worst_ns": float(np.abs(found).max()),
        "said_ns": float(np.mean(said)),
        "steps_after_lock": slave.status.steps - steps,
        "unlocked_looks": unlocked,
        **{f"held_{after:.0f}_s_ns": held[after] for after in HELD_S},
        "promised": case.promised,
    }


def rms(values: NDArray[np.float64]) -> float:
    """Root of the mean square: of errors, not of what they are off their mean."""
    return float(np.sqrt(np.mean(np.square(values))))


def two_boards(triggers: int) -> NDArray[np.float64]:
    """By how many ns the stamps of the same triggers differ on two boards, one 100 ppm too fast, one too slow."""
    boards = [board(Case(ppm=ppm, seed=seed)) for ppm, seed in ((-100, 11), (100, 12))]
    for network, slave in boards:
        network.run(LIMIT_LOCK_S, slave.steer)
    differences, chance = [], Random(13)
    for _ in range(triggers):
        stamps, after = [], chance.uniform(0, 2 * _TRIGGER_S)
        for network, slave in boards:
            network.run(after, slave.steer)
            stamps.append(network.clock.stamp_next(network.now)[1])
        differences.append((stamps[1] - stamps[0]) / NS)
    if not all(slave.status.locked for _, slave in boards):
        raise SimulationError("a board has lost its lock")
    return np.array(differences)


def measure() -> Measurement:
    """One row a case; the targets are of +-100 ppm, 1 us of jitter, 128 messages a second."""
    rows = [row(case) for case in CASES]
    differences = two_boards(TRIGGERS)
    promised = [each for each in rows if each["promised"]]
    what = "+-100 ppm, 1 us of jitter, 128 messages a second"
    targets = [
        _target(f"lock, {what}", max(each["lock_s"] for each in promised), "s", LIMIT_LOCK_S),
        _target(f"mean offset after lock, {what}", max(abs(each["mean_ns"]) for each in promised), "ns", LIMIT_MEAN_NS),
        _target(f"rms offset after lock, {what}", max(each["rms_ns"] for each in promised), "ns", LIMIT_RMS_NS),
        _target("steps after lock, all cases", sum(each["steps_after_lock"] for each in rows), "", 0),
    ]
    return Measurement(rows, targets, shown=[short(each) for each in rows], page=ptp_page.page(rows, differences))


def _target(what: str, value: float, unit: str, limit: float) -> Target:
    return Target(what=what, value=value, unit=unit, limit=limit, better="lower")


def short(each: dict[str, Any]) -> dict[str, Any]:
    """A row for the console."""
    names = ("ppm", "jitter_ns", "shape", "wander_ppb", "messages_per_s", "lock_s", "mean_ns", "rms_ns", "worst_ns")
    return {name: each[name] for name in (*names, "held_10_s_ns", "held_60_s_ns")}
