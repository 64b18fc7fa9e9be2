"""roce_join: header, payload and pad come out as one packet for every length and header, without bubbles."""

from typing import Any

import cocotb
import pytest

from bench import ALL_STALLS, WIDTHS, Bench, Stalls, assert_same_packets, run
from framelane.driver.ports import HEADER_USER_T
from framelane.models import axis, roce_join
from framelane.models.roce_segment import Status

HEADERS = (54, 58, 70, 74)


class JoinBench(Bench):
    def __init__(self, dut: Any, stalls: Stalls = Stalls.NONE) -> None:
        super().__init__(dut, stalls)
        self.width = len(dut.m_axis_tdata)
        self.headers, self.payload = self.source("s_axis_hdr"), self.source("s_axis_payload")
        self.out = self.sink("m_axis")
        self.expected: list[bytes] = []
        self.statuses: list[tuple[int, int]] = []
        self.expected_statuses: list[tuple[int, int]] = []
        self.watch(self._note_status)

    def _note_status(self) -> None:
        if int(self.dut.status_valid_o.value):
            self.statuses.append((int(self.dut.status_o.value), int(self.dut.status_qp_o.value)))

    def forget(self) -> None:
        for record in (self.expected, self.expected_statuses, self.statuses):
            record.clear()

    def send(self, *lengths: int, header: int | None = None, status: Status = Status.OK) -> None:
        """Queue one message: a packet for each of `lengths`, their payloads as one packet on the payload stream."""
        payload = self.random.randbytes(sum(lengths))
        for beat in axis.beats(payload, self.width) if payload else ():
            # What is behind the last byte must not come out.
            junk = self.random.getrandbits(self.width) & ~((1 << 8 * beat.keep.bit_length()) - 1)
            self.payload.items.append({"tdata": beat.data | junk, "tkeep": beat.keep, "tlast": int(beat.last)})
        at, index = 0, self.random.randrange(256)
        self.expected_statuses.append((status, index))
        for k, length in enumerate(lengths):
            head = self.random.randbytes(header or self.random.choice(HEADERS))
            ends = k == len(lengths) - 1
            fields = {"status": status, "ends": ends, "index": index, "length": length}
            self.headers.send(head, self.width, tuser=HEADER_USER_T.pack(fields))
            if status is Status.OK:
                self.expected.append(roce_join.join(head, payload[at : at + length]))
            at += length

    async def check(self) -> None:
        await self.drain(self.out, sum(axis.n_beats(len(p), self.width) for p in self.expected))
        assert_same_packets(self.out.packets(self.width), self.expected)
        assert self.statuses == self.expected_statuses


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS, header=HEADERS)
async def packets_equal_the_model_for_every_tail(dut: Any, stalls: Stalls, header: int) -> None:
    bench = JoinBench(dut, stalls)
    await bench.reset()
    for length in [*range(1, 2 * bench.width // 8 + 2), 256, 1000]:
        bench.send(length, header=header)
    await bench.check()
    if stalls is Stalls.NONE:
        assert bench.out.taken[-1] - bench.out.taken[0] == len(bench.out.taken) - 1


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def a_message_of_several_packets_shares_one_payload_packet(dut: Any, stalls: Stalls) -> None:
    bench = JoinBench(dut, stalls)
    await bench.reset()
    for last in (1, 63, 64, 65, 256):
        bench.send(256, 256, last)
        bench.send(last)
    await bench.check()


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def a_refused_message_leaves_no_trace_but_its_status(dut: Any, stalls: Stalls) -> None:
    bench = JoinBench(dut, stalls)
    await bench.reset()
    for length in (1, 500, 64, 65):
        bench.send(length)
        bench.send(length, status=Status.BAD_QP)
    bench.send(0, status=Status.BAD_LENGTH)
    bench.send(0, status=Status.BAD_QP)
    bench.send(300)
    await bench.check()


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS, status=[Status.OK, Status.BAD_QP])
async def a_reset_leaves_nothing_of_the_packet_under_way(dut: Any, stalls: Stalls, status: Status) -> None:
    bench = JoinBench(dut, stalls)
    for cycles in range(1, 25):
        await bench.reset(cycles=1)
        bench.send(100, status=status)
        for _ in range(cycles):
            await bench.step()
        await bench.reset(cycles=1)
        bench.forget()
        bench.send(30)
        await bench.check()
        bench.forget()


@pytest.mark.parametrize("width", WIDTHS)
def test_roce_join(width: int) -> None:
    run("roce_join", DataW=width)
