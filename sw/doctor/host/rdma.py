"""RDMA: a device, its GID for the receiver's address, a port that is up, programs that may use it, and pyverbs."""

from collections.abc import Callable, Iterator

from framelane.base.errors import TransportError
from framelane.doctor.host.finding import HostFinding, fault, good, warning
from framelane.doctor.host.system import System
from framelane.receiver.transport.verbs import host_checks, library
from framelane.receiver.transport.verbs.gid import Gid, find_gid, gids
from framelane.session.session import Session


def check(system: System, session: Session, device: str | None) -> Iterator[HostFinding]:
    """`device`: the RDMA device to be used; None: none is needed, so that what is missing is not a fault."""
    worse = fault if device else warning
    try:
        gid = find_gid(session.receiver.ip, device, None, system.root)
    except TransportError as error:
        text, _, advice = str(error).partition(": ")
        need = "" if device else " (needed for `--transport verbs` only)"
        yield worse("gid", f"{text}{need}", advice or "see docs/howto/receiving.md")
    else:
        yield good("gid", str(gid))
        yield from _check_port(system, session, gid)
    yield from _check_library(system, bool(device))


def interface_of(system: System, session: Session, device: str) -> str | None:
    """The network interface of an RDMA device: that of the receiver's GID, or of any of its GIDs."""
    own = [gid for gid in gids(system.root) if gid.device == device]
    best = [gid for gid in own if gid.ip == session.receiver.ip] or own
    return best[0].interface if best else None


def _check_port(system: System, session: Session, gid: Gid) -> Iterator[HostFinding]:
    checks: dict[str, Callable[[], None]] = {
        "port state": lambda: host_checks.check_link(gid),
        "uverbs": lambda: host_checks.check_character_device(gid, system.root),
    }
    for name, call in checks.items():
        try:
            call()
        except TransportError as error:
            text, _, advice = str(error).rpartition(": ")
            yield fault(name, text, advice)
        else:
            yield good(name, f"{gid.device}: right")


def _check_library(system: System, needed: bool) -> Iterator[HostFinding]:
    try:
        library.load(system.root)
    except TransportError as error:
        text, _, advice = str(error).rpartition(": ")
        yield (fault if needed else warning)("pyverbs", text, advice)
    else:
        yield good("pyverbs", "pyverbs can be imported")
    modules = [line.split()[0] for line in system.text("proc/modules").splitlines()]
    if "rdma_rxe" in modules:
        yield good("rxe", "the SoftRoCE driver is loaded")
