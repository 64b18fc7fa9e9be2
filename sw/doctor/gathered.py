"""Findings gathered by their causes, and the diagnosis of a whole capture."""

from collections import Counter
from dataclasses import dataclass, field

from framelane.doctor.cause import Cause, Finding, Kind, Placer
from framelane.doctor.packets.frames import FrameCounts

_EXAMPLES = 5


@dataclass(slots=True)
class Group:
    """All packets with one cause; numbers count from 1. `detail` is of the first, `values` counts the details.

    Details that differ in numbers only are counted as one value; `value` is that of the first packet.
    """

    cause: Cause
    first: int
    time_ns: int
    detail: str
    value: str
    count: int = 0
    last: int = 0
    refused_by: Placer = Placer.NONE
    values: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True)
class Diagnosis:
    """What a capture holds. `placed` counts the session's packets that each may place.

    `cut` counts its packets of which only the beginning was captured: from the first on nobody is said to place any.
    `cut_at` is the byte at which the file of the capture is cut off, None where it is whole.
    """

    packets: int = 0
    ours: int = 0
    cut: int = 0
    cut_at: int | None = None
    first_ns: int = 0
    last_ns: int = 0
    placed: dict[Placer, int] = field(default_factory=dict)
    noise: Counter[str] = field(default_factory=Counter)
    groups: list[Group] = field(default_factory=list)
    lost: int = 0
    duplicates: int = 0
    reordered: int = 0
    frames: FrameCounts = field(default_factory=FrameCounts)

    @property
    def faults(self) -> list[Group]:
        """What makes the exit status 1."""
        return [group for group in self.groups if group.cause.kind in (Kind.FAULT, Kind.NETWORK)]


class Gathered:
    """Findings by cause."""

    def __init__(self) -> None:
        self._groups: dict[Cause, Group] = {}

    def note(self, number: int, time_ns: int, finding: Finding) -> None:
        """Add a finding in packet `number`."""
        value = finding.alike or finding.detail
        group = self._groups.get(finding.cause)
        if group is None:
            group = self._groups[finding.cause] = Group(finding.cause, number, time_ns, finding.detail, value)
        group.count += 1
        group.last = number
        group.refused_by |= finding.refused_by
        if len(group.values) < _EXAMPLES or value in group.values:
            group.values[value] += 1

    def forget(self, cause: Cause) -> None:
        """Drop what has turned out not to be so."""
        self._groups.pop(cause, None)

    def in_order(self) -> list[Group]:
        """The worst kind first, then by the first packet."""
        order = list(Kind)
        return sorted(self._groups.values(), key=lambda group: (order.index(group.cause.kind), group.first))
