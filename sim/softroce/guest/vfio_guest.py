"""VFIO on a real kernel with an IOMMU, and a device that writes memory: run in the guest by `test_vfio.py`."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from edu import (
    ACKNOWLEDGE,
    BUFFER,
    BYTES,
    COPIED,
    IDENTITY,
    INTERRUPT,
    INTERRUPTS,
    LIVENESS,
    PATIENCE_S,
    TO_MEMORY,
    address,
    bind,
    copy,
    memory,
    pattern,
)
from framelane.base.errors import BoardError
from framelane.driver.vfio.device import VfioDevice, VfioInterrupt

EDU = 0x11E8_1234
"""Device and vendor."""


@pytest.fixture(scope="module")
def edu() -> str:
    """Give the device to VFIO."""
    name = address()
    with pytest.raises(BoardError, match="has no driver, VFIO needs vfio-pci"):
        VfioDevice(name)
    bind(name, "vfio-pci")
    return name


@pytest.fixture
def device(edu: str) -> Iterator[VfioDevice]:
    with VfioDevice(edu) as device:
        yield device


def test_its_registers_are_read_and_written(device: VfioDevice) -> None:
    registers = device.registers()
    assert registers.read(IDENTITY) & 0xFFFF == 0x00ED
    registers.write(LIVENESS, 0x12345678)
    assert registers.read(LIVENESS) == 0xEDCBA987
    assert device.config(0, 4) == EDU
    registers.close()


def test_it_writes_where_memory_is_mapped_and_its_interrupt_comes(device: VfioDevice) -> None:
    registers, sent, received = device.registers(), memory(), memory()
    sent[:] = pattern(1)
    interrupt = device.interrupt()
    assert isinstance(interrupt, VfioInterrupt)
    here, there = device.map(sent, BYTES), device.map(received, 2 << 20)
    assert here >= 1 << 32, "clear of what 32-bit devices have"
    assert there % (2 << 20) == 0
    assert not interrupt.wait(0)
    copy(registers, here, BUFFER, 0)
    assert not interrupt.wait(0.05)
    copy(registers, BUFFER, there, TO_MEMORY | INTERRUPT)
    assert interrupt.wait(PATIENCE_S)
    assert np.array_equal(received[:COPIED], sent[:COPIED])
    registers.write(ACKNOWLEDGE, registers.read(INTERRUPTS))
    assert not interrupt.wait(0.05)
    registers.close()


def test_memory_that_was_taken_away_stays_as_it_is(device: VfioDevice) -> None:
    registers, sent, received = device.registers(), memory(), memory()
    sent[:] = pattern(2)
    here, there = device.map(sent, BYTES), device.map(received, BYTES)
    copy(registers, here, BUFFER, 0)
    received[:] = 7
    device.unmap(there)
    copy(registers, BUFFER, there, TO_MEMORY)
    assert (received == 7).all()
    again = device.map(received, BYTES)
    copy(registers, BUFFER, again, TO_MEMORY)
    assert np.array_equal(received[:COPIED], sent[:COPIED])
    registers.close()


def test_memory_of_another_is_out_of_reach(device: VfioDevice) -> None:
    """Not mapped, at its own address in this process: the device may not write there."""
    registers, sent, private = device.registers(), memory(), memory()
    sent[:] = pattern(3)
    private[:] = 9
    copy(registers, device.map(sent, BYTES), BUFFER, 0)
    copy(registers, BUFFER, private.ctypes.data, TO_MEMORY)
    assert (private == 9).all()
    registers.close()


def test_what_the_kernel_refuses_is_told(device: VfioDevice, edu: str) -> None:
    with pytest.raises(BoardError, match="another program has it: end that"):
        VfioDevice(edu)
    with pytest.raises(BoardError, match="has no BAR 3 that can be mapped"):
        device.registers(3)
    with pytest.raises(BoardError, match="something is mapped there already"):
        device._container.map(memory(), device.map(memory(), BYTES))
    (first, last) = device._container.ranges[-1]
    with pytest.raises(BoardError, match="the IOMMU has no such address"):
        device._container.map(memory(), (last + 1) // BYTES * BYTES)
    assert first < last
    with pytest.raises(BoardError, match="the IOMMU has no room for"):
        device._container.place(last, BYTES)


def test_everything_is_given_back(edu: str) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(3):
        with VfioDevice(edu) as device:
            device.interrupt()
            device.map(memory(), BYTES)
            device.registers().close()
        device.close()
    assert len(list(Path("/proc/self/fd").iterdir())) == before
