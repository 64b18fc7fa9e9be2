"""Finding pyverbs, the Python side of rdma-core: distributions package it for their own Python, and nobody on PyPI."""

import contextlib
import errno
import importlib
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from framelane.base.errors import TransportError

FOLDERS = (
    "usr/lib/python3/dist-packages",
    "usr/lib64/python{version}/site-packages",
    "usr/lib/python{version}/site-packages",
)
"""Where Debian, Fedora and others install it, below the root: not on the path of a virtual environment."""

_INSTALL = "install the packages python3-pyverbs and ibverbs-providers of this system (Debian's names)"


@dataclass(frozen=True, slots=True)
class Pyverbs:
    """The modules of pyverbs that a receiver uses. They publish no types."""

    addr: Any
    cq: Any
    device: Any
    enums: Any
    mr: Any
    pd: Any
    qp: Any
    wr: Any
    error: type[Exception]

    @contextlib.contextmanager
    def explaining(self, what: str, advice: Mapping[int, str] | None = None) -> Iterator[None]:
        """Make a TransportError, "cannot `what`: why: `advice` for its errno", of what pyverbs raises."""
        try:
            yield
        except self.error as error:
            code = int(getattr(error, "error_code", -1))
            reason = f"{os.strerror(code)} ({errno.errorcode.get(code, code)})" if code > 0 else str(error)
            hint = (advice or {}).get(code)
            raise TransportError(f"cannot {what}: {reason}" + (f": {hint}" if hint else "")) from error


def load(root: Path = Path("/")) -> Pyverbs:
    """Import pyverbs, also from a virtual environment. TransportError says which piece is missing.

    Of the folder where the system has it, nothing else becomes importable.
    """
    package = sys.modules.get("pyverbs") or _import_package(root)
    try:
        found = {
            name: importlib.import_module(f"pyverbs.{name}")
            for name in ("addr", "cq", "device", "enums", "mr", "pd", "qp", "wr")
        }
        error = importlib.import_module("pyverbs.pyverbs_error").PyverbsError
    except ImportError as failure:
        raise TransportError(_load_failure(package, failure)) from failure
    return Pyverbs(error=error, **found)


def _import_package(root: Path) -> ModuleType:
    version = "{}.{}".format(*sys.version_info[:2])
    spec = importlib.util.find_spec("pyverbs")
    if spec is None:
        places = [root / folder.format(version=version) / "pyverbs" for folder in FOLDERS]
        folder = next((place for place in places if (place / "__init__.py").is_file()), None)
        if folder is None:
            raise TransportError(f"there is no pyverbs for the verbs transport: {_INSTALL}")
        spec = importlib.util.spec_from_file_location(
            "pyverbs", folder / "__init__.py", submodule_search_locations=[str(folder)]
        )
    assert spec
    assert spec.loader
    package = importlib.util.module_from_spec(spec)
    sys.modules["pyverbs"] = package
    spec.loader.exec_module(package)
    return package


def _load_failure(package: ModuleType, failure: ImportError) -> str:
    """Why a pyverbs that was found does not load; it is forgotten, so that a mended one can be loaded."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "pyverbs"]:
        del sys.modules[name]
    folder = Path(package.__path__[0])
    built = {file.name.removeprefix("device.").removesuffix(".so") for file in folder.glob("device.*.so")}
    ours = {suffix.strip(".").removesuffix(".so") for suffix in importlib.machinery.EXTENSION_SUFFIXES}
    if built and not built & ours:
        return (
            f"pyverbs in {folder} is built for {', '.join(sorted(built))}, and this is Python "
            f"{sys.version_info[0]}.{sys.version_info[1]}: make the virtual environment with the system's Python"
        )
    return f"pyverbs in {folder} does not load, {failure}: {_INSTALL}"
