"""What a port must have before a QP can be opened on it, each with the command that mends it.

The library's own words for these are "connection timed out" after a second, "cannot allocate memory", or none at all.
"""

import os
import resource
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

from framelane.base.errors import TransportError
from framelane.receiver.transport.verbs.gid import Gid
from framelane.session.session_plan import Node

_COMPLETE = 0x2
"""ATF_COM of linux/if_arp.h: the entry has a hardware address."""
_ROUTE_UP, _ROUTE_GATEWAY = 0x1, 0x2
_CAP_IPC_LOCK = 1 << 14


def check_link(gid: Gid) -> None:
    """TransportError where the port is down."""
    if gid.link != "ACTIVE":
        raise TransportError(
            f"{gid.device} port {gid.port} is {gid.link or 'in no state'}: "
            f"bring its interface up, `ip link set {gid.interface} up`, and look after the cable"
        )


def check_mac(gid: Gid, receiver: Node, root: Path = Path("/")) -> None:
    """TransportError where the interface does not have the MAC address to which the source would send."""
    path = root / "sys/class/net" / gid.interface / "address"
    try:
        mac = path.read_text().strip()
    except OSError as error:
        raise TransportError(f"the interface {gid.interface} of {gid.device} is not here: {error.strerror}") from error
    if mac != receiver.mac:
        raise TransportError(f"{gid.interface} has MAC address {mac}, not {receiver.mac}: correct the receiver's mac")


def check_mtu(gid: Gid, mtu: int, active_mtu: int) -> None:
    """TransportError where packets of `mtu` bytes of payload do not fit the port's `active_mtu`: all would be lost."""
    if mtu > active_mtu:
        raise TransportError(
            f"the path MTU {mtu} is above the {active_mtu} of {gid.device} port {gid.port}: raise the interface's on "
            f"both ends, `ip link set {gid.interface} mtu {_interface_mtu(mtu)}`, or lower the session's mtu"
        )


def check_neighbour(gid: Gid, source: Node, root: Path = Path("/")) -> None:
    """TransportError where the kernel does not know the source's MAC address: then no QP can be opened to it.

    A source behind a router is reached by the router's entry; one to which no route leads, by its own.
    """
    hop = _next_hop(gid.interface, source.ip, root)
    known = _neighbours(gid.interface, root).get(hop)
    routed = hop != source.ip
    if known is not None and (routed or known == source.mac):
        return
    wrong = f"says {known}, not {source.mac}" if known else "is missing"
    mac = "MAC_OF_THE_ROUTER" if routed else source.mac
    raise TransportError(
        f"the neighbour entry of {hop} on {gid.interface} {wrong}: sources do not answer ARP, so write it down, "
        f"`ip neigh replace {hop} lladdr {mac} dev {gid.interface} nud permanent`"
    )


def check_locked_memory(size: int, root: Path = Path("/")) -> None:
    """TransportError where the process may not keep `size` bytes in memory, as a registered region must be."""
    limit = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
    if limit == resource.RLIM_INFINITY or limit >= size or _may_lock(root):
        return
    raise TransportError(
        f"a ring of {size} bytes cannot be registered, {limit} bytes of locked memory are allowed: raise the limit, "
        f"`ulimit -l {-(-size // 1024)}` as root or memlock in /etc/security/limits.conf (LimitMEMLOCK= of a service)"
    )


def check_character_device(gid: Gid, root: Path = Path("/")) -> None:
    """TransportError where a program cannot open the device: `/dev/infiniband/uverbsN`."""
    for entry in (root / "sys/class/infiniband_verbs").glob("uverbs*"):
        if not (entry / "ibdev").is_file() or (entry / "ibdev").read_text().strip() != gid.device:
            continue
        file = f"/dev/infiniband/{entry.name}"
        if not (root / file[1:]).exists():
            raise TransportError(f"{gid.device} has no {file} here: in a container pass it on, `--device {file}`")
        if not os.access(root / file[1:], os.R_OK | os.W_OK, effective_ids=True):
            raise TransportError(f"this user may not open {file} of {gid.device}: see `ls -l {file}`")
        return
    raise TransportError(f"{gid.device} cannot be used by programs: load the kernel's module, `modprobe ib_uverbs`")


def _interface_mtu(mtu: int) -> int:
    return 9000 if mtu > 1024 else 1500


def _may_lock(root: Path) -> bool:
    """Whether the process has CAP_IPC_LOCK (capabilities(7))."""
    try:
        lines = (root / "proc/self/status").read_text().splitlines()
    except OSError:
        return False
    return any(int(line.split()[1], 16) & _CAP_IPC_LOCK for line in lines if line.startswith("CapEff:"))


def _table(name: str, root: Path) -> list[list[str]]:
    """A table of this thread's network namespace (proc(5), /proc/net), without its heading."""
    try:
        return [line.split() for line in (root / "proc/thread-self/net" / name).read_text().splitlines()[1:]]
    except OSError:
        return []


def _neighbours(interface: str, root: Path) -> dict[IPv4Address, str]:
    """MAC addresses of the complete neighbour entries on an interface."""
    rows = [row for row in _table("arp", root) if len(row) == 6 and row[5] == interface]
    return {IPv4Address(row[0]): row[3] for row in rows if int(row[2], 16) & _COMPLETE}


def _next_hop(interface: str, ip: IPv4Address, root: Path) -> IPv4Address:
    """To whom the main routing table hands packets for `ip` on `interface`: without a gateway, to `ip`."""
    best: tuple[int, IPv4Address] | None = None
    for name, destination, gateway, flags, _, _, _, mask, *_ in _table("route", root):
        if name != interface or not int(flags, 16) & _ROUTE_UP:
            continue
        net = IPv4Network((_address(destination), str(_address(mask))))
        if ip in net and (best is None or net.prefixlen > best[0]):
            best = net.prefixlen, _address(gateway) if int(flags, 16) & _ROUTE_GATEWAY else ip
    return best[1] if best else ip


def _address(text: str) -> IPv4Address:
    """An address as the kernel prints it there: the number in the machine's byte order."""
    return IPv4Address(bytes.fromhex(text)[::-1])
