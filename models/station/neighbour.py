"""What a station does for its neighbours beside its data: ARP, ICMP echo, pause; frames as they are on the line."""

from dataclasses import dataclass, field
from enum import Enum

from framelane.models.cells import vlan_insert
from framelane.models.station import icmp_echo
from framelane.models.station.arp import Arp
from framelane.models.station.icmp_echo import Verdict
from framelane.models.station.pause import Pause
from framelane.models.station.rx_filter import RxClass, RxUser


@dataclass(slots=True)
class Neighbour:
    """`neighbour.sv`: frames in, frames out, event by event and never busy. Questions and ticks go to `arp`."""

    arp: Arp
    pause: Pause
    _replies: list[bytes] = field(default_factory=list)

    def receive(self, frame: bytes, user: RxUser) -> Enum | None:
        """A frame comes as `rx_path` gives it: what it was; None for one of RoCEv2, which is others' business."""
        if user.rx_class is RxClass.PAUSE:
            return self.pause.receive(frame)
        if user.rx_class is RxClass.ARP:
            return self.arp.receive(frame, user.tci)
        if user.rx_class is RxClass.ROCE:
            return None
        verdict = icmp_echo.judge(frame, self.arp.local)
        if verdict is Verdict.ANSWERED:
            self._replies.append(vlan_insert.insert(icmp_echo.answer(frame, self.arp.local), user.tci))
        return verdict

    def take(self) -> list[bytes]:
        """What was sent since the last call, with VLAN tags: first ARP, then echo replies, each in its order."""
        frames = [vlan_insert.insert(frame, tci) for frame, tci in self.arp.sent] + self._replies
        self.arp.sent.clear()
        self._replies.clear()
        return frames
