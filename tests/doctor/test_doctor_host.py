"""The doctor's checks of the host, on made-up /proc and /sys, one fault at a time, and on this machine as it is."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from doctor_cases import make
from framelane.doctor.host import counters
from framelane.doctor.host.examination import chosen_interface, examine
from framelane.doctor.host.finding import HostFinding, Level
from framelane.doctor.host.system import System
from framelane.receiver.transport.sockets import QUEUE_BYTES
from framelane.session.session import Session

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


LOOPBACK = {
    "source": {"mac": "02:00:00:00:00:01", "ip": "127.0.0.1"},
    "receiver": {"mac": "00:00:00:00:00:00", "ip": "127.0.0.1"},
}
FAR = {"source": {"mac": "02:00:00:00:00:01", "ip": "10.9.0.1"}}
TO_FAR = ROUTES + "eth1\t0000090A\tFE00000A\t0003\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
HELD = "  9: 00000000:{} 00000000:0000 07 0:0 00:0 00000000 0 0 {} 2 0 {}\n"
CONF = "proc/sys/net/ipv4/conf"
RDMA_2 = "sys/class/infiniband/mlx5_9/ports/1"
SECOND_DEVICE: dict[str, str | None] = {
    f"{RDMA_2}/state": "4: ACTIVE",
    f"{RDMA_2}/gids/0": "0000:0000:0000:0000:0000:ffff:0a00:0009",
    f"{RDMA_2}/gid_attrs/types/0": "RoCE v2",
    f"{RDMA_2}/gid_attrs/ndevs/0": "eth9",
    f"{RDMA_2}/hw_counters/duplicate_request": "3",
}
MEMORY = "MemAvailable: {} kB\nHugePages_Free: {}\nHugepagesize: {} kB\n"

HOSTS: dict[str, tuple[dict[str, str | None], str | None, dict[str, Any]]] = {
    "healthy": ({}, "mlx5_0", {}),
    "healthy, without an RDMA device": ({}, None, {}),
    "no RDMA at all": ({path: None for path in healthy() if "infiniband" in path}, None, {}),
    "no RDMA at all, but it is wanted": ({path: None for path in healthy() if "infiniband" in path}, "rxe0", {}),
    "another device": (SECOND_DEVICE, "mlx5_9", {}),
    "SoftRoCE is loaded": ({"proc/modules": "ib_core 1 0 - Live\nrdma_rxe 1 0 - Live\n"}, None, {}),
    "loopback": ({"sys/class/net/lo/flags": "0x9", "sys/class/net/lo/mtu": "65536"}, None, LOOPBACK),
    "the receiver alone is on loopback": ({}, None, {"receiver": LOOPBACK["receiver"]}),
    "behind a router": ({f"{NET}/route": TO_FAR}, "mlx5_0", FAR),
    "behind a router that is known": (
        {f"{NET}/route": TO_FAR, f"{NET}/arp": ARP.replace("10.0.0.1  ", "10.0.0.254").replace("00:01 ", "00:0f ")},
        "mlx5_0",
        FAR,
    ),
    "no route": ({f"{NET}/route": "\n".join(ROUTES.splitlines()[:2])}, "mlx5_0", FAR),
    "no route, none needed": ({f"{NET}/route": "\n".join(ROUTES.splitlines()[:2])}, None, FAR),
    "the way back by another interface": ({f"{NET}/route": ROUTES.replace("eth1", "eth7")}, None, {"mtu": 4096}),
    "a route that is down": ({f"{NET}/route": ROUTES.replace("\t0001\t", "\t0000\t")}, "mlx5_0", {}),
    "neighbour of another interface": ({f"{NET}/arp": ARP.replace("eth1", "eth7")}, None, {}),
    "neighbour that is learnt, none needed": ({f"{NET}/arp": ARP.replace("0x6", "0x2")}, None, {}),
    "neighbour with another flag": ({f"{NET}/arp": ARP.replace("0x6", "0x3")}, "mlx5_0", {}),
    "neighbour for ever, but without an address": ({f"{NET}/arp": ARP.replace("0x6", "0x5")}, "mlx5_0", {}),
    "many addresses": (
        {f"{NET}/fib_trie": "".join(f"|-- 10.{n}.0.{n}\n/32 host LOCAL\n" for n in (7, 250, 3, 99, 12))},
        "mlx5_0",
        {},
    ),
    "link lost below": ({f"{SYS}/operstate": "lowerlayerdown"}, None, {}),
    "no speed": ({f"{SYS}/speed": "-1"}, None, {}),
    "speed 0": ({f"{SYS}/speed": "0"}, None, {}),
    "MTU one too short": ({f"{SYS}/mtu": "4159"}, None, {"mtu": 4096}),
    "MTU enough for a soft NIC": ({f"{SYS}/mtu": "4191"}, None, {"mtu": 4096}),
    "MTU enough for an RNIC": ({f"{SYS}/mtu": "4192"}, None, {"mtu": 4096}),
    "MAC of another interface": (
        {f"{SYS}/address": "02:00:00:00:00:77", "sys/class/net/eth7/address": "02:00:00:00:00:02"},
        None,
        {},
    ),
    "rp_filter of the interface alone": ({f"{CONF}/eth1/rp_filter": "1"}, None, {}),
    "loose, no way back": ({f"{CONF}/all/rp_filter": "2", f"{NET}/route": ROUTES.splitlines()[0]}, "mlx5_0", FAR),
    "loose, other way back": ({f"{CONF}/all/rp_filter": "2"}, None, FAR),
    "strict, other way back": ({f"{CONF}/all/rp_filter": "1"}, None, FAR),
    "strict and loose": ({f"{CONF}/all/rp_filter": "1", f"{CONF}/eth1/rp_filter": "2"}, None, FAR),
    "nf_tables unused, others not": ({"proc/modules": "ib_core 1 7 - Live\nnf_tables 1 0 - Live\n"}, None, {}),
    "the port is held by a process": (
        {f"{NET}/udp": UDP + HELD.format("0035", 5, 9) + HELD.format("12B7", 777, 3)},
        None,
        {},
    ),
    "the port is held by another user": ({f"{NET}/udp6": UDP + HELD.format("12B7", 778, 0)}, "mlx5_0", {}),
    "the port is held by the kernel": ({f"{NET}/udp": UDP + HELD.format("12B7", 0, 0)}, None, {}),
    "just enough of memory": (
        {"proc/meminfo": MEMORY.format(16, 4, 4), "proc/thread-self/limits": LIMITS.format(16384, 99)},
        "mlx5_0",
        {},
    ),
    "just too little of memory": (
        {"proc/meminfo": MEMORY.format(15, 3, 4), "proc/thread-self/limits": LIMITS.format(16383, 99999)},
        "mlx5_0",
        {},
    ),
    "little may be locked, none need be": ({"proc/thread-self/limits": LIMITS.format(16383, 99999)}, None, {}),
    "little may be locked, but by privilege": (
        {"proc/thread-self/limits": LIMITS.format(1, 1), "proc/thread-self/status": "CapEff:\t0000000000004000"},
        "mlx5_0",
        {},
    ),
    "no huge pages at all": ({"proc/meminfo": "MemAvailable: 80000 kB\n"}, None, {}),
    "meminfo of words": ({"proc/meminfo": "MemAvailable: many\nHugePages_Free:\nHugepagesize: 4 kB\n"}, None, {}),
    "queues just long enough": ({"proc/sys/net/core/rmem_max": str(QUEUE_BYTES)}, None, {}),
    "queues just too short": ({"proc/sys/net/core/rmem_max": str(QUEUE_BYTES - 1)}, None, {}),
    "queues just too short, but by privilege": (
        {"proc/sys/net/core/rmem_max": "1", "proc/thread-self/status": "CapEff:\t0000000000001000"},
        None,
        {},
    ),
    "many counters": (
        {
            f"{NET}/snmp": "Ip: InHdrErrors InAddrErrors\nIp: 4 5\nUdp: NoPorts RcvbufErrors\nUdp: 6 7\n",
            f"{SYS}/statistics/rx_dropped": "8",
            f"{RDMA}/hw_counters/out_of_buffer": "9",
            f"{RDMA}/counters/symbol_error": "10",
        },
        "mlx5_0",
        {},
    ),
}
"""Hosts: how their files differ from those of a healthy one, the RDMA device, the session."""
HOSTS |= {name: (changes, "mlx5_0", {"mtu": 4096} if "MTU" in name else {}) for name, changes, *_ in FAULTS}
SAID = {
    name: lines
    for name, *lines in (
        paragraph.splitlines()
        for paragraph in Path(__file__).with_name("doctor_host_said.txt").read_text().rstrip("\n").split("\n\n")
    )
}
"""What is said of each, by check: every finding that is not said of the healthy one, too. Compared with the host."""


def said(root: Path, name: str) -> list[str]:
    changes, device, session = HOSTS[name]
    for path, text in (healthy() | changes).items():
        if text is not None:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
    (root / "proc/4242/fd").mkdir(parents=True)
    (root / "proc/4242/comm").write_text("framelane\n")
    (root / "proc/4242/fd/5").symlink_to("socket:[777]")
    (root / "proc/4242/fd/4").symlink_to("socket:[776]")
    found = [f for f in examine(make(**session), None, device, System(root)) if f.check != "pyverbs"]
    return [f"  {f.check}, {f.level.value}: {f.text}" + (f" | {f.advice}" if f.advice else "") for f in found]


@pytest.mark.parametrize("name", HOSTS)
def test_every_word_on_a_host_is_right(tmp_path: Path, name: str) -> None:
    lines = said(tmp_path, name)
    assert [line for line in lines if name == "healthy" or line not in SAID["healthy"]] == SAID[name]
