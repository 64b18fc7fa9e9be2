"""The page docs/gpu_pipeline.md."""

import datetime
from typing import Any

from framelane.cli.bench import Target
from framelane.cli.gpu_page import machine

_HEAD = """# The pipeline on a GPU

Frames of 4M pixels through `framelane.receiver.gpu.frame_pipeline`, on one {name}. Written by
`make bench BENCH=gpu_pipeline` on {date}, with {versions};
all numbers are in `build/bench/gpu_pipeline.json`. Frames are random, as in [gpu.md](gpu.md); sparse rows have about
1 % of their pixels. The clocks are as found.

The rates are those of {frames} frames in a pinned ring of 40 slots (336 MB), which a second thread fills at full
speed: it marks each frame with its number, and the marks are checked in the results. Latencies are of {single}
frames, one at a time, from `put` until the host sees the verdict, or has all results. "launches", "graphs" and
"waits" are the ways to make the GPU begin, see below.

| what | way | median | p99 | unit |
|---|---|---|---|---|
"""

_TAIL = """
"So, ..." is the row above it about 1 frame in 10, with one thing changed. The limit of the latency is 1.3 times the
sum of a bare kernel's behind a wait and the kernels' own time to a verdict.

## How it works

A lane is a stream with buffers for one frame and its results. Lanes take turns, {lanes} by default. All frames are
copied on one stream, so that copies follow each other without a gap; a lane's kernels begin when its frame is there:
correction and counts; Bragg peaks, where the veto is on these; the verdict, one thread, which tells the host at once;
the ladder; sparse rows; and one that hands back. That one looks at the verdict, writes the image and the sparse rows of
an accepted frame into pinned memory of the host, and then tells it that all is there. A rejected frame costs PCIe 32
bytes that way, and what its ladder and its table of peaks have.

Few blocks hand back: 8 are as fast as 64 where nothing else is copied, and leave more of PCIe to the copies of the
next frames. Kernels that read pinned memory of the host in place reach less than half the rate of the copy engine.

## Dark frames

`put(frame, dark=True)` learns from a frame before it is corrected, as `TrackedPipeline` does: the frame itself and all
after it have the pedestal that comes out. All lanes read the same constants, so a dark frame's work waits on the GPU
for what was queued before it, and what is queued later waits for it; copies go on. The GPU decides itself whether the
pedestal is due to be written anew (`decide` in `kernels/pedestal.cu`): nothing comes back to the host but for a row of
the drift's record, about every 10 seconds. Work that waits ahead in lanes is released as void when a dark frame comes:
it has been queued without what is learned.

## The three ways

- **launches**: when a frame is there, its copy and its kernels are launched, a call each.
- **graphs**: the kernels are one CUDA graph, one call. The default for a ring on the host: its frames are copied for
  much longer than any way takes to begin.
- **waits**: the graph is queued before the frame is there, behind `cuStreamWaitValue32` (with a flush of what a NIC
  has written, where the GPU can); one store of the host releases it. The default for a ring on the GPU. Work waits
  for the next slot of the ring. Where a frame never comes, a lane is released as void, and what it makes is thrown
  away.

While work waits, whatever else in the process waits for the whole GPU (freeing its memory, loading a kernel) waits as
well. A watchdog sees that nobody has called the pipeline for a second, and releases the lanes as void.

## When something goes wrong

- A kernel fails: CUDA ends all work of the process. Results that are on the host are delivered; all other frames come
  back with the reason, and so does what is put later (`fault`). The drift's record keeps its rows.
- A kernel hangs: the same, 5 seconds after its frame could begin.
- A sink takes nothing: the lanes keep their results, frames wait in their slots, the credit of the sources stands
  still.
- Closing releases all lanes and waits for 3 seconds at most; the memory of a GPU that goes on is left to it. An exit
  of the program, by an exception or by Ctrl-C, releases them too. A result that somebody still has can be looked at.

`tests/test_gpu_recovery.py` does each of these on a GPU: a kernel that writes to an illegal address, one that never
ends, SIGINT to a program with frames pending.

## Slots with holes

A ring in `pinned_memory` is filled with holes by the copy engine, one in `gpu_memory` by a memset, when a frame is
released. With `refill` the pipeline queues that behind each frame, and the release has nothing to do; then PCIe
carries as much in each direction, and the table shows what that costs.
"""


def page(rows: list[dict[str, Any]], targets: list[Target], sizes: dict[str, int]) -> str:
    """The page's text, from the rows and targets of the bench; `sizes` are its "frames", "single" ones, and "lanes"."""
    name, versions = machine()
    head = _HEAD.format(name=name, date=datetime.datetime.now(datetime.UTC).date(), versions=versions, **sizes)
    lines = [
        f"| {row['what']} | {row['way']} | {_number(row['median'])} | {_number(row['p99'])} | {row['unit']} |\n"
        for row in rows
    ]
    promises = [
        f"- {target.what}: {_number(target.value)} {target.unit}".rstrip()
        + f", promised {_number(target.limit)} or {'less' if target.better == 'lower' else 'more'}: "
        + f"{'met' if target.met else 'missed'}\n"
        for target in targets
    ]
    return "".join([head, *lines, "\n", *promises, _TAIL.format(**sizes)])


def _number(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.3g}" if value < 1000 else f"{value:.0f}"
