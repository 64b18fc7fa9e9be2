"""What the doctor can find: a cause has a name, what it means, what to do, and who refuses a packet for it."""

from dataclasses import dataclass
from enum import Enum, Flag
from typing import NamedTuple

from framelane.receiver.transport.refusals import Refusal


class Kind(Enum):
    """How bad a cause is. `FAULT` and `NETWORK` make the exit status 1."""

    FAULT = "fault"
    """Something is built, set or wired wrongly."""
    NETWORK = "network"
    """Right packets that were lost, doubled or reordered on the way."""
    CONSEQUENCE = "consequence"
    """A right packet that falls with another one."""
    WARNING = "warning"
    """Works here, may not work with another receiver."""
    NOTE = "note"
    """Worth knowing, nothing to do."""
    NOISE = "noise"
    """Not of this session, and not meant to be."""


class Placer(Flag):
    """Who may write a packet's payload to the ring."""

    NONE = 0
    SOFT_NIC = 1
    """`framelane.receiver.transport.softnic`, on whole Ethernet frames."""
    SOFT_ROCE = 2
    """The Linux driver rdma_rxe."""
    RNIC = 4
    """A NIC that follows the specification (InfiniBand vol. 1, 9.6 to 9.9)."""
    NICS = 6
    ALL = 7

    def words(self) -> str:
        """The names, for people."""
        names = {Placer.SOFT_NIC: "soft NIC", Placer.SOFT_ROCE: "SoftRoCE", Placer.RNIC: "RNIC"}
        return ", ".join(name for placer, name in names.items() if placer in self) or "nobody"


@dataclass(frozen=True, slots=True)
class Cause:
    """One thing that can be wrong. `refusal` is the counter of the soft NIC that grows, if it refuses the packet."""

    code: str
    kind: Kind
    meaning: str
    advice: str
    refused_by: Placer = Placer.NONE
    refusal: Refusal | None = None


class Finding(NamedTuple):
    """A cause in one packet: `detail` has the value that was found and the one that should be there."""

    cause: Cause
    detail: str
    refused_by: Placer
    """Those that refuse this very packet for it."""
    alike: str = ""
    """What counts as the same in other packets, without what differs in each; empty: all of `detail`."""


def found(cause: Cause, detail: str, refused_by: Placer | None = None, alike: str = "") -> Finding:
    """A finding, refused by those of the cause if nothing else is said."""
    return Finding(cause, detail, cause.refused_by if refused_by is None else refused_by, alike)
