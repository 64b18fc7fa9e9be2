"""Builds the C simulation of `hw/hls/` with g++, as a library and as a program; tells Verilator where its C++ is.

Vitis brings headers of its own. Here `ap_int.h` comes from the package hls4ml (Xilinx's, Apache-2.0), and
`hls_stream.h` and `ap_axi_sdata.h` are ours, in `sim/hls/`.
"""

import fcntl
import hashlib
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

from framelane.base.errors import SimulationError

ROOT = Path(__file__).resolve().parents[2]
HLS = ROOT / "hw" / "hls"
AROUND = ROOT / "sim" / "hls"
BUILD = ROOT / "build" / "hls"

WARNINGS = ("-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas", "-Wno-unused-label")
"""Errors in our files. The pragmas and the labels of loops are for Vitis."""

XILINX_WARNINGS = ("-Wno-uninitialized", "-Wno-maybe-uninitialized")
"""What the inlined constructors of `ap_int.h` set off."""


def ap_types() -> Path:
    """The folder of `ap_int.h`. SimulationError where hls4ml is not installed."""
    spec = find_spec("hls4ml")
    if spec is None or not spec.submodule_search_locations:
        raise SimulationError("ap_int.h is not installed: pip install 'framelane[hls]'")
    return Path(spec.submodule_search_locations[0]) / "templates" / "vivado" / "ap_types"


def include_arguments() -> list[str]:
    """What tells g++ where headers are: ours before those of hls4ml, which has some of the same names."""
    return [f"-I{HLS}", f"-I{AROUND}", "-isystem", str(ap_types())]


def build(target: str, sources: list[Path], *arguments: str) -> Path:
    """Compile into `build/hls/`, once per contents of the sources; takes about 5 s. SimulationError where it fails."""
    if shutil.which("g++") is None:
        raise SimulationError("g++ is not installed, and the C simulation needs it: apt-get install g++")
    headers = [*HLS.glob("*.hpp"), *AROUND.glob("*.h"), *AROUND.glob("*.hpp")]
    command = ["g++", "-std=c++14", "-O2", *WARNINGS, *XILINX_WARNINGS, *include_arguments(), *arguments]
    command += map(str, sources)
    digest = hashlib.sha256(" ".join(command).encode())
    for path in sorted([*headers, *sources]):
        digest.update(path.read_bytes())
    name = Path(target)
    path = BUILD / f"{name.stem}_{digest.hexdigest()[:16]}{name.suffix}"
    BUILD.mkdir(parents=True, exist_ok=True)
    with (BUILD / f"{name.stem}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # of several processes one builds
        if not path.is_file():
            partial = path.with_suffix(".part")
            result = subprocess.run([*command, "-o", str(partial)], capture_output=True, text=True, check=False)
            if result.returncode:
                raise SimulationError(f"g++ could not build {name.stem}:\n{result.stderr}")
            partial.rename(path)
    return path


def library() -> Path:
    """The C simulation as a shared library, of `sim/hls/library.cpp`."""
    return build("jf_correct.so", [HLS / "jf_correct.cpp", AROUND / "library.cpp"], "-shared", "-fPIC")


def bench_program() -> Path:
    """The C simulation as a program that takes a file of starts, `hw/hls/jf_correct_tb.cpp`."""
    return build("jf_correct_tb", [HLS / "jf_correct.cpp", HLS / "jf_correct_tb.cpp"])


def verilator_arguments() -> list[str]:
    """What Verilator needs besides `sim/dpi/jf_correct_hls.sv`: the C++ behind it, and where the headers are."""
    return [str(ROOT / "sim" / "dpi" / "jf_correct_hls.cpp"), "-CFLAGS", " ".join(include_arguments())]
