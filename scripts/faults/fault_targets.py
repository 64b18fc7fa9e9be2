"""What faults are planted in, and which tests are to catch them: blocks of the gateware, modules of Python.

Files are looked for by their names below `hw`, `sim`, `sw` and `tests`, so that they may be in any folder there.
"""

import ast
import fnmatch
import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import records

ROOT = Path(__file__).resolve().parents[2]
GATEWARE, RECEIVER, DOCTOR = "gateware", "receiver's core", "doctor"
GROUPS = (GATEWARE, RECEIVER, DOCTOR)
GENERATED = ("det_regs", "pcie_regs", "time_regs", "tx_regs")

_RECEIVER = ("test_receiver", "test_receiver_strays", "test_receiver_free_running")
CORE: dict[str, tuple[str, ...]] = {
    "receiver": (*_RECEIVER, "test_received_holes", "test_transport"),
    "ring": ("test_ring", *_RECEIVER, "test_gpu_pipeline"),
    "window": ("test_ring", *_RECEIVER),
    "tally": ("test_tally", *_RECEIVER),
    "responder": ("test_responder", "test_planted_faults", "test_fuzz_packets"),
    "fast_responder": ("test_responder", "test_transport", "test_fuzz_packets"),
    "_placing_kernel": ("test_responder", "test_planted_faults", "test_fuzz_packets"),
    "softnic": ("test_transport", "test_transport_contract", *_RECEIVER),
    "reception": ("test_reception", "test_source_beside", "test_recv_recovery", "test_recv_live", "test_nxmx"),
    "live/recorder": ("test_reception", "test_recv_veto", "test_recv_recovery"),
    "live_loop": ("test_live_loop", "test_recv_recovery", "test_recv_live"),
    "make_frame_pipeline": ("test_frame_pipeline", "test_gpu_pipeline"),
    "cpu_frame_pipeline": ("test_frame_pipeline",),
    "pipeline/pipeline": ("test_pipeline", "test_frame_pipeline"),
    "pipeline/judge": ("test_judging", "test_pipeline", "test_frame_pipeline", "test_reception"),
    "pipeline/judging": ("test_judging", "test_pipeline"),
    "pipeline/veto": ("test_judging", "test_pipeline", "test_what_if"),
    "pipeline/correction": ("test_correction",),
    "live/processing": ("test_reception", "test_recv_veto", "test_recv_tracking"),
    "live/live_wire": ("test_publishing", "test_recv_live", "test_link_attacks", "test_recv_pcie"),
    "hdf5": ("test_hdf5", "test_hdf5_full", "test_series"),
    "new_hdf5": ("test_new_hdf5", "test_hdf5", "test_hdf5_full"),
    "files/committed_file": ("test_power_loss", "test_growing_hdf5"),
    "files/growing_hdf5": ("test_series", "test_power_loss", "test_hdf5_full"),
    "files/series": ("test_series", "test_power_loss", "test_recover"),
    "files/unended": ("test_follow", "test_recover", "test_growing_hdf5"),
    "recovery/following": ("test_follow",),
    "recovery/found_file": ("test_recover",),
    "recovery/found_run": ("test_recover",),
    "cli/recover": ("test_recover",),
    **{
        f"session/{module}": ("test_link_attacks", "test_session_link", "test_recv_attacked")
        for module in ("attempts", "channel", "handshake", "session_server")
    },
    "session/waiting_room": ("test_waiting_room", "test_link_attacks"),
    "session/link_key": ("test_link_key", "test_link_attacks"),
    "session/link_tls": ("test_link_attacks", "test_link_key"),
    "session/report_book": ("test_report_book",),
}
"""The receiver's core: modules, and the test files of each, its own first."""
OF_DOCTOR: dict[str, tuple[str, ...]] = {
    "doctor/host/pcie*": ("test_doctor_pcie",),
    "doctor/host/detector": ("test_doctor_detector",),
    "doctor/host/cpus": ("test_doctor_detector", "test_doctor_host"),
    "doctor/host/*": ("test_doctor_host",),
    "doctor/capture": ("test_doctor_capture", "test_doctor_partial"),
    "doctor/live": ("test_doctor_capture", "test_cli_doctor"),
    "doctor/icrc*": ("test_doctor_icrc", "test_doctor_said", "test_doctor"),
    "doctor/bit_flip": ("test_doctor_icrc", "test_doctor_said"),
    "doctor/psn": ("test_doctor_psn", "test_doctor", "test_doctor_frames"),
    "doctor/frames": ("test_doctor_frames", "test_doctor", "test_doctor_mutations"),
    "doctor/trailers": ("test_doctor_frames", "test_doctor"),
    "doctor/answers": ("test_doctor_answers", "test_doctor"),
    "doctor/noise": ("test_doctor_said", "test_doctor_answers", "test_doctor"),
    "doctor/report": ("test_doctor_report", "test_doctor_partial", "test_cli_doctor", "test_doctor_mutations"),
    "doctor/advice": ("test_doctor_report", "test_doctor_partial", "test_cli_doctor", "test_doctor"),
    "doctor/doctor_run": ("test_cli_doctor",),
    "doctor/*": (
        "test_doctor_said",
        "test_doctor_details",
        "test_doctor_frames",
        "test_doctor_partial",
        "test_doctor",
        "test_doctor_mutations",
    ),
}
"""The doctor's modules, by the first pattern that fits, and the test files of each."""
ALSO: dict[str, tuple[str, ...]] = {"framelane_top": ("tx_stream",), "detector_tx": ("det_registers",)}
"""Blocks that the benches of other blocks build in another way than their own do: these benches see what is only there.

`test_tx_stream` has a `framelane_top` of one clock and without a MAC port, `test_det_registers` reads the counters of
`detector_tx`.
"""


@dataclass(frozen=True)
class Target:
    """A source in which faults are planted. `suites` are the files of tests that must catch them, in this order."""

    name: str
    group: str
    path: Path
    suites: tuple[Path, ...]
    size: int
    """By which what costs least comes first: characters of all sources that a bench builds, or of the module."""

    @property
    def source(self) -> str:
        """Its text."""
        return self.path.read_text()

    def inputs(self, seed: int, by: str | None) -> str:
        """The digest of what a verdict depends on: the source, and the tests that caught the fault, with their helpers.

        Where `by` names none of them, it is of all: none caught it. How Python imports it all is left out: a file that
        only moves is not run again.
        """
        suites = [suite for suite in self.suites if suite.stem == by] or self.suites
        files = sorted({path.name: path for suite in suites for path in _with_helpers(suite)}.values())
        texts = [_code(self.path), *(path.name + _code(path) for path in files), str(seed), str(by)]
        if by == "" and self.group != GATEWARE:
            texts.append(_code(Path(__file__).with_name("planted_module.py")))  # where a fault reaches
        return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


def find(top: str, name: str) -> Path:
    """The one file of this name (`folder/name` where that is needed) below `top`. SystemExit where there is not one."""
    found = [p for p in sorted((ROOT / top).rglob(name)) if top != "sw" or "gpu" not in p.parts]
    if len(found) != 1:
        raise SystemExit(f"{len(found)} files {name} below {top}, should be one: mend fault_targets.py")
    return found[0]


@cache
def _code(path: Path) -> str:
    """The text, of Python without imports, comments of whole lines and empty lines."""
    text = path.read_text()
    if path.suffix != ".py":
        return text
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            lines[node.lineno - 1 : node.end_lineno] = [""] * ((node.end_lineno or node.lineno) - node.lineno + 1)
    return "\n".join(line for line in lines if line.strip() and not line.lstrip().startswith("#"))


@cache
def _helpers() -> dict[str, Path]:
    """Modules of helpers beside tests and benches, by name."""
    return {p.stem: p for top in ("tests", "sim") for p in (ROOT / top).rglob("*.py") if not p.stem.startswith("test_")}


@cache
def _helpers_of(path: Path) -> tuple[Path, ...]:
    """The helpers that a file imports itself."""
    names: set[str | None] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            names.add(node.module)
        elif isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
    return tuple(helper for name, helper in _helpers().items() if name in names)


@cache
def _with_helpers(suite: Path) -> set[Path]:
    """A file of tests and all helpers that it imports, at whatever depth."""
    seen: set[Path] = set()
    wanted = [suite]
    while wanted:
        path = wanted.pop()
        if path in seen:
            continue
        seen.add(path)
        wanted += _helpers_of(path)
    return seen


def gateware() -> list[Target]:
    """All blocks but packages, whose constants every bench checks, and what is generated.

    A block's own benches come first, then those of `ALSO`, then all those of the smallest block that contains it and
    has one of its name.
    """
    sources = {p.name: p.read_text() for p in sorted((ROOT / "hw").rglob("*.sv"))}
    paths = {p.stem: p for p in sorted((ROOT / "hw").rglob("*.sv")) if not p.stem.endswith("_pkg")}
    benches = {p.stem.removeprefix("test_"): p for p in sorted((ROOT / "sim").rglob("test_*.py"))}
    size = {name: sum(map(len, records.parts([name], sources).values())) for name in paths}
    instances = {name: _instances(sources[f"{name}.sv"]) & paths.keys() for name in paths}
    inside = {name: _closure(name, instances) for name in paths}
    block_of = {bench: _of(bench, paths) for bench in sorted(benches)}
    of = {name: tuple(benches[bench] for bench in block_of if block_of[bench] == name) for name in paths}
    targets = []
    for name, path in paths.items():
        if name in GENERATED:
            continue
        around = (top for top in paths if name in inside[top] and top in benches)
        larger = min(around, key=size.__getitem__, default="")
        also = tuple(benches[bench] for bench in ALSO.get(name, ()))
        targets.append(Target(name, GATEWARE, path, (*of[name], *also, *of.get(larger, ())), size[name]))
    return targets


def _instances(source: str) -> set[str]:
    """What a module may instantiate."""
    code = re.sub(r"//.*|/\*.*?\*/", "", source)
    return set(re.findall(r"^\s*(\w+)\s+(?:#\s*\(|u_\w+\s*\()", code, re.MULTILINE))


def _closure(name: str, instances: Mapping[str, set[str]]) -> set[str]:
    """All that is in it, at whatever depth."""
    return instances[name].union(*(_closure(each, instances) for each in instances[name]))


def _of(bench: str, blocks: Iterable[str]) -> str:
    """The block of a bench: that of its name, or of the longest beginning of it."""
    return max((block for block in blocks if f"{bench}_".startswith(f"{block}_")), key=len, default="")


def core() -> list[Target]:
    """The modules between the wire and the file."""
    return [_module(name, RECEIVER, find("sw", f"{name}.py"), tests) for name, tests in CORE.items()]


def doctor() -> list[Target]:
    """The doctor's modules."""
    targets = []
    for path in sorted((ROOT / "sw").rglob("doctor/**/*.py")):
        name = path.with_suffix("").as_posix()
        name = name[name.rindex("/doctor/") + 1 :].replace("/packets/", "/")
        if not name.endswith("__init__"):
            tests = next(tests for pattern, tests in OF_DOCTOR.items() if fnmatch.fnmatch(name, pattern))
            targets.append(_module(name, DOCTOR, path, tests))
    return targets


def _module(name: str, group: str, path: Path, tests: Iterable[str]) -> Target:
    return Target(name, group, path, tuple(find("tests", f"{test}.py") for test in tests), path.stat().st_size)


def every() -> list[Target]:
    """All targets, group by group, in each what costs least first."""
    return [target for group in (gateware(), core(), doctor()) for target in sorted(group, key=lambda t: t.size)]
