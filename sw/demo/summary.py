"""The numbers of one demo: the file `summary.json`, and the table that is printed."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, Self

from rich.console import Console
from rich.table import Table

from framelane.demo.chain import Traffic
from framelane.demo.ledger import Ledger
from framelane.receiver.ring.tally import Tally
from framelane.receiver.transport.transport import Counters

_MOST_NAMED = 6


@dataclass(frozen=True, slots=True)
class Summary:
    """One run. Frames: `frames_sent` = `complete` + `incomplete` + `dropped_at_source` + `dropped_by_host` + `missing`.

    `packets` left the transmitter; `lost` are the indices, in `tx.pcap`, of those that were dropped on the way.
    `unplaced` others should have been placed, and were not. `refused` counts what the receiver did not take, by reason,
    foreign packets too. `holes` are pixels, in the frames `incomplete_frames` and no others; those of
    `unexplained_frames` are not exactly what was lost. Errors are in photons, None where nothing could be compared.
    `wall_s` ends before the report.
    """

    source: str
    corrected_by: Literal["host", "gateware"]
    frames_sent: int
    complete: int
    incomplete: int
    dropped_at_source: int
    dropped_by_host: int
    missing: int
    incomplete_frames: list[int]
    unexplained_frames: list[int]
    holes: int
    guarded_words: int
    saturated: int
    masked: int
    accepted: int
    packets: int
    payload_bytes: int
    payload_efficiency: float
    rtl_cycles: int
    rtl_cycles_per_frame: float
    ideal_beats: int
    wall_s: float
    arrived_pixels: int
    compared_pixels: int
    wrong_words: int
    max_abs_error_photons: float | None
    error_bound_photons: float | None
    pixels_beyond_bound: int
    drop: float
    lost_packets: int
    refused: dict[str, int]
    queue_drops: int
    unplaced: int
    identity_holds: bool
    lost: list[int]

    @classmethod
    def of(
        cls,
        *,
        source: str,
        corrected_by: Literal["host", "gateware"],
        tally: Tally,
        ledger: Ledger,
        traffic: Traffic,
        counters: Counters,
        cycles: int,
        drop: float,
        wall_s: float,
    ) -> Self:
        """Collect the numbers of a run that took `wall_s` seconds and `cycles` of the gateware's clock."""
        return cls(
            source=source,
            corrected_by=corrected_by,
            frames_sent=tally.sent,
            complete=tally.complete,
            incomplete=tally.incomplete,
            dropped_at_source=tally.dropped_at_source,
            dropped_by_host=tally.dropped_by_host,
            missing=tally.missing,
            incomplete_frames=ledger.incomplete,
            unexplained_frames=ledger.unexplained,
            holes=ledger.holes,
            guarded_words=ledger.guarded,
            saturated=ledger.saturated,
            masked=ledger.masked,
            accepted=ledger.accepted,
            packets=traffic.packets,
            payload_bytes=traffic.payload_bytes,
            payload_efficiency=traffic.payload_bytes / max(1, traffic.wire_bytes),
            rtl_cycles=cycles,
            rtl_cycles_per_frame=cycles / tally.sent,
            ideal_beats=traffic.ideal_beats,
            wall_s=round(wall_s, 3),
            arrived_pixels=ledger.arrived,
            compared_pixels=ledger.compared,
            wrong_words=ledger.wrong_words,
            max_abs_error_photons=ledger.max_error,
            error_bound_photons=ledger.max_bound,
            pixels_beyond_bound=ledger.beyond,
            drop=drop,
            lost_packets=len(traffic.lost),
            refused={str(reason): n for reason, n in counters.refused.items()},
            queue_drops=counters.queue_drops,
            unplaced=traffic.placeable - counters.placed,
            identity_holds=tally.holds,
            lost=traffic.lost,
        )

    def faults(self) -> list[str]:
        """What is wrong, a sentence each; nothing where the loss identity and every check hold."""
        unexplained = _named(self.unexplained_frames)
        checks = {
            "the loss identity does not hold": not self.identity_holds,
            f"the holes or trailers of these frames are not exactly what was lost: {unexplained}": unexplained,
            f"{self.wrong_words} pixels arrived and are not what {self._expected()}": self.wrong_words,
            f"{self.pixels_beyond_bound} pixels are too far from their reference": self.pixels_beyond_bound,
            "no pixel has a reference: nothing is proved": self.arrived_pixels and not self.compared_pixels,
            f"{self.unplaced} packets were sent and not placed: {self._refusals()} refused, "
            f"{self.queue_drops} lost in the receiver's queue": self.unplaced,
            "frames are incomplete though no packet was lost": not self.lost_packets
            and self.complete != self.frames_sent,
        }
        return [sentence for sentence, found in checks.items() if found]

    def save(self, path: Path) -> None:
        """Write the JSON document."""
        path.write_text(json.dumps(asdict(self), indent=2) + "\n")

    def lines(self) -> list[tuple[str, str]]:
        """What a reader wants to see, in words and units."""
        error, bound = self.max_abs_error_photons, self.error_bound_photons
        return [
            ("corrected by", f"the {self.corrected_by}"),
            ("frames sent", f"{self.frames_sent:,}"),
            ("complete", f"{self.complete:,}"),
            ("incomplete", f"{self.incomplete:,}"),
            ("dropped at source", f"{self.dropped_at_source:,}"),
            ("dropped by host", f"{self.dropped_by_host:,}"),
            ("missing", f"{self.missing:,}"),
            ("incomplete frames", _named(self.incomplete_frames) or "none"),
            ("packets sent", f"{self.packets:,}"),
            ("packets lost on the way", f"{self.lost_packets:,}"),
            ("packets refused", self._refusals()),
            ("holes", f"{self.holes:,} pixels"),
            ("saturated, masked", f"{self.saturated:,}, {self.masked:,} pixels"),
            ("largest error", "nothing compared" if error is None else f"{error:.4f} photon"),
            ("allowed error", "nothing compared" if bound is None else f"{bound:.4f} photon"),
            ("payload", f"{self.payload_bytes / 1e6:,.2f} MB, {self.payload_efficiency:.1%} of the wire"),
            ("gateware", f"{self.rtl_cycles_per_frame:,.0f} cycles a frame"),
            ("bus in use", f"{self.ideal_beats / self.rtl_cycles:.1%}" if self.rtl_cycles else "-"),
            ("time", f"{self.wall_s:.1f} s"),
        ]

    def _expected(self) -> str:
        return "was sent" if self.corrected_by == "host" else "the host would make of those that were sent"

    def _refusals(self) -> str:
        return ", ".join(f"{n} {reason}" for reason, n in self.refused.items()) or "0"

    def show(self, console: Console) -> None:
        """Print the table."""
        table = Table(show_header=False, box=None, padding=(0, 2))
        table.add_column(justify="right", style="dim")
        table.add_column(style="bold")
        for what, value in self.lines():
            table.add_row(what, value)
        console.print(table)


def _named(frames: list[int]) -> str:
    return ", ".join(map(str, frames[:_MOST_NAMED])) + (", ..." if len(frames) > _MOST_NAMED else "")
