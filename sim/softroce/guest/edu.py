"""QEMU's device `edu` (docs/specs/edu.rst): registers in BAR 0, a buffer of 4 KiB, and a DMA engine."""

import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from framelane.driver.registers.mmap_registers import MappedRegisters
from framelane.receiver.ring.memory import host_memory

DEVICES = Path("/sys/bus/pci/devices")
IDENTITY, LIVENESS, ACKNOWLEDGE = 0x00, 0x04, 0x64
SOURCE, DESTINATION, COUNT, COMMAND = 0x80, 0x88, 0x90, 0x98
INTERRUPTS = 0x24
START, TO_MEMORY, INTERRUPT = 1, 2, 4
BUFFER, BYTES = 0x40000, 4096
COPIED = BYTES - 8
"""QEMU 7 takes the last byte of its own buffer for one too many, and ends."""
PATIENCE_S = 20.0


def address() -> str:
    """Where it is."""
    (found,) = (path.name for path in DEVICES.iterdir() if (path / "device").read_text() == "0x11e8\n")
    return found


def bind(name: str, driver: str) -> None:
    """Give it to a driver, and away from the one that has it."""
    device = DEVICES / name
    if (device / "driver").exists():
        (device / "driver/unbind").write_text(name)
    (device / "driver_override").write_text(driver)
    Path("/sys/bus/pci/drivers_probe").write_text(name)


def copy(registers: MappedRegisters, source: int, destination: int, command: int) -> None:
    """Start the DMA engine, and wait until it has ended. Its registers have 64 bits, and take them at once alone."""
    with registers._bytes[SOURCE : COMMAND + 8].cast("Q") as wide:
        for at, value in ((SOURCE, source), (DESTINATION, destination), (COUNT, COPIED), (COMMAND, command | START)):
            wide[(at - SOURCE) // 8] = value
    deadline = time.monotonic() + PATIENCE_S
    while registers.read(COMMAND) & START:
        assert time.monotonic() < deadline, "the device does not end"
        time.sleep(0.01)


def pattern(seed: int) -> NDArray[np.uint8]:
    """Bytes that no other seed has."""
    return np.random.default_rng(seed).integers(0, 256, BYTES, np.uint8)


def memory(pages: int = 1) -> NDArray[np.uint8]:
    """Zeros."""
    return host_memory(pages * BYTES)
