"""The Verilated transmitter, byte for byte: what lies in the receivers' memories is what numpy slicing puts there."""

import random

import numpy as np
import pytest

from framelane.driver.board.board import Board
from framelane.driver.simulated.verilated import SimulatedRegisters
from framelane.models.placement.flow import FrameEvent
from framelane.models.placement.slots import FREE_RUNNING
from framelane.models.roce_tx.wire import Endpoint
from framelane.models.tx import TxConfig
from receiver_memories import Memories, dealt, put, some_plan

LOCAL = Endpoint(0x020000000001, 0x0A000001)
BLOCKS, PLANS = 4, 250
WIDTHS = (64, 512, 64, 128)


def events(draw: random.Random, count: int, stride: int) -> list[FrameEvent]:
    kinds = [0] * 3
    found = []
    for number in range(count):
        kind = draw.randrange(3)
        address = number * stride + draw.choice((0, draw.randrange(64)))
        found.append(FrameEvent(number, draw.getrandbits(64), draw.getrandbits(64), address, kind, kinds[kind]))
        kinds[kind] += 1
    return found


def run(board: Board, config: TxConfig, credit: list[int]) -> None:
    board.configure(config)
    for index, window_end in enumerate(credit):
        board.publish_credit(index, window_end)
    board.arm()


@pytest.mark.parametrize("block", range(BLOCKS))
def test_random_configurations_write_what_numpy_slices_and_not_one_byte_more(block: int) -> None:
    """1,000 plans of 1 to 4 flows to 1 to 12 destinations, one after the other on the same transmitter.

    Some frames of the detector never come, some destinations have credit for a few frames only.
    """
    with SimulatedRegisters(WIDTHS[block], latency=block * 20, memory_stall=0.2 * (block % 2)) as simulator:
        board = Board(simulator)
        sent_frames = 0
        for plan in range(PLANS):
            draw = random.Random(1000 * block + plan)
            config, frame_bytes = some_plan(draw, LOCAL)
            stride = -(-(frame_bytes + 64) // 64) * 64
            frames = events(draw, 2 + draw.randrange(8), stride)
            memory = np.random.default_rng(plan).integers(0, 256, len(frames) * stride + 64, np.uint8)
            simulator.write_memory(0, memory)
            credit = [draw.choice((FREE_RUNNING, draw.randrange(6))) for _ in config.destinations]
            run(board, config, credit)
            before = simulator.released
            memories, wanted = Memories(config, plan), Memories(config, plan)
            lost = {event.number for event in frames if draw.random() < 0.15}
            for event in frames:
                if event.number not in lost:
                    simulator.offer(event)
            memories.place(simulator.run())
            got = [0] * len(credit)
            for flow in config.flows:
                for sent in dealt(flow, frames):
                    index = sent.destination
                    if sent.event.number in lost or sent.number >= credit[index]:
                        continue
                    to = config.destinations[index]
                    mtu, dropped = config.qps[to.qp].mtu, sent.number - got[index]
                    put(wanted.rings[index], to, flow, sent, memory[sent.event.address :], mtu, dropped)
                    got[index] += 1
            sent_frames += sum(got)
            counters = board.counters()
            assert [to.sent for to in counters.destinations[: len(got)]] == got
            assert simulator.released == before + len(frames) - len(lost)
            for index, (found, right) in enumerate(zip(memories.rings, wanted.rings, strict=True)):
                differ = np.flatnonzero(found != right)
                assert not differ.size, (
                    f"plan {plan}, destination {index}: byte {differ[0]} and {differ.size - 1} others"
                )
        assert sent_frames > PLANS, "hardly anything was sent"
        assert set(board.errors().names) <= {"no_credit", "skipped"}
