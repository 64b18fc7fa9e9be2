"""The GPU's peak finder, its CUDA sources compiled by g++ and run by threads of the host: slow, and right or not."""

import ctypes
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from framelane.models.peak_finder import PEAK_FIELDS, PEAK_SUMS, Peaks
from framelane.models.peak_settings import Panel, PeakSettings
from framelane.receiver.gpu._peak_memory import PeakMemory, PeakPlan
from framelane.receiver.gpu._source import source

THREADS, LANES = 4, 2
OPTIONS = ("-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas", "-pthread", "-shared", "-fPIC")

WRAPPERS = {
    "peak_candidates": """
extern "C" void run_peak_candidates(u32 blocks, u32 threads, const i16* a, i64 b, u32 c, const Finder* d) {
    launch(blocks, threads, [=] { peak_candidates(a, b, c, d); });
}
""",
    "peak_rounds": """
extern "C" void run_peak_spread(u32 blocks, u32 threads, const i16* a, i64 b, u32 c, u32 d, const Finder* e) {
    launch(blocks, threads, [=] { peak_spread(a, b, c, d, e); });
}
extern "C" void run_peak_renew(u32 blocks, u32 threads, const i16* a, i64 b, u32 c, u32 d, const Finder* e) {
    launch(blocks, threads, [=] { peak_renew(a, b, c, d, e); });
}
""",
    "peak_groups": "".join(
        f"""
extern "C" void run_{name}(u32 blocks, u32 threads, const i16* a, i64 b, u32 c, const Finder* d) {{
    launch(blocks, threads, [=] {{ {name}(a, b, c, d); }});
}}
"""
        for name in ("peak_connect", "peak_sum", "peak_weigh", "peak_write")
    ),
}
TYPES = {np.uint64: ctypes.c_uint64, np.int64: ctypes.c_int64, np.uint32: ctypes.c_uint32}


class HostPeakFinder:
    """As `GpuPeakFinder`, on arrays of numpy. `folder` keeps what is compiled."""

    def __init__(
        self,
        folder: Path,
        shape: tuple[int, int],
        settings: PeakSettings,
        panels: Sequence[Panel] | None = None,
        usable: NDArray[np.bool_] | None = None,
        fraction_bits: int = 0,
        frames: int = 1,
    ) -> None:
        plan = PeakPlan(lanes=LANES, candidates=THREADS, rounds=THREADS, blocks=3)
        self._folder = folder
        self._memory = PeakMemory(np, _address, shape, settings, panels, usable, fraction_bits, frames, plan)

    def __call__(self, images: NDArray[np.int16]) -> Peaks:
        """The peaks of images (frames, rows, columns) in one piece."""
        memory = self._memory
        aligned = not (_address(images) % 16 or images[0].nbytes % 16)
        for each in memory.launches(_address(images), images[0].size, len(images), aligned):
            function = _library(self._folder, each.name, tuple(sorted(each.macros.items())))
            arguments = [TYPES[type(value)](int(value)) for value in each.arguments]
            getattr(function, f"run_{each.function}")(each.blocks, each.threads, *arguments)
        found = memory.found[: len(images)].astype(np.int64)
        kept = [rows[: min(n, memory.limit)] for rows, n in zip(memory.table, found.tolist(), strict=False)]
        sums = np.concatenate(kept) if kept else np.empty((0, len(PEAK_FIELDS)), np.int64)
        return Peaks(sums.view(PEAK_SUMS).reshape(-1), found)


def _address(array: Any) -> int:
    return int(array.ctypes.data)


@cache
def _library(folder: Path, name: str, macros: tuple[tuple[str, int], ...]) -> Any:
    compiler = shutil.which("g++")
    assert compiler, "g++ is missing: see scripts/system-packages.sh"
    stem = "_".join([name, *(str(value) for _, value in macros)])
    text = f'#define WARP_THREADS {LANES}\n#include "cuda_on_host.hpp"\n' + source(name, dict(macros)) + WRAPPERS[name]
    (folder / f"{stem}.cpp").write_text(text)
    command = [compiler, *OPTIONS, f"-I{Path(__file__).parent}", f"{stem}.cpp", "-o", f"{stem}.so"]
    subprocess.run(command, cwd=folder, check=True)
    return ctypes.CDLL(str(folder / f"{stem}.so"))
