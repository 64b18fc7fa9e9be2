"""Copies of the reset in the RTL that PeakRDL-regblock writes: one for a few fields, so that none drives too much."""

import re

MOST = 224
"""Flip-flops that a copy drives at most."""
WIDE = 8
"""Bits from which a field, or a buffer of a write, is reset by a copy: a cycle later, which no one sees of a value."""

_BLOCK = re.compile(r"if\(rst\) begin\n((?: +\S+ <= (?:\d+'h[0-9a-fA-F]+|'0);\n)+)")
_FIELD = re.compile(r"field_storage\.\S+ <= (\d+)'h")
_BUFFER = re.compile(r"wbuf_storage\.\w+\.(?:data|biten) <= '0")
_BUFFER_BITS = 64
_PORTS_END = "    );\n"
_COPIES = """
    // The reset a cycle later, for wide fields: each copy drives a few of them. All are always equal.
    (* keep, dont_merge *)logic [{last}:0] rst_q;
    always_ff @(posedge clk) begin
        for (int k = 0; k < {copies}; k++) if (rst || rst_q[k]) rst_q[k] <= rst;
    end
"""


def bits(assignments: str) -> int:
    """Flip-flops that a block of assignments resets."""
    return sum(map(int, _FIELD.findall(assignments))) + _BUFFER_BITS * len(_BUFFER.findall(assignments))


def spread(module: str) -> str:
    """Reset the wide fields of a module by copies of `rst`."""
    filled: list[int] = []

    def reset(block: re.Match[str]) -> str:
        count = bits(block[1])
        if count < WIDE:
            return block[0]
        if not filled or filled[-1] + count > MOST:
            filled.append(0)
        filled[-1] += count
        return f"if(rst_q[{len(filled) - 1}]) begin\n{block[1]}"

    head, end, rest = module.partition(_PORTS_END)
    rest = _BLOCK.sub(reset, rest)
    copies = _COPIES.format(last=len(filled) - 1, copies=len(filled)) if filled else ""
    return head + end + copies + rest
