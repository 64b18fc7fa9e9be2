"""Two boards stamp the same triggers: the servo sets models of their clocks, the gateware stamps by Verilator."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import SimulationError
from framelane.bench.transmitter.ptp.ptp_case import Case, board
from framelane.driver.ptp.slave import PtpSlave
from framelane.driver.simulated.time.verilated_stamps import HIGH, MOMENT_BITS, StampSimulator
from framelane.models.time import time_counter
from framelane.models.time.ptp_network import ClockEdge, PtpNetwork
from framelane.models.time.time_counter import FRACTION_BITS, NS, Clock

LOCKED_S = 20.0
"""Triggers begin when both are locked, but not before."""
_PATIENCE_S = 300.0
BURST = 100
"""Triggers in a row, between which no servo acts."""
PAUSE_S = 1.0
"""From one burst to the next."""
_APART_NS = (2.0 * HIGH / (1 << MOMENT_BITS), 1000.0)
_EDGE_BITS = 48
"""A `ClockEdge` has 2^-48 ns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two boards, by the seeds of their networks: the first is 100 ppm too slow, the other as much too fast."""

    seeds: tuple[int, int] = (11, 12)
    lock_ns: float = 5.0


PAIRS = [Pair(), *(Pair(seeds=(seed, seed + 1), lock_ns=1.0) for seed in (11, 13, 15, 17, 19, 21))]


@dataclass(frozen=True)
class Stamps:
    """What two boards' stamps of each trigger differ by, and each from the truth, in ns.

    `errors` has a row for each board. `clocks` has one, too: what its clock itself was wrong by at each burst, so that
    the rest is of the stamp. Both were locked after `locked_s`.
    """

    pair: Pair
    locked_s: float
    differences: NDArray[np.float64]
    errors: NDArray[np.float64]
    clocks: NDArray[np.float64]


def two_boards(triggers: int, pair: Pair = PAIRS[0]) -> Stamps:
    """Stamps of the same triggers, in bursts, on two boards, from the moment on at which both are locked.

    SimulationError where a board is not locked, or the gateware's clock is not where the model's is.
    """
    cases = [
        Case(ppm=ppm, seed=seed, lock_ns=pair.lock_ns, vanishes=False)
        for ppm, seed in zip((-100, 100), pair.seeds, strict=True)
    ]
    boards = [board(case) for case in cases]
    chance = np.random.default_rng(13)
    locked_s = 0.0
    while locked_s < LOCKED_S or not all(slave.status.locked for _, slave in boards):
        locked_s += 1.0
        if locked_s > _PATIENCE_S:
            raise SimulationError(f"{pair} has not locked after {_PATIENCE_S:g} s")
        for network, slave in boards:
            network.run(1.0, slave.steer)
    found, clocks = list[NDArray[np.float64]](), list[list[float]]()
    while sum(burst.shape[1] for burst in found) < triggers:
        for network, slave in boards:
            network.run(PAUSE_S, slave.steer)
        after = np.cumsum(chance.uniform(*_APART_NS, min(BURST, triggers)))
        clocks.append([network.error_ns() for network, _ in boards])
        found.append(np.array([_errors(network, slave, after) for network, slave in boards]))
    errors = np.concatenate(found, axis=1)[:, :triggers]
    return Stamps(pair, locked_s, errors[1] - errors[0], errors, np.array(clocks).T)


def _errors(network: PtpNetwork, slave: PtpSlave, after: NDArray[np.float64]) -> list[float]:
    """How many ns too late the stamps of triggers are that come so many ns from now."""
    if not slave.status.locked:
        raise SimulationError("a board has lost its lock")
    edge = network.clock.last_edge()
    since = (network.now << _EDGE_BITS - FRACTION_BITS) - edge.moment
    moments = [(since + round(ns * (1 << _EDGE_BITS))) >> _EDGE_BITS - MOMENT_BITS for ns in after.tolist()]
    period = edge.period >> _EDGE_BITS - MOMENT_BITS
    with StampSimulator(period, edge.time, edge.rate) as simulator:
        stamps = simulator.stamp(np.array(moments, np.uint64)).tolist()
        _compare(edge, period, *simulator.now())
    return [stamp - network.now // NS - (network.now % NS) / NS - ns for stamp, ns in zip(stamps, after, strict=True)]


def _compare(edge: ClockEdge, period: int, moment: int, time: int) -> None:
    """Both clocks have gone the same way."""
    model = time_counter.advance(Clock(edge.time), edge.rate, moment // period).time
    if time != model:
        raise SimulationError(f"time_counter is {(time - model) / NS} ns off its model")
