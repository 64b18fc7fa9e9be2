"""What a run of the chain has shown, service by service: build/softroce/summary.json."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np

import chain_guest
from chain_receiver import MEMORY, PACKETS, REPORT, RESULT, SESSION
from chain_reference import REFERENCE
from chain_services import FOREIGN, Case
from framelane.packets import pcap
from framelane.session.session import Session

SENT = "sent.pcap"


@dataclass(frozen=True, slots=True)
class Served:
    """One service after the run: its case, and the folder with what came of it."""

    case: Case
    folder: Path

    @property
    def session(self) -> Session:
        """What the guest has published."""
        return Session.load(self.folder / SESSION)

    @property
    def sent(self) -> list[bytes]:
        """The packets of the transmitter, without the foreign ones between them."""
        return list(pcap.read(self.folder / SENT))

    @property
    def replayed(self) -> list[bytes]:
        """All packets that went into the wire, the foreign ones too."""
        return list(pcap.read(self.folder / PACKETS))

    @property
    def answers(self) -> list[bytes]:
        """The packets that the receiver sent."""
        return list(pcap.read(self.folder / chain_guest.ANSWERS))

    @property
    def accepted(self) -> int | None:
        """Packets that the driver has found to be of a QP, from its source and with the right ICRC."""
        found: int | None = json.loads((self.folder / chain_guest.ACCEPTED).read_text())
        return found

    def report(self, kind: str) -> dict[str, Any]:
        """Counts of the receiver in the guest, or of the soft NIC."""
        found: dict[str, Any] = json.loads((self.folder / kind / REPORT).read_text())
        return found

    def memory(self, kind: str) -> bytes:
        """The ring after every frame, in the guest or of the soft NIC."""
        return (self.folder / kind / MEMORY).read_bytes()


def numbers(served: Served) -> dict[str, Any]:
    """What a run has shown. `passed`: frames whole, memory and file those of the soft NIC, foreign packets refused.

    `refused` is what SoftRoCE did, `refused_by_soft_nic` what the soft NIC did with the same packets.
    """
    received, sent = served.memory(chain_guest.RECEIVED), len(served.sent)
    equal = received == served.memory(REFERENCE)
    by_soft_nic = served.report(REFERENCE)["refused"]
    foreign = dict.fromkeys(map(str, FOREIGN), served.case.frames)
    assert sum(foreign.values()) == len(served.replayed) - sent
    refused = refused_by_driver(foreign, sent, served.accepted, equal)
    complete = served.report(chain_guest.RECEIVED)["complete"]
    files = [datasets(served.folder / kind / RESULT) for kind in (chain_guest.RECEIVED, REFERENCE)]
    whole = complete == served.case.frames and equal and files[0] == files[1]
    return {
        "passed": whole and refused == by_soft_nic == foreign,
        "frames": complete,
        "packets": sent,
        "bytes_equal": len(received) if equal else 0,
        "acks": len(served.answers),
        "accepted": served.accepted,
        "refused": refused,
        "refused_by_soft_nic": by_soft_nic,
    }


def refused_by_driver(
    foreign: Mapping[str, int], sent: int, accepted: int | None, memory_equal: bool
) -> dict[str, int] | None:
    """What SoftRoCE has refused, by what is wrong with it; None where that cannot be known.

    The driver tells of no packet why it drops it, only how many it accepts. Where these are as many as were sent for
    the session, and the memory is what those make of it, all packets of `foreign` were refused, and no other.
    """
    return dict(foreign) if memory_equal and accepted == sent else None


TIMES = ("entry/start_time", "entry/end_time", "entry/end_time_estimated")


def datasets(path: Path) -> dict[str, Any]:
    """All of a file but the times at which it was written: datasets with their type, and attributes."""
    found: dict[str, Any] = {}

    def visit(name: str, item: h5py.HLObject) -> None:
        found.update({f"{name}@{key}": np.asarray(value).tobytes() for key, value in item.attrs.items()})
        if isinstance(item, h5py.Dataset) and name not in TIMES:
            found[name] = (item.dtype, item.shape, np.asarray(item[()]).tobytes())

    with h5py.File(path) as file:
        file.visititems(visit)
    return found
