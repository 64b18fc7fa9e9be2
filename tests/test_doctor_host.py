"""The doctor's checks of the host, on made-up /proc and /sys, one fault at a time, and on this machine as it is."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from doctoring import make
from framelane.models.session import Session
from framelane.receiver.doctor.host import counters
from framelane.receiver.doctor.host.examination import chosen_interface, examine
from framelane.receiver.doctor.host.finding import HostFinding, Level
from framelane.receiver.doctor.host.system import System

ROUTES = """Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT
eth1\t0000000A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0
eth0\t00000000\t0101A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0
"""
FIB = """Main:
  +-- 0.0.0.0/0 3 0 5
     |-- 10.0.0.0
        /24 link UNICAST
Local:
     |-- 127.0.0.1
        /32 host LOCAL
     |-- 10.0.0.2
        /32 host LOCAL
"""
ARP = """IP address       HW type     Flags       HW address            Mask     Device
10.0.0.1         0x1         0x6         02:00:00:00:00:01     *        eth1
"""
UDP = "  sl  local_address rem_address st tx_queue rx_queue tr tm->when retrnsmt uid timeout inode ref pointer drops\n"
LIMITS = "Limit                     Soft Limit   Hard Limit   Units\nMax locked memory         {}  {}  bytes\n"
NET = "proc/thread-self/net"
SYS = "sys/class/net/eth1"
RDMA = "sys/class/infiniband/mlx5_0/ports/1"


def healthy() -> dict[str, str]:
    """A receiver on which all is well, with an RNIC; files by their paths."""
    return {
        f"{NET}/route": ROUTES,
        f"{NET}/fib_trie": FIB,
        f"{NET}/arp": ARP,
        f"{NET}/udp": UDP,
        f"{NET}/snmp": "Ip: InHdrErrors InAddrErrors\nIp: 0 0\nUdp: NoPorts InCsumErrors RcvbufErrors\nUdp: 0 0 0\n",
        f"{NET}/dev": "Inter-|\n face |\n  eth1: 0\n  eth7: 0\n",
        f"{SYS}/flags": "0x1003",
        f"{SYS}/operstate": "up",
        f"{SYS}/mtu": "9000",
        f"{SYS}/address": "02:00:00:00:00:02",
        f"{SYS}/speed": "100000",
        f"{SYS}/statistics/rx_crc_errors": "0",
        f"{SYS}/statistics/rx_missed_errors": "0",
        "proc/sys/net/ipv4/conf/all/rp_filter": "0",
        "proc/sys/net/ipv4/conf/eth1/rp_filter": "0",
        "proc/sys/net/core/rmem_max": str(128 << 20),
        "proc/meminfo": "MemAvailable:   8000000 kB\nHugePages_Free:  64\nHugepagesize:  2048 kB\n",
        "proc/thread-self/limits": LIMITS.format("unlimited", "unlimited"),
        "proc/thread-self/status": "Name: x\nCapEff:\t0000000000002000\n",
        "proc/modules": "ib_uverbs 1 0 - Live\nnf_tables 1 0 - Live\n",
        f"{RDMA}/state": "4: ACTIVE",
        f"{RDMA}/gids/3": "0000:0000:0000:0000:0000:ffff:0a00:0002",
        f"{RDMA}/gid_attrs/types/3": "RoCE v2",
        f"{RDMA}/gid_attrs/ndevs/3": "eth1",
        f"{RDMA}/hw_counters/out_of_sequence": "0",
        f"{RDMA}/counters/port_rcv_errors": "0",
        "sys/class/infiniband_verbs/uverbs0/ibdev": "mlx5_0",
        "dev/infiniband/uverbs0": "",
    }


@pytest.fixture
def check(tmp_path: Path) -> Callable[..., dict[str, HostFinding]]:
    """Examine a healthy host with other files (None: without); the worst finding of each check but pyverbs'."""

    def run(
        changes: dict[str, str | None], device: str | None = "mlx5_0", session: Session | None = None
    ) -> dict[str, HostFinding]:
        for path, text in (healthy() | changes).items():
            if text is not None:
                (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
                (tmp_path / path).write_text(text)
        found: dict[str, HostFinding] = {}
        order = list(Level)
        for finding in examine(session or make(), None, device, System(tmp_path)):
            old = found.get(finding.check)
            if old is None or order.index(finding.level) > order.index(old.level):
                found[finding.check] = finding
        del found["pyverbs"]
        return found

    return run


@pytest.mark.parametrize("device", ["mlx5_0", None])
def test_a_healthy_host_gets_nothing_but_ok(check: Callable[..., dict[str, HostFinding]], device: str | None) -> None:
    found = check({}, device)
    assert {name: f for name, f in found.items() if f.level is not Level.OK} == {}
    assert not any(finding.advice for finding in found.values())
    assert len(found) >= 15


FAULTS: list[tuple[str, dict[str, str | None], str, Level, str, str]] = [
    ("switched off", {f"{SYS}/flags": "0x1002"}, "interface", Level.FAULT, "switched off", "ip link set eth1 up"),
    ("no link", {f"{SYS}/operstate": "down"}, "interface", Level.FAULT, "no link", "cable"),
    ("short MTU", {f"{SYS}/mtu": "1500"}, "mtu", Level.FAULT, "need 4160", "mtu 9000"),
    ("tight MTU", {f"{SYS}/mtu": "4160"}, "mtu", Level.WARNING, "wants 4192", "mtu 9000"),
    ("other MAC", {f"{SYS}/address": "02:00:00:00:00:77"}, "mac", Level.FAULT, "02:00:00:00:00:77", "receiver.mac"),
    (
        "no address",
        {f"{NET}/fib_trie": FIB.replace("10.0.0.2", "10.0.0.9")},
        "address",
        Level.FAULT,
        "10.0.0.9",
        "ip addr",
    ),
    ("no neighbour", {f"{NET}/arp": ARP[:81]}, "neighbour", Level.FAULT, "not known", "nud permanent"),
    (
        "incomplete neighbour",
        {f"{NET}/arp": ARP.replace("0x6", "0x0")},
        "neighbour",
        Level.FAULT,
        "not known",
        "lladdr",
    ),
    (
        "learnt neighbour",
        {f"{NET}/arp": ARP.replace("0x6", "0x2")},
        "neighbour",
        Level.WARNING,
        "not for ever",
        "expire",
    ),
    (
        "other neighbour",
        {f"{NET}/arp": ARP.replace("00:01 ", "00:0f ")},
        "neighbour",
        Level.FAULT,
        "known as 02:00:00:00:00:0f",
        "lladdr 02:00:00:00:00:01",
    ),
    ("strict filter", {"proc/sys/net/ipv4/conf/all/rp_filter": "1"}, "rp_filter", Level.OK, "pass it", ""),
    (
        "strict filter, other way back",
        {
            "proc/sys/net/ipv4/conf/eth1/rp_filter": "1",
            f"{NET}/route": ROUTES + "eth0\t0100000A\t00000000\t0005\t0\t0\t0\tFFFFFFFF\t0\t0\t0\n",
        },
        "rp_filter",
        Level.FAULT,
        "by eth0",
        "rp_filter=2",
    ),
    ("firewall", {f"{NET}/ip_tables_names": "filter\n"}, "firewall", Level.WARNING, "firewall", "UDP port 4791"),
    ("nftables", {"proc/modules": "nf_tables 9 5 - Live\n"}, "firewall", Level.WARNING, "firewall", "nft list"),
    (
        "locked memory",
        {"proc/thread-self/limits": LIMITS.format("8192", "8192")},
        "memlock",
        Level.FAULT,
        "8192 bytes may be locked, the ring has 16384",
        "ulimit -l 16",
    ),
    ("memory", {"proc/meminfo": "MemAvailable: 8 kB\n"}, "memory", Level.FAULT, "8192 are free", "fewer slots"),
    (
        "huge pages",
        {"proc/meminfo": "MemAvailable: 80000 kB\nHugePages_Free: 0\nHugepagesize: 2048 kB\n"},
        "hugepages",
        Level.WARNING,
        "0 bytes of huge pages",
        "nr_hugepages=1",
    ),
    ("privilege", {"proc/thread-self/status": "CapEff:\t0"}, "capabilities", Level.WARNING, "CAP_NET_RAW", "root"),
    (
        "CRC errors",
        {f"{SYS}/statistics/rx_crc_errors": "7"},
        "counters",
        Level.WARNING,
        "eth1 rx_crc_errors has counted 7",
        "cable",
    ),
    ("gaps", {f"{RDMA}/hw_counters/out_of_sequence": "9"}, "counters", Level.WARNING, "mlx5_0 out_of_sequence", "lost"),
    ("port errors", {f"{RDMA}/counters/port_rcv_errors": "2"}, "counters", Level.WARNING, "port_rcv_errors", "damaged"),
    (
        "UDP checksums",
        {f"{NET}/snmp": "Udp: NoPorts InCsumErrors\nUdp: 0 12\n"},
        "counters",
        Level.WARNING,
        "Udp InCsumErrors has counted 12",
        "send 0",
    ),
    ("port down", {f"{RDMA}/state": "1: DOWN"}, "port state", Level.FAULT, "DOWN", "ip link set eth1 up"),
    ("RoCE v1 only", {f"{RDMA}/gid_attrs/types/3": "IB/RoCE v1"}, "gid", Level.FAULT, "no RoCE v2 GID", "ip addr add"),
    (
        "no uverbs",
        {"sys/class/infiniband_verbs/uverbs0/ibdev": None},
        "uverbs",
        Level.FAULT,
        "mlx5_0",
        "modprobe ib_uverbs",
    ),
    ("no device node", {"dev/infiniband/uverbs0": None}, "uverbs", Level.FAULT, "/dev/infiniband/uverbs0", "--device"),
]


@pytest.mark.parametrize(
    ("name", "changes", "check_name", "level", "text", "advice"), FAULTS, ids=lambda v: v if isinstance(v, str) else ""
)
def test_a_fault_of_the_host_is_found_and_nothing_else(
    check: Callable[..., dict[str, HostFinding]],
    name: str,
    changes: dict[str, str | None],
    check_name: str,
    level: Level,
    text: str,
    advice: str,
) -> None:
    session = make(mtu=4096) if "MTU" in name else None
    found = check(changes, session=session)
    finding = found.pop(check_name)
    assert finding.level is level
    assert text in finding.text
    assert advice in finding.advice
    others = {name for name, f in found.items() if f.level is not Level.OK}
    assert others <= {"route", "hugepages"}


def test_who_holds_the_port_is_named(check: Callable[..., dict[str, HostFinding]], tmp_path: Path) -> None:
    row = "  9: 00000000:12B7 00000000:0000 07 0:0 00:0 00000000 0 0 {} 2 0 {}\n"
    kernel = UDP + row.format(0, 0)
    assert check({f"{NET}/udp": kernel})["port"].text == "the kernel holds UDP port 4791: a SoftRoCE device"
    assert "rdma link delete" in check({f"{NET}/udp": kernel}, None)["port"].advice
    (tmp_path / "proc/4242/fd").mkdir(parents=True)
    (tmp_path / "proc/4242/comm").write_text("framelane\n")
    (tmp_path / "proc/4242/fd/5").symlink_to("socket:[777]")
    held = check({f"{NET}/udp": UDP + row.format(777, 3)}, None)
    assert held["port"].level is Level.WARNING
    assert "dropped 3 packets" in held["port"].text
    assert (
        "process 4242 (framelane) holds UDP port 4791"
        in check({f"{NET}/udp": UDP + row.format(777, 0)}, None)["port"].text
    )


def test_short_queues_matter_to_a_soft_nic_without_privilege_only(check: Callable[..., dict[str, HostFinding]]) -> None:
    short = {"proc/sys/net/core/rmem_max": "212992"}
    assert check(short)["rmem_max"].level is Level.OK
    assert check(short, None)["rmem_max"].level is Level.WARNING
    admin: dict[str, str | None] = {**short, "proc/thread-self/status": "CapEff:\t0000000000003000"}
    assert check(admin, None)["rmem_max"].level is Level.OK


def test_without_an_rdma_device_its_absence_is_no_fault(check: Callable[..., dict[str, HostFinding]]) -> None:
    bare = {path: None for path in healthy() if "infiniband" in path}
    assert check(bare, None)["gid"].level is Level.WARNING
    assert "needed for `--transport verbs` only" in check(bare, None)["gid"].text
    assert check(bare, "rxe0")["gid"].level is Level.FAULT


def test_a_source_behind_a_router_needs_the_routers_neighbour_entry(
    check: Callable[..., dict[str, HostFinding]],
) -> None:
    far = make(source={"mac": "02:00:00:00:00:01", "ip": "10.9.0.1"})
    route = ROUTES + "eth1\t0000090A\tFE00000A\t0003\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
    assert "the MAC address of 10.0.0.254 is not known" in check({f"{NET}/route": route}, session=far)["neighbour"].text
    arp = ARP.replace("10.0.0.1  ", "10.0.0.254")
    assert check({f"{NET}/route": route, f"{NET}/arp": arp}, session=far)["neighbour"].level is Level.OK
    assert (
        "there is no route"
        in check({f"{NET}/route": ROUTES.splitlines()[0] + "\n" + ROUTES.splitlines()[1]}, session=far)["route"].text
    )


def test_the_interface_is_that_of_the_device_or_of_the_receivers_network(tmp_path: Path) -> None:
    for path, text in healthy().items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    system = System(tmp_path)
    assert chosen_interface(system, make(), None, None) == "eth1"
    assert chosen_interface(system, make(), "eth9", None) == "eth9"
    assert chosen_interface(system, make(), None, "mlx5_0") == "eth1"
    elsewhere = make(receiver={"mac": "02:00:00:00:00:02", "ip": "172.16.0.9"})
    assert chosen_interface(system, elsewhere, None, None) is None
    assert [f.level for f in examine(elsewhere, system=system) if f.check == "interface"] == [Level.FAULT]
    unseen = [f for f in examine(make(), "eth7", system=system) if f.check == "interface"]
    assert "another network namespace" in unseen[0].text
    missing = [f for f in examine(make(), "eth8", system=system) if f.check == "interface"]
    assert missing[0].advice == "choose one of eth1"


def test_counters_are_compared_with_an_earlier_reading() -> None:
    before = {"eth1 rx_missed_errors": 10, "Udp RcvbufErrors": 5}
    now = {"eth1 rx_missed_errors": 13, "Udp RcvbufErrors": 5}
    (finding,) = counters.check(now, before)
    assert finding.text == "eth1 rx_missed_errors has counted 3 while listening"
    (nothing,) = counters.check(before, before)
    assert nothing.level is Level.OK


def test_an_empty_machine_is_examined_to_the_end(tmp_path: Path) -> None:
    found = list(examine(make(), system=System(tmp_path)))
    assert found[0].level is Level.FAULT
    assert all(finding.advice for finding in found if finding.level is not Level.OK)


def test_this_machine_says_of_a_veth_what_was_set_up_there(network: tuple[str, str]) -> None:
    """The addresses and routes are those of the test's own network namespace."""
    near, _ = network
    mac = "02:00:00:00:00:02"
    for line in (f"addr add 10.0.0.2/24 dev {near}", f"neigh replace 10.0.0.1 lladdr 02:00:00:00:00:01 dev {near}"):
        subprocess.run(["ip", *line.split()], check=True)
    session = make(receiver={"mac": mac, "ip": "10.0.0.2"})
    assert chosen_interface(System(), session, None, None) == near
    found = {finding.check: finding for finding in examine(session)}
    assert found["address"].text == "10.0.0.2 is an address of this host"
    assert found["route"].text == f"the way to the source 10.0.0.1 is {near}"
    assert found["neighbour"].level is Level.OK
    assert found["port"].text.startswith("nothing holds UDP port 4791")


def test_packets_for_a_port_that_nothing_holds_are_a_note_that_says_when_it_is_normal(
    check: Callable[..., dict[str, HostFinding]],
) -> None:
    found = check({f"{NET}/snmp": "Udp: NoPorts InCsumErrors\nUdp: 23398 0\n"})
    assert found["counters"].level is Level.NOTE
    assert "Udp NoPorts has counted 23398" in found["counters"].text
    assert "normal with `--transport packet`" in found["counters"].advice
    both = list(counters.check({"Udp NoPorts": 7, "Udp InCsumErrors": 0}, {"Udp NoPorts": 2, "Udp InCsumErrors": 0}))
    assert [finding.level for finding in both] == [Level.NOTE, Level.OK]
    assert both[1].text == "1 counter of errors and drops is 0 while listening"
    worse = counters.check({"Udp NoPorts": 7, "Udp InCsumErrors": 3})
    assert {finding.level for finding in worse} == {Level.NOTE, Level.WARNING}
