"""An RDMA device of this computer that the user names: an RNIC, with a cable to the interface that sends."""

import os
from dataclasses import dataclass
from ipaddress import IPv6Address
from pathlib import Path

import debian
from errors_of_runs import CannotStart
from rdma_link import RdmaLink

_HERE = Path(__file__).resolve().parent
_DEVICE, _SENDER, _SOURCE_IP = (f"FRAMELANE_RDMA_{name}" for name in ("DEVICE", "SENDER", "SOURCE_IP"))


@dataclass(frozen=True, slots=True)
class OwnNic:
    """See `RdmaTestbed`. Nothing is set up: addresses, MTU, neighbour entry are the user's."""

    link: RdmaLink
    name: str = "this computer's NIC"

    def prepare(self) -> None:
        """See `RdmaTestbed`."""
        debian.check_pyverbs()

    def process(self, share: Path) -> list[str]:
        """See `RdmaTestbed`."""
        return ["sh", str(_HERE / "run_command.sh"), str(share)]

    def clean(self, share: Path) -> None:
        """See `RdmaTestbed`."""


def named_nic() -> OwnNic | None:
    """The device of the variable FRAMELANE_RDMA_DEVICE, None where it is not set.

    FRAMELANE_RDMA_SENDER is the interface from which packets reach it, FRAMELANE_RDMA_SOURCE_IP the IPv4 address they
    come from. CannotStart where one is missing, or there is no such device.
    """
    device, sender, source_ip = (os.environ.get(name) for name in (_DEVICE, _SENDER, _SOURCE_IP))
    if not device:
        return None
    if not sender or not source_ip:
        raise CannotStart(f"{_DEVICE} is set: set {_SENDER} and {_SOURCE_IP} as well, what packets reach it from")
    port = Path("/sys/class/infiniband", device, "ports/1")
    mac = Path("/sys/class/net", sender, "address")
    if not port.is_dir() or not mac.is_file():
        raise CannotStart(f"there is no RDMA device {device} or no interface {sender}: see `rdma link` and `ip link`")
    interface, ip = _ipv4(port, device)
    own_mac = Path("/sys/class/net", interface, "address").read_text().strip()
    return OwnNic(RdmaLink(device, interface, own_mac, ip, sender, mac.read_text().strip(), source_ip))


def _ipv4(port: Path, device: str) -> tuple[str, str]:
    """The interface and the IPv4 address of the first GID that is mapped from one."""
    for path in sorted((port / "gids").iterdir(), key=lambda path: int(path.name)):
        address = IPv6Address(path.read_text().strip()).ipv4_mapped
        if address:
            return (port / "gid_attrs/ndevs" / path.name).read_text().strip(), str(address)
    raise CannotStart(f"the RDMA device {device} has no IPv4 address: ip address add ... dev its interface")
