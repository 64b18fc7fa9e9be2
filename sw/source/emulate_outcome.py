"""What an emulated source has done, for people and as a document."""

import math
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from framelane.source.replay_outcome import save_document

_TOLERANCE_S = 0.01


@dataclass(slots=True)
class Outcome:
    """Frames that were `offered`, `dropped` without credit, and `sent`; the `packets` of those, with `wire_bytes`

    (Ethernet without FCS), `image_bytes` of them pixels. `rate` in frames/s, None: as fast as possible; `late_s` is how
    late the last frame was, `worst_s` the latest. `faults` are sentences, `notes` are, too, of what is none.
    """

    offered: int = 0
    dropped: int = 0
    sent: int = 0
    packets: int = 0
    image_bytes: int = 0
    wire_bytes: int = 0
    seconds: float = 0.0
    rate: float | None = None
    late_s: float = 0.0
    worst_s: float = 0.0
    faults: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def held(self) -> bool:
        """Whether frames came at `rate`: the last one was no later than a period, or 10 ms where that is more."""
        return self.rate is None or self.late_s <= max(_TOLERANCE_S, 1 / self.rate)

    def lines(self) -> list[str]:
        """For people."""
        seconds = self.seconds or math.inf
        lines = [
            f"frames: {self.offered} offered, {self.sent} sent, {self.dropped} dropped for want of credit",
            f"{self.packets} packets in {self.seconds:.2f} s: {self.sent / seconds:.1f} frames/s, "
            f"{self.packets / seconds:.0f} packets/s, {self.image_bytes / seconds / 1e9:.3f} GB/s of images",
        ]
        if self.rate is not None and self.held:
            lines.append(f"the rate was held; the latest frame was {self.worst_s * 1e3:.1f} ms late")
        return lines + self.notes + self.faults

    def save(self, path: Path, *, force: bool = False, **more: Any) -> None:
        """Write all of it, and `more`, as JSON. InputError where that fails."""
        save_document(path, asdict(self) | {"held": self.held} | more, force=force)
