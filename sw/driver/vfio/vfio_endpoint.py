"""A PCIe engine behind VFIO, with the ring and its event queue in this program's memory."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import ConfigError
from framelane.driver.pcie.engine import PcieEngine
from framelane.driver.pcie.engine_endpoint import EngineEndpoint
from framelane.driver.pcie.page_plan import PagePlan
from framelane.driver.registers.registers import Registers
from framelane.driver.vfio.device import VfioDevice
from framelane.driver.vfio.group import ROOT


@dataclass(frozen=True, slots=True)
class VfioEndpoint:
    """An open engine: `registers` are all of its board's, `endpoint` what the receiver's transport wants."""

    registers: Registers
    engine: PcieEngine
    endpoint: EngineEndpoint


@contextlib.contextmanager
def open_vfio(
    address: str,
    plan: PagePlan,
    memory: NDArray[np.uint8],
    *,
    bar: int = 0,
    engine: int = 0,
    interrupts: bool = False,
    fence_s: float | None = None,
    root: Path = ROOT,
) -> Iterator[VfioEndpoint]:
    """Let engine `engine` of the PCI device at `address` ("0000:03:00.0") write to `memory`, all bytes of `plan`.

    `memory` (uint8) must begin at a multiple of 4 KiB, in huge pages best, and be filled: the part of the event queue
    with zeros. It belongs to the device until the block ends. See `PcieEngine.open` for `fence_s`. ConfigError for
    memory of another size; BoardError, with what to do, where a piece is missing.
    """
    if memory.nbytes != plan.total_bytes:
        raise ConfigError(f"memory of {memory.nbytes} bytes is not the plan's {plan.total_bytes}: give exactly that")
    with VfioDevice(address, root) as device, contextlib.closing(device.registers(bar)) as registers:
        first = PcieEngine(registers, engine)
        base = device.map(memory, plan.page_bytes)
        interrupt = device.interrupt() if interrupts else None
        first.open(plan, [base + index * plan.page_bytes for index in range(plan.pages)], fence_s=fence_s)
        if interrupts:
            first.interrupts(events=1)
        endpoint = EngineEndpoint(first, interrupt=interrupt)
        with contextlib.closing(endpoint):
            yield VfioEndpoint(registers, first, endpoint)
