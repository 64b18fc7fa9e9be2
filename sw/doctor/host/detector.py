"""A host that receives a detector's own UDP packets: whole packets, long queues, and cores near the NIC."""

from collections.abc import Iterator

from framelane.base.errors import ConfigError
from framelane.doctor.host import counters, filters, interface, memory
from framelane.doctor.host.cpus import CpuSet
from framelane.doctor.host.finding import HostFinding, fault, good, note, warning
from framelane.doctor.host.system import System
from framelane.models.jungfrau.jf_packet import PACKET_BYTES
from framelane.receiver.jungfrau.packet_units import FEW

_IP_UDP_BYTES = 20 + 8
_NODES = "sys/devices/system/node"


def examine(name: str, system: System | None = None) -> Iterator[HostFinding]:
    """Check this host as the receiver of what comes in on the interface `name`. ConfigError for what is not a name."""
    system = system or System()
    if "/" in name or name in ("", ".", ".."):
        raise ConfigError(f"{name!r} is not an interface: give one of {', '.join(system.names('sys/class/net'))}")
    there = yield from interface.check_link(system, name)
    if there:
        yield _check_mtu(system, name)
        yield from _check_numa(system, name)
        yield from _check_interrupts(system, name)
    yield memory.check_queue(system, wanted=True)
    yield filters.check_firewall(system, "the ports that the detector sends to")
    yield from counters.check(counters.read(system, name, None))


def _check_mtu(system: System, name: str) -> HostFinding:
    mtu = system.number(f"sys/class/net/{name}/mtu") or 0
    text = f"{name} has MTU {mtu}, packets of {PACKET_BYTES} bytes need {PACKET_BYTES + _IP_UDP_BYTES}"
    if mtu >= PACKET_BYTES + _IP_UDP_BYTES:
        return good("mtu", text)
    if mtu >= FEW + _IP_UDP_BYTES:
        text += f"; those of {FEW} bytes pass"
    return fault("mtu", text, f"`ip link set {name} mtu 9000`, and as much on every switch on the way")


def _check_numa(system: System, name: str) -> Iterator[HostFinding]:
    """The processor that the NIC is at, and those that this process, and so `recv` from the same shell, may run on."""
    node = system.number(f"sys/class/net/{name}/device/numa_node")
    near = CpuSet.of(system.text(f"{_NODES}/node{node}/cpulist")) if node is not None else CpuSet.of("")
    allowed = CpuSet.of(system.fields("proc/thread-self/status").get("Cpus_allowed_list", ""))
    if node is None or node < 0 or not near or not allowed:
        yield good("numa", f"{name} is at no NUMA node that is known: one node, or a virtual interface")
        return
    text = f"{name} is at NUMA node {node}, CPUs {near}; this process may run on CPUs {allowed}"
    advice = f"start the receiver by `numactl --cpunodebind={node} --membind={node} framelane recv ...`"
    if allowed.within(near):
        yield good("numa", text)
    elif allowed.meets(near):
        yield note("numa", f"{text}, so on other nodes as well", f"where packets are lost in the queue: {advice}")
    else:
        yield warning("numa", f"{text}: every packet crosses to another node", advice)


def _check_interrupts(system: System, name: str) -> Iterator[HostFinding]:
    """Which CPUs take packets from the NIC's queues into the kernel."""
    device = f"sys/class/net/{name}/device"
    queues = [each for each in system.names(f"sys/class/net/{name}/queues") if each.startswith("rx-")]
    numbers = [each for each in system.names(f"{device}/msi_irqs") if each.isdigit()]
    served = {number: cpus for number in numbers if (cpus := _affinity(system, number))}
    if not served:
        yield good("interrupts", f"{name} has no interrupts of queues: a virtual interface, or an old one")
        return
    union = CpuSet.union(served.values())
    text = f"{len(queues)} receive queues of {name}, {len(served)} interrupts on CPUs {union}"
    one_cpu = f"`ethtool -L {name} combined N` for N queues, and one CPU of the NIC's node for each: stop irqbalance, "
    one_cpu += "`echo CPU >/proc/irq/NUMBER/smp_affinity_list`"
    node = system.number(f"{device}/numa_node")
    near = CpuSet.of(system.text(f"{_NODES}/node{node}/cpulist")) if node is not None and node >= 0 else None
    found = False
    if len(queues) == 1 or len(union) == 1:
        found = True
        why = "one core takes the packets of all ports into the kernel"
        yield warning("interrupts", f"{text}: {why}", one_cpu)
    far = [number for number, cpus in served.items() if near and not cpus.meets(near)]
    if far:
        found = True
        which = ", ".join(far[:4]) + (", ..." if len(far) > 4 else "")
        why = f"{len(far)} of them ({which}) are served by another NUMA node than {node}, the NIC's, CPUs {near}"
        yield warning("interrupts", f"{text}: {why}", one_cpu)
    if not found:
        yield good("interrupts", text)


def _affinity(system: System, number: str) -> CpuSet:
    """The CPUs that serve an interrupt; those that may, where an older kernel does not say."""
    folder = f"proc/irq/{number}"
    text = system.text(f"{folder}/effective_affinity_list") or system.text(f"{folder}/smp_affinity_list")
    return CpuSet.of(text)
