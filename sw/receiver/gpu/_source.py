"""The CUDA sources beside this module, as one text each: NVRTC reads no files."""

import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path

_FOLDER = resources.files(__package__).joinpath("kernels")
_INCLUDE = re.compile(r'#include "([\w.]+)"\n')

OPTIONS = ("--std=c++17", "--diag-suppress=177")
"""What NVRTC is told, beside the GPU's architecture: not every kernel uses all that it includes."""


def kernels() -> list[str]:
    """Every file `kernels/<name>.cu`; it says what its kernels take."""
    return sorted(Path(path.name).stem for path in _FOLDER.iterdir() if path.name.endswith(".cu"))


def source(name: str, macros: Mapping[str, int] | None = None) -> str:
    """The text of a kernel's file with what it includes, each once, below the macros."""
    lines = [f"#define {macro} {value}\n" for macro, value in (macros or {}).items()]
    return "".join([*lines, _merged(f"{name}.cu", set())])


def _merged(file: str, seen: set[str]) -> str:
    seen.add(file)
    return _INCLUDE.sub(lambda found: "" if found[1] in seen else _merged(found[1], seen), _text(file))


@cache
def _text(file: str) -> str:
    folder = _FOLDER.joinpath("include") if file.endswith(".cuh") else _FOLDER
    return folder.joinpath(file).read_text().replace("#pragma once\n", "")
