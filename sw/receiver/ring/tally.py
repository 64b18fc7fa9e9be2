"""The loss identity: every frame that was sent is accounted for, once."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tally:
    """Frames of a run. `sent` is what the source says it offered; the others are what became of them here.

    `incomplete` frames arrived with holes or without a trailer; of `missing` frames nothing arrived;
    `dropped_at_source` had no credit; `dropped_by_host` were overwritten before they were read, or found no slot free
    (of a detector, which takes no credit); those of the `wrong_size` came with a trailer that says another size than
    the session: no image can be made of them.
    """

    sent: int
    complete: int
    incomplete: int
    dropped_at_source: int
    dropped_by_host: int
    missing: int
    wrong_size: int = 0

    @property
    def accounted(self) -> int:
        """The frames whose fate is known."""
        lost = self.dropped_at_source + self.dropped_by_host + self.missing
        return self.complete + self.incomplete + self.wrong_size + lost

    @property
    def whole(self) -> bool:
        """Whether frames came, and every one that was sent is complete."""
        return self.complete == self.sent == self.accounted > 0

    @property
    def holds(self) -> bool:
        """Whether the identity holds: as many frames accounted for as were sent."""
        return self.sent == self.accounted

    def __str__(self) -> str:
        """One line: the identity with its numbers, and by how much it fails where it does."""
        line = (
            f"{self.sent} sent = {self.complete} complete + {self.incomplete} incomplete "
            f"+ {self.dropped_at_source} dropped at source + {self.dropped_by_host} dropped by host "
            f"+ {self.missing} missing" + (f" + {self.wrong_size} of another size" if self.wrong_size else "")
        )
        return line if self.holds else f"{line}: DOES NOT HOLD, {self.accounted} accounted for"
