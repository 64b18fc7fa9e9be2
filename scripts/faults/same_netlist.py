"""Whether a fault leaves the netlist of its block as it is: then no test can ever see it.

Known as trivial compiler equivalence (Papadakis, Jia, Harman, Le Traon, ICSE 2015): sources of which a compiler makes
the same thing are the same program.
"""

import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

import yosys

WIDTHS = (64, 512)
"""Those that the benches run: what is built at one of them only is a fault there."""
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

    At every width, with all that it contains; its other parameters are as it has them itself. SystemExit where yosys
    cannot read it.
    """
    sources = yosys.sources_of(block)
    faulty = sources | {f"{block}.sv": source}
    has_width = "parameter int unsigned DataW" in sources[f"{block}.sv"]
    widths = [f"-G DataW={width}" for width in WIDTHS] if has_width else [""]
    return all(_netlist(block, faulty, width) == _netlist(block, sources, width) for width in widths)


def _netlist(block: str, sources: Mapping[str, str], width: str) -> str:
    packages = " ".join(name for name in sorted(sources) if name.endswith("_pkg.sv"))
    with tempfile.TemporaryDirectory() as folder:
        for name, text in sources.items():
            Path(folder, name).write_text(text)
        read = f"read_slang --threads 1 -y . --libext .sv --top {block} {width} {packages} {block}.sv"
        Path(folder, "run.ys").write_text(read + NETLIST)
        result = subprocess.run([yosys.TOOL, "-q", "run.ys"], cwd=folder, capture_output=True, text=True, check=False)
        if result.returncode:
            raise SystemExit(f"yosys could not synthesize {block}:\n{result.stdout}{result.stderr}")
        return Path(folder, "out").read_text()
