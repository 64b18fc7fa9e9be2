"""What may go wrong with a master or the way to it, and what a clock does then that follows it."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from framelane.base.errors import SimulationError
from framelane.bench.transmitter.ptp.ptp_case import START
from framelane.driver.ptp.settings import PtpSettings
from framelane.driver.ptp.slave import PtpSlave
from framelane.models.time.grandmaster import Grandmaster, MasterSettings, Step
from framelane.models.time.ptp_message import Announced, PortIdentity
from framelane.models.time.ptp_network import Oscillator, Path, PtpNetwork
from framelane.models.time.time_counter import NS, SECOND

AT_S = 40.0
"""When it happens."""
END_S = 90.0
_LOOK_S = 0.1
_BACK_S = 55.0
_AT = START + round(AT_S * SECOND)
_HONEST = MasterSettings(port=PortIdentity(1), announced=Announced(grandmaster=1))
_LATER = MasterSettings(port=PortIdentity(5), announced=Announced(grandmaster=5, priority1=1), silent=((START, _AT),))
_PATH = Path()


def _one_way(network: PtpNetwork) -> None:
    network.path = replace(network.path, there=network.path.there + 1000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Disturbance:
    """One row: masters, the path to them, and what `happens` at `AT_S` beside what the masters do."""

    what: str
    ppm: float = 100.0
    masters: tuple[MasterSettings, ...] = (_HONEST,)
    path: Path = _PATH
    asymmetry_ns: float = 0.0
    happens: Callable[[PtpNetwork], None] | None = None


DISTURBANCES = [
    Disturbance(
        what="the way from the master is 400 ns longer, and the slave was told", path=Path(there=900), asymmetry_ns=200
    ),
    Disturbance(what="it is, and nobody knows", ppm=-100, path=Path(there=900)),
    Disturbance(what="it becomes 1 us longer", happens=_one_way),
    Disturbance(what="the master steps by +1 us", masters=(replace(_HONEST, steps=(Step(_AT, 1000 * NS),)),)),
    Disturbance(
        what="it steps by -1 us, and back 15 s later",
        ppm=-100,
        masters=(replace(_HONEST, steps=(Step(_AT, -1000 * NS), Step(START + round(_BACK_S * SECOND), 1000 * NS))),),
    ),
    Disturbance(
        what="it vanishes, and comes back 15 s later",
        masters=(replace(_HONEST, silent=((_AT, START + round(_BACK_S * SECOND)),)),),
    ),
    Disturbance(
        what="it vanishes for good", ppm=-100, masters=(replace(_HONEST, silent=((_AT, START + 1000 * SECOND),)),)
    ),
    Disturbance(
        what="it lies: its rate becomes 2 ppm higher", masters=(replace(_HONEST, rate_ppb=2000, rate_from=_AT),)
    ),
    Disturbance(what="a better master comes, of the same time", ppm=-100, masters=(_HONEST, _LATER)),
    Disturbance(
        what="a better master comes, and lies by 5 us", masters=(_HONEST, replace(_LATER, steps=(Step(0, 5000 * NS),)))
    ),
    Disturbance(what="a leap second", ppm=-100, masters=(replace(_HONEST, leap_at=_AT),)),
    Disturbance(what="one that nobody announced", masters=(replace(_HONEST, leap_at=_AT, leap_unannounced=True),)),
]


def disturbance_row(disturbance: Disturbance, seed: int = 21) -> dict[str, Any]:
    """Run one. SimulationError where it is not locked when it happens."""
    masters = [Grandmaster(each, START) for each in disturbance.masters]
    oscillator, us = Oscillator(ppm=disturbance.ppm), PortIdentity(2)
    network = PtpNetwork(masters, disturbance.path, oscillator, start=START, identity=us, seed=seed)
    settings = PtpSettings(lock_ns=5.0, asymmetry_ns=disturbance.asymmetry_ns)
    slave = PtpSlave(network.clock, network, settings, monotonic=network.seconds, seed=seed)
    lock_s, worst, steps = math.nan, 0.0, 0
    while network.seconds() < END_S - 1e-6:
        if disturbance.happens and abs(network.seconds() - AT_S) < _LOOK_S / 2:
            disturbance.happens(network)
        network.run(_LOOK_S, slave.steer)
        if math.isnan(lock_s) and slave.status.locked:
            lock_s, steps = network.seconds(), slave.status.steps
        if not math.isnan(lock_s):
            worst = max(worst, abs(network.error_ns()))
    if not lock_s < AT_S:
        raise SimulationError(f"{disturbance.what}: it was not locked after {AT_S:g} s")
    status = slave.status
    return {
        "disturbance": disturbance.what,
        "ppm": disturbance.ppm,
        "seed": seed,
        "lock_s": lock_s,
        "state": status.state.value,
        "worst_ns": worst,
        "end_ns": network.error_ns(),
        "steps_after_lock": status.steps - steps,
        "said": status.fault or status.warning,
    }
