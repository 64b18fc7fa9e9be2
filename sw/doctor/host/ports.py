"""UDP port 4791: who holds it. SoftRoCE is a socket of the kernel, without a process."""

from collections.abc import Iterator

from framelane.doctor.host.finding import HostFinding, good, warning
from framelane.doctor.host.system import System
from framelane.models.roce_tx.wire import ROCE_PORT
from framelane.session.session import Session


def check(system: System, session: Session, verbs: bool) -> Iterator[HostFinding]:
    """One line a holder; packets that were dropped for a full queue."""
    holders = [row for name in ("udp", "udp6") for row in system.rows(name) if _port(row) == ROCE_PORT]
    if not holders:
        text = f"nothing holds UDP port {ROCE_PORT}"
        if verbs:
            yield good("port", text)
        else:
            advice = "right before a receiver is started, and with AF_PACKET; the kernel answers ICMP port unreachable"
            yield good("port", f"{text}: {advice}")
    for row in holders:
        inode, drops = row[9], int(row[12]) if len(row) > 12 else 0
        owner = _owner(system, inode)
        if owner is None:
            text = f"the kernel holds UDP port {ROCE_PORT}: a SoftRoCE device"
            advice = "right with `--transport verbs`; a UDP socket cannot have the port: `rdma link delete rxe0`"
            yield good("port", text) if verbs else warning("port", text, advice)
        else:
            yield good("port", f"{owner} holds UDP port {ROCE_PORT}")
        if drops:
            advice = "a longer queue (net.core.rmem_max), a faster receiver, or AF_PACKET"
            yield warning("port", f"its socket has dropped {drops} packets, its queue was full", advice)


def _port(row: list[str]) -> int:
    return int(row[1].rpartition(":")[2], 16)


def _owner(system: System, inode: str) -> str | None:
    """The process with the socket, as far as we may look; None for one of the kernel."""
    if inode == "0":
        return None
    for pid in system.names("proc"):
        if not pid.isdigit():
            continue
        for descriptor in system.names(f"proc/{pid}/fd"):
            try:
                target = (system.root / f"proc/{pid}/fd/{descriptor}").readlink()
            except OSError:
                continue
            if str(target) == f"socket:[{inode}]":
                return f"process {pid} ({system.text(f'proc/{pid}/comm')})"
    return "a process of another user or namespace"
