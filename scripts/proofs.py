"""What is proved of which block: `sim/formal/proofs.toml`, and the page `docs/formal.md` that is made of it."""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FORMAL = ROOT / "sim" / "formal"
PAGE = ROOT / "docs" / "formal.md"

HEAD = """# Proofs

What `make formal` proves of the RTL, with yosys and the solver yices, for all time: by induction, from a reset on, with
more resets at any time. Inputs do what they like, but for the assumptions named. Widths are small where no block
decides anything by its data.

Properties of a block are in `sim/formal/<block>_formal.sv`, bound into it: assertions named `a_`. Those named `i_` only
carry the induction; where they are many, they are proved in steps, each with those before assumed. *Paths*: no
combinational path leads from a `tready` input to an output of a stream. That is looked up in the netlist.

Each fault is one substitution in a copy of the RTL. The proof named beside it must fail then, by a counterexample,
without the help of any `i_`.

The RC service is proved in its parts: `rc_ring` keeps the descriptors, `rc_protocol` the rules, `rc_timer` the time.
What the ring assumes of the rules' answers is proved of `rc_protocol`, what the rules assume of the ring's questions of
`rc_ring`. Together: the window is kept, no PSN is skipped or used for two packets, a timer that runs ends, and when
acknowledgements stop the QP is idle or in error after a bounded number of ends of its timer.

Not proved: what the bytes say, the CRC above all (`roce_icrc`), the QP table and the token buckets (`roce_qp`,
`roce_pacer`), how the blocks work together (`roce_tx`, `rc_requester`), other widths than those named, a QP that is
written while messages for it pass, the cells `axis_buffer` and `axis_merge`, all that decides what is sent (`bd_*`,
`mm2s`, `frame_*`, `rc_ledger`, registers), and what is received (`rx_*`, `roce_rx`, ARP, ping, pauses). The benches
cover those.

Written by `make formal` from `sim/formal/proofs.toml`.
"""


@dataclass(frozen=True)
class Fault:
    """One text substitution in a file of the RTL. It breaks the proof of the properties or that of the paths."""

    says: str
    find: str
    put: str
    file: str
    proof: str = "properties"
    by: str = ""
    """The assertion that must fail, where a search for any of them takes long."""


@dataclass(frozen=True)
class Block:
    """What is proved of a block, with each set of parameters. Faults are planted with the first, show in `cycles`."""

    name: str
    proves: tuple[str, ...]
    assumes: tuple[str, ...]
    parameters: tuple[dict[str, int], ...]
    cycles: int
    faults: tuple[Fault, ...]
    steps: tuple[tuple[str, ...], ...] = ()
    """Assertions that are proved behind all others, step by step, with what was proved before assumed."""
    first: int = 0
    """Faults are looked for from this cycle on: to exclude them in each cycle before may take long."""

    @property
    def proofs(self) -> tuple[str, ...]:
        """Its properties, and the paths where it has a tready input from which one could lead."""
        source = next((ROOT / "hw").rglob(f"{self.name}.sv")).read_text()
        return ("properties", "paths") if re.search(r"^ *input .*_tready\b", source, re.MULTILINE) else ("properties",)


def blocks() -> list[Block]:
    """All blocks of `proofs.toml`. A fault is in its block's own file where it names none."""
    return [
        Block(
            name=entry["name"],
            proves=tuple(entry["proves"]),
            assumes=tuple(entry.get("assumes", ())),
            parameters=tuple(entry.get("parameters", [{}])),
            cycles=entry["cycles"],
            first=entry.get("first", 0),
            faults=tuple(Fault(**{"file": f"{entry['name']}.sv"} | fault) for fault in entry["fault"]),
            steps=tuple(map(tuple, entry.get("steps", ()))),
        )
        for entry in tomllib.loads((FORMAL / "proofs.toml").read_text())["block"]
    ]


def page(listed: list[Block]) -> str:
    """Return the text of `docs/formal.md`."""
    return HEAD + "".join(section(block) for block in listed)


def section(block: Block) -> str:
    """What the page says of one block."""
    sets = "; ".join(", ".join(f"{name} = {value}" for name, value in some.items()) for some in block.parameters)
    lines = [f"\n## {block.name}\n", *([f"With {sets}:", ""] if sets else [])]
    lines += [f"- {text}" for text in block.proves]
    lines += [f"- assumed: {text}" for text in block.assumes]
    lines += ["", "| fault that it finds | by |", "|---|---|"]
    lines += [f"| {fault.says} | {fault.proof} |" for fault in block.faults]
    return "\n".join(lines) + "\n"
