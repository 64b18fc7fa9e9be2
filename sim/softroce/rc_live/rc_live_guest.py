"""RC live, in the guest: the running simulation, a wire that loses packets, and the RDMA device.

    rc_live_guest.py FOLDER

Writes to FOLDER what each phase has counted (PHASES_FILE), and the rings' memory at the end (`ring_file`).
"""

import contextlib
import json
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from framelane.base.errors import SimulationError
from framelane.receiver.transport.verbs.gid import find_gid
from framelane.receiver.transport.verbs.nic_counters import NicCounters
from rc_live_plan import (
    IN_FLIGHT,
    MORTAL,
    NOT_READY,
    PHASES,
    PHASES_FILE,
    REBORN_PSN,
    RECEIVES,
    SERVICES,
    Phase,
    plan_of,
    ring_file,
)
from rc_live_receiver import LiveReceiver
from rc_live_transmitter import LiveTransmitter
from rc_live_wire import LiveWire
from rdma_link import RdmaLink

_CLOCKS_MAX = 200_000
"""A phase takes a seventh of it."""
_NIC_S = 0.05
"""The kernel keeps a reading of its counters for 10 ms."""


class Live:
    """All of it, phase by phase."""

    def __init__(self, link: RdmaLink, stack: contextlib.ExitStack) -> None:
        self._link, self._stack = link, stack
        self._gid = find_gid(link.receiver_node.ip, link.device)
        self.lives: list[list[LiveReceiver]] = [[self._open(k, service.psn)] for k, service in enumerate(SERVICES)]
        self._nic = NicCounters(self._gid)
        self._transmitter = LiveTransmitter([life.session for (life,) in self.lives])
        stack.callback(self._transmitter.board.close)
        by_number = {life.session.qpn: life for (life,) in self.lives}
        self._wire = stack.enter_context(contextlib.closing(LiveWire(self._transmitter.board, link.sender, by_number)))
        self._before: dict[str, Counter[str]] = {}
        self._wire.pass_time()  # the transmitter has announced its address
        self._counted()

    def _open(self, index: int, psn: int) -> LiveReceiver:
        plan = plan_of(index, self._link)
        receiver = LiveReceiver(index, plan, psn, gid=self._gid, receives=RECEIVES)
        self._stack.enter_context(receiver.transport)
        return receiver

    def run(self, phase: Phase) -> dict[str, Any]:
        """One phase; what it has counted."""
        self._wire.there.impairments = self._wire.back.impairments = phase.impairments
        self._happen(phase)
        start = self._transmitter.board.cycle, time.monotonic()
        self._frames(phase.frames)
        self._wire.silence()
        clocks, seconds = self._transmitter.board.cycle - start[0], time.monotonic() - start[1]
        if phase.happens == "lies":
            self.lives[MORTAL][-1].await_end()
        times = {"name": phase.name, "clocks": clocks, "seconds": round(seconds, 1)}
        return times | self._counted() | {"states": [self._transmitter.state(k) for k in range(len(SERVICES))]}

    def _happen(self, phase: Phase) -> None:
        mortal = self.lives[MORTAL][-1]
        if phase.happens == "sleeps":
            for receiver in self._wire.receivers.values():
                receiver.looks = False
        elif phase.happens == "lies":
            self._transmitter.mislead(MORTAL, mortal.session.rkey ^ 1)
        elif phase.happens:
            self._end(mortal)
        if phase.happens == "reborn":
            mortal = self._open(MORTAL, REBORN_PSN)
            self.lives[MORTAL].append(mortal)
            self._wire.receivers[mortal.session.qpn] = mortal
            self._transmitter.aim(MORTAL, mortal.session)

    def _end(self, receiver: LiveReceiver) -> None:
        """Destroy its queue pair: packets for it reach nobody."""
        receiver.transport.close()
        self._wire.receivers.pop(receiver.session.qpn, None)

    def _frames(self, count: int) -> None:
        """Offer frames as the transmitter's memory has room, until all are sent, or given up."""
        transmitter, last = self._transmitter, self._transmitter.offered + count
        settled = False  # what is sent again may leave when all is acknowledged
        now = start = transmitter.board.cycle
        while now - start < _CLOCKS_MAX:
            held = transmitter.held
            over = transmitter.offered == last and not held and self._wire.idle
            if over and settled:
                return
            settled = over
            if transmitter.offered < last and held < IN_FLIGHT:
                transmitter.offer()
            now = self._wire.pass_time()
            receivers = self._wire.receivers.values()
            if all(each.looks or each.model.counts["not_ready"] >= NOT_READY for each in receivers):
                for each in receivers:
                    each.looks = True
        states = [transmitter.state(k) for k in range(len(SERVICES))]
        raise SimulationError(f"{transmitter.held} frames hang in the transmitter, queue pairs: {states}")

    def _counted(self) -> dict[str, Any]:
        """By how much all counters have grown in this phase."""
        time.sleep(_NIC_S)
        groups = {
            "there": self._wire.there.counts,
            "back": self._wire.back.counts,
            "wire": self._wire.counts + self._wire.sent.counts,
            "must": sum((life.model.counts for lives in self.lives for life in lives), Counter[str]()),
            "device": self._nic.since(),
            "transmitter": self._transmitter.counters(),
        }
        before, self._before = self._before, {group: Counter(counts) for group, counts in groups.items()}
        return {
            group: {name: count - before.get(group, Counter())[name] for name, count in counts.items()}
            for group, counts in groups.items()
        }

    def document(self, phases: list[dict[str, Any]]) -> dict[str, Any]:
        """All that is known at the end."""
        receivers = [
            [{"immediates": life.immediates, "reason": life.reason, "qpn": life.session.qpn} for life in lives]
            for lives in self.lives
        ]
        return {"phases": phases, "receivers": receivers, "wrong": self._wire.wrong}


def main(folder: Path) -> None:
    """All phases."""
    with contextlib.ExitStack() as stack:
        live = Live(RdmaLink.of(), stack)
        phases = [live.run(phase) for phase in PHASES]
        for service, lives in zip(SERVICES, live.lives, strict=True):
            for number, life in enumerate(lives):
                (folder / ring_file(service.name, number)).write_bytes(life.ring.memory.tobytes())
        (folder / PHASES_FILE).write_text(json.dumps(live.document(phases)))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
