"""roce_icrc: the ICRC equals the golden model's and scapy's for every length and tail, without bubbles."""

from random import Random
from typing import Any

import cocotb
import pytest
from scapy.contrib.roce import BTH
from scapy.layers.l2 import Ether

from bench import ALL_STALLS, Bench, Stalls, assert_same_packets, run
from framelane.driver.simulated.ports import PACKET_USER_T
from framelane.models.cells import axis
from framelane.models.roce_tx import roce_icrc, wire
from framelane.models.roce_tx.wire import Endpoint, Headers, Opcode, Reth
from widths import WIDTHS, some_widths


def scapy_icrc(frame: bytes) -> bytes:
    """`frame` with its last four bytes computed anew by scapy."""
    packet = Ether(frame)
    packet[BTH].icrc = None
    return bytes(packet)


def random_frame(random: Random, payload_bytes: int, vlan: bool = False) -> bytes:
    draw = random.getrandbits
    opcode = random.choice(list(Opcode))
    reth = Reth(draw(64), draw(32), draw(32)) if opcode.starts else None
    imm = draw(32) if opcode.has_imm else None
    src, dst = Endpoint(draw(48), draw(32)), Endpoint(draw(48), draw(32))
    fields = (draw(16), opcode + wire.UC, draw(24), draw(24), payload_bytes, reth, imm, draw(16), draw(8), draw(8))
    headers = Headers(src, dst, *fields, vlan=draw(16) if vlan else None)
    return wire.pack(headers) + random.randbytes(payload_bytes) + bytes(headers.pad)


def user(vlan: bool, poisoned: bool = False) -> int:
    return PACKET_USER_T.pack({"poisoned": poisoned, "has_vlan": vlan})


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def icrcs_equal_the_model_and_scapy_for_every_tail(dut: Any, stalls: Stalls) -> None:
    bench = Bench(dut, stalls)
    source, out = bench.source("s_axis"), bench.sink("m_axis")
    width = len(dut.m_axis_tdata)
    await bench.reset()
    expected = []
    for length in [*range(1, 140), 255, 256, 1024, 4096]:
        for vlan in (False, True):
            frame = random_frame(bench.random, length, vlan)
            source.send(frame, width, tuser=user(vlan))
            expected.append(roce_icrc.append(frame))
    await bench.drain(out, sum(axis.n_beats(len(p), width) for p in expected))
    packets = out.packets(width)
    assert_same_packets(packets, expected)
    assert_same_packets(packets, [scapy_icrc(p) for p in packets])
    if stalls is Stalls.NONE:
        assert out.taken[-1] - out.taken[0] == len(out.taken) - 1
        assert out.taken[0] - source.accepted[0] == 3


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def a_poisoned_packet_has_its_icrc_inverted_and_the_next_one_has_not(dut: Any, stalls: Stalls) -> None:
    bench = Bench(dut, stalls)
    source, out = bench.source("s_axis"), bench.sink("m_axis")
    width = len(dut.m_axis_tdata)
    await bench.reset()
    expected = []
    for length in range(1, 200):
        frame, poisoned = random_frame(bench.random, length), bench.random.random() < 0.5
        source.send(frame, width, tuser=user(False))
        source.items[-1]["tuser"] = user(False, poisoned)  # only the last beat counts
        expected.append(roce_icrc.append(frame, poisoned))
    await bench.drain(out, sum(axis.n_beats(len(p), width) for p in expected))
    assert_same_packets(out.packets(width), expected)
    taken = [roce_icrc.check(p) for p in out.packets(width)]
    assert 0 < sum(taken) < len(taken)


@cocotb.test()
@cocotb.parametrize(vlan=[False, True])
async def fields_that_routers_change_do_not_count_and_all_others_do(dut: Any, vlan: bool) -> None:
    bench = Bench(dut)
    source, out = bench.source("s_axis"), bench.sink("m_axis")
    width = len(dut.m_axis_tdata)
    await bench.reset()
    frame = random_frame(bench.random, 40, vlan)
    changed = [frame]
    for at in range(len(frame)):
        changed.append(frame[:at] + bytes([frame[at] ^ 1 << at % 8]) + frame[at + 1 :])
    for packet in changed:
        source.send(packet, width, tuser=user(vlan))
    await bench.drain(out, len(changed) * axis.n_beats(len(frame) + 4, width))
    icrcs = [p[-4:] for p in out.packets(width)]
    same = {at for at in range(len(frame)) if icrcs[at + 1] == icrcs[0]}
    ip = 18 if vlan else 14
    assert same == {*range(ip), *(ip + at for at in roce_icrc.VARIANT)}


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def a_reset_leaves_nothing_of_the_packet_under_way(dut: Any, stalls: Stalls) -> None:
    bench = Bench(dut, stalls)
    source, out = bench.source("s_axis"), bench.sink("m_axis")
    width = len(dut.m_axis_tdata)
    for cycles in range(1, 40):
        await bench.reset(cycles=1)
        source.send(random_frame(bench.random, 72 - cycles % 2 * 8), width, tuser=user(False))
        for _ in range(cycles):
            await bench.step()
        await bench.reset(cycles=1)
        frame = random_frame(bench.random, 40)
        source.send(frame, width, tuser=user(False))
        await bench.drain(out, axis.n_beats(len(frame) + 4, width))
        assert_same_packets(out.packets(width), [roce_icrc.append(frame)])


@pytest.mark.parametrize("width", some_widths("roce_icrc", (*WIDTHS, 1024)))
def test_roce_icrc(width: int) -> None:
    run("roce_icrc", DataW=width)
