"""Whether a fault leaves the netlist of its block as it is: then no test can ever see it.

Known as trivial compiler equivalence (Papadakis, Jia, Harman, Le Traon, ICSE 2015): sources of which a compiler makes
the same thing are the same program.
"""

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
    return yosys.run(block, NETLIST, {f"{block}.sv": source}) == yosys.run(block, NETLIST)
