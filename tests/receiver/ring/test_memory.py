"""Memory of a ring: where it lies, what it consists of, when it goes, and what is said where there is none."""

import gc
import mmap
from pathlib import Path

import pytest

from framelane.base.errors import ConfigError
from framelane.receiver.ring.memory import host_memory

MEMINFO = "HugePages_Total:       4\nHugePages_Free:        1\nHugepagesize:       2048 kB\n"


def mapped(address: int) -> bool:
    """Whether the process has memory there."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        first, last = (int(edge, 16) for edge in line.split()[0].split("-"))
        if first <= address < last:
            return True
    return False


def free_address() -> int:
    """One where nothing is: something was there just now."""
    memory = host_memory(mmap.PAGESIZE)
    address = int(memory.ctypes.data)
    del memory
    gc.collect()
    return address


@pytest.mark.parametrize("size", [1, 4095, 4096, 5 << 20])
def test_it_is_zeroed_begins_with_a_page_and_has_the_size_asked_for(size: int) -> None:
    memory = host_memory(size)
    assert memory.nbytes == size
    assert not memory.any()
    assert memory.ctypes.data % mmap.PAGESIZE == 0
    assert memory.flags.writeable
    assert memory.flags.c_contiguous
    memory[-1] = 7


def test_it_lies_somewhere_else_every_time() -> None:
    places = [host_memory(4096).ctypes.data for _ in range(20)]
    assert len(set(places)) == 20
    assert max(places) - min(places) > 1 << 40


def test_it_lies_where_it_was_wanted() -> None:
    address = free_address()
    assert host_memory(8192, address=address).ctypes.data == address


def test_nothing_that_is_there_is_replaced() -> None:
    memory = host_memory(8192)
    memory.fill(5)
    with pytest.raises(ConfigError, match=r"at 0x\w+: something is there already, give another address"):
        host_memory(8192, address=memory.ctypes.data)
    assert (memory == 5).all()


def test_it_goes_with_the_last_view_and_not_before() -> None:
    memory = host_memory(1 << 20)
    address = int(memory.ctypes.data)
    view = memory[-8:].view("<u2")
    del memory
    gc.collect()
    view[:] = 3
    assert mapped(address)
    del view
    gc.collect()
    assert not mapped(address)


@pytest.mark.parametrize("address", [0, 1, 0x1000_0001])
def test_an_address_inside_a_page_is_refused(address: int) -> None:
    with pytest.raises(ConfigError, match=f"cannot begin at {address:#x}: give a multiple of {mmap.PAGESIZE}"):
        host_memory(4096, address=address)


@pytest.mark.parametrize("size", [0, -4096])
def test_no_memory_at_all_is_no_ring(size: int) -> None:
    with pytest.raises(ConfigError, match=f"of {size} bytes cannot be"):
        host_memory(size)


def test_more_memory_than_there_is_is_told_with_what_to_do() -> None:
    with pytest.raises(ConfigError, match=r"no memory for a ring of \d+ bytes .*: give fewer or smaller slots"):
        host_memory(1 << 62)


def test_too_few_huge_pages_are_told_with_the_command(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/meminfo").write_text(MEMINFO)
    with pytest.raises(
        ConfigError, match=r"it needs 549755813888 of 2048 KiB, 1 are free: .*`sysctl vm.nr_hugepages=549755813888`"
    ):
        host_memory(1 << 60, huge_pages=True, root=tmp_path)


def test_a_kernel_without_huge_pages_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"has no huge pages to reserve .*: leave huge pages out"):
        host_memory(4096, huge_pages=True, root=tmp_path)


def test_reserved_huge_pages_are_used() -> None:
    try:
        memory = host_memory(3 << 20, huge_pages=True)
    except ConfigError as none:
        pytest.skip(f"no huge pages are reserved here: {none}")
    memory.fill(1)
    text = Path("/proc/self/smaps").read_text()
    part = text[text.index(f"{memory.ctypes.data:x}-") :]
    assert int(part[part.index("KernelPageSize:") :].split()[1]) > 4
