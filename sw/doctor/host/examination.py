"""All checks of the host, in their order."""

from collections.abc import Iterator

from framelane.doctor.host import addresses, counters, filters, interface, memory, ports, rdma
from framelane.doctor.host.finding import HostFinding, fault
from framelane.doctor.host.system import System
from framelane.session.session import Session


def chosen_interface(system: System, session: Session, name: str | None, device: str | None) -> str | None:
    """The interface that is meant: as given, else the RDMA device's, else that with the receiver's address."""
    if name:
        return name
    return (rdma.interface_of(system, session, device) if device else None) or interface.find(system, session)


def examine(
    session: Session, name: str | None = None, device: str | None = None, system: System | None = None
) -> Iterator[HostFinding]:
    """Check this host as the receiver of `session`, on interface `name`, or with the RDMA device `device`."""
    system = system or System()
    chosen = chosen_interface(system, session, name, device)
    if chosen is None:
        advice = "give --interface, or an interface an address of that network"
        yield fault("interface", f"no interface is on the network of the receiver {session.receiver.ip}", advice)
    else:
        yield from interface.check(system, session, chosen)
        yield from addresses.check(system, session, chosen, verbs=bool(device))
        yield from filters.check(system, session, chosen)
    yield from ports.check(system, session, verbs=bool(device))
    yield from memory.check(system, session, verbs=bool(device))
    yield from rdma.check(system, session, device)
    yield from counters.check(counters.read(system, chosen, device))
