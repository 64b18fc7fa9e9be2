"""What the verbs transport finds on a host, and what it says where a piece is missing: on hosts made of files."""

import resource
from ipaddress import IPv4Address
from pathlib import Path

import pytest

from framelane.base.errors import TransportError
from framelane.receiver.transport.verbs import host_checks
from framelane.receiver.transport.verbs.gid import Gid, find_gid, gids
from framelane.receiver.transport.verbs.nic_counters import NicCounters
from framelane.session.session_plan import Node
from rdma_host import GID_TYPE, RdmaHost, v4

IP = IPv4Address("10.77.0.1")
LINK_LOCAL = ("fe80:0000:0000:0000:0000:00ff:fe00:0011", GID_TYPE)
GID = Gid("mlx5_0", 1, 3, IP, "eth5", "ACTIVE")
SOURCE = Node(mac="02:00:00:00:00:22", ip=IPv4Address("10.77.0.2"))
NET = ("eth5", "00004D0A", "00000000", 1, "00FFFFFF")
"""10.77.0.0/24, without a gateway."""


@pytest.fixture
def host(tmp_path: Path) -> RdmaHost:
    """Make a host with one device: link-local, RoCE v1 and v2 of 10.77.0.1, and an empty place between them."""
    made = RdmaHost(tmp_path)
    made.device("mlx5_0", {0: LINK_LOCAL, 2: (v4("10.77.0.1"), "IB/RoCE v1"), 3: (v4("10.77.0.1"), GID_TYPE)})
    return made


def find(host: RdmaHost, ip: str = "10.77.0.1", device: str | None = None, index: int | None = None) -> Gid:
    return find_gid(IPv4Address(ip), device, index, host.root)


def test_the_gid_of_an_address_is_the_one_of_roce_v2(host: RdmaHost) -> None:
    assert find(host) == GID
    assert find(host, index=3) == GID
    assert gids(host.root) == [GID]


def test_no_device_is_told_with_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(TransportError, match=r"has no RDMA device: .*`modprobe rdma_rxe && rdma link add rxe0"):
        find_gid(IP, root=tmp_path)


def test_a_device_that_is_not_there_is_told_with_those_that_are(host: RdmaHost) -> None:
    host.device("rxe0", {})
    with pytest.raises(TransportError, match="there is no RDMA device mlx5_7: choose one of mlx5_0, rxe0"):
        find(host, device="mlx5_7")


def test_an_address_that_no_device_has_is_told_with_those_they_have(host: RdmaHost) -> None:
    with pytest.raises(
        TransportError, match=r"GID of mlx5_0 is 10\.77\.0\.9; 10\.77\.0\.1 is GID 3 of mlx5_0 port 1 \(eth5\): give"
    ):
        find(host, "10.77.0.9")


def test_a_port_without_any_ipv4_address_is_told(tmp_path: Path) -> None:
    host = RdmaHost(tmp_path)
    host.device("rxe0", {0: LINK_LOCAL})
    with pytest.raises(TransportError, match=r"is 10\.77\.0\.1, nor any IPv4 address: give its network interface one"):
        find(host)


def test_an_index_of_another_address_is_not_taken(host: RdmaHost) -> None:
    with pytest.raises(TransportError, match=r"is 10\.77\.0\.1 with index 2; 10\.77\.0\.1 is GID 3"):
        find(host, index=2)


def test_two_devices_with_one_address_must_be_chosen_from(host: RdmaHost) -> None:
    host.device("rxe0", {1: (v4("10.77.0.1"), GID_TYPE)}, "eth6", port=2)
    with pytest.raises(TransportError, match=r"2 GIDs are of 10\.77\.0\.1: .*mlx5_0 port 1.*rxe0 port 2.*: choose"):
        find(host)
    assert find(host, device="rxe0") == Gid("rxe0", 2, 1, IP, "eth6", "ACTIVE")


@pytest.mark.parametrize(("state", "word"), [("1: DOWN", "DOWN"), ("3: ARMED", "ARMED")])
def test_a_port_that_is_down_is_told_with_its_interface(host: RdmaHost, state: str, word: str) -> None:
    host.device("mlx5_0", {3: (v4("10.77.0.1"), GID_TYPE)}, state=state)
    with pytest.raises(TransportError, match=f"mlx5_0 port 1 is {word}: .*`ip link set eth5 up`"):
        host_checks.check_link(find(host))
    host_checks.check_link(GID)


def test_the_receiver_s_mac_address_must_be_the_interface_s(host: RdmaHost) -> None:
    host.put("sys/class/net/eth5/address", "02:00:00:00:00:11\n")
    host_checks.check_mac(GID, Node(mac="02:00:00:00:00:11", ip=IP), host.root)
    with pytest.raises(TransportError, match=r"eth5 has MAC address 02:00:00:00:00:11, not 02:00:00:00:00:12"):
        host_checks.check_mac(GID, Node(mac="02:00:00:00:00:12", ip=IP), host.root)


def test_an_interface_of_another_network_namespace_is_told(host: RdmaHost) -> None:
    with pytest.raises(TransportError, match="the interface eth5 of mlx5_0 is not here"):
        host_checks.check_mac(GID, Node(mac="02:00:00:00:00:12", ip=IP), host.root)


@pytest.mark.parametrize(("mtu", "active", "raised"), [(4096, 1024, 9000), (2048, 1024, 9000), (1024, 512, 1500)])
def test_a_path_mtu_above_the_port_s_is_told_with_the_command(mtu: int, active: int, raised: int) -> None:
    host_checks.check_mtu(GID, active, active)
    with pytest.raises(TransportError, match=rf"{mtu} is above the {active} .*`ip link set eth5 mtu {raised}`"):
        host_checks.check_mtu(GID, mtu, active)


@pytest.mark.parametrize("flags", [0x6, 0x2])
def test_a_known_neighbour_is_enough_permanent_or_not(host: RdmaHost, flags: int) -> None:
    host.routes(NET)
    host.neighbours(("10.77.0.2", flags, SOURCE.mac, "eth5"))
    host_checks.check_neighbour(GID, SOURCE, host.root)


@pytest.mark.parametrize(
    "row",
    [
        ("10.77.0.3", 0x6, SOURCE.mac, "eth5"),
        ("10.77.0.2", 0x6, SOURCE.mac, "eth4"),
        ("10.77.0.2", 0x0, "00:00:00:00:00:00", "eth5"),
    ],
)
def test_a_missing_neighbour_is_told_with_the_command(host: RdmaHost, row: tuple[str, int, str, str]) -> None:
    host.routes(NET)
    host.neighbours(row)
    command = "`ip neigh replace 10.77.0.2 lladdr 02:00:00:00:00:22 dev eth5 nud permanent`"
    with pytest.raises(TransportError, match=rf"of 10\.77\.0\.2 on eth5 is missing: .*{command}"):
        host_checks.check_neighbour(GID, SOURCE, host.root)


def test_a_neighbour_with_another_mac_is_told(host: RdmaHost) -> None:
    host.neighbours(("10.77.0.2", 0x6, "02:00:00:00:00:99", "eth5"))
    with pytest.raises(TransportError, match="says 02:00:00:00:00:99, not 02:00:00:00:00:22"):
        host_checks.check_neighbour(GID, SOURCE, host.root)


def test_a_source_behind_a_router_needs_the_router_s_entry(host: RdmaHost) -> None:
    host.routes(("eth4", "00000000", "0100A8C0", 3, "00000000"), ("eth5", "00000000", "FE004D0A", 3, "00000000"), NET)
    far = Node(mac=SOURCE.mac, ip=IPv4Address("10.80.0.2"))
    host.neighbours(("10.77.0.254", 0x2, "02:00:00:00:00:fe", "eth5"))
    host_checks.check_neighbour(GID, far, host.root)
    host.neighbours()
    with pytest.raises(TransportError, match=r"of 10\.77\.0\.254 on eth5 is missing: .*lladdr MAC_OF_THE_ROUTER"):
        host_checks.check_neighbour(GID, far, host.root)


def test_the_narrowest_route_counts(host: RdmaHost) -> None:
    host.routes(NET, ("eth5", "00000000", "FE004D0A", 3, "00000000"))
    host.neighbours(("10.77.0.254", 0x2, "02:00:00:00:00:fe", "eth5"))
    with pytest.raises(TransportError, match=r"of 10\.77\.0\.2 on eth5 is missing"):
        host_checks.check_neighbour(GID, SOURCE, host.root)


def test_a_host_that_tells_nothing_of_its_network_has_no_neighbour(host: RdmaHost) -> None:
    with pytest.raises(TransportError, match="is missing"):
        host_checks.check_neighbour(GID, SOURCE, host.root)


@pytest.mark.parametrize(("capabilities", "fits"), [("0000000000000000", False), ("0000000000004000", True)])
def test_locked_memory_is_limited_unless_the_process_may(
    host: RdmaHost, monkeypatch: pytest.MonkeyPatch, capabilities: str, fits: bool
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (8 << 20, 8 << 20))
    host.put("proc/self/status", f"Name:\tpython\nCapEff:\t{capabilities}\n")
    host_checks.check_locked_memory(8 << 20, host.root)
    if fits:
        host_checks.check_locked_memory(1 << 40, host.root)
        return
    with pytest.raises(TransportError, match=r"8388609 bytes .*8388608 bytes of locked memory .*`ulimit -l 8193`"):
        host_checks.check_locked_memory((8 << 20) + 1, host.root)


def test_a_device_without_its_file_is_told(host: RdmaHost) -> None:
    with pytest.raises(TransportError, match=r"cannot be used by programs: .*`modprobe ib_uverbs`"):
        host_checks.check_character_device(GID, host.root)
    host.put("sys/class/infiniband_verbs/abi_version", "6\n")
    host.put("sys/class/infiniband_verbs/uverbs0/ibdev", "mlx5_1\n")
    host.put("sys/class/infiniband_verbs/uverbs1/ibdev", "mlx5_0\n")
    with pytest.raises(TransportError, match=r"has no /dev/infiniband/uverbs1 here: in a container pass it on"):
        host_checks.check_character_device(GID, host.root)
    host.put("dev/infiniband/uverbs1", "")
    host_checks.check_character_device(GID, host.root)


def test_counters_are_what_came_since(host: RdmaHost) -> None:
    host.counters("mlx5_0", rx_write_requests=1000, out_of_buffer=3, lifespan=12)
    counters = NicCounters(GID, host.root)
    assert counters.writes() == 0
    host.counters("mlx5_0", rx_write_requests=1020, out_of_buffer=3, lifespan=12)
    assert counters.since() == {"rx_write_requests": 20, "out_of_buffer": 0}
    assert counters.writes() == 20


def test_a_device_without_counters_tells_no_writes(host: RdmaHost) -> None:
    assert NicCounters(GID, host.root).writes() is None
    host.counters("mlx5_0", out_of_buffer=3)
    assert NicCounters(GID, host.root).writes() is None
    host.put("sys/class/infiniband/mlx5_0/ports/1/hw_counters/rcvd_pkts", "not a number\n")
    assert NicCounters(GID, host.root).since() == {"out_of_buffer": 0}
