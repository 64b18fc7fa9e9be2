"""framelane's kernel module on a device that writes memory, of this program and of a dma-buf: run by `test_vfio.py`.

The dma-buf is of udmabuf: pages of a memfd, which its exporter maps for whoever imports it.
"""

import ctypes
import fcntl
import mmap
import os
import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from edu import BUFFER, BYTES, COPIED, IDENTITY, INTERRUPT, PATIENCE_S, TO_MEMORY, address, bind, copy, memory, pattern
from framelane.base.errors import BoardError
from framelane.driver.pcie.module_device import ModuleDevice

_FINIT_MODULE = 313
"""x86-64's number of finit_module(2)."""
_UDMABUF_CREATE = 1 << 30 | 24 << 16 | ord("u") << 8 | 0x42
"""linux/udmabuf.h."""
PAGES = 8


@pytest.fixture(scope="module")
def edu() -> str:
    """Load the module, and give it the device."""
    name = address()
    with pytest.raises(BoardError, match=r"No such file or directory: load the module, and bind the card to it"):
        ModuleDevice(name)
    libc = ctypes.CDLL(None, use_errno=True)
    with Path(os.environ["SHARE"], "framelane_pcie.ko").open("rb") as module:
        assert libc.syscall(_FINIT_MODULE, module.fileno(), b"", 0) == 0, os.strerror(ctypes.get_errno())
    bind(name, "framelane_pcie")
    return name


@pytest.fixture
def device(edu: str) -> Iterator[ModuleDevice]:
    with ModuleDevice(edu) as device:
        yield device


def test_its_registers_are_those_of_the_device_and_the_iommu_translates(device: ModuleDevice, edu: str) -> None:
    registers = device.registers()
    assert registers.read(IDENTITY) & 0xFFFF == 0x00ED
    registers.close()
    assert device.translated
    with pytest.raises(BoardError, match="has no memory BAR 1"):
        device.registers(1)
    with pytest.raises(BoardError, match="another program has it: end that"):
        ModuleDevice(edu)


def test_it_writes_each_page_where_it_belongs_and_its_interrupt_comes(device: ModuleDevice) -> None:
    registers, sent, received = device.registers(), memory(), memory(PAGES)
    sent[:] = pattern(1)
    interrupt = device.interrupt()
    _, here = device.map_memory(sent, 12)
    _, there = device.map_memory(received, 12)
    assert len(there) == PAGES
    copy(registers, here[0], BUFFER, 0)
    assert not interrupt.wait(0)
    for page in (5, 2):
        copy(registers, BUFFER, there[page], TO_MEMORY | INTERRUPT)
        assert interrupt.wait(PATIENCE_S)
        registers.write(0x64, registers.read(0x24))
    for page, data in enumerate(received.reshape(PAGES, BYTES)):
        assert np.array_equal(data[:COPIED], sent[:COPIED] if page in (5, 2) else np.zeros(COPIED, np.uint8))
    registers.close()


def test_it_writes_into_a_dma_buf_and_no_more_when_that_is_taken_away(device: ModuleDevice) -> None:
    registers, sent = device.registers(), memory()
    sent[:] = pattern(2)
    copy(registers, device.map_memory(sent, 12)[1][0], BUFFER, 0)
    file = os.memfd_create("frames", os.MFD_ALLOW_SEALING)
    os.ftruncate(file, PAGES * BYTES)
    fcntl.fcntl(file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
    with mmap.mmap(file, PAGES * BYTES) as view:
        seen = np.frombuffer(view, np.uint8).reshape(PAGES, BYTES)
        descriptor = _created(file)
        handle, pages = device.map_dmabuf(descriptor, PAGES * BYTES, 12)
        copy(registers, BUFFER, pages[3], TO_MEMORY)
        assert np.array_equal(seen[3, :COPIED], sent[:COPIED])
        assert not seen[[0, 1, 2, 4, 5, 6, 7]].any()
        device.unmap(handle)
        copy(registers, BUFFER, pages[4], TO_MEMORY)
        assert not seen[4].any()
        del seen
    registers.close()


def _created(file: int) -> int:
    """A dma-buf of all of a memfd."""
    libc = ctypes.CDLL(None, use_errno=True)
    with Path("/dev/udmabuf").open("r+b", buffering=0) as exporter:
        request = ctypes.create_string_buffer(struct.pack("=IIQQ", file, 0, 0, PAGES * BYTES))
        descriptor = int(libc.ioctl(exporter.fileno(), ctypes.c_ulong(_UDMABUF_CREATE), request))
    assert descriptor >= 0, os.strerror(ctypes.get_errno())
    return descriptor


def test_what_is_closed_is_out_of_reach(edu: str) -> None:
    received = memory()
    with ModuleDevice(edu) as device:
        _, there = device.map_memory(received, 12)
    with ModuleDevice(edu) as again:
        registers = again.registers()
        copy(registers, BUFFER, there[0], TO_MEMORY)
        registers.close()
    assert not received.any()


def test_what_cannot_be_mapped_is_told(device: ModuleDevice) -> None:
    received = memory(PAGES)
    with pytest.raises(BoardError, match="in pages of 2048 bytes: Invalid argument: give whole pages"):
        device.map_memory(received, 11)
    with pytest.raises(BoardError, match="3 bytes cannot be mapped"):
        device.map_memory(received[:3], 12)
    with pytest.raises(BoardError, match="this is not a dma-buf"):
        device.map_dmabuf(10_000, BYTES, 12)
    with Path("/dev/null").open("rb") as other, pytest.raises(BoardError, match="Invalid argument"):
        device.map_dmabuf(other.fileno(), BYTES, 12)
    for _ in range(20):  # nothing of the failures is left
        device.unmap(device.map_memory(received, 12)[0])


def test_a_card_that_is_taken_away_while_it_is_open_ends_in_an_error(edu: str) -> None:
    with ModuleDevice(edu) as device:
        device.map_memory(memory(), 12)
        device.interrupt()
        bind(edu, "")
        with pytest.raises(BoardError, match="No such device"):
            device.map_memory(memory(), 12)
    bind(edu, "framelane_pcie")
    ModuleDevice(edu).close()
