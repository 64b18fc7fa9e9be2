"""The doctor on a host that receives a detector's own packets: made-up /proc and /sys, one fault at a time."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from framelane.base.errors import ConfigError
from framelane.doctor.host.cpus import CpuSet
from framelane.doctor.host.detector import examine
from framelane.doctor.host.finding import HostFinding, Level
from framelane.doctor.host.system import System
from framelane.receiver.transport.sockets import QUEUE_BYTES

SYS = "sys/class/net/eth1"
STATUS = "Name: x\nCapEff:\t{}\nCpus_allowed_list:\t{}\n"
Files = dict[str, str | None]
RunCli = Callable[..., tuple[int, str, str]]


def healthy() -> Files:
    """Two nodes of four CPUs, the NIC at the second one with a queue for each, and this process beside it."""
    queues = {f"{SYS}/queues/rx-{n}/rps_cpus": "0" for n in range(4)}
    vectors = {f"{SYS}/device/msi_irqs/{60 + n}": "msix" for n in range(4)}
    return {
        **queues,
        **vectors,
        **{f"proc/irq/{60 + n}/effective_affinity_list": str(4 + n) for n in range(4)},
        f"{SYS}/flags": "0x1003",
        f"{SYS}/operstate": "up",
        f"{SYS}/mtu": "9000",
        f"{SYS}/device/numa_node": "1",
        f"{SYS}/statistics/rx_missed_errors": "0",
        "sys/devices/system/node/node0/cpulist": "0-3",
        "sys/devices/system/node/node1/cpulist": "4-7",
        "proc/sys/net/core/rmem_max": str(QUEUE_BYTES),
        "proc/thread-self/status": STATUS.format("0", "4-7"),
    }


def found(root: Path, changes: Files) -> list[HostFinding]:
    for path, text in (healthy() | changes).items():
        if text is not None:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
    return list(examine("eth1", System(root)))


def affinities(*lists: str) -> Files:
    return {f"proc/irq/{60 + n}/effective_affinity_list": text for n, text in enumerate(lists)}


def test_of_a_healthy_host_every_line_is_good_and_says_what_is_there(tmp_path: Path) -> None:
    said = [(finding.check, finding.level, finding.text) for finding in found(tmp_path, {})]
    assert said == [
        ("interface", Level.OK, "eth1 is up"),
        ("mtu", Level.OK, "eth1 has MTU 9000, packets of 8240 bytes need 8268"),
        ("numa", Level.OK, "eth1 is at NUMA node 1, CPUs 4-7; this process may run on CPUs 4-7"),
        ("interrupts", Level.OK, "4 receive queues of eth1, 4 interrupts on CPUs 4-7"),
        ("rmem_max", Level.OK, f"sockets may queue {QUEUE_BYTES} bytes"),
        ("firewall", Level.OK, "no firewall rules are loaded as far as /proc tells"),
        ("counters", Level.OK, "1 counter of errors and drops is 0 since the system started"),
    ]


FAULTS: list[tuple[str, Files, str, Level, str, str]] = [
    ("off", {f"{SYS}/flags": "0x1002"}, "interface", Level.FAULT, "switched off", "ip link set eth1 up"),
    ("MTU of the network", {f"{SYS}/mtu": "1500"}, "mtu", Level.FAULT, "1500, packets of 8240 bytes need 8268", "9000"),
    ("a byte too short", {f"{SYS}/mtu": "8267"}, "mtu", Level.FAULT, "those of 4144 bytes pass", "every switch"),
    ("of two rows just not", {f"{SYS}/mtu": "4171"}, "mtu", Level.FAULT, "bytes need 8268", "mtu 9000"),
    (
        "another node",
        {"proc/thread-self/status": STATUS.format("0", "0-3")},
        "numa",
        Level.WARNING,
        "may run on CPUs 0-3: every packet crosses to another node",
        "numactl --cpunodebind=1 --membind=1",
    ),
    (
        "any node",
        {"proc/thread-self/status": STATUS.format("0", "0-7")},
        "numa",
        Level.NOTE,
        "may run on CPUs 0-7, so on other nodes as well",
        "numactl --cpunodebind=1",
    ),
    (
        "all on one CPU",
        affinities("4", "4", "4", "4"),
        "interrupts",
        Level.WARNING,
        "4 interrupts on CPUs 4: one core takes the packets of all ports",
        "/proc/irq/NUMBER/smp_affinity_list",
    ),
    (
        "one queue",
        {f"{SYS}/queues/rx-{n}/rps_cpus": None for n in range(1, 4)},
        "interrupts",
        Level.WARNING,
        "1 receive queues of eth1",
        "ethtool -L eth1 combined N",
    ),
    (
        "two on the other node",
        affinities("4", "5", "0", "1"),
        "interrupts",
        Level.WARNING,
        "2 of them (62, 63) are served by another NUMA node than 1, the NIC's, CPUs 4-7",
        "irqbalance",
    ),
    (
        "short queues",
        {"proc/sys/net/core/rmem_max": "212992"},
        "rmem_max",
        Level.WARNING,
        f"212992 bytes, {QUEUE_BYTES} are wanted",
        f"sysctl net.core.rmem_max={QUEUE_BYTES}",
    ),
    (
        "firewall",
        {"proc/modules": "nf_tables 9 5 - Live\n"},
        "firewall",
        Level.WARNING,
        "firewall is loaded",
        "allow the ports that the detector sends to",
    ),
    (
        "drops of the NIC",
        {f"{SYS}/statistics/rx_missed_errors": "3"},
        "counters",
        Level.WARNING,
        "rx_missed_errors has counted 3",
        "longer rings",
    ),
]


@pytest.mark.parametrize(
    ("changes", "check", "level", "text", "advice"), [row[1:] for row in FAULTS], ids=[row[0] for row in FAULTS]
)
def test_a_fault_of_the_host_is_found_and_nothing_else(
    tmp_path: Path, changes: Files, check: str, level: Level, text: str, advice: str
) -> None:
    bad = [finding for finding in found(tmp_path, changes) if finding.level is not Level.OK]
    assert [(finding.check, finding.level) for finding in bad] == [(check, level)]
    assert text in bad[0].text
    assert advice in bad[0].advice


def test_where_the_kernel_does_not_say_who_serves_an_interrupt_those_count_that_may(tmp_path: Path) -> None:
    older: Files = {f"proc/irq/{60 + n}/effective_affinity_list": None for n in range(4)}
    older |= {f"proc/irq/{60 + n}/smp_affinity_list": "0-3" for n in range(4)}
    (bad,) = [finding for finding in found(tmp_path, older) if finding.level is not Level.OK]
    assert "4 of them (60, 61, 62, 63) are served by another NUMA node" in bad.text


@pytest.mark.parametrize("node", ["-1", None])
def test_a_host_of_one_node_has_none_to_cross(tmp_path: Path, node: str | None) -> None:
    changes: Files = {f"{SYS}/device/numa_node": node} | affinities("0", "1", "2", "3")
    findings = found(tmp_path, changes)
    assert {finding.level for finding in findings} == {Level.OK}
    assert "no NUMA node that is known" in next(f.text for f in findings if f.check == "numa")


def test_a_longer_queue_by_privilege_and_a_virtual_interface_are_good(tmp_path: Path) -> None:
    bare: Files = {path: None for path in healthy() if "msi_irqs" in path or "numa_node" in path}
    bare |= {"proc/sys/net/core/rmem_max": "1", "proc/thread-self/status": STATUS.format("1000", "0-7")}
    findings = found(tmp_path, bare)
    assert {finding.level for finding in findings} == {Level.OK}
    assert "this process may pass that" in next(f.text for f in findings if f.check == "rmem_max")


def test_an_interface_that_is_not_there_is_a_fault_and_no_name_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "sys/class/net/eth1").mkdir(parents=True)
    first = next(iter(examine("eth9", System(tmp_path))))
    assert (first.level, first.text, first.advice) == (
        Level.FAULT,
        "there is no interface eth9",
        "choose one of eth1",
    )
    with pytest.raises(ConfigError, match=r"'\.\./x' is not an interface: give one of eth1"):
        list(examine("../x", System(tmp_path)))


@pytest.mark.parametrize(
    ("text", "numbers", "again"),
    [("0-3,8", {0, 1, 2, 3, 8}, "0-3,8"), ("5", {5}, "5"), ("", set(), ""), ("1,2,x,3-", {1, 2, 3}, "1-3")],
)
def test_lists_of_cpus_are_read_and_written_as_the_kernel_does(text: str, numbers: set[int], again: str) -> None:
    cpus = CpuSet.of(text)
    assert (set(cpus.numbers), str(cpus)) == (numbers, again)


def test_the_command_tells_it_of_this_host(run_cli: RunCli, tmp_path: Path) -> None:
    status, out, err = run_cli("doctor", "--detector", "--interface", "lo", "--json", tmp_path / "x.json")
    assert (status, err) == (0, "")
    assert "ok: mtu: lo has MTU 65536, packets of 8240 bytes need 8268" in out
    document: dict[str, Any] = json.loads((tmp_path / "x.json").read_text())
    assert document["nothing_wrong"] is True
    assert [each["check"] for each in document["host"]][:3] == ["interface", "mtu", "numa"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "give --session, --detector where a detector's own packets come in, or --pcie ADDRESS"),
        (["--detector"], "--detector: say by --interface where the detector's packets come in"),
        (
            ["--detector", "--interface", "lo", "--listen", "1"],
            "--detector checks this host alone: leave out --session",
        ),
        (["--detector", "--interface", "lo", "--session", "x.json"], "--detector checks this host alone"),
    ],
)
def test_what_cannot_be_is_one_sentence(run_cli: RunCli, arguments: list[str], sentence: str) -> None:
    status, _, err = run_cli("doctor", *arguments)
    assert status == 2
    assert err.count("\n") == 1
    assert sentence in err
