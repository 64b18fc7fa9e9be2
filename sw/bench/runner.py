"""`framelane bench`: measured tables, and what was promised beside what was reached."""

import datetime
import importlib
import json
import os
import platform
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from rich import box
from rich.console import Console
from rich.table import Table

from framelane.base.claim import Kind, json_with
from framelane.base.errors import ConfigError, InputError
from framelane.base.part_file import PartFile
from framelane.base.progress import say


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A promised figure: `value` was measured, and must not pass `limit` in the direction that is not `better`."""

    what: str
    value: float
    unit: str
    limit: float
    better: Literal["lower", "higher"]

    @property
    def met(self) -> bool:
        """Whether the promise is kept."""
        return self.value <= self.limit if self.better == "lower" else self.value >= self.limit

    def __str__(self) -> str:
        """The promise, what was measured, and whether it was kept."""
        sign = "<=" if self.better == "lower" else ">="
        value = f"{self.value:.4g} {self.unit}".rstrip()
        return f"{self.what}: {value}, promised {sign} {self.limit:g}: {'met' if self.met else 'MISSED'}"


@dataclass(frozen=True, slots=True)
class Measurement:
    """What a bench found: `rows` with the same keys, one a measured point, and the targets.

    `shown` are the rows for the console where they are too many for it; `page` is Markdown for the documentation.
    """

    rows: list[dict[str, Any]]
    targets: list[Target]
    shown: list[dict[str, Any]] | None = None
    page: str | None = None
    page_name: str | None = None
    """The name of the page, where it is not the bench's."""


_FOLDERS = {
    "transmitter": ("roce_tx", "tx", "placement", "rc", "rc_store", "mac_port", "pcie", "ptp", "detector_tx"),
    "receiver": ("pipeline", "jf_correct", "pedestal", "softnic", "detector", "link"),
    "files": ("files",),
    "serve": ("serve",),
    "gpu": ("gpu", "gpu_peaks", "gpu_pipeline", "gpu_ranks"),
}
"""Each is a module `bench_<name>` of that package, with a function `measure() -> Measurement`."""

ON_A_GPU = _FOLDERS["gpu"]
"""For machines with a GPU: elsewhere their `measure` raises ConfigError, and they are skipped."""

_RESULT = json_with("a result of a bench", "name", "rows", "targets")

NAMES = tuple(name for folder, names in _FOLDERS.items() if folder != "gpu" for name in names)


def run(name: str | None, folder: Path, docs: Path | None, console: Console, *, force: bool = False) -> list[str]:
    """Run one bench, or all; print each table and write `<name>.json` to `folder`, pages `<name>.md` to `docs`.

    Results of an older run are replaced, with `force` a file of another kind, too. What was missed, a target a
    sentence. InputError for an unknown name.
    """
    names = NAMES + ON_A_GPU
    missed: list[str] = []
    if name is not None and name not in names:
        raise InputError(f"there is no bench {name}: choose one of {', '.join(names)}")
    for each in names if name is None else [name]:
        say(console, f"bench {each}")
        try:
            measurement: Measurement = _module(each).measure()
        except ConfigError as reason:
            if each not in ON_A_GPU:
                raise
            say(console, f"skipped: {reason}\n")
            continue
        _show(measurement, console)
        path = save(each, measurement, folder, force=force)
        say(console, f"see {path}\n")
        if docs and measurement.page:
            write(docs / f"{measurement.page_name or each}.md", measurement.page)
        missed += [f"{each}: {target}" for target in measurement.targets if not target.met]
    return missed


def _module(name: str) -> Any:
    folder = next(folder for folder, names in _FOLDERS.items() if name in names)
    return importlib.import_module(f"framelane.bench.{folder}.bench_{name}")


def save(name: str, measurement: Measurement, folder: Path, *, force: bool = False) -> Path:
    """Write the document of one bench; its path. InputError or OSError where it cannot be written."""
    document = {
        "name": name,
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "commit": _commit(),
        "machine": _machine(),
        "rows": measurement.rows,
        "targets": [asdict(target) | {"met": target.met} for target in measurement.targets],
    }
    path = folder / f"{name}.json"
    write(path, json.dumps(document, indent=2) + "\n", force=force, kind=_RESULT)
    return path


def write(path: Path, text: str, *, force: bool = False, kind: Kind | None = None) -> None:
    """Write a whole file, over an older one of its kind; its folder is made if need be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with PartFile(path, force=force, kind=kind, renews=True) as part:
        part.path.write_text(text)


def _show(measurement: Measurement, console: Console) -> None:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    rows = measurement.shown or measurement.rows
    for key in rows[0]:
        table.add_column(key.replace("_", " "), justify="right")
    for row in rows:
        table.add_row(*(f"{value:.4g}" if isinstance(value, float) else str(value) for value in row.values()))
    console.print(table)
    for target in measurement.targets:
        say(console, str(target))


def _commit() -> str:
    root = Path(__file__).resolve().parents[2]
    command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _machine() -> str:
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    for line in cpuinfo.read_text().splitlines() if cpuinfo.is_file() else ():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    return f"{model}, {len(os.sched_getaffinity(0))} cores, {platform.system()} {platform.release()}"
