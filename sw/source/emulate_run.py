"""The golden transmitter as a live source, for a host whose board is not there yet."""

import contextlib
import itertools
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from framelane.base.any_path import AnyPath
from framelane.base.errors import OptionError
from framelane.base.stopping import Stop
from framelane.source.credit import Credit, open_credit
from framelane.source.emulate_images import images
from framelane.source.emulate_outcome import Outcome
from framelane.source.emulated_source import EmulatedSource, Route, Schedule
from framelane.source.emulator import Emulator
from framelane.source.impairments.impair import Line
from framelane.source.impairments.impairments import Impairment
from framelane.source.sender import udp_session
from framelane.source.wire_options import WireOptions

_MOST_PER_S = 1e6


def emulate(
    *,
    to: str | Sequence[str] = (),
    session: AnyPath | Sequence[AnyPath] = (),
    token_file: AnyPath | Sequence[AnyPath] = (),
    source: int = 0,
    transport: Literal["udp", "packet"] = "udp",
    port: int | None = None,
    interface: str | None = None,
    rate: float | None = None,
    frames: int | None = None,
    bunch: int | None = None,
    input: AnyPath | None = None,
    calibration: AnyPath | None = None,
    seed: int = 1,
    impairment: Impairment | None = None,
    stop: Stop | None = None,
    ready: Callable[[], object] = lambda: None,
    progress: Callable[[Outcome], None] = lambda outcome: None,
) -> Outcome:
    """Send frames as a board would to one or several receivers; what has left. May run in any thread.

    Arguments (docs/howto/emulate.md has the same as options of the command):

    - `to`: receivers on the session's link, HOST or HOST:PORT; or else `session`: files of their sessions.
    - `token_file`: for each of `to` the session that it publishes, for its token; not where it is one of this user on
      this machine.
    - `source`: which source of the session, from 0: its share of the rows.
    - `transport`: "udp" from the session's addresses to UDP `port` (None: 4791), or "packet" onto `interface`.
    - `rate`: frames/s; a frame without credit is dropped. None: as fast as wire and credit permit.
    - `frames`: how many; None: until `stop.wanted` is set, by another thread, or the receiver ends.
    - `bunch`: frames in a row to each of several receivers; None: 1.
    - `input`: HDF5 file with raw frames, with its `calibration` where the session is of corrected pixels. None: those
      of a simulated detector with `seed`. The same few frames come again and again, each under its own number.
    - `impairment`: what happens to packets on the way (see `parse_impairments`), and counts it.
    - `ready` is called once, when the frames are prepared and the first is about to leave.
    - `progress` gets the outcome so far, at most 20 times a second while no frame is dropped.

    ConfigError for what cannot be, InputError for a file that is not usable, TransportError where not a packet could be
    sent. What goes wrong later is in `Outcome.faults`.
    """
    receivers = [to] if isinstance(to, str) else list(to)
    files, tokens = _paths(session), _paths(token_file)
    _check(receivers, files, bunch, impairment)
    if tokens and len(tokens) != len(receivers):
        raise OptionError("{token_file} is of the receivers {to}: give one for each of them, or none")
    _check_numbers(rate, frames, seed)
    if calibration is not None and input is None:
        raise OptionError("{calibration} is for the frames of a file: give {input} as well")
    wire = WireOptions(transport=transport, port=port, interface=interface)
    stop = stop or Stop()
    with contextlib.ExitStack() as stack:
        wanted = [open_credit(path, None, source) for path in files]
        wanted += [open_credit(None, each, source, token) for each, token in itertools.zip_longest(receivers, tokens)]
        credits = [stack.enter_context(each) for each in wanted]
        senders, routes = [], []
        for credit in credits:
            credit.session.check_source(source)
        for number, credit in enumerate(credits):
            mine, before = credit.session, [each.session.receiver.ip for each in credits[:number]]
            if transport == "udp":
                mine = udp_session(mine, source + number * mine.sources)
            sender = stack.enter_context(wire.open(mine, before.count(mine.receiver.ip)))
            emulator = Emulator(mine, source)
            pictures = images(mine, _path(input), _path(calibration), seed)
            prepared = [emulator.prepare(picture) for picture in pictures]
            routes.append(Route(emulator, prepared, credit, Line(sender, impairment)))
            sender.stopped = lambda: stop.wanted
            senders.append(sender)
        emulated = EmulatedSource(Schedule(rate=rate, frames=frames, bunch=bunch or 1), routes)
        ready()
        emulated.run(stop, progress)
        outcome = emulated.outcome
        for credit, sender in zip(credits, senders, strict=True):
            _judge_answers(outcome, sender.unheard, credit)
    return outcome


def _paths(names: AnyPath | Sequence[AnyPath]) -> list[Path]:
    return [Path(name) for name in ([names] if isinstance(names, str | os.PathLike) else names)]


def _path(name: AnyPath | None) -> Path | None:
    return None if name is None else Path(name)


def _check(to: Sequence[str], session: Sequence[Path], bunch: int | None, impairment: Impairment | None) -> None:
    if bool(session) == bool(to):
        raise OptionError("a source needs its receiver's session: give {to}, or else {session}")
    several = len(session) + len(to) > 1
    if bunch is not None and not several:
        raise OptionError("{bunch} is of several receivers: give {to}, or {session}, for each of them")
    if bunch is not None and bunch < 1:
        raise OptionError("{bunch} {0} is too few: give 1 frame or more", bunch)
    if several and impairment is not None:
        raise OptionError("{impairment} is for the way to one receiver: give one {to}, or {session}")


def _check_numbers(rate: float | None, frames: int | None, seed: int) -> None:
    if rate is not None and not 0 < rate <= _MOST_PER_S:
        raise OptionError("{rate} {0:g} is not a frame rate: give frames per second, up to {1:g}", rate, _MOST_PER_S)
    if frames is not None and frames < 1:
        raise OptionError("{frames} {0} is too few: give 1 or more", frames)
    if seed < 0:
        raise OptionError("{seed} {0} is negative: give 0 or more", seed)


def _judge_answers(outcome: Outcome, unheard: int, credit: Credit) -> None:
    """What it means that the receiver's machine says by ICMP that nobody has the UDP port open.

    So it does, too, where a receiver takes the packets before its kernel: one that speaks on the link is there.
    """
    if unheard and not credit.grows:
        outcome.faults.append(
            f"the receiver's machine said {unheard} times that nobody has the UDP port open: start the receiver first, "
            "or correct the port (only a receiver on an interface, transport packet, hears all the same)"
        )
