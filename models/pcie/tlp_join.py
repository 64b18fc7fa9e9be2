"""The join of TLPs and payload: what `tlp_join.sv` does with one descriptor's, the only place where they meet."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from framelane.models.pcie.tlp_split import Status, Tlp


@dataclass(frozen=True, slots=True)
class Sent:
    """A TLP on the port: `tlp` with its bus address, its `data` (as many bytes), and whether it is to be nullified.

    What is poisoned never reaches memory: its data do not count. With a `fence`, a tag, it is a read of no bytes.
    """

    tlp: Tlp
    data: bytes
    poisoned: bool = False
    fence: int | None = None


def join(
    parts: Iterable[tuple[Tlp, Status]], payload: bytes, beat: int, wrong: Collection[int] = ()
) -> tuple[Status, list[Sent]]:
    """The TLPs that leave, and how the descriptor ended, of all its TLPs, each with what the page map said.

    The payload came in beats of `beat` bytes, the last partial; `wrong` are the indices of those that came with errors.
    """
    sent: list[Sent] = []
    found: Status = Status.OK
    at = 0
    in_last = (len(payload) - 1) // beat * beat
    """Where the payload's last beat begins."""
    parts = list(parts)
    short = len(payload) < sum(tlp.length for tlp, _ in parts)
    seen = False
    for tlp, said in parts:
        start, at = at, at + tlp.length
        if seen:
            continue
        if found is Status.OK:
            found = said
        seen = short and at > in_last
        bad = any(index * beat < at and start < (index + 1) * beat for index in wrong)
        if said is Status.OK:
            sent.append(Sent(tlp, payload[start:at].ljust(tlp.length, b"\0"), bad or seen))
    if found is Status.OK:
        if short:
            found = Status.SHORT
        elif len(payload) > at:
            found = Status.LONG
        elif wrong:
            found = Status.BAD_PAYLOAD
    return found, sent
