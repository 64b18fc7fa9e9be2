"""What drops packets before a socket sees them: reverse-path filter and firewall."""

from collections.abc import Iterator

from framelane.doctor.host.finding import HostFinding, fault, good, warning
from framelane.doctor.host.system import System
from framelane.session.session import Session

_STRICT, _LOOSE = 1, 2
_CONF = "proc/sys/net/ipv4/conf"


def check(system: System, session: Session, interface: str) -> Iterator[HostFinding]:
    """`rp_filter` (the higher of `all` and the interface's counts; networking/ip-sysctl), and netfilter."""
    values = [system.number(f"{_CONF}/{name}/rp_filter") or 0 for name in ("all", interface)]
    mode = max(values)
    route = system.route(session.source.ip)
    back = route.interface if route else None
    advice = f"`sysctl net.ipv4.conf.{interface}.rp_filter=2 net.ipv4.conf.all.rp_filter=2`, or a route to the source"
    if session.source.ip.is_loopback or not mode:
        yield good("rp_filter", "no reverse-path filter")
    elif back is None or (mode == _STRICT and back != interface):
        where = f"by {back}" if back else "not routed"
        text = f"rp_filter is {mode}, and the way back to {session.source.ip} is {where}: the kernel drops its packets"
        yield fault("rp_filter", f"{text} in silence (AF_PACKET still sees them)", advice)
    else:
        yield good("rp_filter", f"rp_filter is {mode}, the source's packets pass it")
    yield check_firewall(system, "UDP port 4791 from the source")


def check_firewall(system: System, wanted: str) -> HostFinding:
    """Whether rules are loaded, which have to let pass what is `wanted`, in words."""
    tables = system.net("ip_tables_names").split()
    modules = system.text("proc/modules")
    uses = [line.split()[2] for line in modules.splitlines() if line.startswith("nf_tables ")]
    if tables or (uses and uses[0] != "0"):
        advice = f"look with `nft list ruleset` and `iptables -L INPUT -v`; allow {wanted}"
        return warning("firewall", "a firewall is loaded: SoftRoCE and UDP sockets see what it lets pass only", advice)
    return good("firewall", "no firewall rules are loaded as far as /proc tells")
