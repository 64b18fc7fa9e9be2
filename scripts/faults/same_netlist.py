"""Whether a fault leaves the netlist of its block as it is: then no test can ever see it.

Known as trivial compiler equivalence (Papadakis, Jia, Harman, Le Traon, ICSE 2015): sources of which a compiler makes
the same thing are the same program.
"""

import json
import subprocess
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yosys

WIDTHS = (64, 512)
"""Those that the benches run: what is built at one of them only is a fault there."""
FROM_128 = ("tlp_join.sv", "tlp_split.sv")
"""What has one of these inside has no narrower bus."""
NETLIST = """
proc
flatten -noscopeinfo
opt -full
opt_clean -purge
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
    at_least = 128 if any(name in sources for name in FROM_128) else min(WIDTHS)
    widths = [f"-G DataW={max(width, at_least)}" for width in WIDTHS] if has_width else [""]
    return all(_netlist(block, faulty, width) == _netlist(block, sources, width) for width in widths)


def _netlist(block: str, sources: Mapping[str, str], width: str) -> Counter[int]:
    packages = " ".join(name for name in sorted(sources) if name.endswith("_pkg.sv"))
    with tempfile.TemporaryDirectory() as folder:
        for name, text in sources.items():
            Path(folder, name).write_text(text)
        read = f"read_slang --threads 1 -y . --libext .sv --top {block} {width} {packages} {block}.sv"
        Path(folder, "run.ys").write_text(read + NETLIST)
        result = subprocess.run([yosys.TOOL, "-q", "run.ys"], cwd=folder, capture_output=True, text=True, check=False)
        if result.returncode:
            raise SystemExit(f"yosys could not synthesize {block}:\n{result.stdout}{result.stderr}")
        return colours(json.loads(Path(folder, "out").read_text()))


def colours(design: Any) -> Counter[int]:
    """What the cells of a flat design are and how they are wired, whatever yosys calls them and their wires.

    Colour refinement (Weisfeiler and Leman, 1968): a cell's colour is made of its kind and of the colours of its wires,
    a wire's of the pins that it is connected to, again and again until no more of them can be told apart.
    """
    (module,) = (m for m in design["modules"].values() if int(m["attributes"].get("top", "0"), 2))
    cells = [
        (hash((cell["type"], repr(sorted(cell["parameters"].items())))), sorted(cell["connections"].items()))
        for cell in module["cells"].values()
    ]
    ports = [(name, k, bit) for name, port in sorted(module["ports"].items()) for k, bit in enumerate(port["bits"])]
    wires: dict[Any, int] = {}
    for name, k, bit in ports:
        wires[bit] = hash((wires.get(bit), name, k))
    seen, told = [kind for kind, _ in cells], -1
    while len(set(seen)) > told:
        told = len(set(seen))
        pins: dict[Any, list[int]] = {bit: [colour] for bit, colour in wires.items()}
        for colour, (_, connections) in zip(seen, cells, strict=True):
            for name, bits in connections:
                for k, bit in enumerate(bits):
                    pins.setdefault(bit, []).append(hash((colour, name, k)))
        now = {
            bit: hash(tuple(sorted(colours))) if isinstance(bit, int) else hash(bit) for bit, colours in pins.items()
        }
        seen = [
            hash((kind, tuple((name, tuple(now[bit] for bit in bits)) for name, bits in connections)))
            for kind, connections in cells
        ]
    return Counter([*seen, *(hash((name, k, now[bit])) for name, k, bit in ports)])
