"""The page docs/gpu.md."""

import datetime
import re
from pathlib import Path
from typing import Any

from framelane.cli.bench import Target
from framelane.receiver.gpu._device import cupy

_HEAD = """# The kernels on a GPU

Times of one 4M image (8 modules of 512 x 1024) by `framelane.receiver.gpu.kernels`, on one {name}. Written by
`make bench BENCH=gpu` on {date}, with {versions}; all numbers are in
`build/bench/gpu.json`. How the kernels are tested, and with which results, is in [gpu_tests.md](gpu_tests.md).

A kernel's floor is the time in which a copy within the GPU's memory moves the bytes that the kernel must move: raw
words and results, the constants of all pixels in G0 and those of every pixel that is in G1 or G2 in some frame, both
once a batch. The copy was measured in the same run: {rate:.2f} TB/s, read and written.

Frames are random: about one photon a pixel, 24 ADU of noise, 1 % of the pixels masked, {percent:g} % in G1 and a tenth
of that in G2, ten times as many as in the real frames of a protein crystal; the table's last rows have a tenth of
them. All of these are peaks, and in sparse rows. There are {pool} frames, 1 GB; each launch takes others than the one
before. Launches are captured in a graph, one after the other; times are medians of its runs. The clocks are as found.

| kernel | batch | % in G1 | us an image | floor, us | times its floor |
|---|---|---|---|---|---|
"""

_TAIL = """
## What limits them

Where a kernel only reads, it reaches the rate of the copy. Where it reads and writes, the order matters: a loop that
only copies 40 frames, tile after tile as these kernels do, takes 1.06 times its floor, and 1.10 with loads that are
evicted first. One frame after the other it takes 1.00, but then all constants would be read for every frame. The rest
is arithmetic, which does not overlap with the waiting for memory everywhere. Single frames: about 2 us of a launch are
its begin and its end, and counts take another 3 us until the last block has added them up. Sparse rows are the furthest
from their floor: a warp spends more instructions on what it found, and on where to put it, than on looking for it.

What made them fast:

- A thread keeps the constants of 8 pixels in registers and takes all frames of the batch: constants are read once.
- In G0 int16 is one multiplication (32 x 32 + 64 bits), one funnel shift, and a saturating pack for two pixels at once.
- A peak is found without its value: `limits` has, for every pixel and stage, the words that reach the threshold. 8
  pixels take 16 instructions, and 2 bytes of constants instead of 4.
- Pixels in G1 and G2 are mended before their image is stored, in shared memory, those of several frames together.
  Storing first and mending in memory cost 30 %: the stored lines had left the cache by then.
- Sums over all blocks need neither a memset nor a second kernel: the last block writes the results and clears the sums.
- Kernels that write as much as they read copy their words to shared memory ahead of time, which leaves registers for
  the arithmetic; those that only read are faster by loads into registers (1.03 against 1.28 times the floor).

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


def page(rows: list[dict[str, Any]], targets: list[Target], rate: float) -> str:
    """The page's text, from the rows and targets of the bench."""
    name, versions = machine()
    head = _HEAD.format(
        name=name,
        date=datetime.datetime.now(datetime.UTC).date(),
        versions=versions,
        rate=rate,
        percent=next(row["percent_g1"] for row in rows),
        pool=120,
    )
    lines = [
        f"| {row['kernel']} | {row['batch']} | {_number(row['percent_g1'], 'g')} | {row['us']:.2f} "
        f"| {_number(row['floor_us'], '.2f')} | {_number(row['times_floor'], '.2f')} |\n"
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


def _number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def _version(number: int) -> str:
    return f"{number // 1000}.{number % 1000 // 10}"
