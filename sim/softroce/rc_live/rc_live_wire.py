"""RC live: the wire between the running simulation and the RDMA device, that loses packets in both directions.

The simulated clock stands still while the device works: each packet that arrives there is handed over, and what must be
answered to it is waited for, before the next clock cycle. So no time-out of the transmitter ever ends for want of time
on this computer, and the same seed gives the same run. The answers then take their time in clock cycles.
"""

import random
import socket
import time
from collections import Counter
from dataclasses import dataclass

import acknowledgements
from framelane.base.errors import TransportError
from framelane.driver.simulated.verilated_rc import SimulatedRcBoard
from framelane.models.rc.lossy_network import LinkImpairments, LossyNetwork
from framelane.models.roce_tx import wire
from framelane.models.station.roce_rx import FIRST_QPN, Event, EventKind
from rc_live_receiver import LiveReceiver
from rc_live_sent import SentAgain

_PATIENCE_S = 10.0
"""For an answer of the device."""
_QUIET_S = 0.05
_BYTES_MAX = 16 << 10
_BEHIND_BTH = wire.ETH_BYTES + wire.IP_BYTES + wire.UDP_BYTES + wire.BTH_BYTES
_STEP = 500
"""Clocks, where nothing happens."""
_ETHERTYPE = slice(12, 14)
_SYNDROME = _BEHIND_BTH
_KINDS = ("acks", "rnrs", "reserved", "naks")
"""By bits 6 and 5 of the syndrome (InfiniBand vol. 1, table 43)."""


@dataclass(frozen=True, slots=True)
class Carried:
    """A packet under way; only one that is `intact` has the ICRC of its bytes."""

    frame: bytes
    intact: bool = True


def corrupt(carried: Carried, chance: random.Random) -> Carried:
    """One bit turns in what is behind the BTH, a RETH, payload, or the AETH: the ICRC alone shows it."""
    frame = bytearray(carried.frame)
    frame[chance.randrange(_BEHIND_BTH, _BEHIND_BTH + wire.ICRC_BYTES)] ^= 1 << chance.randrange(8)
    return Carried(bytes(frame), intact=False)


class LiveWire:
    """Between `board` and the interface `sender`, to `receivers` by the QP number that they have.

    `there` and `back` are its two directions; `wrong` lists answers of the device that are not what the model says.
    """

    def __init__(self, board: SimulatedRcBoard, sender: str, receivers: dict[int, LiveReceiver]) -> None:
        self._board = board
        self.receivers = receivers
        self.there = LossyNetwork(LinkImpairments(), 5, corrupt)
        self.back = LossyNetwork(LinkImpairments(), 6, corrupt)
        self.wrong: list[str] = []
        self.counts: Counter[str] = Counter()
        """Packets `to_device` that are for one of its queue pairs, `to_nobody`, `answers` of the device; what was given
        to the transmitter: `acks`, `rnrs`, `naks`; `damaged_there` and `damaged_back` that arrived; `others`: ARP."""
        self.sent = SentAgain()
        # Bound to one EtherType it gets what comes in, and not what goes out.
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        self._socket.bind((sender, wire.ETHERTYPE_IPV4))

    def close(self) -> None:
        """Free the socket."""
        self._socket.close()

    def pass_time(self) -> int:
        """Run the clock until something arrives or leaves, but not for long; the cycle that it is then."""
        board = self._board
        arrivals = [at for network in (self.there, self.back) if (at := network.next_arrival()) is not None]
        now = board.cycle
        clocks = max(1, min([_STEP, *(at - now for at in arrivals)]))
        ran = board.step_until(clocks)
        now += ran
        for packet in board.take() if ran < clocks else ():  # a packet that leaves with the last of them waits
            if packet[_ETHERTYPE] == wire.ETHERTYPE_IPV4.to_bytes(2, "big"):
                self.sent.note(packet)
                self.there.send(now, Carried(packet))
            else:
                self.counts["others"] += 1
                self._socket.send(packet)
        self._hand_over(list(self.there.due(now)), now)
        for answer in self.back.due(now):
            self.counts[_KINDS[answer.frame[_SYNDROME] >> 5] if answer.intact else "damaged_back"] += 1
            board.receive(answer.frame)
        return now

    @property
    def idle(self) -> bool:
        """Whether nothing is under way."""
        return self.there.next_arrival() is None and self.back.next_arrival() is None and not self._board.waiting

    def silence(self) -> None:
        """Note whatever comes from the device that nobody has asked for."""
        self.wrong += [f"unasked: {frame.hex()}" for frame in self._listen(1, _QUIET_S)]

    def _hand_over(self, packets: list[Carried], now: int) -> None:
        expected: list[Event] = []
        for packet in packets:
            self._socket.send(packet.frame)
            if not packet.intact:
                self.counts["damaged_there"] += 1
                continue
            headers, payload = wire.parse(packet.frame)
            receiver = self.receivers.get(headers.dest_qpn)
            self.counts["to_device" if receiver else "to_nobody"] += 1
            expected += receiver.model.receive(headers, payload) if receiver else []
        answers = self._listen(len(expected), _PATIENCE_S)
        self._compare(expected, answers)
        for answer in answers:
            self.back.send(now, Carried(answer))
        for receiver in self.receivers.values():
            receiver.look()

    def _listen(self, count: int, patience_s: float) -> list[bytes]:
        """So many packets from the device, or those that come in this time."""
        found: list[bytes] = []
        deadline = time.monotonic() + patience_s
        while len(found) < count and (left := deadline - time.monotonic()) > 0:
            self._socket.settimeout(left)
            try:
                found.append(self._socket.recv(_BYTES_MAX))
            except TimeoutError:
                break
        self.counts["answers"] += len(found)
        return found

    def _compare(self, expected: list[Event], answers: list[bytes]) -> None:
        """Each queue pair answers in order; they among each other do not."""
        must, said = ([], []) if not expected and not answers else (_by_qp(expected), _read(answers))
        if must != said:
            self.wrong.append(f"must: {must}, said: {said}")
            if len(answers) < len(expected):
                raise TransportError(f"the RDMA device is silent: {self.wrong[-1]}")


def _by_qp(events: list[Event]) -> list[tuple[int, int, int, int, int]]:
    """As `_read`."""
    found = []
    for each in events:
        nak = each.kind not in (EventKind.ACK, EventKind.RNR)
        kind = 3 if nak else int(each.kind)
        found.append((each.qp, kind, each.psn, each.msn, each.kind - EventKind.NAK_SEQUENCE if nak else each.value))
    return sorted(found, key=lambda answer: answer[0])


def _read(answers: list[bytes]) -> list[tuple[int, int, int, int, int]]:
    """QP of the transmitter, kind, PSN, MSN, code; those of one QP in the order in which they came."""
    acks = [acknowledgements.parse(answer) for answer in answers]
    return sorted(
        ((ack.qpn - FIRST_QPN, ack.kind, ack.psn, ack.msn, ack.value if ack.kind else 0) for ack in acks),
        key=lambda answer: answer[0],
    )
