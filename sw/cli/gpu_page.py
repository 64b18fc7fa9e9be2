"""The page docs/gpu.md."""

import datetime
import re
from pathlib import Path
from typing import Any

from framelane.cli.bench import Target
from framelane.cli.bench_gpu_data import SHAPE
from framelane.receiver.gpu._device import cupy

_HEAD = """# The kernels on a GPU

Times of one 4M image (8 modules of 512 x 1024) by `framelane.receiver.gpu.kernels`, on one {name}. Written by
`make bench BENCH=gpu` on {date}, with {versions}; all numbers are in
`build/bench/gpu.json`. How the kernels are tested, and with which results, is in [gpu_tests.md](gpu_tests.md).

A kernel's floor is the time in which a copy within the GPU's memory moves the bytes that the kernel must move: raw
words and results, the constants of all pixels in G0 and those of every pixel that is in G1 or G2 in some frame, both
once a batch. The copy was measured in the same run: {rate:.2f} TB/s, read and written.

Frames are random: about one photon a pixel, 24 ADU of noise, 1 % of the pixels masked, {percent:g} % in G1 or, a tenth
of these, G2: ten times as many as in the real frames of a protein crystal; the table's last rows have a tenth of them.
All of these are peaks, and in sparse rows. There are {pool} frames, {gigabytes:.1f} GB; each launch takes others than
the one before. Launches are captured in a graph; times are medians of its runs, each behind an untimed one, so that
none waits for what another kernel has left in the L2 cache to be written. The constants are the same in all launches:
what the L2 cache still has of them is not removed. The clocks are as found.

Launches are on one stream, or on several by turns, each with results of its own (of batches of 40 there are {forties}
launches in a run, and {tens} of 10). On one stream each waits for the end of the one before, and the GPU is idle while
the first blocks of a launch begin and the last ones end; on more this is filled by others. The time of an image is then
that of all launches over the number of images; a single launch takes longer. "Overlapped" are launches on one stream
that begin before the end of the one before (`overlapped` of `GpuKernels`; compute capability 9.0 on): images are
written at once, counts of single frames and sparse rows when the one before has ended; counts of batches, and holes, do
not overlap. One stream without that is what counts where frames come one by one, as through PCIe (one in 160 us); the
others where many are there, as in a ring on the GPU.

"Of frames alone" leaves the constants out: single frames find most of them in the L2 cache, where the frame before has
had them, while the floor counts them as read from memory.

| kernel | batch | streams | % in G1, G2 | us an image | floor, us | times its floor | of frames alone |
|---|---|---|---|---|---|---|---|
"""

_TAIL = """
## What limits them

Loops that do nothing but move the bytes of 40 frames and the constants, measured on one H200 (copy 4.23 TB/s), in times
of the floor:

| loop | best form | other forms |
|---|---|---|
| reads u16, nothing written | 0.93 | 0.95 to 1.04 without evict-first loads |
| u16 to u16 | 1.05 | 1.06 by bulk copies (TMA), 1.10 with evict-first loads |
| u16 to 4 bytes | 1.08 | 1.09 to 1.10 |

They take some frames of one tile after the other; blocks of one tile lie next to each other, then 4 to 40 frames a
block make no difference. Passes over the whole image in few frames, with the constants from the L2 cache, are slower:
1.31 for 1 frame a pass, 1.13 for 8. Marking the constants to stay in the cache changes nothing.

- int16 and float32 are limited by the memory: instructions are issued in 39 to 49 and 32 % of the cycles. They read
  all constants of G1, of which the floor counts a third, and those of G2 one by one.
- count took 1.18 times its floor where float32 had run just before, whose last results were then probably still in the
  L2 cache, and had to be written to memory first.
- Sparse rows are limited by the memory while they read: 378 MB for 40 frames, 361 of which the floor counts; most of
  the rest are constants of picked words, 4 bytes each, of which the memory moves 64. Without these (a trial with
  made-up constants) they took 1.26 times the floor on one stream. When a launch ends its blocks write, 21 us of 114 in
  a profile, and the memory has little to do: other launches fill that, on other streams or overlapped. Jobs that grow
  by two thirds from the first to the last, so that they do not end all at once, cost 6 % without, and save 5 % with
  them. Slower: twice the words under way with fewer warps, constants of picked words read ahead, or all of G1 in
  shared memory.
- Single frames on one stream: an empty kernel takes 0.6 us in a graph, 1.4 us with the 1056 blocks that fill the GPU,
  and the memory's latency comes before and after the words. Other launches fill that, on other streams or overlapped.
  Only counts and holes come near to what their words take then; where images are written, or rows, it is 1.6 to 2.3
  times that.
- Kernels that only read can be below their floor: reading alone is faster than copying, see above.

What made them fast:

- A thread keeps the constants of 8 pixels in registers and takes all frames of its part: constants are read once.
- In G0 int16 is one multiplication (32 x 32 + 64 bits), whose upper half is the value since the constants are scaled
  for it, and a saturating pack for two pixels at once. Masked pixels have another upper limit. With a shift for every
  pixel, and a mask, 256 pixels took 202 instructions; now they take 111 to 139, by the number of frames mended
  together.
- A peak is found without its value: `limits` has, for every pixel and stage, the words that reach the threshold. 8
  pixels take 16 instructions, and 2 bytes of constants instead of 4.
- Pixels in G1 and G2 are mended before their image is stored, in shared memory, those of several frames together.
  Storing first and mending in memory cost 30 %: the stored lines had left the cache by then.
- Without an image, they are put into a list of the warp, and each lane takes one when there are 32.
- Kernels that write as much as they read copy their words to shared memory ahead of time; those that only read are
  faster by loads into registers (holes: 1.02 against 1.32 times the floor, sparse rows 1.37 against 1.55 in a trial).
  Their blocks must leave room in the L1 cache for what is under way: with all of it given to shared memory, every
  access to that took 200 cycles.
- Sparse rows read without waiting for other blocks: a block has one job, and adds up what the others have found once,
  at its end. What it has found is put into its order in shared memory first, and written in runs: a quarter of the
  transactions. In jobs of 20 frames of a tile they took 1.35 times the floor on two streams.
- A word of G0 is compared with its limit as two float16 (which have the order of their bits), two words an instruction;
  words of G1 and G2 are not less than any limit, or NaN, which counts as reached.
- A single frame is taken as many are, with tiles in the place of frames: a block has some in a row, picks from four
  at a time, and adds up once. Counts of single frames took 2.7 times their floor before, sparse rows 5.7. Blocks that
  leave room for other launches are slower on one stream, and faster on several.
- Sums of a single frame tell themselves when they are complete: each has the number of blocks that added to it above
  it. Counting the blocks apart cost count a sixth of its time.
- Words that are read ahead into registers are read without a condition: where there is one, the compiler copies them
  when they arrive, and waits for that.
- Sums over all blocks need neither a memset nor a second kernel: the last block writes the results and clears the
  sums.

## Filling slots with holes

A slot has to hold nothing but holes before its next frame, so that pixels which never arrive are seen. Three ways,
above: in the pass that reads it, by a kernel after it, or by the memset. **A kernel after it, or the memset,
is the cheapest**: it takes the time of its bytes. In the reading pass they take longer than that, since reads and
writes of the same pages get into each other's way.

- Always, after the last kernel that reads the slot and before its credit is returned: right for every session.
- In the same pass: right where this pass is the only one. It saves a launch, which counts for single frames.
- Only after an incomplete frame: **wrong on UC**. A slot that was not refilled holds the words of its last frame; where
  a packet of the next one is lost, these stay and count as its own. It is right where every lost packet is known
  without holes, as on RC, where a trailer that has arrived says that all before it has.
"""


def page(rows: list[dict[str, Any]], targets: list[Target], rate: float, pool: int) -> str:
    """The page's text, from the rows and targets of the bench, the copy's TB/s, and how many frames there are."""
    name, versions = machine()
    head = _HEAD.format(
        name=name,
        date=datetime.datetime.now(datetime.UTC).date(),
        versions=versions,
        rate=rate,
        percent=next(row["percent_switched"] for row in rows),
        pool=pool,
        gigabytes=pool * SHAPE[0] * SHAPE[1] * 2 * 1e-9,
        forties=pool // 40,
        tens=pool // 10,
    )
    lines = [
        f"| {row['kernel']} | {row['batch']} | {_streams(row)} | {_number(row['percent_switched'], 'g')} "
        f"| {row['us']:.2f} | {_number(row['floor_us'], '.2f')} | {_number(row['times_floor'], '.2f')} "
        f"| {_number(row['times_frames'], '.2f')} |\n"
        for row in rows
    ]
    promises = [
        f"- {target.what}: {target.value:.2f}, promised {target.limit:g} or less: {'met' if target.met else 'missed'}\n"
        for target in targets
    ]
    return "".join([head, *lines, "\n", *promises, _TAIL])


def machine() -> tuple[str, str]:
    """The GPU's name, and the versions of what drives it."""
    module = cupy()
    runtime = module.cuda.runtime
    name = runtime.getDeviceProperties(module.cuda.Device().id)["name"].decode().removeprefix("NVIDIA ")
    return name, f"CuPy {module.__version__}, CUDA {_version(runtime.runtimeGetVersion())}, driver {_driver()}"


def _driver() -> str:
    """Version of the kernel's driver, of the CUDA that it is for where it does not say."""
    path = Path("/proc/driver/nvidia/version")
    found = re.search(r"\d+\.\d+[\d.]*", path.read_text()) if path.is_file() else None
    return found[0] if found else f"for CUDA {_version(cupy().cuda.runtime.driverGetVersion())}"


def _streams(row: dict[str, Any]) -> str:
    return f"{row['streams']}, overlapped" if row["overlapped"] else str(row["streams"])


def _number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def _version(number: int) -> str:
    return f"{number // 1000}.{number % 1000 // 10}"
