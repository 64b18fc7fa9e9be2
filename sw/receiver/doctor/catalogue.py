"""All causes that the doctor knows in packets."""

from framelane.receiver.doctor import (
    answers,
    bth,
    ethernet,
    frames,
    icrc,
    ipv4,
    noise,
    psn,
    reth,
    sequence,
    trailers,
    udp,
)
from framelane.receiver.doctor.cause import Cause

SECTIONS: dict[str, tuple[Cause, ...]] = {
    "Ethernet": ethernet.CAUSES,
    "IPv4": ipv4.CAUSES,
    "UDP": udp.CAUSES,
    "BTH": bth.CAUSES,
    "RETH": reth.CAUSES,
    "ICRC": icrc.CAUSES,
    "Messages": sequence.CAUSES,
    "PSN": psn.CAUSES,
    "Trailers": trailers.CAUSES,
    "Frames": frames.CAUSES,
    "Answers": answers.CAUSES,
    "Other traffic": noise.CAUSES,
}
"""By what they are about, in the order of a packet's headers."""
