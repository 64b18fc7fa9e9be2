"""Finding pyverbs, and what is said where it, CUDA or the RDMA driver is missing."""

import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from framelane.base.errors import TransportError
from framelane.receiver.ring.memory import host_memory
from framelane.receiver.transport.verbs import VerbsTransport, faults, gpu_memory, library
from framelane.receiver.transport.verbs.queue_pair import Receives
from framelane.receiver.transport.verbs.region import access_flags
from framelane.session.session_plan import SessionPlan

PLAN = SessionPlan(
    source={"mac": "02:00:00:00:00:01", "ip": "203.0.113.1"},  # type: ignore[arg-type]
    receiver={"mac": "02:00:00:00:00:02", "ip": "203.0.113.2"},  # type: ignore[arg-type]
    n_slots=4,
    rows=16,
    columns=100,
)


@pytest.fixture(autouse=True)
def _unloaded(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let pyverbs be unknown to Python before and after, wherever it is."""
    before = {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "pyverbs"}
    for name in before:
        del sys.modules[name]
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "pyverbs"]:
        del sys.modules[name]
    sys.modules.update(before)


def installed(root: Path, **files: str) -> Path:
    """A pyverbs of these modules where Debian has it."""
    folder = root / "usr/lib/python3/dist-packages/pyverbs"
    folder.mkdir(parents=True)
    (folder / "__init__.py").touch()
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    (folder.parent / "beside_pyverbs.py").touch()
    return folder


def test_no_pyverbs_is_told_with_the_packages(tmp_path: Path) -> None:
    with pytest.raises(TransportError, match=r"there is no pyverbs .*: install the packages python3-pyverbs"):
        library.load(tmp_path)


def test_the_system_s_pyverbs_is_found_and_nothing_beside_it(tmp_path: Path) -> None:
    names = ("addr", "cq", "device", "enums", "mr", "pd", "qp", "wr")
    installed(tmp_path, pyverbs_error="class PyverbsError(Exception): pass\n", **dict.fromkeys(names, "here = 1\n"))
    path = list(sys.path)
    assert library.load(tmp_path).device.here == 1
    assert sys.path == path
    assert "beside_pyverbs" not in sys.modules
    with pytest.raises(ModuleNotFoundError):
        __import__("beside_pyverbs")


def test_a_pyverbs_of_another_python_is_told(tmp_path: Path) -> None:
    folder = installed(tmp_path, addr="", cq="")
    (folder / "device.cpython-399-x86_64-linux-gnu.so").touch()
    with pytest.raises(
        TransportError, match=r"is built for cpython-399-x86_64-linux-gnu, and this is Python 3\.\d+: make"
    ):
        library.load(tmp_path)


def test_a_pyverbs_that_lacks_its_library_is_told(tmp_path: Path) -> None:
    installed(tmp_path, addr="raise ImportError('libibverbs.so.1: cannot open shared object file')")
    with pytest.raises(TransportError, match=r"does not load, libibverbs\.so\.1: cannot open .*: install the packages"):
        library.load(tmp_path)


def test_after_a_failure_a_mended_pyverbs_is_found(tmp_path: Path) -> None:
    installed(tmp_path / "bad", addr="import nothing_like_it")
    with pytest.raises(TransportError, match="does not load, No module named 'nothing_like_it'"):
        library.load(tmp_path / "bad")
    names = ("addr", "cq", "device", "enums", "mr", "pd", "qp", "wr")
    installed(tmp_path / "good", pyverbs_error="PyverbsError = OSError\n", **dict.fromkeys(names, ""))
    assert library.load(tmp_path / "good").error is OSError


class _RdmaError(Exception):
    error_code = 110


@pytest.mark.parametrize(
    ("code", "advice", "sentence"),
    [
        (110, {110: "wait longer"}, r"cannot open it: Connection timed out \(ETIMEDOUT\): wait longer"),
        (110, {}, r"cannot open it: Connection timed out \(ETIMEDOUT\)$"),
        (-1, {}, "cannot open it: broken$"),
    ],
)
def test_what_pyverbs_raises_becomes_a_sentence(
    monkeypatch: pytest.MonkeyPatch, code: int, advice: dict[int, str], sentence: str
) -> None:
    parts = dict.fromkeys(("addr", "cq", "device", "enums", "mr", "pd", "qp", "wr"))
    pyverbs = library.Pyverbs(error=_RdmaError, **parts)
    monkeypatch.setattr(_RdmaError, "error_code", code)
    with pytest.raises(TransportError, match=sentence), pyverbs.explaining("open it", advice):
        raise _RdmaError("broken")


def test_without_an_rdma_device_the_transport_says_so() -> None:
    if Path("/sys/class/infiniband").exists():
        pytest.skip("this machine has an RDMA device: see sim/softroce/test_contract.py")
    with pytest.raises(TransportError, match="this machine has no RDMA device"):
        VerbsTransport(host_memory(PLAN.layout.ring_bytes), PLAN)


def test_memory_that_is_not_exactly_the_ring_is_refused() -> None:
    size = PLAN.layout.ring_bytes
    with pytest.raises(TransportError, match=f"memory of {size + 4096} bytes is not the ring of {size}"):
        VerbsTransport(host_memory(size + 4096), PLAN)


@pytest.mark.parametrize(
    ("plan", "wanted", "most", "depth", "batch"),
    [
        ({}, None, 1 << 20, 512, 64),
        ({"n_slots": 1000, "sources": 8}, None, 1 << 20, 16000, 2000),
        ({"n_slots": 1000, "sources": 8}, None, 4096, 4096, 512),
        ({}, 16, 1 << 20, 16, 2),
        ({}, 1, 1 << 20, 1, 1),
    ],
)
def test_the_receive_queue_holds_two_rings_of_trailers_and_at_most_what_the_nic_has(
    plan: dict[str, int], wanted: int | None, most: int, depth: int, batch: int
) -> None:
    assert Receives.of(PLAN.model_copy(update=plan), wanted, most) == Receives(depth, batch)


def test_the_region_may_be_written_and_neither_read_nor_counted_in() -> None:
    bits = {"LOCAL_WRITE": 1, "REMOTE_WRITE": 2, "REMOTE_READ": 4, "REMOTE_ATOMIC": 8, "RELAXED_ORDERING": 1 << 20}
    enums = SimpleNamespace(**{f"IBV_ACCESS_{name}": bit for name, bit in bits.items()})
    parts = dict.fromkeys(("addr", "cq", "device", "mr", "pd", "qp", "wr"))
    assert access_flags(library.Pyverbs(error=OSError, enums=enums, **parts)) == 1 | 2


def test_every_status_and_event_has_its_sentence() -> None:
    enums = SimpleNamespace(**{name: number for number, name in enumerate([*faults.STATUSES, *faults.EVENTS])})
    enums.IBV_EVENT_PORT_ERR, enums.IBV_EVENT_GID_CHANGE = 100, 101
    assert faults.status(enums, enums.IBV_WC_WR_FLUSH_ERR)[0] == "flushed"
    assert faults.status(enums, 77) == ("status-77", "a completion had status 77 (ibv_poll_cq(3))")
    assert faults.event(enums, enums.IBV_EVENT_CQ_ERR) == ("the completion queue has overflowed", True)
    assert faults.event(enums, 100) == ("the link went down", False)
    assert faults.event(enums, 102) == ("", False)


class OnGpu:
    """An array that says where in GPU memory it is."""

    def __init__(
        self, address: int, size: int, read_only: bool = False, strides: tuple[int, ...] | None = None
    ) -> None:
        self.__cuda_array_interface__ = {
            "data": (address, read_only), "shape": (size // 2,), "typestr": "<u2", "strides": strides, "version": 3
        }  # fmt: skip


def test_gpu_memory_must_be_whole_pages_without_gaps() -> None:
    size = 16384
    assert gpu_memory.gpu_bytes(OnGpu(1 << 32, size)) == size
    for array in (OnGpu(1 << 32, size, read_only=True), OnGpu(1 << 32, size, strides=(4,))):
        with pytest.raises(TransportError, match="it is read-only, or has gaps"):
            gpu_memory.gpu_address(array, size)
    with pytest.raises(TransportError, match=r"0x100000002 of 16384 bytes is not of whole pages"):
        gpu_memory.gpu_address(OnGpu((1 << 32) + 2, size), size)


def test_gpu_memory_of_another_size_than_the_ring_is_refused() -> None:
    with pytest.raises(TransportError, match="memory of 4096 bytes is not the ring"):
        VerbsTransport(OnGpu(1 << 32, 4096), PLAN)
