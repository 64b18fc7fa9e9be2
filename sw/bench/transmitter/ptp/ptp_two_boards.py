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
"""Both are locked by then."""
BURST = 100
"""Triggers in a row, between which no servo acts."""
PAUSE_S = 1.0
"""From one burst to the next."""
_APART_NS = (2.0 * HIGH / (1 << MOMENT_BITS), 1000.0)
_EDGE_BITS = 48
"""A `ClockEdge` has 2^-48 ns."""


@dataclass(frozen=True)
class Stamps:
    """What two boards' stamps of each trigger differ by, and each from the truth, in ns.

    `errors` has a row for each board.
    """

    differences: NDArray[np.float64]
    errors: NDArray[np.float64]


def two_boards(triggers: int) -> Stamps:
    """Stamps of the same triggers, in bursts, on two boards, one 100 ppm too fast, one as much too slow.

    SimulationError where a board is not locked, or the gateware's clock is not where the model's is.
    """
    boards = [board(Case(ppm=ppm, seed=seed)) for ppm, seed in ((-100, 11), (100, 12))]
    chance = np.random.default_rng(13)
    for network, slave in boards:
        network.run(LOCKED_S, slave.steer)
    found: list[NDArray[np.float64]] = []
    while sum(burst.shape[1] for burst in found) < triggers:
        for network, slave in boards:
            network.run(PAUSE_S, slave.steer)
        after = np.cumsum(chance.uniform(*_APART_NS, min(BURST, triggers)))
        found.append(np.array([_errors(network, slave, after) for network, slave in boards]))
    errors = np.concatenate(found, axis=1)[:, :triggers]
    return Stamps(errors[1] - errors[0], errors)


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
