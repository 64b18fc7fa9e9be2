"""RC live: what must follow from what was injected, for the counters of both sides.

What the device must do with the packets that it was given is known packet by packet, from `RcResponder` in the manner
of rxe (`must` in the document of a phase): its counters are known exactly. So is what the transmitter was given. When
it goes back depends on its clock; there are bounds for how often.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from rc_live_plan import FATAL, LIMITS, LOSSLESS, MORTAL, PHASES, SERVICES, Phase, packets

Pairs = dict[str, tuple[int, int]]
"""By what it is: the number that was found, and the one that must be."""
_DEVICE = ("rcvd_pkts", "sent_pkts", "out_of_seq_request", "duplicate_request", "send_rnr_err", "rdma_recvs")
_DECISIONS = ("rc_acked", "rc_stale", "rc_went_back", "rc_repeated", "rc_not_ready")
"""What an acknowledgement can lead to, beside an error."""
_TRANSMITTER = (
    *("packets", "acks", "rnrs", "naks_sequence", "naks_access", "roce_icrc", "rc_resumed", "rc_again", "rc_timed_out"),
    *("rc_failed", "rc_armed", "rc_deferred"),
    *_DECISIONS,
)
"""The counters that may grow, beside those by destination."""


class Counted:
    """The counters of one phase, by side; what is not there is 0."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.phase: Phase = next(phase for phase in PHASES if phase.name == document["name"])
        groups = ("there", "back", "wire", "must", "device", "transmitter")
        self.there, self.back, self.wire, self.must, self.device, self.transmitter = (
            Counter(document[group]) for group in groups
        )

    @property
    def reached(self) -> list[int]:
        """The services of which the frames arrive."""
        fatal = self.phase.happens in FATAL
        return [k for k in range(len(SERVICES)) if not (fatal and k == MORTAL)]


def equal(counted: Counted) -> Pairs:
    """What is known exactly."""
    return _of_wire(counted) | _of_device(counted) | _of_transmitter(counted) | _of_phase(counted)


def _of_wire(c: Counted) -> Pairs:
    """No packet was lost that was not meant to be."""
    there, back, wire = c.there, c.back, c.wire
    arrived = wire["to_device"] + wire["to_nobody"] + wire["damaged_there"]
    returned = wire["acks"] + wire["rnrs"] + wire["naks"] + wire["damaged_back"]
    return {
        "packets that arrived at the device": (arrived, there["sent"] - there["lost"] + there["duplicated"]),
        "packets that arrived at the transmitter": (returned, back["sent"] - back["lost"] + back["duplicated"]),
    }


def _of_device(c: Counted) -> Pairs:
    device, must = c.device, c.must
    return {
        "device: rcvd_pkts": (device["rcvd_pkts"], c.wire["to_device"]),
        "device: sent_pkts": (device["sent_pkts"], c.wire["answers"]),
        "device: answers": (c.wire["answers"], must["ack"] + must["rnr"] + must["nak_sequence"] + must["nak_access"]),
        "device: out_of_seq_request": (device["out_of_seq_request"], must["nak_sequence"]),
        "device: duplicate_request": (device["duplicate_request"], must["duplicate"]),
        "device: send_rnr_err": (device["send_rnr_err"], must["not_ready"]),
        "device: rdma_recvs": (device["rdma_recvs"], len(c.reached) * c.phase.frames),
        **{f"device: {name}": (count, 0) for name, count in device.items() if name not in _DEVICE},
    }


def _of_transmitter(c: Counted) -> Pairs:
    tx, wire = c.transmitter, c.wire
    ends = {k: (tx[f"sent[{k}]"], tx[f"failed[{k}]"] + tx[f"dropped[{k}]"]) for k in range(len(SERVICES))}
    return {
        "transmitter: packets": (tx["packets"], c.there["sent"] + wire["others"]),
        "transmitter: acks": (tx["acks"], wire["acks"]),
        "transmitter: rnrs": (tx["rnrs"], wire["rnrs"]),
        "transmitter: naks": (tx["naks_sequence"] + tx["naks_access"], wire["naks"]),
        "transmitter: roce_icrc": (tx["roce_icrc"], wire["damaged_back"]),
        "transmitter: acknowledgements that were decided": (
            sum(tx[name] for name in _DECISIONS) + tx["naks_access"],
            wire["acks"] + wire["rnrs"] + wire["naks"],
        ),
        "transmitter: rc_resumed": (tx["rc_resumed"], tx["rc_not_ready"]),
        "transmitter: rc_again": (tx["rc_again"], wire["messages_again"]),
        **{f"transmitter: sent[{k}]": (sent, c.phase.frames * (k in c.reached)) for k, (sent, _) in ends.items()},
        **{f"transmitter: all of [{k}]": (sent + lost, c.phase.frames) for k, (sent, lost) in ends.items()},
        **{
            f"transmitter: {name}": (count, 0)
            for name, count in tx.items()
            if name not in _TRANSMITTER and not name.endswith("]")
        },
    }


def _of_phase(c: Counted) -> Pairs:
    """What this phase is for."""
    tx, happens = c.transmitter, c.phase.happens
    found = {
        "queue pairs that failed": (tx["rc_failed"], int(happens in FATAL)),
        "queue pairs that were started": (tx["rc_armed"], int(happens == "reborn")),
        "naks_access": (tx["naks_access"], int(happens == "lies")),
    }
    new = c.phase.frames * sum(packets(SERVICES[k].mtu) for k in c.reached)
    found["packets that were placed"] = c.must["placed"], new
    if happens not in FATAL:
        found["packets that were new"] = c.there["sent"] - c.wire["packets_again"], new
    if happens != "lies":
        kinds = ("placed", "duplicate", "out_of_sequence", "not_ready")
        found["packets to the device"] = sum(c.must[kind] for kind in kinds), c.wire["to_device"]
    if happens == "dies":
        found["packets to the others, none of them twice"] = c.wire["to_device"], new
    if c.phase.impairments is LOSSLESS:
        found["device: duplicate_request, nothing was lost"] = c.device["duplicate_request"], 0
        found["rc_timed_out, nothing was lost"] = tx["rc_timed_out"], LIMITS.retries if happens == "dies" else 0
    if c.phase.impairments is LOSSLESS and happens not in ("dies", "sleeps"):
        found["rc_again, nothing was lost"] = tx["rc_again"], 0
        found["device: out_of_seq_request, nothing was lost"] = c.device["out_of_seq_request"], 0
    return found


def at_most(counted: Counted) -> Pairs:
    """Bounds: the number that was found, and the largest that can be.

    A NAK of the sequence is said once for a packet that is missing or that found no receive, and each was lost,
    damaged or refused for it. A time-out without a loss since the one before would be false; that of a dead receiver
    has none but its own packets.
    """
    there, back, tx = counted.there, counted.back, counted.transmitter
    lost = there["lost"] + there["corrupted"]
    dead = LIMITS.retries if counted.phase.happens == "dies" else 0
    return {
        "damaged there, each at most twice": (counted.wire["damaged_there"], 2 * there["corrupted"]),
        "damaged back, each at most twice": (counted.wire["damaged_back"], 2 * back["corrupted"]),
        "device: out_of_seq_request": (counted.device["out_of_seq_request"], lost + counted.must["not_ready"]),
        "transmitter: rc_went_back": (tx["rc_went_back"], counted.device["out_of_seq_request"]),
        "transmitter: rc_timed_out": (tx["rc_timed_out"], lost + back["lost"] + back["corrupted"] + dead),
    }


def broken(counted: Counted) -> Pairs:
    """What does not hold."""
    exact = {what: pair for what, pair in equal(counted).items() if pair[0] != pair[1]}
    return exact | {what: pair for what, pair in at_most(counted).items() if pair[0] > pair[1]}
