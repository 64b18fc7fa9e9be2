"""`framelane jungfrau send`: a simulated detector's packets, to try a recorder without hardware."""

import time
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from framelane.base.errors import ConfigError
from framelane.base.progress import say
from framelane.base.stopping import stop_on_signals
from framelane.calibration import write_calibration
from framelane.models.jungfrau.jf_detector import Detector, DetectorConfig
from framelane.source.jungfrau_sender import JungfrauSender

DISTINCT = 8
"""Frames that are simulated; after them they come again, under new numbers."""
_MOST_MODULES = 32
_NAP_S = 0.1
"""Longest time in which a signal is not looked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SendOptions:
    """What the user chose; `frames` None: until a signal. ConfigError for what cannot be."""

    host: str
    port: int
    modules: int
    interfaces: int
    frames: int | None
    rate: float
    seed: int
    calibration: Path | None
    force: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.modules <= _MOST_MODULES:
            raise ConfigError(f"--modules {self.modules} cannot be simulated: give 1 to {_MOST_MODULES}")
        if not 0 < self.rate <= 1e6:
            raise ConfigError(f"--rate {self.rate:g} is no frame rate: give frames per second")
        if self.frames is not None and self.frames < 1:
            raise ConfigError(f"--frames {self.frames} is too few: give 1 or more")


def run(options: SendOptions, console: Console) -> int:
    """Send; the number of frames that were sent."""
    period_ns = int(1e9 / options.rate)
    detector = Detector(DetectorConfig(modules=options.modules, seed=options.seed, period_ns=period_ns))
    if options.calibration is not None:
        write_calibration(options.calibration, detector.calibration, force=options.force)
    with JungfrauSender(options.host, options.port, options.modules, options.interfaces) as sender:
        distinct = [detector.frame(index) for index in range(min(DISTINCT, options.frames or DISTINCT))]
        prepared = [sender.prepare(frame.raw) for frame in distinct]
        with stop_on_signals() as stop:
            start, sent = time.monotonic(), 0
            while not stop.wanted and sent != options.frames:
                wait = start + sent / options.rate - time.monotonic()
                if wait > 0:
                    time.sleep(min(wait, _NAP_S))
                    continue
                bunch_id = distinct[0].bunch_id + sent
                sender.send(prepared[sent % len(prepared)], sent + 1, bunch_id, sent * period_ns, period_ns // 2)
                sent += 1
            elapsed = time.monotonic() - start
    say(console, f"{sent} frames sent in {elapsed:.2f} s")
    return sent
