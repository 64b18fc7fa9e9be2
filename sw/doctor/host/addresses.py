"""The receiver's IP address on this host, the way back to the source, and its neighbour entry."""

from collections.abc import Iterator

from framelane.doctor.host.finding import HostFinding, fault, good, warning
from framelane.doctor.host.system import System
from framelane.session.session import Session

_COMPLETE, _PERMANENT = 0x2, 0x4


def check(system: System, session: Session, interface: str, verbs: bool) -> Iterator[HostFinding]:
    """`verbs`: an RDMA device receives, which must know the source's MAC; a soft NIC sends nothing to it."""
    yield _check_own(system, session, interface)
    if session.source.ip.is_loopback or session.receiver.ip.is_loopback:
        return
    yield from _check_route(system, session, interface, verbs)


def _check_own(system: System, session: Session, interface: str) -> HostFinding:
    ip = session.receiver.ip
    own = system.local_addresses()
    if ip in own or ip.is_loopback:
        return good("address", f"{ip} is an address of this host")
    listed = ", ".join(str(each) for each in own if not each.is_loopback) or "none"
    advice = f"`ip addr add {ip}/24 dev {interface}`, or correct receiver.ip of the session"
    return fault("address", f"no interface has the receiver's address {ip}; this host has {listed}", advice)


def _check_route(system: System, session: Session, interface: str, verbs: bool) -> Iterator[HostFinding]:
    """UC and soft NICs need no way back but for rp_filter; opening a QP resolves the source's MAC."""
    source = session.source.ip
    worse = fault if verbs else warning
    route = system.route(source)
    if route is None:
        advice = f"give {interface} an address of the source's network, or `ip route add {source} dev {interface}`"
        yield worse("route", f"there is no route to the source {source}", advice)
        return
    via = f" by {route.gateway}" if route.gateway else ""
    text = f"the way to the source {source} is {route.interface}{via}"
    if route.interface != interface:
        advice = f"`ip route add {source} dev {interface}`: an RDMA device answers on its own interface only"
        yield worse("route", f"{text}, not {interface}", advice)
        return
    yield good("route", text)
    hop = route.gateway or source
    mac = session.source.mac if route.gateway is None else "MAC_OF_THE_ROUTER"
    command = f"`ip neigh replace {hop} lladdr {mac} dev {interface} nud permanent`"
    entry = next((n for n in system.neighbours() if n.ip == hop and n.interface == interface), None)
    if entry is None or not entry.flags & _COMPLETE:
        advice = f"{command}: boards do not always answer ARP, then opening a QP ends in a timeout"
        yield worse("neighbour", f"the MAC address of {hop} is not known", advice)
    elif route.gateway is None and entry.mac != session.source.mac:
        yield worse("neighbour", f"{hop} is known as {entry.mac}, the session says {session.source.mac}", command)
    elif not entry.flags & _PERMANENT:
        advice = f"{command}: entries that are learnt expire"
        yield (
            good("neighbour", f"{hop} is known as {entry.mac}")
            if not verbs
            else warning("neighbour", f"{hop} is known as {entry.mac}, but not for ever", advice)
        )
    else:
        yield good("neighbour", f"{hop} is known as {entry.mac} for ever")
