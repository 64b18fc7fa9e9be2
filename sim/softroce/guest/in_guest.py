"""Where a command runs that is not in a machine: on a kernel that has rdma_rxe itself, and on a NIC that was named.

Run in the guest, whose kernel has rdma_rxe, by `test_rdma_testbeds.py`.
"""

from pathlib import Path

import pytest

from errors_of_runs import CannotStart, GuestEnded
from machine import Machine
from own_kernel import OwnKernel
from own_nic import named_nic
from rdma_link import RdmaLink
from rdma_testbed import choose
from run import Run

OTHER = RdmaLink(
    device="framelane_rxe2",
    receiver="framelane3",
    receiver_ip="203.0.113.1",
    sender="framelane2",
    source_ip="203.0.113.2",
)
"""A link that is not the guest's own (TEST-NET-3, RFC 5737)."""
LOOK = 'cat "/sys/class/infiniband/$RDMA_DEVICE/ports/1/gids/1"; ls /sys/class/net | grep "$RDMA_SENDER"; exit 5'


def test_on_a_kernel_with_rxe_the_command_runs_there_on_a_link_that_is_then_removed(tmp_path: Path) -> None:
    before = sorted(path.name for path in Path("/sys/class/net").iterdir())
    own = OwnKernel(link=OTHER)
    own.prepare()
    with Run(own, ["sh", "-c", LOOK], tmp_path) as run:
        outcome = run.wait()
    assert outcome.stdout.split() == [b"0000:0000:0000:0000:0000:ffff:cb00:7101", b"framelane2"]
    assert outcome.status == 5
    assert sorted(path.name for path in Path("/sys/class/net").iterdir()) == before
    assert not Path("/sys/class/infiniband", OTHER.device).exists()


def test_a_link_of_somebody_else_is_told_and_left_alone(tmp_path: Path) -> None:
    with Run(OwnKernel(), ["true"], tmp_path) as run, pytest.raises(GuestEnded, match=r"(?s)this kernel .*File exists"):
        run.wait()
    assert Path("/sys/class/infiniband", OwnKernel().link.device).exists()


def test_a_kernel_with_rxe_is_chosen_before_a_machine() -> None:
    assert choose("auto", Machine()) == OwnKernel()


def test_a_nic_that_is_named_is_chosen_first_and_its_addresses_are_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    link = RdmaLink.of()
    monkeypatch.setenv("FRAMELANE_RDMA_DEVICE", link.device)
    monkeypatch.setenv("FRAMELANE_RDMA_SENDER", link.sender)
    monkeypatch.setenv("FRAMELANE_RDMA_SOURCE_IP", link.source_ip)
    testbed = choose("auto", Machine())
    assert testbed.link == link
    with Run(testbed, ["sh", "-c", "exit 6"], tmp_path) as run:
        assert run.wait().status == 6


def test_a_nic_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRAMELANE_RDMA_DEVICE", "mlx5_7")
    with pytest.raises(CannotStart, match="set FRAMELANE_RDMA_SENDER and FRAMELANE_RDMA_SOURCE_IP as well"):
        named_nic()
    monkeypatch.setenv("FRAMELANE_RDMA_SENDER", RdmaLink.of().sender)
    monkeypatch.setenv("FRAMELANE_RDMA_SOURCE_IP", RdmaLink.of().source_ip)
    with pytest.raises(CannotStart, match="there is no RDMA device mlx5_7"):
        named_nic()
