"""What a replay has done, for people and as a document."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from framelane.base.claim import json_with
from framelane.base.errors import InputError
from framelane.base.part_file import PartFile

_TOLERANCE_S = 0.01


@dataclass(slots=True)
class Replayed:
    """`packets` of the capture, `left_out` of them because a UDP socket cannot send them, `sent` of them as they were
    or as a fault has left them, in `seconds`; the last of them `late_s` late, the latest `worst_s`. `faults` are
    sentences.
    """

    packets: int
    left_out: int = 0
    sent: int = 0
    seconds: float = 0.0
    late_s: float = 0.0
    worst_s: float = 0.0
    faults: list[str] = field(default_factory=list)

    def judge(self, spoilt: int, unheard: int, stopped: bool) -> None:
        """Say what went wrong. `spoilt`: see `UdpView`; `unheard`: see the senders; `stopped`: by a signal."""
        wanted = self.packets - self.left_out
        if self.left_out:
            self.faults.append(
                f"{self.left_out} packets were left out: they are not UDP to port 4791 over IPv4, which is all that a "
                "UDP socket sends: choose transport packet"
            )
        if spoilt:
            self.faults.append(
                f"{spoilt} packets have addresses, a source port, an IP ID or flags that the session's UDP socket does "
                "not send, their ICRC fits no more: give their own session, or choose transport packet"
            )
        if unheard:
            self.faults.append(
                f"the receiver's machine said {unheard} times that nobody has the UDP port open: start the receiver "
                "first, or correct the port (only a receiver on an interface, transport packet, hears all the same)"
            )
        if self.late_s > _TOLERANCE_S:
            self.faults.append(f"the times were not held: the last packet was {self.late_s:.3f} s late")
        if stopped and self.sent < wanted:
            self.faults.append(f"ended by a signal, after {self.sent} of {wanted} packets")

    def lines(self) -> list[str]:
        """For people."""
        rate = f": {self.sent / self.seconds:.0f} packets/s" if self.seconds else ""
        return [f"{self.sent} of {self.packets} packets in {self.seconds:.2f} s{rate}", *self.faults]

    def save(self, path: Path, *, force: bool = False, **more: Any) -> None:
        """Write all of it, and `more`, as JSON; over an older report only with `force`. InputError where that fails."""
        save_document(path, asdict(self) | more, force=force)


_REPORT = json_with("a report of framelane", "packets", "sent", "faults")


def save_document(path: Path, document: dict[str, Any], *, force: bool = False) -> None:
    """Write a report as JSON, over an older one only with `force`. InputError where that fails."""
    try:
        with PartFile(path, force=force, kind=_REPORT) as part:
            part.path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write the report {path}: {error.strerror}") from error
