"""`framelane jungfrau send`: a simulated detector's packets, to try a recorder without hardware."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from framelane.base.errors import ConfigError
from framelane.base.progress import say
from framelane.base.stopping import stop_on_signals
from framelane.calibration import write_calibration
from framelane.models.detector.detector_packets import DetectorPackets
from framelane.models.jungfrau.jf_detector import FIRST_BUNCH_ID, Detector, DetectorConfig
from framelane.packets.detector_file import JUNGFRAU, load_detector
from framelane.source.detector_sender import DetectorSender

DISTINCT = 8
"""Frames that are simulated; after them they come again, under new numbers."""
_MOST_MODULES = 32
_MOST_COUNTS = 4096
"""The counts of a pixel of another detector: 12 bits."""
_NAP_S = 0.1
"""Longest time in which a signal is not looked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SendOptions:
    """What the user chose; `frames` None: until a signal. ConfigError for what cannot be."""

    host: str
    port: int
    modules: int
    interfaces: int | None
    detector: str | None
    """A description, or the name of one; None: a JUNGFRAU."""
    size: int | None
    """Bytes of a packet; None: as the description has them first."""
    frames: int | None
    rate: float
    seed: int
    calibration: Path | None
    force: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.modules <= _MOST_MODULES:
            raise ConfigError(f"--modules {self.modules} cannot be simulated: give 1 to {_MOST_MODULES}")
        if not 0 < self.rate <= 1e6:
            raise ConfigError(f"--rate {self.rate:g} is not a frame rate: give frames per second")
        if self.frames is not None and self.frames < 1:
            raise ConfigError(f"--frames {self.frames} is too few: give 1 or more")
        if self.detector is not None and self.calibration is not None:
            raise ConfigError("--calibration is of the simulated JUNGFRAU: leave it out with --detector")

    def number_of(self, size_bytes: list[int]) -> int:
        """Which of these sizes packets have. ConfigError where none."""
        if self.size is None:
            return 0
        if self.size not in size_bytes:
            raise ConfigError(f"--size {self.size} is none of this detector: give {' or '.join(map(str, size_bytes))}")
        return size_bytes.index(self.size)


def run(options: SendOptions, console: Console) -> int:
    """Send; the number of frames that were sent."""
    period_ns = int(1e9 / options.rate)
    packets = load_detector(options.detector or JUNGFRAU)
    size, interfaces = options.number_of(packets.packet_bytes), options.interfaces
    with DetectorSender(options.host, options.port, options.modules, interfaces, packets, size) as sender:
        images = list(_images(options, packets, period_ns))
        prepared = [sender.prepare(image) for image in images]
        with stop_on_signals() as stop:
            start, sent = time.monotonic(), 0
            while not stop.wanted and sent != options.frames:
                wait = start + sent / options.rate - time.monotonic()
                if wait > 0:
                    time.sleep(min(wait, _NAP_S))
                    continue
                bunch_id = FIRST_BUNCH_ID + sent
                sender.send(prepared[sent % len(prepared)], sent + 1, bunch_id, sent * period_ns, period_ns // 2)
                sent += 1
            elapsed = time.monotonic() - start
    say(console, f"{sent} frames sent in {elapsed:.2f} s")
    return sent


def _images(options: SendOptions, packets: DetectorPackets, period_ns: int) -> Iterator[NDArray[np.uint16]]:
    """The distinct images; the simulated JUNGFRAU's calibration is written on the way."""
    count = min(DISTINCT, options.frames or DISTINCT)
    if options.detector is not None:
        shape = options.modules * packets.module.rows, packets.module.columns
        random = np.random.default_rng(options.seed)
        yield from (random.integers(0, _MOST_COUNTS, shape, np.uint16) for _ in range(count))
        return
    detector = Detector(DetectorConfig(modules=options.modules, seed=options.seed, period_ns=period_ns))
    if options.calibration is not None:
        write_calibration(options.calibration, detector.calibration, force=options.force)
    yield from (detector.frame(index).raw for index in range(count))
