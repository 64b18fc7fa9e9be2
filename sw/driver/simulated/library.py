"""Verilated designs as C libraries, built once per bus width under a name made of their sources' contents."""

import ctypes
import fcntl
import hashlib
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from framelane.base.errors import SimulationError
from framelane.base.telling import long_work
from framelane.driver.simulated.toolchain import (
    COMPILED,
    IN_PIECES,
    compiler_flags,
    gateware_root,
    packages,
    source_folders,
    verilated_folder,
    verilator_environment,
)

WIDTHS = (64, 128, 256, 512, 1024)
"""Bus widths, in bits, that the sources take."""

Signature = tuple[Any, list[Any]]
"""A C function's result and its arguments, as ctypes; without the handle that a function of a design takes first."""


@dataclass(frozen=True, slots=True)
class Design:
    """What makes one library: the module `top` of `hw/` or `sim/dpi/`, and the C++ `sources` of `sim/dpi/`.

    C functions named `<name>_...` act on one instance, their first argument; `<name>_new` makes one, `<name>_delete`
    ends it. Those with other names act on the simulated host (`board.cpp`).
    """

    name: str
    top: str
    sources: tuple[str, ...]
    functions: Mapping[str, Signature]
    parameters: Mapping[str, int] = field(default_factory=dict)
    """Parameters of the top module, beside the bus width."""
    folders: tuple[str, ...] = ()
    """Where more modules are, beside `hw/` and `sim/dpi/`."""
    options: tuple[str, ...] = ()
    """More options of Verilator."""

    def library(self, width: int | None) -> Path:
        """The design of a bus width, compiled into `verilated_folder()`; where it is not yet, that takes about 20 s.

        `width` is None for a design without a bus. Raises SimulationError where the tools are missing or the build
        fails.
        """
        if width not in (None, *WIDTHS):
            raise SimulationError(f"the bus cannot be {width} bits wide: choose one of {', '.join(map(str, WIDTHS))}")
        root = gateware_root()
        around = root / "sim" / "dpi"
        inputs = [*(root / "hw").rglob("*.sv"), *around.rglob("*.sv"), *around.rglob("*.hpp")]
        inputs += [path for folder in self.folders for path in (root / folder).glob("*.sv")]
        digest = hashlib.sha256(version("verilator").encode() + Path(__file__).read_bytes() + self.top.encode())
        digest.update(repr((COMPILED, sorted(self.parameters.items()), self.options)).encode())
        for path in *sorted(inputs), *(around / source for source in self.sources):
            digest.update(path.name.encode() + path.read_bytes())
        name = f"{self.name}_{width}" if width else self.name
        target = verilated_folder() / f"{name}_{digest.hexdigest()[:16]}.so"
        if target.is_file():  # where this folder may only be read, too
            return target
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.with_name(f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # of several processes one builds
            if not target.is_file():
                self._build(root, width, target)
        return target

    def _build(self, root: Path, width: int | None, target: Path) -> None:
        environment = verilator_environment()
        folders = [*source_folders(root), *(root / folder for folder in self.folders)]
        top = next(path for folder in folders if (path := folder / f"{self.top}.sv").is_file())
        parameters = {**self.parameters, **({"DataW": width} if width else {})}
        with tempfile.TemporaryDirectory(prefix=f"{target.stem}_", dir=target.parent) as work:
            command = [
                *("verilator", "--cc", "--exe", "--build", "-j", "2", "-O3", "--assert", "-Wno-fatal", *IN_PIECES),
                *self.options,
                *("--prefix", "Vtop", "--top-module", self.top, "-Mdir", work, "-o", "design.so"),
                *("-CFLAGS", compiler_flags(), "-LDFLAGS", "-shared", "-MAKEFLAGS", COMPILED),
                *(f"-G{name}={_literal(value)}" for name, value in parameters.items()),
                *(f"-I{folder}" for folder in folders),
                *map(str, packages(root)),
                *(str(path) for folder in self.folders for path in sorted((root / folder).glob("*_pkg.sv"))),
                *map(str, (top, *(root / "sim" / "dpi" / source for source in self.sources))),
            ]
            with long_work(f"compile the simulated {self.name}: a minute, once"):
                result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
            if result.returncode:
                log = target.with_suffix(".log")
                log.write_text(result.stdout + result.stderr)
                raise SimulationError(f"Verilator could not build the design {self.name}: see {log}")
            Path(work, "design.so").rename(target)

    def load(self, width: int | None) -> ctypes.CDLL:
        """The compiled design with the types of its functions; see `library`."""
        lib = ctypes.CDLL(str(self.library(width)))
        getattr(lib, f"{self.name}_new").restype = ctypes.c_void_p
        for name, (result, arguments) in {f"{self.name}_delete": (None, []), **self.functions}.items():
            function = getattr(lib, name)
            function.restype = result
            function.argtypes = [ctypes.c_void_p, *arguments] if self.owns(name) else arguments
        return lib

    def owns(self, function: str) -> bool:
        """Whether a C function acts on one instance."""
        return function.startswith(f"{self.name}_")


def _literal(value: int) -> str:
    """A parameter as Verilator takes it: one that does not fit 31 bits is of a packed type."""
    return f"{-(-value.bit_length() // 32) * 32}'h{value:x}" if value >> 31 else str(value)
