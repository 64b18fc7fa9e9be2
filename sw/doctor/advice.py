"""What several causes mean together, and what to look for when nothing came at all."""

from framelane.doctor.cause import Kind
from framelane.doctor.gathered import Diagnosis
from framelane.doctor.packets import bth, ethernet, frames, icrc, ipv4, psn, reth
from framelane.session.session import Session

NOTHING = (
    "the source is not sending: look at its link, its trigger, its own counters, and whether it has a session at all",
    "the source has no credit: the receiver has published none, or its session link is down",
    "the source sends to another MAC: the switch floods or drops it; compare receiver.mac with `ip link`",
    "the wrong interface, port or VLAN: look at rx_packets in /sys/class/net/*/statistics while the source sends",
    "frames are longer than the MTU of a switch or of this interface: look at rx_length_errors and the switch",
    "an RNIC takes RoCE packets before the kernel: no capture on its network interface sees them "
    "(docs/howto/doctor.md, Taking a capture)",
    "the link is down or errors: look at `ip link`, optics, rx_crc_errors; FEC must be the same on both ends",
)
"""Likely causes when no packet for the session was seen, the likeliest first."""


def summary(diagnosis: Diagnosis, session: Session) -> list[str]:
    """Sentences for the top of a report."""
    groups = {group.cause: group for group in diagnosis.groups}
    lines: list[str] = []
    if not diagnosis.packets and diagnosis.cut_at is not None:
        return []
    if not diagnosis.ours:
        return ["no packet of this session is in the capture"]
    for cause in (bth.QPN, reth.RKEY, reth.BOUNDS, ethernet.MAC, ipv4.SOURCE, ipv4.DESTINATION, bth.SERVICE, reth.MTU):
        group = groups.get(cause)
        if group and group.count >= diagnosis.ours and len(group.values) == 1:
            lines.append(f"every packet of the session has it: {group.value}")
    stale = [cause for cause in (bth.QPN, reth.RKEY, reth.BOUNDS) if cause in groups]
    if len(stale) > 1 and all(groups[cause].count * 2 > diagnosis.ours for cause in stale):
        lines.append("QPN, rkey and addresses are of another session: give the source the present session.json")
    wrong = sum(groups[cause].count for cause in (icrc.MISTAKE, icrc.WRONG, icrc.FLIPPED) if cause in groups)
    if icrc.WRONG in groups and wrong >= diagnosis.ours:
        lines.append("no ICRC is right, by no known mistake: compare one packet with the model roce_icrc by hand")
    if psn.LOST in groups and not any(group.cause.kind is Kind.FAULT for group in diagnosis.groups):
        lines.append("the packets are right, the network or the host loses some")
    if frames.CREDIT in groups or frames.OVERWRITTEN in groups:
        lines.append("slots are written while they are in use: images may be mixed of two frames")
    return lines
