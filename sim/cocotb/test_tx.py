"""tx: frames in memory to packets, told by registers; equal to the model, scapy's ICRC, tshark's decoding."""

import ctypes
import itertools
import json
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import cocotb
import numpy as np
import pytest
from scapy.contrib.roce import BTH
from scapy.layers.l2 import Ether

from bench import ALL_STALLS, ROOT, Stalls, assert_same_packets, run
from framelane.models.cells import axis
from framelane.models.placement.flow import FrameEvent
from framelane.models.placement.slots import FREE_RUNNING
from framelane.packets.pcap import PcapWriter
from late_reads import MOST, LateReads
from signals import now
from tx_bench import STRIDE, TxBench, session
from tx_registers import (
    ABORT,
    ARM,
    ARMED,
    COMMAND,
    CONTROL,
    DROPPED,
    FAILED,
    IDLE,
    MEMORY_STUCK,
    RESET,
    RESETTING,
    SENT,
    STATUS,
)
from widths import some_widths


def tshark(packets: list[bytes]) -> list[dict[str, int | None]]:
    """The packets as tshark decodes them: one dict of fields each."""
    names = (
        "ip.checksum.status", "infiniband.bth.opcode", "infiniband.bth.psn", "infiniband.bth.destqp",
        "infiniband.bth.padcnt", "infiniband.reth.va", "infiniband.reth.r_key", "infiniband.reth.dmalen",
        "infiniband.immdt",
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tx.pcap"
        with PcapWriter(path) as writer:
            for packet in packets:
                writer.write(packet)
        fields = itertools.chain.from_iterable(("-e", name) for name in names)
        command = ["tshark", "-r", str(path), "-o", "ip.check_checksum:TRUE", "-T", "json", *fields]
        found = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
    layers = [packet["_source"]["layers"] for packet in found]
    return [{name: _number(fields[name][0]) if name in fields else None for name in names} for fields in layers]


def _number(text: str) -> int:
    return int(text, 16 if ":" in text or text.startswith("0x") else 10)


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS, segmentation=["only", "message"])
async def packets_equal_the_model_and_both_other_oracles(dut: Any, stalls: Stalls, segmentation: str) -> None:
    bench = TxBench(dut, stalls, session(segmentation=segmentation, mtu=1024), latency=20)
    await bench.start()
    for n in range(5):
        bench.offer(n, bench.image())
    packets = await bench.check()
    for packet in packets:
        frame = Ether(packet)
        frame[BTH].icrc = None
        assert bytes(frame) == packet, "scapy computes another ICRC"
    flow, ring, qp = bench.config.flows[0], bench.config.destinations[0], bench.qp
    size = flow.payload_bytes
    expected: list[tuple[int | None, ...]] = []
    for n in range(5):
        slot = ring.base + n % ring.n_slots * ring.slot_bytes
        for at in range(0, size, qp.mtu):
            part = min(qp.mtu, size - at)
            reth: tuple[int | None, ...] = (slot + at, qp.rkey, part)
            if segmentation == "message":
                reth = (slot, qp.rkey, size) if at == 0 else (None, None, None)
            expected.append((-part % 4, *reth, None))
        expected.append((0, slot + ring.trailer_offset, qp.rkey, 64, flow.source << 24 | n))
    for index, (fields, (pad, *rest)) in enumerate(zip(tshark(packets), expected, strict=True)):
        assert fields["ip.checksum.status"] == 1
        assert fields["infiniband.bth.psn"] == (qp.psn + index) & 0xFFFFFF
        assert fields["infiniband.bth.destqp"] == qp.dest_qpn
        assert fields["infiniband.bth.padcnt"] == pad
        names = ("reth.va", "reth.r_key", "reth.dmalen", "immdt")
        assert [fields[f"infiniband.{name}"] for name in names] == rest


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def regions_from_any_address_go_to_several_receivers(dut: Any, stalls: Stalls) -> None:
    """Whole frames to two receivers in turn; a region of every other frame, of odd width and place, to a third."""
    bench = TxBench(dut, stalls, session(mtu=256), latency=20)
    whole, ring = bench.config.flows[0], bench.config.destinations[0]
    far = replace(ring, base=1 << 40, n_slots=2)
    region = replace(
        whole,
        first_destination=2,
        period=2,
        x0=11,
        y0=3,
        width=37,
        height=9,
        x1=5,
        y1=2,
        destination_pitch=90,
        source=4,
        max_length=50,
    )
    flows = (replace(whole, destinations=2, bunch=2), region)
    bench.plan(replace(bench.config, destinations=(ring, replace(far, qp=0), far), flows=flows))
    await bench.start()
    for n in range(7):
        bench.offer(n, bench.image())
    await bench.check()


@cocotb.test()
async def an_image_of_4_megapixels_passes_at_line_rate(dut: Any) -> None:
    if len(dut.rdata) < 512:
        return  # one width is enough: the claim is about 512 bits
    bench = TxBench(dut, Stalls.NONE, session(rows=4096, columns=1024), latency=100)
    await bench.start()
    bench.offer(0, np.random.default_rng(1).bytes(8 << 20))
    beats = sum(axis.n_beats(len(p), bench.width) for p in bench.expected)
    start = bench.cycle
    await bench.until(lambda: bench.board.board_packet_count() >= len(bench.expected), limit=2 * beats)
    assert bench.cycle - start < beats * 1.003
    await bench.check()


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def without_credit_no_packet_leaves_and_frames_are_counted(dut: Any, stalls: Stalls) -> None:
    bench = TxBench(dut, stalls, session(n_slots=2))
    await bench.start()
    for window_end, numbers in ((0, (0,)), (2, (1, 2, 3)), (4, (4,)), (FREE_RUNNING, (5, 6))):
        await bench.credit(window_end)
        for n in numbers:
            bench.offer(n, bench.image())
        expected = list(bench.expected)
        bench.expected.clear()
        assert_same_packets(await bench.packets(expected), expected)
    assert await bench.counters(SENT, DROPPED) == [3, 4]
    assert bench.released == 7


@cocotb.test()
async def a_frame_outside_the_memory_arrives_as_holes_and_the_next_one_is_whole(dut: Any) -> None:
    bench = TxBench(dut, Stalls.NONE, session(mtu=1024))
    await bench.start()
    size = bench.config.flows[0].payload_bytes
    bench.offer(0, bench.image())
    inside = 3 * 1024  # the memory of the second frame ends in front of its last packets
    address = bench.put(bench.image())
    short = address - address % STRIDE + inside
    bench.board.board_end(ctypes.c_uint64(short))
    bench.model._faults = lambda at, length: [range(short - at, length)] if at < short < at + length else []
    padded = bench.images[address][:inside].ljust(size, b"\0")
    bench.images[address] = padded
    bench.send(FrameEvent(1, 5, 6, address))
    assert_same_packets(await bench.packets(bench.expected), bench.expected)
    poisoned = [bytes(packet) != with_icrc(packet) for packet in bench.expected]
    assert poisoned.count(True) == -(-size // 1024) - inside // 1024
    assert not poisoned[-1], "the trailer says that the frame has ended"
    bench.board.board_end(ctypes.c_uint64(0))
    bench.expected.clear()
    bench.model._faults = lambda at, length: []
    bench.offer(2, bench.image())
    assert_same_packets(await bench.packets(bench.expected), bench.expected)
    assert await bench.counters(SENT, FAILED, "counters.bad_payload") == [2, 1, 1]
    assert bench.released == 3


def with_icrc(packet: bytes) -> bytes:
    """The packet with the ICRC that scapy computes."""
    frame = Ether(packet)
    frame[BTH].icrc = None
    return bytes(frame)


@cocotb.test()
async def a_qp_that_is_not_enabled_sends_nothing_and_the_next_frame_after_its_write_is_whole(dut: Any) -> None:
    bench = TxBench(dut, Stalls.NONE, session())
    await bench.start()
    await bench.write_qp(1, replace(bench.qp, enabled=False))
    bench.offer(0, bench.image())
    assert await bench.packets([], quiet=2000) == []
    assert await bench.counters("counters.bad_qp", SENT, FAILED) == [2, 0, 1], "the image and its trailer: bad_qp"
    psn = bench.qp.psn + len(bench.expected) & 0xFFFFFF  # where the model is now, to which the QP was enabled
    await bench.write_qp(1, replace(bench.qp, psn=psn))
    bench.expected.clear()
    bench.offer(1, bench.image())
    assert_same_packets(await bench.packets(bench.expected), bench.expected)


@cocotb.test()
async def frames_pass_and_are_released_while_not_armed(dut: Any) -> None:
    bench = TxBench(dut, Stalls.NONE, session())
    await bench.start()
    await bench.write(CONTROL, 0)
    for n in range(3):
        bench.offer(n, bench.image())
    assert await bench.packets([], quiet=200) == []
    assert bench.released == 3
    bench.expected.clear()
    bench.plan(bench.config)
    await bench.write(CONTROL, ARM)
    bench.offer(3, bench.image())
    assert_same_packets(await bench.packets(bench.expected), bench.expected)
    assert await bench.counters("counters.frames", "counters.frames_ignored") == [1, 3]


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def a_reset_waits_for_the_frame_under_way_and_the_next_run_starts_clean(dut: Any, stalls: Stalls) -> None:
    bench = TxBench(dut, stalls, session(), latency=50)
    for cycles in (1, 40, 100, 300):
        bench.plan(bench.config)
        await bench.start() if cycles == 1 else await bench.configure()
        for n in range(2):
            bench.offer(n, bench.image())
        for _ in range(cycles):
            await bench.step()
        bench.frames.items.clear()
        await bench.write(COMMAND, RESET)
        await bench.ready()
        assert await bench.registers.read(STATUS) & (IDLE | ARMED) == IDLE
        await bench.until(lambda: not bench.frames.items)
        packets = bench.take()
        assert_same_packets(packets, bench.expected[: len(packets)])
        assert len(packets) in (0, len(bench.expected) // 2, len(bench.expected)), "half a frame left"
        assert await bench.counters(SENT, "counters.packets") == [0, 0]
        bench.plan(bench.config)
        bench.expected.clear()
        await bench.configure()
        bench.offer(0, bench.image())
        assert_same_packets(await bench.packets(bench.expected), bench.expected)
        await bench.write(COMMAND, RESET)
        await bench.ready()
        bench.expected.clear()


@cocotb.test()
@cocotb.parametrize(latency=[0, 1, 20, 300, 1000], stalls=[Stalls.NONE, Stalls.BOTH])
async def the_core_stops_inside_packets_and_no_packet_has_a_gap_at_the_mac(
    dut: Any, latency: int, stalls: Stalls
) -> None:
    """`mac_rule.sv` fails at a gap; here is what there would have been without the port."""
    bench = TxBench(dut, stalls, session(mtu=4096), latency=latency)
    await bench.start()
    for n in range(3):
        bench.offer(n, bench.image())
    await bench.check()
    if latency >= 20 or stalls.source:
        assert now(dut.gaps_o) > latency, "the core never stopped for long: nothing is shown"


@cocotb.test()
@cocotb.parametrize(stalls=[Stalls.SINK, Stalls.BOTH])
async def a_latency_that_is_drawn_for_each_burst_makes_no_gap_at_the_mac(dut: Any, stalls: Stalls) -> None:
    """The MAC pauses at random. Memory takes no request while its oldest answer waits, so it is narrow, too."""
    bench = TxBench(dut, stalls, session(mtu=4096))
    reads = LateReads(bench, "")
    reads.any_latency()
    bench.watch(lambda: bench.board.board_hold(reads.is_held(), False))
    await bench.start()
    for n in range(32):
        bench.offer(n, bench.image())
    await bench.check()
    assert reads.longest > 0.9 * MOST, "no burst was late: nothing is shown"
    assert now(dut.gaps_o) > MOST, "the core never stopped for long: nothing is shown"


@cocotb.test()
async def idle_waits_for_what_memory_owes_behind_an_abort_and_the_abort_does_not(dut: Any) -> None:
    """That nothing comes while it says idle, TxBench looks at in every cycle."""
    bench = TxBench(dut, Stalls.NONE, session(mtu=1024), latency=1500)
    await bench.start()
    bench.offer(0, bench.image())
    await bench.until(lambda: bool(now(dut.arvalid) and now(dut.arready)))
    await bench.write(COMMAND, ABORT)
    while (status := await bench.registers.read(STATUS)) & RESETTING:
        pass
    assert status & IDLE
    assert status & MEMORY_STUCK, "without a watchdog nothing else says what is missing"
    assert not now(dut.idle_o)
    await bench.ready()
    assert not await bench.registers.read(STATUS) & MEMORY_STUCK
    bench.take()
    bench.plan(bench.config)
    bench.expected.clear()
    bench.released = 0
    await bench.configure()
    bench.offer(1, bench.image())
    await bench.check()


@pytest.mark.parametrize("width", some_widths("tx"))
def test_tx(width: int) -> None:
    harness = ROOT / "sim" / "dpi"
    args = [str(harness / "board.cpp"), "-CFLAGS", f"-I{harness}", "-LDFLAGS", "-rdynamic"]
    run("tx", top="tx_board", build_args=args, DataW=width, MacPort=1)
