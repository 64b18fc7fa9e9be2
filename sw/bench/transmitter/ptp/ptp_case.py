"""A board in a network with a master, as `framelane bench ptp` measures it."""

from dataclasses import dataclass
from typing import Literal

from framelane.driver.ptp.settings import PtpSettings
from framelane.driver.ptp.slave import PtpSlave
from framelane.models.time.grandmaster import Grandmaster, MasterSettings
from framelane.models.time.ptp_message import Announced, PortIdentity
from framelane.models.time.ptp_network import Oscillator, Path, PtpNetwork
from framelane.models.time.time_counter import SECOND

START = 1_800_000_000 * SECOND
FOLLOWED_S = 140.0
"""So long a master is there that vanishes then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One row: an oscillator, a network, a master that sends 2^-`log` messages of each kind a second.

    The master `vanishes` after `FOLLOWED_S`.
    """

    ppm: float
    shape: Literal["uniform", "exponential"] = "uniform"
    jitter_ns: float = 1000.0
    log: int = -7
    lock_ns: float = 5.0
    two_step: bool = True
    wander_ppb: float = 0.0
    seed: int = 1
    vanishes: bool = True

    @property
    def promised(self) -> bool:
        """Whether the targets are of this one."""
        return abs(self.ppm) == 100 and (self.log, self.jitter_ns, self.wander_ppb) == (-7, 1000.0, 0.0)


def board(case: Case) -> tuple[PtpNetwork, PtpSlave]:
    """A board's clock, not yet set, in the network of `case`, and what sets it."""
    settings = MasterSettings(
        port=PortIdentity(1),
        announced=Announced(grandmaster=1),
        two_step=case.two_step,
        log_sync=case.log,
        log_delay=case.log,
        silent=((START + round(FOLLOWED_S * SECOND), START + 1000 * SECOND),) if case.vanishes else (),
    )
    oscillator = Oscillator(ppm=case.ppm, wander_ppb=case.wander_ppb)
    path = Path(jitter=case.jitter_ns, shape=case.shape)
    masters = [Grandmaster(settings, START)]
    network = PtpNetwork(masters, path, oscillator, start=START, identity=PortIdentity(2), seed=case.seed)
    wanted = PtpSettings(lock_ns=case.lock_ns)
    return network, PtpSlave(network.clock, network, wanted, monotonic=network.seconds, seed=case.seed)
