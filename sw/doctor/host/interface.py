"""The interface: is it there, up, long enough for the packets, and has it the session's addresses?"""

from collections.abc import Generator, Iterator

from framelane.doctor.host.finding import HostFinding, fault, good, warning
from framelane.doctor.host.system import System
from framelane.session.session import Session

HEADER_BYTES = 20 + 8 + 12 + 16 + 4 + 4
"""IPv4, UDP, BTH, RETH, ImmDt and ICRC: what the MTU of an interface must hold beside the payload."""
RNIC_HEADER_BYTES = 40 + 8 + 12 + 4 + 28 + 4
"""What Linux takes off an interface's MTU before it chooses the path MTU of RoCE (`iboe_get_mtu`, rdma/ib_addr.h)."""
_LOOPBACK, _UP = 0x8, 0x1


def find(system: System, session: Session) -> str | None:
    """The interface that has the receiver's address, or the one of its network; None where there is none."""
    if session.receiver.ip.is_loopback:
        return "lo"
    direct = [route for route in system.routes() if route.gateway is None and session.receiver.ip in route.network]
    return direct[0].interface if direct else None


def check(system: System, session: Session, interface: str) -> Iterator[HostFinding]:
    """The checks of one interface."""
    there = yield from check_link(system, interface)
    if there:
        yield from _check_mtu(system, session, interface)
        if not int(system.text(f"sys/class/net/{interface}/flags") or "0", 16) & _LOOPBACK:
            yield _check_mac(system, session, interface)


def check_link(system: System, interface: str) -> Generator[HostFinding, None, bool]:
    """Whether it is there, after what is said of it and of its link."""
    folder = f"sys/class/net/{interface}"
    names = system.names("sys/class/net")
    if interface not in names:
        listed = [row.split(":")[0].strip() for row in system.net("dev").splitlines()[2:]]
        if interface in listed:
            advice = "enter the namespace by `ip netns exec`, or mount sysfs anew"
            yield warning("interface", f"{interface} is here, but /sys is of another network namespace", advice)
            return False
        yield fault("interface", f"there is no interface {interface}", f"choose one of {', '.join(names)}")
        return False
    flags = int(system.text(f"{folder}/flags") or "0", 16)
    state = system.text(f"{folder}/operstate")
    if not flags & _UP:
        yield fault("interface", f"{interface} is switched off", f"`ip link set {interface} up`")
    elif state in ("down", "lowerlayerdown"):
        advice = "look at cable, optics, FEC, and the other end"
        yield fault("interface", f"{interface} has no link ({state})", advice)
    else:
        speed = system.number(f"{folder}/speed")
        rate = f", {speed} Mb/s" if speed and speed > 0 else ""
        yield good("interface", f"{interface} is up{rate}")
    return True


def _check_mtu(system: System, session: Session, interface: str) -> Iterator[HostFinding]:
    mtu = system.number(f"sys/class/net/{interface}/mtu") or 0
    needed = session.mtu + HEADER_BYTES
    advice = f"`ip link set {interface} mtu 9000` on both ends and on the switch, or lower the session's mtu"
    text = f"{interface} has MTU {mtu}, packets of path MTU {session.mtu} need {needed}"
    if mtu < needed:
        yield fault("mtu", text, advice)
    elif mtu < session.mtu + RNIC_HEADER_BYTES:
        wanted = session.mtu + RNIC_HEADER_BYTES
        yield warning("mtu", f"{text}, and an RNIC wants {wanted} to offer that path MTU", advice)
    else:
        yield good("mtu", text)


def _check_mac(system: System, session: Session, interface: str) -> HostFinding:
    mac = system.text(f"sys/class/net/{interface}/address")
    if mac == session.receiver.mac:
        return good("mac", f"{interface} has the session's MAC {mac}")
    owner = next(
        (n for n in system.names("sys/class/net") if system.text(f"sys/class/net/{n}/address") == session.receiver.mac),
        None,
    )
    where = f": that is {owner}'s" if owner else ""
    text = f"{interface} has MAC {mac}, the session says {session.receiver.mac}{where}"
    return fault("mac", text, "correct receiver.mac of the session, or receive on the other interface")
