"""`framelane emulate`: the golden transmitter as a live source, for a host whose board is not there yet."""

import contextlib
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from framelane.cli.credit import Credit, open_credit
from framelane.cli.emulate_images import images
from framelane.cli.emulate_outcome import Outcome
from framelane.cli.emulated_source import EmulatedSource, Schedule
from framelane.cli.impair import ImpairOptions, Line, describe, document
from framelane.cli.stages import say
from framelane.cli.stopping import stop_on_signals
from framelane.cli.wire_options import WireOptions
from framelane.driver.emulator import Emulator
from framelane.driver.sender import udp_session
from framelane.models.errors import ConfigError

_MOST_PER_S = 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class EmulateOptions:
    """What the user chose. The session comes from a file, or from the receiver `to`; the rest: see `Schedule`.

    ConfigError for what cannot be.
    """

    session: Path | None
    to: str | None
    wire: WireOptions
    impair: ImpairOptions
    source: int = 0
    rate: float | None = None
    frames: int | None = None
    input: Path | None = None
    calibration: Path | None = None
    seed: int = 1
    report: Path | None = None

    def __post_init__(self) -> None:
        if (self.session is None) == (self.to is None):
            raise ConfigError("a source needs its receiver's session: give --to HOST, or else --session FILE")
        if self.rate is not None and not 0 < self.rate <= _MOST_PER_S:
            raise ConfigError(f"--rate {self.rate:g} is no frame rate: give frames per second, up to {_MOST_PER_S:g}")
        if self.frames is not None and self.frames < 1:
            raise ConfigError(f"--frames {self.frames} is too few: give 1 or more")
        if self.seed < 0:
            raise ConfigError(f"--seed {self.seed} is negative: give 0 or more")
        if self.calibration is not None and self.input is None:
            raise ConfigError("--calibration is for the frames of a file: give --input as well")


def run(options: EmulateOptions, console: Console) -> Outcome:
    """Send; what has left. FramelaneError for bad input, and where nothing could be sent."""
    with contextlib.ExitStack() as stack:
        credit = stack.enter_context(open_credit(options.session, options.to, options.source))
        session = credit.session
        if options.wire.transport == "udp":
            session = udp_session(session, options.source)
        emulator = Emulator(session, options.source)
        sender = stack.enter_context(options.wire.open(session))
        status = stack.enter_context(console.status("prepare the frames"))
        pictures = images(session, options.input, options.calibration, options.seed)
        prepared = [emulator.prepare(picture) for picture in pictures]
        schedule = Schedule(options.rate, options.frames)
        impairment = options.impair.make(1)
        source = EmulatedSource(schedule, emulator, prepared, credit, Line(sender, impairment))
        with stop_on_signals() as stop:
            sender.stopped = lambda: stop.wanted
            source.run(stop, status.update)
        outcome = source.outcome
        _judge_answers(outcome, sender.unheard, credit)
    say(console, "\n".join([*outcome.lines(), *describe(impairment)]))
    if options.report is not None:
        outcome.save(options.report, **document(impairment))
    return outcome


def _judge_answers(outcome: Outcome, unheard: int, credit: Credit) -> None:
    """What it means that the receiver's machine says by ICMP that nobody has the UDP port open.

    So it does, too, where a receiver takes the packets before its kernel: one that speaks on the link is there.
    """
    if unheard and not credit.grows:
        outcome.faults.append(
            f"the receiver's machine said {unheard} times that nobody has the UDP port open: start the receiver first, "
            "or correct --port (only a receiver with --transport packet hears all the same)"
        )
