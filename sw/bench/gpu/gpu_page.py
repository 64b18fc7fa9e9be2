"""The page docs/measured/gpu.md."""

import datetime
import re
from pathlib import Path
from typing import Any

from framelane.bench.gpu.bench_gpu_data import SHAPE
from framelane.bench.page_template import page_parts
from framelane.bench.runner import Target
from framelane.receiver.gpu._device import cupy

_PARTS = page_parts("gpu")


def page(rows: list[dict[str, Any]], targets: list[Target], rate: float, pool: int) -> str:
    """The page's text, from the rows and targets of the bench, the copy's TB/s, and how many frames there are."""
    name, versions = machine()
    head = _PARTS["head"].format(
        name=name,
        date=datetime.datetime.now(datetime.UTC).date(),
        versions=versions,
        rate=rate,
        percent=next(row["percent_switched"] for row in rows),
        pool=pool,
        gigabytes=pool * SHAPE[0] * SHAPE[1] * 2 * 1e-9,
        forties=pool // 40,
        tens=pool // 10,
    )
    lines = [
        f"| {row['kernel']} | {row['batch']} | {_streams(row)} | {_number(row['percent_switched'], 'g')} "
        f"| {row['us']:.2f} | {_number(row['floor_us'], '.2f')} | {_number(row['times_floor'], '.2f')} "
        f"| {_number(row['times_frames'], '.2f')} |\n"
        for row in rows
    ]
    promises = [
        f"- {target.what}: {target.value:.2f}, promised {target.limit:g} or less: {'met' if target.met else 'missed'}\n"
        for target in targets
    ]
    return "".join([head, *lines, "\n", *promises, _PARTS["tail"]])


def machine() -> tuple[str, str]:
    """The GPU's name, and the versions of what drives it."""
    module = cupy()
    runtime = module.cuda.runtime
    name = runtime.getDeviceProperties(module.cuda.Device().id)["name"].decode().removeprefix("NVIDIA ")
    return name, f"CuPy {module.__version__}, CUDA {_version(runtime.runtimeGetVersion())}, driver {_driver()}"


def _driver() -> str:
    """Version of the kernel's driver, of the CUDA that it is for where it does not say."""
    path = Path("/proc/driver/nvidia/version")
    found = re.search(r"\d+\.\d+[\d.]*", path.read_text()) if path.is_file() else None
    return found[0] if found else f"for CUDA {_version(cupy().cuda.runtime.driverGetVersion())}"


def _streams(row: dict[str, Any]) -> str:
    return f"{row['streams']}, overlapped" if row["overlapped"] else str(row["streams"])


def _number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def _version(number: int) -> str:
    return f"{number // 1000}.{number % 1000 // 10}"
