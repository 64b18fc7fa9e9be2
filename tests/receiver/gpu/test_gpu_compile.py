"""The CUDA sources through NVRTC, where there is no GPU: for two generations of GPUs, without warnings."""

import ctypes
import importlib.util
import itertools
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from framelane.receiver.gpu._plans import BATCH, OVERLAPPED, SINGLE
from framelane.receiver.gpu._source import OPTIONS, kernels, source

ARCHITECTURES = ("sm_80", "sm_90")
MOST_SPILLED = 128
"""Bytes of a thread."""

DEFINITION = r'extern "C" __global__ void\s+(?:__launch_bounds__\(.*\)\s+)?(\w+)\('


def variants() -> list[tuple[str, dict[str, int]]]:
    """Return every kernel with the macros of its plans, and those of all that it can do besides."""
    found: list[tuple[str, dict[str, int]]] = [(name, {}) for name in kernels()]
    for single, high_gain in itertools.product((0, 1), (0, 1)):
        for name, plan in (SINGLE if single else BATCH).items():
            extra = {"COUNTED": 1} if name == "correct_int16_counted" else {}
            kernel = name.removesuffix("_counted")
            found.append((kernel, plan.macros | {"SINGLE": single, "HIGH_GAIN": high_gain} | extra))
    found += [(name, plan.macros | {"SINGLE": 1}) for name, plan in OVERLAPPED.items()]
    found += [(name, BATCH[name].macros | {"REFILLED": 1}) for name in ("count", "holes")]
    found += [(name, SINGLE[name].macros | {"SINGLE": 1, "REFILLED": 1}) for name in ("count", "holes")]
    found += [(name, SINGLE[name].macros | {"SINGLE": 1, "ALIGNED": 0}) for name in SINGLE if "_counted" not in name]
    found.append(("correct_int16", BATCH["correct_int16"].macros | {"WORD_SHIFT": 17}))
    found += [(name, BATCH[name].macros | {"ALIGNED": 0}) for name in BATCH if not name.endswith("_counted")]
    return found


def test_a_block_that_counts_a_single_frame_has_as_many_tiles_as_it_can_tell() -> None:
    for name in ("count", "holes", "correct_int16_counted"):
        assert SINGLE[name].per_part > 0, name
    assert SINGLE["count"].per_part <= 32 * SINGLE["count"].together


@cache
def nvrtc() -> Any:
    """NVIDIA's run-time compiler: of its package, or of the system."""
    spec = importlib.util.find_spec("nvidia")
    folders = [Path(path) for path in (spec.submodule_search_locations or [])] if spec else []
    names = [str(path) for folder in folders for path in sorted(folder.glob("*/lib/libnvrtc.so.*[0-9]"))]
    for name in [*names, "libnvrtc.so.13", "libnvrtc.so.12"]:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    pytest.skip("NVRTC is not installed (nvidia-cuda-nvrtc-cu12): the CUDA sources are not compiled")


def compiled(name: str, macros: dict[str, int], architecture: str) -> tuple[str, bytes]:
    """Compile: what the compiler says, and the machine code, empty where there is none."""
    library, program, size = nvrtc(), ctypes.c_void_p(), ctypes.c_size_t()

    def text(what: str) -> bytes:
        getattr(library, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        getattr(library, f"nvrtcGet{what}")(program, buffer)
        return buffer.raw

    options = [f"--gpu-architecture={architecture}", *OPTIONS, "--ptxas-options=-v"]
    major, minor = ctypes.c_int(), ctypes.c_int()
    library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    if major.value >= 13:
        options.append("--no-cache")  # of what another run has compiled it would say nothing
    arguments = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
    code = source(name, macros).encode()
    assert library.nvrtcCreateProgram(ctypes.byref(program), code, f"{name}.cu".encode(), 0, None, None) == 0
    status = library.nvrtcCompileProgram(program, len(options), arguments)
    log = text("ProgramLog").decode().rstrip("\0")
    machine_code = text("CUBIN") if status == 0 else b""
    library.nvrtcDestroyProgram(ctypes.byref(program))
    return log, machine_code


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize(("name", "macros"), variants(), ids=lambda each: each if isinstance(each, str) else "")
def test_a_kernel_compiles_without_warnings_and_keeps_all_but_a_few_numbers_in_registers(
    name: str, macros: dict[str, int], architecture: str
) -> None:
    log, code = compiled(name, macros, architecture)
    assert code, log
    assert "warning" not in log, log
    functions = set(re.findall(r"Compiling entry function '(\w+)'", log))
    assert functions == set(re.findall(DEFINITION, source(name)))
    spilled = [int(n) for n in re.findall(r"(\d+) bytes spill stores", log)]
    assert len(spilled) == len(functions)
    assert max(spilled) <= MOST_SPILLED, log


def test_the_text_for_the_compiler_includes_each_file_once_and_no_other() -> None:
    for name in kernels():
        text = source(name, {"THREADS": 64})
        assert text.startswith("#define THREADS 64\n")
        assert "#include" not in text
        assert text.count("constexpr u32 ADC_MASK =") == 1
