"""A board's clock beside masters, for tests: what it comes to, and what was true."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from framelane.driver.ptp.settings import PtpSettings
from framelane.driver.ptp.slave import PtpSlave
from framelane.driver.ptp.status import PtpState, PtpStatus
from framelane.models.time.grandmaster import Grandmaster, MasterSettings
from framelane.models.time.ptp_message import Announced, PortIdentity
from framelane.models.time.ptp_network import Oscillator, Path, PtpNetwork
from framelane.models.time.time_counter import SECOND

START = 1_800_000_000 * SECOND
MASTER, BETTER, US = PortIdentity(1), PortIdentity(5), PortIdentity(9)
HONEST = MasterSettings(port=MASTER, announced=Announced(grandmaster=1), log_sync=-5, log_delay=-5)
QUIET = Path(there=500, back=500, jitter=200)
SETTINGS = PtpSettings(lock_ns=20)


def at(seconds: float) -> int:
    """The moment so long after the beginning."""
    return START + round(seconds * SECOND)


def silent_until(settings: MasterSettings, seconds: float) -> MasterSettings:
    """The same master, which begins later."""
    return replace(settings, silent=((0, at(seconds)), *settings.silent))


@dataclass
class Seen:
    """A change of state, fault or warning, and the error in ns at that time."""

    seconds: float
    status: PtpStatus
    error_ns: float


@dataclass
class PtpRun:
    """A slave with one master or several; `history` has every change of its state and its sentences."""

    masters: list[MasterSettings]
    path: Path = QUIET
    oscillator: Oscillator = field(default_factory=lambda: Oscillator(ppm=42))
    settings: PtpSettings = SETTINGS
    seed: int = 3

    def __post_init__(self) -> None:
        masters = [Grandmaster(each, START) for each in self.masters]
        self.network = PtpNetwork(masters, self.path, self.oscillator, start=START, identity=US, seed=self.seed)
        clock, messages = self.network.clock, self.network
        self.slave = PtpSlave(clock, messages, self.settings, monotonic=self.network.seconds, seed=1)
        self.history: list[Seen] = []
        self._before: tuple[object, ...] = ()

    def run(self, until: float, look: Callable[[PtpStatus, float], None] | None = None) -> PtpStatus:
        """Go on until that second; `look(status, error_ns)` ten times a second. The last status."""
        while self.network.seconds() < until - 1e-6:
            self.network.run(0.1, self.slave.steer)
            status, error = self.slave.status, self.network.error_ns()
            if (now := (status.state, status.fault, status.warning, status.master)) != self._before:
                self.history.append(Seen(self.network.seconds(), status, error))
                self._before = now
            if look:
                look(status, error)
        return self.slave.status

    @property
    def states(self) -> list[PtpState]:
        """The states that it went through."""
        found: list[PtpState] = []
        for seen in self.history:
            if not found or found[-1] is not seen.status.state:
                found.append(seen.status.state)
        return found

    @property
    def error_ns(self) -> float:
        """How far the clock is ahead of TAI now."""
        return self.network.error_ns()

    @property
    def steps(self) -> int:
        """How often the clock was stepped."""
        return len(self.network.clock.steps)
