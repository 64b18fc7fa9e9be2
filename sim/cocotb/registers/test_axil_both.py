"""axil_both: a transfer on the bus is one at both sets of registers in that cycle; reads give what either says."""

import random
from typing import Any

import cocotb
from cocotb.triggers import Timer

from axi_ports import LEFT_OUT
from bench import SEED, run
from signals import now

FROM_MASTER = {
    **{"awaddr": 16, "awprot": 3, "awvalid": 1, "wdata": 32, "wstrb": 4, "wvalid": 1, "bready": 1},
    **{"araddr": 16, "arprot": 3, "arvalid": 1, "rready": 1},
}
FROM_SET = {"awready": 1, "wready": 1, "bresp": 2, "bvalid": 1, "arready": 1, "rdata": 32, "rresp": 2, "rvalid": 1}
CHANNELS = ("aw", "w", "b", "ar", "r")


def of_set(dut: Any, name: str, k: int) -> int:
    """What the signal of one of both sets has."""
    width = (FROM_MASTER | FROM_SET)[name]
    return now(getattr(dut, f"m_axil_{name}")) >> width * k & (1 << width) - 1


def moves(valid: int, ready: int) -> bool:
    return bool(valid and ready)


LEFT_OUT.update(dict.fromkeys(("s_axil", "m_axil"), "wires without a clock get any values, in no order"))


@cocotb.test()
async def all_three_see_the_same_transfers(dut: Any) -> None:
    rng = random.Random(SEED)
    seen = dict.fromkeys(CHANNELS, 0)
    for _ in range(3000):
        for name, width in FROM_MASTER.items():
            getattr(dut, f"s_axil_{name}").value = rng.random() < 0.8 if width == 1 else rng.getrandbits(width)
        for name, width in FROM_SET.items():
            both = [int(rng.random() < 0.8) if width == 1 else rng.getrandbits(width) for _ in range(2)]
            getattr(dut, f"m_axil_{name}").value = both[1] << width | both[0]
        await Timer(1, "ns")
        for channel in CHANNELS:
            valid, ready = f"{channel}valid", f"{channel}ready"
            here = moves(now(getattr(dut, f"s_axil_{valid}")), now(getattr(dut, f"s_axil_{ready}")))
            there = [moves(of_set(dut, valid, k), of_set(dut, ready, k)) for k in range(2)]
            assert there == [here, here], channel
            seen[channel] += here
        for name, width in FROM_MASTER.items():
            if width > 1:
                value = now(getattr(dut, f"s_axil_{name}"))
                assert [of_set(dut, name, k) for k in range(2)] == [value, value], name
        assert now(dut.s_axil_rdata) == of_set(dut, "rdata", 0) | of_set(dut, "rdata", 1)
        for name in ("bresp", "rresp"):
            assert now(getattr(dut, f"s_axil_{name}")) == of_set(dut, name, 0), name
    assert min(seen.values()) > 500, seen


def test_axil_both() -> None:
    run("axil_both", flat=True)
