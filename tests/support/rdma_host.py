"""A host with RDMA devices as files: what sysfs, proc and dev would say, below a folder."""

from pathlib import Path

GID_TYPE = "RoCE v2"


class RdmaHost:
    """One that is made piece by piece; `root` is its folder."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def put(self, path: str, text: str) -> None:
        """A file below the root."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def device(
        self,
        name: str,
        gids: dict[int, tuple[str, str]],
        interface: str = "eth5",
        port: int = 1,
        state: str = "4: ACTIVE",
    ) -> None:
        """A device whose port has these GIDs: index to (GID, type)."""
        at = f"sys/class/infiniband/{name}/ports/{port}"
        self.put(f"{at}/state", f"{state}\n")
        for index in range(max(gids, default=0) + 2):
            self.put(f"{at}/gids/{index}", gids.get(index, ("0000:" * 7 + "0000", ""))[0] + "\n")
        for index, (_, kind) in gids.items():
            self.put(f"{at}/gid_attrs/types/{index}", f"{kind}\n")
            self.put(f"{at}/gid_attrs/ndevs/{index}", f"{interface}\n")

    def counters(self, device: str, port: int = 1, **values: int) -> None:
        """Its `hw_counters`."""
        for name, value in values.items():
            self.put(f"sys/class/infiniband/{device}/ports/{port}/hw_counters/{name}", f"{value}\n")

    def neighbours(self, *rows: tuple[str, int, str, str]) -> None:
        """The neighbour table: IP, flags, MAC, interface."""
        lines = [f"{ip:17}0x1         {flags:#x}         {mac}     *        {name}" for ip, flags, mac, name in rows]
        heading = "IP address       HW type     Flags       HW address            Mask     Device"
        self.put("proc/thread-self/net/arp", "\n".join([heading, *lines]) + "\n")

    def routes(self, *rows: tuple[str, str, str, int, str]) -> None:
        """The routing table: interface, and in the kernel's hex destination, gateway, flags, mask."""
        lines = [f"{name}\t{to}\t{via}\t{flags:04X}\t0\t0\t0\t{mask}\t0\t0\t0" for name, to, via, flags, mask in rows]
        heading = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT"
        self.put("proc/thread-self/net/route", "\n".join([heading, *lines]) + "\n")


def v4(ip: str) -> str:
    """The GID of an IPv4 address, as sysfs prints it."""
    a, b, c, d = (int(part) for part in ip.split("."))
    return f"0000:0000:0000:0000:0000:ffff:{a:02x}{b:02x}:{c:02x}{d:02x}"
