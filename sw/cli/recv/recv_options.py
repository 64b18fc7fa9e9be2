"""The options of `framelane recv`, as the user gave them."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from framelane.base.errors import OptionError
from framelane.base.output import check_free, check_no_input
from framelane.files.linked_files import with_linked
from framelane.files.series import parts_of
from framelane.receiver import Capture, FileOptions, Live, Processing, StreamOptions, Tally

if TYPE_CHECKING:
    from framelane.receiver.transport.pcie.card import OpenCard


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What the frames of a run have to be for a script: complete, all of them, and so many as it expects.

    `strict`: every frame that was sent is complete. That is not known of a source that has gone without its end.

    OptionError where fewer than one are expected.
    """

    strict: bool = False
    expect: int | None = None

    def __post_init__(self) -> None:
        if self.expect is not None and self.expect < 1:
            raise OptionError("{expect} {0} is too few: give 1 or more", self.expect)

    def unmet(self, tally: Tally, sources_gone: int = 0) -> str:
        """What of it is not so, in a sentence; empty where all is. So many sources have not told their end."""
        if self.expect is not None and not tally.complete == tally.sent == self.expect:
            return f"--expect {self.expect}: {tally.complete} frames are complete, of {tally.sent} sent"
        if self.strict and not tally.whole:
            return f"--strict: {tally.complete} frames are complete, of {tally.sent} sent"
        if self.strict and sources_gone:
            who = "a source has" if sources_gone == 1 else f"{sources_gone} sources have"
            return f"--strict: {who} gone without telling the end: more may have been sent"
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecvOptions:
    """Where packets come from, what becomes of frames, and the file they go to. InputError for an input as output.

    `file` says how it is written.
    """

    source: Capture | Live
    processing: Processing
    output: Path
    demand: Demand = Demand()
    file: FileOptions = field(default_factory=FileOptions)
    streams: tuple[StreamOptions, ...] = ()
    """Streams to other programs."""
    force: bool = False
    """Older files are replaced."""

    def __post_init__(self) -> None:
        inputs = with_linked([*self.source.inputs, *self.processing.inputs, *self.file.metadata.files])
        publish = self.source.publish if isinstance(self.source, Live) else None
        for output in (self.output, *parts_of(self.output), self.drift_file):
            check_no_input(output, [*inputs, *([publish] if publish else [])])
        if publish is not None:
            check_no_input(publish, inputs, "publish")
        if self.processing.dark_period is not None:
            check_free(self.drift_file, force=self.force)

    @property
    def drift_file(self) -> Path:
        """Where the record of the tracked pedestals goes."""
        return Path(f"{self.output}.drift.json")


def chosen_source(pcap: Path | None, session: Path | None, live: Live | None) -> Capture | Live:
    """The capture or the wire. OptionError where it is neither or both."""
    if (pcap is None) == (live is None):
        raise OptionError("packets come from a capture or from the wire: give {pcap}, or else {transport}")
    if live is not None:
        return live
    assert pcap is not None
    if session is None:
        raise OptionError("a capture does not say what it holds: give {session}, the receiver's session.json")
    return Capture(pcap, session)


def live_options(*, force: bool, **given: Any) -> Live | None:
    """The options of a live receiver, None for those that the user left out; None where there is no transport.

    OptionError where one is given that only a live receiver has.
    """
    chosen = {name: value for name, value in given.items() if value is not None}
    if chosen.get("transport") == "pcie" and "device" in chosen:
        chosen["card"] = _card(chosen.pop("device"), chosen.get("frames"))
    if "transport" in chosen:
        return Live(**chosen, force=force)
    for name in chosen:
        if name != "session":  # that of a capture
            raise OptionError(
                f"{{{name}}} is of a live receiver: give {{transport}} udp, packet, verbs, pcie, jungfrau or detector "
                "as well"
            )
    return None


def _card(device: str, frames: int | None) -> "OpenCard":
    """The PCI device of that address, or the simulated one, which sends so many frames."""
    if device == "sim":
        from framelane.demo.simulated_card import simulated_card

        return simulated_card(frames)
    from framelane.driver.vfio.vfio_card import vfio_card

    return vfio_card(device)
