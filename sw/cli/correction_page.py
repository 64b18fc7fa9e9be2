"""The page docs/correction_speed.md."""

from typing import Any

from framelane.cli.bench import Target

_HEAD = """# The speed of the correction

JUNGFRAU words to photons on the CPU, by `framelane.receiver.correction`: an image of 4M pixels (8 modules, tiled from
the real frames where they are), in batches, with the result in memory that is used again. Written by
`make bench BENCH=jf_correct`; all numbers are in `build/bench/jf_correct.json`.

"Plain numba" is a loop over the pixels of one image: to float32 over rows and columns with the gain stage as an index,
as jungfrau_utils has it; "flat" is the fastest such loop that we found, with the stage in an `if`, and so is the one
to int16. "Copy" copies the result. Images and results are in large pages. Every variant runs once a round. CPU is the
time of all threads: the median over the rounds, and so are the ratios, of CPU times in the same round. Of the time on
the clock, which is longer when other programs run, it is the least.

| variant | result | threads | batch | CPU, ms | clock, ms | times as fast as plain numba | as the copy |
|---|---|---|---|---|---|---|---|
"""

_SECOND = """
What a second thread can gain is what memory leaves over: only copying the result, two threads are {float32:.2f} times
as fast to float32 and {int16:.2f} times to int16 in the same run, and one thread of the correction already takes little
longer than the copy. In small batches more constants are read for an image, so that memory is the limit of two threads
sooner; in large ones one thread is slower, since it follows more streams.
"""

_TAIL = """
For comparison, measured before on a two-core AMD EPYC server: an image to float32 takes 5.9 ms of CPU with
jungfrau_utils, the package in use today, and 7.0 ms with aare.

Where the time goes: almost every pixel of an image is in G0. A tile of 256 pixels is corrected as if all were, by
vectors without branches, in 32-bit integers or float32; the words that are not, known by a bit each, are mended while
the tile is in the L1 cache. Then it is stored past the caches, which saves reading what is overwritten. A tile is taken
of all frames of the batch in turn, so that its constants are read from memory once a batch.
"""


_GATEWARE = """
In the gateware, by simulation: `jf_correct` with a bus of 512 bits takes {clocks:,} clocks for the image, {a_clock:g}
pixels in each, {ms:.2f} ms at 250 MHz (an assumption: no timing is closed); a pixel leaves {latency_clocks} clocks
after it came. Its area is in [area.md](area.md).
"""


def page(rows: list[dict[str, Any]], gateware: list[dict[str, Any]], targets: list[Target]) -> str:
    """The page's text, from the rows and targets of the bench."""
    lines = [
        f"| {row['what']} | {row['output']} | {row['threads']} | {row['batch']} "
        f"| {row['cpu_ms']:.2f} | {row['least_wall_ms']:.2f} | {row['times_plain']:.2f} | {row['times_copy']:.2f} |\n"
        for row in rows
    ]
    promises = [
        f"- {target.what}: {target.value:.2f}, promised {target.limit:g} or more: {'met' if target.met else 'missed'}\n"
        for target in targets
    ]
    simulated = [
        _GATEWARE.format(**row, ms=row["least_wall_ms"], a_clock=next(t.value for t in targets if "pixels" in t.what))
        for row in gateware
    ]
    gains = _gains(rows)
    second = _SECOND.format(**gains) if gains else ""
    return "".join([_HEAD, *lines, "\n", *promises, second, _TAIL, *simulated])


def _gains(rows: list[dict[str, Any]]) -> dict[str, float]:
    """How many times as fast two threads copy as one, by the type of the result; none where there is one core."""
    copies = {(row["output"], row["threads"]): row["least_wall_ms"] for row in rows if row["what"].startswith("copy")}
    return {output: copies[output, 1] / copies[output, 2] for output, threads in copies if threads == 2}
