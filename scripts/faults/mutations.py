"""Single faults in SystemVerilog: an operator, a constant or a condition of one line changed."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from random import Random

OPERATORS = (
    (r" && ", " || "),
    (r" \|\| ", " && "),
    (r" == ", " != "),
    (r" != ", " == "),
    (r" < ", " <= "),
    (r" > ", " >= "),
    (r" \+ ", " - "),
    (r" - ", " + "),
    (r" \^ ", " | "),
    (r" & ", " | "),
    (r"<<", ">>"),
    (r">>", "<<"),
    (r" \? ([\w.'\[\]]+) : ([\w.'\[\]]+)([;,)])", r" ? \2 : \1\3"),
)
CONSTANTS = (
    (r"1'b1\b", "1'b0"),
    (r"1'b0\b", "1'b1"),
    (r"<= '0;", "<= '1;"),
    (r"(\d+'d)0\b", r"\g<1>1"),
    (r"(\d+'d)([1-9]\d*)\b", r"\g<1>0"),
)
CONDITIONS = (
    (r"\bif \((.+)\) (?!begin : gen)", r"if (!(\1)) "),
    (r"\bif \((.+)\) (?!begin : gen)", r"if (1'b0) "),
    (r"(?<=[ (])!(?=[\w(])", ""),
)
NOT_LOGIC = re.compile(
    r"^\s*(//|\.DataW|import|localparam|parameter|typedef|for \(|function|\$error|input|output|if \(.*gen_)"
)
"""Lines that make no logic, or that decide what is elaborated."""


@dataclass(frozen=True, slots=True)
class Mutation:
    """Line `number` (from 1) of a block's source, as it is and as it becomes; `kind` is what was changed."""

    block: str
    number: int
    kind: str
    old: str
    new: str

    def apply(self, source: str) -> str:
        """The source with the fault in it."""
        lines = source.splitlines(keepends=True)
        assert lines[self.number - 1].rstrip("\n") == self.old
        lines[self.number - 1] = self.new + "\n"
        return "".join(lines)


def every(block: str, source: str) -> Iterator[Mutation]:
    """All single faults of a source, in its order."""
    kinds = (("operator", OPERATORS), ("constant", CONSTANTS), ("condition", CONDITIONS))
    for number, line in enumerate(source.splitlines(), start=1):
        if NOT_LOGIC.match(line):
            continue
        code, mark, comment = line.partition("  //")
        for kind, rules in kinds:
            for pattern, replacement in rules:
                for match in re.finditer(pattern, code):
                    new = code[: match.start()] + match.expand(replacement) + code[match.end() :]
                    if new != code:
                        yield Mutation(block, number, kind, line, new + mark + comment)


def drawn(block: str, found: Iterable[Mutation], seed: int) -> list[Mutation]:
    """All faults of a source in the order in which they are tried: first one of each line, then the others.

    By `seed`; whoever tries more of them begins with those that were tried before.
    """
    shuffled = list(found)
    Random(f"{seed} {block}").shuffle(shuffled)
    first: dict[int, Mutation] = {}
    for mutation in shuffled:
        first.setdefault(mutation.number, mutation)
    chosen = set(first.values())
    return [*first.values(), *(mutation for mutation in shuffled if mutation not in chosen)]


def sample(block: str, source: str, count: int, seed: int) -> list[Mutation]:
    """`count` different faults of a source, chosen by `seed`, on as many different lines as there are."""
    return sorted(drawn(block, every(block, source), seed)[:count], key=lambda m: m.number)
