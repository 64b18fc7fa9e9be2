"""Which RDMA device and GID serve an IPv4 address, by sysfs (Documentation/ABI/stable/sysfs-class-infiniband).

With RoCE v2 a GID is an IP address; one of IPv4 is written as ::ffff:a.b.c.d (InfiniBand annex A17.4.5.2, RFC 4291).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path

from framelane.base.errors import TransportError

_CLASS = "sys/class/infiniband"
_TYPE = "RoCE v2"
_PREFIX = "0000:0000:0000:0000:0000:ffff:"
_ADVICE = (
    "for an RNIC load its driver, for a plain port make a SoftRoCE device: "
    "`modprobe rdma_rxe && rdma link add rxe0 type rxe netdev IFACE`"
)


@dataclass(frozen=True, slots=True)
class Gid:
    """One RoCE v2 GID of IPv4: which of which device and port it is, and the network interface that holds its address.

    `link` is "ACTIVE" where the port is up.
    """

    device: str
    port: int
    index: int
    ip: IPv4Address
    interface: str
    link: str

    def __str__(self) -> str:
        return f"{self.ip} is GID {self.index} of {self.device} port {self.port} ({self.interface})"


def gids(root: Path = Path("/"), index: int | None = None) -> list[Gid]:
    """All RoCE v2 GIDs of IPv4 in this machine, or those with `index`; `root` is the folder with the kernel's `sys`."""
    pattern = "*" if index is None else str(index)
    return [gid for port in sorted((root / _CLASS).glob("*/ports/*")) for gid in _of_port(port, pattern)]


def find_gid(ip: IPv4Address, device: str | None = None, index: int | None = None, root: Path = Path("/")) -> Gid:
    """The GID of `ip`; where several devices have it, of `device` and with `index`.

    TransportError where there is none, or more than one, with those that there are.
    """
    devices = sorted(path.name for path in (root / _CLASS).glob("*"))
    if not devices:
        raise TransportError(f"this machine has no RDMA device: {_ADVICE}")
    if device is not None and device not in devices:
        raise TransportError(f"there is no RDMA device {device}: choose one of {', '.join(devices)}")
    found = [gid for gid in gids(root, index) if gid.ip == ip and device in (None, gid.device)]
    if len(found) == 1:
        return found[0]
    candidates = [gid for gid in gids(root) if device in (None, gid.device)]
    listed = "; ".join(map(str, found or candidates))
    if found:
        raise TransportError(f"{len(found)} GIDs are of {ip}: {listed}: choose the device, and the GID's index")
    where = f"no RoCE v2 GID of {', '.join([device] if device else devices)} is {ip}"
    if index is not None:
        where += f" with index {index}"
    if not candidates:
        raise TransportError(f"{where}, nor any IPv4 address: give its network interface one, `ip addr add`")
    raise TransportError(f"{where}; {listed}: give the interface that address, or correct the receiver's")


def _of_port(port: Path, pattern: str) -> Iterator[Gid]:
    link = _text(port / "state").partition(": ")[2]
    for path in sorted((port / "gids").glob(pattern), key=lambda path: int(path.name)):
        text = _text(path)
        address = IPv6Address(text).ipv4_mapped if text.startswith(_PREFIX) else None
        if address is None or _text(port / "gid_attrs/types" / path.name) != _TYPE:
            continue
        interface = _text(port / "gid_attrs/ndevs" / path.name)
        yield Gid(port.parent.parent.name, int(port.name), int(path.name), address, interface, link)


def _text(path: Path) -> str:
    """What sysfs says; nothing where it refuses, as for an empty place of the GID table."""
    try:
        return path.read_text().strip()
    except OSError:
        return ""
