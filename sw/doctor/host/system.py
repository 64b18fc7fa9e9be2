"""The host as /proc and /sys show it, below a root that tests may make up (proc(5), sysfs(5))."""

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

_ROUTE_UP, _ROUTE_GATEWAY = 0x1, 0x2


@dataclass(frozen=True, slots=True)
class Route:
    """A line of the main routing table; `gateway` is None for a network of the interface itself."""

    interface: str
    network: IPv4Network
    gateway: IPv4Address | None


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A line of the ARP table; `flags` as in linux/if_arp.h: 2 complete, 4 permanent."""

    ip: IPv4Address
    mac: str
    interface: str
    flags: int


@dataclass(frozen=True, slots=True)
class System:
    """Reads files below `root`. What is not there reads as empty."""

    root: Path = Path("/")

    def text(self, path: str) -> str:
        """A file without its last newline."""
        try:
            return (self.root / path).read_text(errors="replace").strip()
        except (OSError, ValueError):
            return ""

    def number(self, path: str) -> int | None:
        """A file with one decimal number."""
        text = self.text(path)
        return int(text) if text.lstrip("-").isdigit() else None

    def names(self, path: str) -> list[str]:
        """What a folder holds, sorted."""
        try:
            return sorted(entry.name for entry in (self.root / path).iterdir())
        except OSError:
            return []

    def net(self, name: str) -> str:
        """A file of this thread's network namespace."""
        return self.text(f"proc/thread-self/net/{name}")

    def rows(self, name: str) -> list[list[str]]:
        """A table of the network namespace, without its heading."""
        return [line.split() for line in self.net(name).splitlines()[1:]]

    def fields(self, path: str) -> dict[str, str]:
        """A file of lines `name: value`."""
        pairs = (line.partition(":") for line in self.text(path).splitlines())
        return {name.strip(): value.strip() for name, _, value in pairs}

    def capability(self, bit: int) -> bool:
        """Whether this process has a capability (capabilities(7))."""
        effective = self.fields("proc/thread-self/status").get("CapEff", "0")
        return bool(int(effective, 16) >> bit & 1)

    def routes(self) -> list[Route]:
        """The main routing table, the most exact network first."""
        found = []
        for name, destination, gateway, flags, _, _, _, mask, *_ in self.rows("route"):
            if int(flags, 16) & _ROUTE_UP:
                network = IPv4Network((_address(destination), str(_address(mask))))
                found.append(Route(name, network, _address(gateway) if int(flags, 16) & _ROUTE_GATEWAY else None))
        return sorted(found, key=lambda route: -route.network.prefixlen)

    def route(self, ip: IPv4Address) -> Route | None:
        """The route to `ip`."""
        return next((route for route in self.routes() if ip in route.network), None)

    def neighbours(self) -> list[Neighbour]:
        """The ARP table."""
        rows = [row for row in self.rows("arp") if len(row) == 6]
        return [Neighbour(IPv4Address(row[0]), row[3], row[5], int(row[2], 16)) for row in rows]

    def local_addresses(self) -> list[IPv4Address]:
        """This host's own addresses, those of 127.0.0.0/8 that are written down only (/proc/net/fib_trie)."""
        found: set[IPv4Address] = set()
        address = ""
        for line in self.net("fib_trie").splitlines():
            text = line.strip()
            if text.startswith("|-- "):
                address = text[4:]
            elif text == "/32 host LOCAL":
                found.add(IPv4Address(address))
        return sorted(found)


def _address(text: str) -> IPv4Address:
    """An address as /proc prints it: the number in this machine's byte order, least significant first."""
    return IPv4Address(bytes.fromhex(text)[::-1])
