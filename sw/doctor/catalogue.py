"""All causes that the doctor knows in packets."""

from framelane.doctor import answers
from framelane.doctor.cause import Cause
from framelane.doctor.packets import bth, ethernet, frames, icrc, ipv4, noise, psn, reth, sequence, trailers, udp

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
