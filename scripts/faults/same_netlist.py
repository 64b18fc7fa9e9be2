"""Whether a fault leaves the netlist of its block as it is: then no test can ever see it.

Known as trivial compiler equivalence (Papadakis, Jia, Harman, Le Traon, ICSE 2015): sources of which a compiler makes
the same thing are the same program.
"""

import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

import yosys

NETLIST = """
proc
flatten -noscopeinfo
opt -full
opt_clean -purge
attrmap -remove src
autoname
write_json out
"""


def same_netlist(block: str, source: str) -> bool:
    """Whether `source`, the text of a block with a fault in it, makes the netlist that the block makes as it is.

    At 512 bits, with all that it contains. SystemExit where yosys cannot read it.
    """
    sources = yosys.sources_of(block)
    return _netlist(block, sources | {f"{block}.sv": source}) == _netlist(block, sources)


def _netlist(block: str, sources: Mapping[str, str]) -> str:
    packages = " ".join(name for name in sorted(sources) if name.endswith("_pkg.sv"))
    width = "-G DataW=512" if "parameter int unsigned DataW" in sources[f"{block}.sv"] else ""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in sources.items():
            Path(folder, name).write_text(text)
        read = f"read_slang --threads 1 -y . --libext .sv --top {block} {width} {packages} {block}.sv"
        Path(folder, "run.ys").write_text(read + NETLIST)
        result = subprocess.run([yosys.TOOL, "-q", "run.ys"], cwd=folder, capture_output=True, text=True, check=False)
        if result.returncode:
            raise SystemExit(f"yosys could not synthesize {block}:\n{result.stdout}{result.stderr}")
        return Path(folder, "out").read_text()
