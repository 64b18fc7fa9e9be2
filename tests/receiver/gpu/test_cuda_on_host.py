"""What runs CUDA on the host sees what a GPU would not forgive."""

from pathlib import Path

import numpy as np
import pytest

from cuda_on_host import HostModule
from cupy_on_host import HostArray, zeros

HEAD = """
using u16 = unsigned short;
using i16 = short;
using i32 = int;
using u32 = unsigned int;
using u64 = unsigned long long;
#include "ptx_on_host.hpp"
extern "C" __global__ void tried(u32* out, u32 n) {
"""


def run(folder: Path, body: str, blocks: int = 1, threads: int = 64, n: int = 64) -> HostArray:
    """What a kernel with this body writes."""
    out = zeros(n, np.uint32)
    module = HostModule(folder, HEAD + body + "\n}\n")
    for _ in range(6):  # each time in another order
        module.launch("tried", (blocks,), threads, (np.uintp(out.data.ptr), np.uint32(n)))
    return out


def test_warps_and_blocks_do_together_what_they_have_to(tmp_path: Path) -> None:
    body = """
    __shared__ u32 sums[2];
    const u32 i = threadIdx.x, sum = __reduce_add_sync(0xFFFFFFFF, i);
    if (i % 32 == 0) sums[i / 32] = sum;
    __syncthreads();
    out[i] = sums[1 - i / 32] + __shfl_up_sync(0xFFFFFFFF, i, 1) + (__ballot_sync(0xFFFFFFFF, i % 32 == 3) << 16);
    """
    i = np.arange(64)
    expected = np.where(i < 32, 1520, 496) + np.where(i % 32, i - 1, i) + (8 << 16)
    np.testing.assert_array_equal(run(tmp_path, body), expected)


def test_blocks_may_wait_for_others_that_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cuda_on_host.AT_A_TIME", (2,))
    body = "if (threadIdx.x) return; atomicAdd(out, 1); while (now(out) % 2) __nanosleep(40);"
    assert run(tmp_path, body, blocks=2)[0] == 12


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("if (threadIdx.x % 2) __syncwarp(); else __ballot_sync(0xFFFFFFFF, 1);", "others of the warp are at"),
        ("if (threadIdx.x % 2) __syncwarp();", "threads of block 0 wait for ever"),
        ("if (threadIdx.x < 32) __syncthreads();", "threads of block 0 wait for ever"),
        ("out[threadIdx.x + 1] = 1;", "which is not memory"),
        ("out[n - 1] = __ldg(out + n);", "which is not memory"),
        ("load16(out + 1);", "is not a multiple of 16"),
        ("__shared__ uint4 kept[2]; out[0] = kept16(shared_address(kept) + 32).x;", "no 16 bytes at 32 of the block"),
        ("__shared__ uint4 kept; out[0] = kept16(shared_address(&kept) + 8).x;", "no 16 bytes at 8 of the block"),
        ("shared_address(out);", "is not in the block's memory"),
        ("__trap();", "trapped"),
    ],
)
def test_what_a_gpu_would_not_forgive_is_said(tmp_path: Path, body: str, reason: str) -> None:
    with pytest.raises(AssertionError, match=rf"launch \d+ of tried: .*{reason}"):
        run(tmp_path, body)


def test_a_sum_that_never_comes_ends_the_launch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cuda_on_host.PATIENCE_S", 1)
    with pytest.raises(AssertionError, match="block 0 does not end"):
        run(tmp_path, "while (now(out) == 0) __nanosleep(40);")


@pytest.mark.parametrize(("pending", "there"), [(0, [1, 2]), (1, [1, 0xA5A5A5A5]), (2, [0xA5A5A5A5] * 2)])
def test_a_copy_is_there_when_it_is_waited_for_and_not_before(tmp_path: Path, pending: int, there: list[int]) -> None:
    body = f"""
    __shared__ uint4 kept[2];
    if (threadIdx.x) return;
    for (u32 i = 0; i < 2; i++) {{
        out[4 * i + 4] = i + 1;
        copy16(kept + i, out + 4 * i + 4);
        end_copies();
    }}
    wait_for_copies<{pending}>();
    for (u32 i = 0; i < 2; i++) out[i] = kept[i].x;
    """
    assert run(tmp_path, body, n=12)[:2].tolist() == there


def test_memory_of_a_block_is_garbage_at_its_begin(tmp_path: Path) -> None:
    body = "__shared__ u32 kept[64]; out[blockIdx.x] = kept[threadIdx.x]; kept[threadIdx.x] = 7;"
    assert run(tmp_path, body, blocks=3)[:3].tolist() == [0xA5A5A5A5] * 3


def test_a_step_that_is_not_waited_for_is_seen(tmp_path: Path) -> None:
    """Threads run in another order every time: in one of them the neighbour has not written yet."""
    body = """
    __shared__ u32 kept[64];
    kept[threadIdx.x] = threadIdx.x;
    out[threadIdx.x] |= kept[threadIdx.x ^ 1] != (threadIdx.x ^ 1);
    """
    assert run(tmp_path, body).any()
    assert not run(tmp_path, body.replace("threadIdx.x;\n", "threadIdx.x;\n__syncwarp();\n", 1)).any()
