"""What `make bitstream` has left in `build/bitstream/<board>/`, and whether it is of the present sources.

    scripts/bitstream/bitstream_files.py colorlight_5a_75b       says what `make program` would load

Exit status 1 where that is not there: `<board>.bit` is there only where a seed has met all clocks. `<board>.json`
beside it says what it was made of.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from board_build import INPUTS, ROOT, Board, Placed, board, boards, inputs

RISK = (
    "Nobody knows what a file does that misses a clock. Where that is the PHY's or the line's, packets may be lost or "
    "come damaged; where it is the core's, anything may be wrong. It may change with temperature, from board to board"
)


def folder(name: str) -> Path:
    """Where all of a board is left."""
    return ROOT / "build" / "bitstream" / name


def netlist(name: str) -> Path:
    """What nextpnr gets, as Verilog."""
    return folder(name) / "netlist.v"


def digest(name: str) -> str:
    """The digest of what the netlist was made of; empty where there is none, or where it was not finished."""
    path = folder(name) / INPUTS
    return path.read_text().strip() if path.is_file() and netlist(name).is_file() else ""


def stale(name: str) -> str:
    """What is wrong with the netlist of a board, as a sentence; empty where it is of the present sources."""
    found, now = digest(name), inputs(board(name))
    if not found:
        return f"there is no netlist of {name}: make bitstream BOARD={name}"
    if found != now:
        return (
            f"the netlist of {name} is of the inputs {found[:12]}, but {now[:12]} are here: make bitstream BOARD={name}"
        )
    return ""


def note(made: Board, placed: Placed, at: Path) -> None:
    """Write down beside the file for the FPGA what it was made of."""
    known = {"inputs": inputs(made), "parameters": made.parameters, "seed": placed.seed, "sha256": placed.digest}
    (at / f"{made.name}.json").write_text(json.dumps(known, indent=1) + "\n")


def advice(made: Board, seeds: Sequence[int], at: Path) -> str:
    """What to do where none of the seeds has met all that is wanted."""
    tried = ", ".join(f"{at / f'seed{seed}' / made.name}.bit" for seed in seeds)
    return (
        f"There is no {made.name}.bit, since no seed has met all that is wanted. Try another one: "
        f'make bitstream BOARD={made.name} ARGS="--seeds {max(seeds) + 1}". '
        f"To try the board all the same, give openFPGALoader one of these files: {tried}. {RISK}."
    )


def loads(name: str) -> str:
    """What `make program` would load, as a sentence; SystemExit where there is nothing."""
    bits = folder(name) / f"{name}.bit"
    if not bits.is_file():
        seeds = sorted(folder(name).glob(f"seed*/{name}.bit"))
        there = f" There are {', '.join(map(str, seeds))}, which miss a clock. {RISK}." if seeds else ""
        raise SystemExit(
            f"There is no {bits}: make bitstream BOARD={name} makes it where a seed meets all clocks.{there}"
        )
    try:
        known = json.loads(bits.with_suffix(".json").read_text())
        made = replace(board(name), parameters=known["parameters"])
        what = f"seed {known['seed']}, all clocks met"
    except (OSError, ValueError, KeyError):
        return f"WARNING: nothing says what {bits} was made of"
    if known["inputs"] != inputs(made):
        return f"WARNING: {bits} ({what}) is of other sources than the present ones: make bitstream BOARD={name}"
    return f"{bits}: {what}, of the present sources"


def main() -> int:
    """Say it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("board", choices=boards())
    print(loads(parser.parse_args().board))
    return 0


if __name__ == "__main__":
    sys.exit(main())
