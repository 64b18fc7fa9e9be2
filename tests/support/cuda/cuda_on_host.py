"""CUDA sources compiled by g++ and run by threads of the host: slow, and right or not.

A kernel that touches memory behind an array's end, waits for ever, or breaks another rule that `fibers.hpp` keeps
ends with AssertionError and the reason.
"""

import ctypes
import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from framelane.receiver.gpu import _source

HERE = Path(__file__).parent
OPTIONS = (
    *("-std=c++17", "-O1", "-fno-strict-aliasing", "-ffp-contract=off", "-U_FORTIFY_SOURCE", "-pthread"),
    *("-w", "-shared", "-fPIC"),
)
PATIENCE_S = 60
"""A launch that takes longer waits for ever."""
AT_A_TIME = (3, 1, 2)
"""Blocks that run at the same time, in launches by turns."""
SHARED = re.compile(r"__shared__ (\w+) (\w+)((?:\[[^\]]+\])*);")
KERNEL = re.compile(r'extern "C" __global__ void\s+(?:__launch_bounds__\(.*\)\s+)?(\w+)\(([^)]*)\)')
RUN = """
extern "C" const char* run_{0}(const Run* how) {{
    void (*kernel)({1}) = {0};
    return run(kernel, *how);
}}
"""


class _Run(ctypes.Structure):
    """As `Run` of cuda_on_host.hpp."""

    _fields_ = (
        ("blocks", ctypes.c_uint * 2),
        ("threads", ctypes.c_uint),
        ("at_a_time", ctypes.c_uint),
        ("seed", ctypes.c_uint),
        ("seconds", ctypes.c_uint),
        ("n", ctypes.c_uint),
        ("arguments", ctypes.POINTER(ctypes.c_void_p)),
        ("sizes", ctypes.POINTER(ctypes.c_size_t)),
    )


class HostModule:
    """The kernels of a source, macros before it; `folder` keeps what is compiled."""

    launches = 0

    def __init__(self, folder: Path, text: str, lanes: int = 32) -> None:
        text = f"#define WARP_THREADS {lanes}\n" + on_host(text)
        stem = hashlib.sha256(text.encode()).hexdigest()[:16]
        library = folder / f"{stem}.so"
        if not library.exists():
            compiler = shutil.which("g++")
            assert compiler, "g++ is missing: see scripts/system-packages.sh"
            made = folder / f"{stem}.{os.getpid()}.so"
            (folder / f"{stem}.{os.getpid()}.cpp").write_text(text)
            subprocess.run(
                [compiler, *OPTIONS, f"-I{HERE}", f"{made.stem}.cpp", "-o", made.name], cwd=folder, check=True
            )
            made.replace(library)
        self._library = ctypes.CDLL(str(library))

    def launch(self, function: str, blocks: Sequence[int], threads: int, arguments: Sequence[Any]) -> None:
        """Run a kernel to its end: arguments are numpy scalars."""
        number = HostModule.launches
        HostModule.launches += 1
        values = [np.array(value) for value in arguments]
        how = _Run(
            (ctypes.c_uint * 2)(*blocks, *(1 for _ in range(2 - len(blocks)))),
            threads,
            AT_A_TIME[number % len(AT_A_TIME)],
            number,
            PATIENCE_S,
            len(values),
            (ctypes.c_void_p * len(values))(*(value.ctypes.data for value in values)),
            (ctypes.c_size_t * len(values))(*(value.nbytes for value in values)),
        )
        run = getattr(self._library, f"run_{function}")
        run.restype = ctypes.c_char_p
        wrong = run(ctypes.byref(how))
        assert wrong is None, f"launch {number} of {function}: {wrong.decode()}"


def on_host(text: str) -> str:
    """The text of a kernel for the host's compiler."""
    ptx = _source._text("ptx.cuh").split('#include "words.cuh"\n')[1]
    text = text.replace(ptx, '#include "ptx_on_host.hpp"\n')
    text = SHARED.sub(r"auto& \2 = host::shared_memory<\1\3, __COUNTER__>();", text)
    return '#include "cuda_on_host.hpp"\n' + text + "".join(RUN.format(*found) for found in KERNEL.findall(text))
