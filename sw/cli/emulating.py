"""`framelane emulate`: the golden transmitter as a live source, for a host whose board is not there yet."""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from framelane.cli.credit import Credit, open_credit
from framelane.cli.emulate_images import images
from framelane.cli.emulate_outcome import Outcome
from framelane.cli.emulated_source import EmulatedSource, Route, Schedule
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
    """What the user chose. The sessions come from files, or from the receivers `to`; the rest: see `Schedule`.

    ConfigError for what cannot be.
    """

    session: Sequence[Path] = ()
    to: Sequence[str] = ()
    wire: WireOptions
    impair: ImpairOptions
    source: int = 0
    rate: float | None = None
    frames: int | None = None
    bunch: int | None = None
    input: Path | None = None
    calibration: Path | None = None
    seed: int = 1
    report: Path | None = None

    def __post_init__(self) -> None:
        if bool(self.session) == bool(self.to):
            raise ConfigError("a source needs its receiver's session: give --to HOST, or else --session FILE")
        several = len(self.session) + len(self.to) > 1
        if self.bunch is not None and not several:
            raise ConfigError("--bunch is of several receivers: give --to, or --session, for each of them")
        if self.bunch is not None and self.bunch < 1:
            raise ConfigError(f"--bunch {self.bunch} is too few: give 1 frame or more")
        if several and self.impair.text is not None:
            raise ConfigError("--impair is for the way to one receiver: give one --to, or --session")
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
        wanted = [open_credit(path, None, options.source) for path in options.session]
        wanted += [open_credit(None, to, options.source) for to in options.to]
        credits = [stack.enter_context(each) for each in wanted]
        impairment = options.impair.make(1)
        senders, routes = [], []
        status = stack.enter_context(console.status("prepare the frames"))
        for number, credit in enumerate(credits):
            session, before = credit.session, [each.session.receiver.ip for each in credits[:number]]
            if options.wire.transport == "udp":
                session = udp_session(session, options.source + number * session.sources)
            sender = stack.enter_context(options.wire.open(session, before.count(session.receiver.ip)))
            emulator = Emulator(session, options.source)
            pictures = images(session, options.input, options.calibration, options.seed)
            prepared = [emulator.prepare(picture) for picture in pictures]
            routes.append(Route(emulator, prepared, credit, Line(sender, impairment)))
            senders.append(sender)
        source = EmulatedSource(Schedule(options.rate, options.frames, options.bunch or 1), routes)
        with stop_on_signals() as stop:
            for sender in senders:
                sender.stopped = lambda: stop.wanted
            source.run(stop, status.update)
        outcome = source.outcome
        for credit, sender in zip(credits, senders, strict=True):
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
