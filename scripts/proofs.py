"""What is proved of which block: `sim/formal/proofs.toml`, and the page `formal.md` that is made of it."""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FORMAL = ROOT / "sim" / "formal"
PAGE = ROOT / "docs" / "measured" / "formal.md"
HEAD = ROOT / "scripts" / "templates" / "formal.md"
"""The prose of the page; what is proved of the blocks follows."""


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
        return ("properties", "paths") if self._has_input(r"\w+_tready") else ("properties",)

    @property
    def has_clocks(self) -> bool:
        """Whether it has several clocks."""
        return self._has_input(r"\w+_clk")

    def _has_input(self, name: str) -> bool:
        source = next((ROOT / "hw").rglob(f"{self.name}.sv")).read_text()
        return bool(re.search(rf"^ *input .*\b{name}\b", source, re.MULTILINE))


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
    """Return the text of `docs/measured/formal.md`."""
    return HEAD.read_text() + "".join(section(block) for block in listed)


def section(block: Block) -> str:
    """What the page says of one block."""
    sets = "; ".join(", ".join(f"{name} = {value}" for name, value in some.items()) for some in block.parameters)
    lines = [f"\n## {block.name}\n", *([f"With {sets}:", ""] if sets else [])]
    lines += [f"- {text}" for text in block.proves]
    lines += [f"- assumed: {text}" for text in block.assumes]
    lines += ["", "| fault that it finds | by |", "|---|---|"]
    lines += [f"| {fault.says} | {fault.proof} |" for fault in block.faults]
    return "\n".join(lines) + "\n"
