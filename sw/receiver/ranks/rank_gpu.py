"""Each rank its own GPU, and the cores that are near it."""

import os
from collections.abc import Iterable
from pathlib import Path

from framelane.receiver.gpu._device import cupy

_VISIBLE = "CUDA_VISIBLE_DEVICES"


def choose_gpu(local_rank: int, root: Path = Path("/")) -> str:
    """Make GPU number `local_rank` of this host, of those that are visible, the process's only one; what it is.

    Where there are fewer GPUs than ranks they are shared. The process keeps to the cores near its GPU, where the system
    says which those are. ConfigError where no GPU can be used.
    """
    visible = os.environ.get(_VISIBLE, "")
    installed = [path.name for path in (root / "proc/driver/nvidia/gpus").glob("*")]
    gpus = visible.split(",") if visible else [str(number) for number in range(len(installed) or local_rank + 1)]
    os.environ[_VISIBLE] = gpus[local_rank % len(gpus)]
    devices = cupy().cuda
    if (count := devices.runtime.getDeviceCount()) > 1:  # CUDA was there before: MPI had made it
        devices.Device(local_rank % count).use()
    address = str(devices.Device().pci_bus_id).lower()
    cores = near(address, root)
    if cores:
        os.sched_setaffinity(0, cores)
    name = devices.runtime.getDeviceProperties(devices.Device().id)["name"]
    return f"{name.decode()} at {address}"


def near(address: str, root: Path = Path("/")) -> set[int]:
    """The cores near a PCI device that this process may use; empty where that is not known, or less than two."""
    try:
        text = (root / "sys/bus/pci/devices" / address / "local_cpulist").read_text()
    except OSError:
        return set()
    cores = set(_numbers(text.strip().split(","))) & os.sched_getaffinity(0)
    return cores if len(cores) > 1 else set()


def _numbers(ranges: Iterable[str]) -> Iterable[int]:
    """The numbers of a list such as 0-3,8 (sysfs, cpulist)."""
    for each in filter(None, ranges):
        first, _, last = each.partition("-")
        yield from range(int(first), int(last or first) + 1)
