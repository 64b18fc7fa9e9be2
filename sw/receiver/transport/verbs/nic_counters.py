"""What the NIC itself has counted: of the whole port, and so of a port that serves one session only.

Linux: Documentation/ABI/stable/sysfs-class-infiniband, `hw_counters`; the names are each driver's own.
"""

from pathlib import Path

from framelane.receiver.transport.verbs.gid import Gid

WRITES = ("rcvd_pkts", "rx_write_requests", "rx_write_req")
"""Packets that came to a QP with the right ICRC (rxe), and requests of RDMA WRITE (mlx5, bnxt_re): with segmentation
`only` both are packets, if nothing else comes to the port."""

_NOT_COUNTED = ("lifespan",)
"""How long the kernel keeps a reading, in ms."""


class NicCounters:
    """The counters of a port from now on."""

    def __init__(self, gid: Gid, root: Path = Path("/")) -> None:
        self._folder = root / "sys/class/infiniband" / gid.device / "ports" / str(gid.port) / "hw_counters"
        self._first = self._read()

    def since(self) -> dict[str, int]:
        """How much each counter has grown; empty if the device has none."""
        return {name: value - self._first.get(name, 0) for name, value in self._read().items()}

    def writes(self) -> int | None:
        """RDMA WRITEs that came, to be compared with what the sources say that they have sent; None if not counted.

        More than the sources have sent means that somebody else writes.
        """
        grown = self.since()
        return next((grown[name] for name in WRITES if name in grown), None)

    def _read(self) -> dict[str, int]:
        found = {}
        for path in self._folder.glob("*"):
            if path.name not in _NOT_COUNTED:
                try:
                    found[path.name] = int(path.read_text())
                except (OSError, ValueError):
                    continue
        return found
