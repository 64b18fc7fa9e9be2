"""What the verbs transport says where the guest lacks something: run there by `test_contract.py`."""

import contextlib
import os
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from framelane.base.errors import TransportError
from framelane.receiver.transport.verbs import VerbsTransport, gpu_memory, host_checks
from verbs_link import LINK, opened, plan_of

FILES = Path("/proc/self/fd")


def ip(arguments: str) -> None:
    subprocess.run(["ip", *arguments.split()], check=True)


@contextlib.contextmanager
def without_neighbour() -> Iterator[None]:
    ip(f"neigh del {LINK.source_ip} dev {LINK.receiver}")
    try:
        yield
    finally:
        ip(f"neigh replace {LINK.source_ip} lladdr {LINK.source_mac} dev {LINK.receiver} nud permanent")


def test_opening_and_failing_leave_no_file_open() -> None:
    opened(plan_of())[0].close()
    before = sorted(path.name for path in FILES.iterdir())
    for _ in range(3):
        opened(plan_of())[0].close()
        with pytest.raises(TransportError):
            opened(plan_of(source=another_host()))
    assert sorted(path.name for path in FILES.iterdir()) == before


def another_host() -> dict[str, str]:
    return {"mac": LINK.source_mac, "ip": "203.0.113.77"}


def test_a_missing_neighbour_entry_is_told_with_the_command_that_mends_it() -> None:
    with without_neighbour():
        with pytest.raises(TransportError, match=r"neighbour entry .* is missing") as caught:
            opened(plan_of())
        command = str(caught.value).split("`")[1]
        subprocess.run(command.split(), check=True)
        opened(plan_of())[0].close()


def test_without_that_check_the_library_s_error_gets_the_same_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_checks, "check_neighbour", lambda *arguments: None)
    with without_neighbour(), pytest.raises(TransportError, match=r"cannot open the QP to .*`ip neigh replace"):
        opened(plan_of())


def test_a_source_on_no_network_of_ours_needs_its_neighbour_entry_only() -> None:
    source = another_host()
    with pytest.raises(TransportError, match=r"neighbour entry of 203\.0\.113\.77") as caught:
        opened(plan_of(source=source))
    subprocess.run(str(caught.value).split("`")[1].split(), check=True)
    try:
        opened(plan_of(source=source))[0].close()
    finally:
        ip(f"neigh del 203.0.113.77 dev {LINK.receiver}")


def test_a_path_mtu_above_the_port_s_is_refused_with_the_command() -> None:
    ip(f"link set {LINK.receiver} mtu 1500")
    try:
        with pytest.raises(TransportError, match=r"path MTU 4096 is above the 1024 .*`ip link set \w+ mtu 9000`"):
            opened(plan_of(mtu=4096))
        opened(plan_of(mtu=1024))[0].close()
    finally:
        ip(f"link set {LINK.receiver} mtu 9000")


def test_another_mac_address_than_the_interface_s_is_refused() -> None:
    with pytest.raises(TransportError, match=r"has MAC address .*correct the receiver's mac"):
        opened(plan_of(receiver={"mac": LINK.source_mac, "ip": LINK.receiver_ip}))


def test_an_address_of_no_device_is_refused_with_those_there_are() -> None:
    with pytest.raises(TransportError, match=rf"is 203\.0\.113\.1; {LINK.receiver_ip} is GID \d+ of {LINK.device}"):
        opened(plan_of(receiver={"mac": LINK.receiver_mac, "ip": "203.0.113.1"}), gid_index=None)


def test_a_link_that_goes_down_is_told() -> None:
    transport, _ = opened(plan_of())
    with transport:
        ip(f"link set {LINK.sender} down")
        try:
            transport.poll(0.3)
            assert transport.counters.refused["link"] >= 1
            assert "went down" in transport.counters.examples["link"]
            with pytest.raises(TransportError, match="is DOWN: bring its interface up"):
                opened(plan_of())
        finally:
            ip(f"link set {LINK.sender} up")


@pytest.mark.parametrize(("limit", "word"), [(8192, "8192 bytes of locked memory are allowed"), (1 << 30, None)])
def test_without_privilege_it_takes_locked_memory_for_the_ring(limit: int, word: str | None) -> None:
    before = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (limit, before[1]))
    os.seteuid(65534)
    try:
        with pytest.raises(TransportError, match=word) if word else contextlib.nullcontext():
            opened(plan_of())[0].close()
    finally:
        os.seteuid(0)
        resource.setrlimit(resource.RLIMIT_MEMLOCK, before)


def test_a_user_who_may_not_open_the_device_is_told() -> None:
    files = list(Path("/dev/infiniband").glob("uverbs*"))
    modes = [file.stat().st_mode for file in files]
    for file in files:
        file.chmod(0o600)
    os.seteuid(65534)
    try:
        with pytest.raises(TransportError, match=rf"this user may not open /dev/infiniband/uverbs\d+ of {LINK.device}"):
            opened(plan_of())
    finally:
        os.seteuid(0)
        for file, mode in zip(files, modes, strict=True):
            file.chmod(mode)


class OnGpu:
    """An array that says that it is in GPU memory."""

    def __init__(self, size: int) -> None:
        self.__cuda_array_interface__ = {"data": (1 << 32, False), "shape": (size,), "typestr": "|u1", "version": 3}


def test_gpu_memory_without_cuda_is_told_and_leaves_nothing_open() -> None:
    files = sorted(path.name for path in FILES.iterdir())
    plan = plan_of()
    with pytest.raises(TransportError, match=r"needs the package cuda-bindings|cannot find a GPU"):
        VerbsTransport(OnGpu(plan.layout.ring_bytes), plan)
    assert sorted(path.name for path in FILES.iterdir()) == files


def test_a_driver_that_takes_no_dma_buf_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_of()
    exported = memfd(plan.layout.ring_bytes)
    monkeypatch.setattr(gpu_memory, "_Cuda", lambda: SimpleNamespace(export=lambda address, size: exported))
    with pytest.raises(TransportError, match=r"cannot register 16384 bytes of GPU memory: .*registers no dma-buf"):
        VerbsTransport(OnGpu(plan.layout.ring_bytes), plan)


def memfd(size: int) -> int:
    """A file in memory, in place of a dma-buf."""
    file = os.memfd_create("ring")
    os.truncate(file, size)
    return file
