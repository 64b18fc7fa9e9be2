"""Memory of a ring on the host: whole pages that nothing else shares, of 4 KiB or huge ones."""

import ctypes
import errno
import mmap
import os
import re
import secrets
import weakref
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import ConfigError

_MAP_FIXED_NOREPLACE = 0x100000
"""mmap(2), Linux 4.17: at this address or not at all. Python's mmap takes no address."""
_MAP_HUGETLB = 0x40000
_MAP_FAILED = ctypes.c_void_p(-1).value
_LOWEST, _HIGHEST = 1 << 32, 1 << 46
"""Where a random address lies: clear of the program and of what the kernel maps from the top of 47 bits down."""
_HUGE_BYTES = 2 << 20
"""A huge page of most machines: memory that begins with one can consist of them."""

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)
_libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
_libc.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)


def host_memory(
    size: int, huge_pages: bool = False, address: int | None = None, root: Path = Path("/")
) -> NDArray[np.uint8]:
    """`size` bytes of zeros that begin with a page, freed with the last view of the array that is returned.

    The memory is at `address`, or at a random one: a NIC that cannot register it under another address tells its
    sources this one. The kernel gives huge pages where it has some (MADV_HUGEPAGE); with `huge_pages` it must, of those
    that the administrator has reserved (MAP_HUGETLB). `root` is the folder with the kernel's `proc`. ConfigError where
    there is no such memory, with what to do.
    """
    if size < 1:
        raise ConfigError(f"memory of {size} bytes cannot be: a ring has at least one slot")
    page = _huge_page_bytes(root) if huge_pages else mmap.PAGESIZE
    if address is not None and (address < page or address % page):
        raise ConfigError(f"memory cannot begin at {address:#x}: give a multiple of {page}")
    length = -(-size // page) * page
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | (_MAP_HUGETLB if huge_pages else 0)
    try:
        start = _map(length, flags, address) if address is not None else _map_anywhere(length, flags, page)
    except OSError as error:
        raise ConfigError(_sentence(size, error, huge_pages, address, page, root)) from error
    if not huge_pages:
        _libc.madvise(start, length, mmap.MADV_HUGEPAGE)
    pages = (ctypes.c_ubyte * size).from_address(start)
    weakref.finalize(pages, _libc.munmap, start, length)
    return np.frombuffer(memoryview(pages), np.uint8)


def _map_anywhere(length: int, flags: int, page: int) -> int:
    """Map at a random address, or where the kernel chooses: some processors have fewer address bits."""
    step = max(page, _HUGE_BYTES)
    places = (_HIGHEST - _LOWEST - length) // step
    if places > 0:
        try:
            return _map(length, flags, _LOWEST + secrets.randbelow(places) * step)
        except OSError:
            pass
    return _map(length, flags, None)


def _map(length: int, flags: int, address: int | None) -> int:
    fixed = 0 if address is None else _MAP_FIXED_NOREPLACE
    start: int | None = _libc.mmap(address, length, mmap.PROT_READ | mmap.PROT_WRITE, flags | fixed, -1, 0)
    if start is None or start == _MAP_FAILED:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    if address is not None and start != address:  # a kernel before 4.17 takes the address as a hint
        _libc.munmap(start, length)
        raise OSError(errno.EEXIST, os.strerror(errno.EEXIST))
    return start


def _huge_page_bytes(root: Path) -> int:
    """Size of the huge pages that can be reserved, in bytes. ConfigError where the kernel has none."""
    kib = _meminfo(root).get("Hugepagesize", 0)
    if not kib:
        raise ConfigError("this kernel has no huge pages to reserve (CONFIG_HUGETLBFS): leave huge pages out")
    return kib << 10


def _meminfo(root: Path) -> dict[str, int]:
    """Linux's /proc/meminfo (proc(5)): pages, or KiB."""
    try:
        text = (root / "proc/meminfo").read_text()
    except OSError:
        return {}
    return {name: int(value) for name, value in re.findall(r"^(\w+): +(\d+)", text, re.MULTILINE)}


def _sentence(size: int, error: OSError, huge: bool, address: int | None, page: int, root: Path) -> str:
    if error.errno == errno.EEXIST and address is not None:
        return f"no memory for a ring of {size} bytes at {address:#x}: something is there already, give another address"
    if huge:
        pages, free = -(-size // page), _meminfo(root).get("HugePages_Free", 0)
        return (
            f"no memory for a ring of {size} bytes in huge pages: it needs {pages} of {page >> 10} KiB, {free} are "
            f"free: reserve them as root, `sysctl vm.nr_hugepages={pages}`, or leave huge pages out"
        )
    return f"no memory for a ring of {size} bytes ({error.strerror}): give fewer or smaller slots"
