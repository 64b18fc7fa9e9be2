"""Memory: the ring fits, may be locked, lies in huge pages; queues of sockets are long enough."""

from collections.abc import Iterator

from framelane.doctor.host.finding import HostFinding, fault, good, warning
from framelane.doctor.host.system import System
from framelane.receiver.transport.sockets import QUEUE_BYTES
from framelane.session.session import Session

_CAP_NET_ADMIN, _CAP_NET_RAW, _CAP_IPC_LOCK = 12, 13, 14


def check(system: System, session: Session, verbs: bool) -> Iterator[HostFinding]:
    """The ring of `session`, and what a soft NIC needs."""
    ring = session.layout.ring_bytes
    meminfo = system.fields("proc/meminfo")
    available = _kib(meminfo.get("MemAvailable", "")) << 10
    if available < ring:
        yield fault("memory", f"the ring has {ring} bytes, {available} are free", "fewer slots, or more memory")
    else:
        yield good("memory", f"the ring has {ring} bytes, {available >> 20} MiB are free")
    yield check_lock(system, ring, verbs)
    yield check_huge_pages(meminfo, ring)
    yield from _check_sockets(system, verbs)


def check_lock(system: System, ring: int, verbs: bool) -> HostFinding:
    """Whether so many bytes may be locked, which `verbs` and VFIO need."""
    limits = [line for line in system.text("proc/thread-self/limits").splitlines() if line.startswith("Max locked")]
    soft = limits[0].removeprefix("Max locked memory").split()[0] if limits else "0"
    if system.capability(_CAP_IPC_LOCK) or soft == "unlimited" or int(soft) >= ring:
        return good("memlock", f"{ring} bytes may be locked")
    text = f"{soft} bytes may be locked, the ring has {ring}: it cannot be registered"
    advice = f"`ulimit -l {-(-ring // 1024)}` as root, memlock in /etc/security/limits.conf, or LimitMEMLOCK="
    return fault("memlock", text, advice) if verbs else warning("memlock", text, f"for `--transport verbs`: {advice}")


def check_huge_pages(meminfo: dict[str, str], ring: int) -> HostFinding:
    """Whether so many bytes of huge pages are free."""
    page = _kib(meminfo.get("Hugepagesize", "")) << 10
    free = int((meminfo.get("HugePages_Free", "0") or "0").split()[0]) * page
    if page and free >= ring:
        return good("hugepages", f"{free} bytes of huge pages are free")
    if not page:
        return warning("hugepages", "the kernel has no huge pages", "nothing: they save the NIC some translations")
    wanted = -(-ring // page)
    text = f"{free} bytes of huge pages are free, the ring has {ring}"
    return warning("hugepages", text, f"if wanted for large rings: `sysctl vm.nr_hugepages={wanted}`")


def _check_sockets(system: System, verbs: bool) -> Iterator[HostFinding]:
    yield check_queue(system, wanted=not verbs)
    if system.capability(_CAP_NET_RAW):
        yield good("capabilities", "this process may open AF_PACKET sockets")
    else:
        advice = "for `--transport packet` and `--listen` run as root, or `setcap cap_net_raw+ep` on a copy of python"
        yield warning("capabilities", "CAP_NET_RAW is missing: no AF_PACKET sockets", advice)


def check_queue(system: System, wanted: bool) -> HostFinding:
    """Whether a socket may queue what a soft NIC, or the receiver of a detector, asks for, where one is `wanted`."""
    longest = system.number("proc/sys/net/core/rmem_max") or 0
    text = f"sockets may queue {longest} bytes"
    if system.capability(_CAP_NET_ADMIN):
        return good("rmem_max", f"{text}, and this process may pass that")
    if longest < QUEUE_BYTES and wanted:
        return warning("rmem_max", f"{text}, {QUEUE_BYTES} are wanted", f"`sysctl net.core.rmem_max={QUEUE_BYTES}`")
    return good("rmem_max", text)


def _kib(text: str) -> int:
    number = text.split()[:1]
    return int(number[0]) if number and number[0].isdigit() else 0
