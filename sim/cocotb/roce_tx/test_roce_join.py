"""roce_join: header, payload and pad come out as one packet for every length and header, without bubbles."""

import itertools
from typing import Any

import cocotb
import pytest

from bench import ALL_STALLS, Bench, Stalls, assert_same_packets, run
from framelane.driver.simulated.ports import HEADER_USER_T, PACKET_USER_T
from framelane.models.cells import axis
from framelane.models.roce_tx import roce_header, roce_join
from framelane.models.roce_tx.roce_segment import Status
from signals import now
from widths import some_widths

HEADERS = {54: (0, 0), 58: (0, 1), 62: (0, 2), 70: (1, 0), 74: (1, 1), 78: (1, 2)}
"""Bytes of a header: whether with RETH, and how many words (VLAN tag, ImmDt) beside."""


LOOK = 4
"""Cycles until a bucket knows of the packet before."""


class JoinBench(Bench):
    def __init__(self, dut: Any, stalls: Stalls = Stalls.NONE) -> None:
        super().__init__(dut, stalls)
        self.width = len(dut.m_axis_tdata)
        self.headers, self.payload = self.source("s_axis_hdr"), self.source("s_axis_payload")
        self.out = self.sink("m_axis")
        self.expected: list[bytes] = []
        self.users: list[dict[str, int]] = []
        """Beside each packet: whether it is poisoned, whether it has a VLAN tag."""
        self.statuses: list[tuple[int, int]] = []
        self.expected_statuses: list[tuple[int, int]] = []
        self.open = True
        self.spent: list[tuple[int, int]] = []
        """Index of the QP and bytes of every packet that its bucket pays for."""
        self.expected_spent: list[tuple[int, int]] = []
        self.watch(self._note_status)
        self.watch(self._note_spending)
        self.answer(self._open_bucket)

    def _open_bucket(self) -> None:
        self.dut.bucket_open_i.value = self.open

    def _note_spending(self) -> None:
        if now(self.dut.spend_o):
            self.spent.append((now(self.dut.bucket_index_o), now(self.dut.spend_bytes_o)))

    def _note_status(self) -> None:
        if now(self.dut.status_valid_o):
            self.statuses.append((now(self.dut.status_o), now(self.dut.status_qp_o)))

    def forget(self) -> None:
        for record in (self.expected, self.users, self.expected_statuses, self.statuses):
            record.clear()
        self.spent.clear()
        self.expected_spent.clear()

    def send(
        self,
        *lengths: int,
        header: int | None = None,
        status: Status = Status.OK,
        stream: int | None = None,
        limited: bool | None = None,
    ) -> None:
        """Queue one message: a packet for each of `lengths`, and `stream` bytes (as many) on the payload stream."""
        payload = self.random.randbytes(sum(lengths) if stream is None else stream)
        for beat in axis.beats(payload, self.width) if payload else ():
            # What is behind the last byte must not come out.
            junk = self.random.getrandbits(self.width) & ~((1 << 8 * beat.keep.bit_length()) - 1)
            self.payload.items.append({"tdata": beat.data | junk, "tkeep": beat.keep, "tlast": int(beat.last)})
        index, vlan, line_bytes = self.random.randrange(256), self.random.randrange(2), self.random.randrange(1 << 13)
        limited = self.random.random() < 0.5 if limited is None else limited
        packets = []
        for k, length in enumerate(lengths):
            size = header or self.random.choice(list(HEADERS))
            head = self.random.randbytes(size)
            reth, words = HEADERS[size]
            fields = {"status": status, "ends": k == len(lengths) - 1, "index": index, "length": length}
            fields |= {"reth": reth, "words": words, "has_vlan": vlan, "limited": limited, "line_bytes": line_bytes}
            fields |= {"refused": status is not Status.OK}
            fields |= roce_header.remainder(size, length, self.width // 8)
            user = HEADER_USER_T.pack(fields)
            self.headers.send(head, self.width, tuser=user)
            packets.append((head, length))
        if status is Status.OK:
            status, joined = roce_join.join_message(packets, payload)
            self.expected += [frame for frame, _ in joined]
            self.users += [{"poisoned": poisoned, "has_vlan": vlan} for _, poisoned in joined]
            self.expected_spent += [(index, line_bytes)] * (len(joined) if limited else 0)
        self.expected_statuses.append((status, index))

    async def check(self) -> None:
        await self.drain(self.out, sum(axis.n_beats(len(p), self.width) for p in self.expected))
        assert_same_packets(self.out.packets(self.width), self.expected)
        users = [PACKET_USER_T.unpack(item["tuser"]) for item in self.out.items]
        assert [user for user, item in zip(users, self.out.items, strict=True) if item["tlast"]] == self.users
        vlans = [user["has_vlan"] for user in self.users]
        ends = itertools.accumulate([0] + [item["tlast"] for item in self.out.items[:-1]])
        assert [user["has_vlan"] for user in users] == [vlans[packet] for packet in ends]
        await self.until(lambda: len(self.statuses) == len(self.expected_statuses))
        assert self.statuses == self.expected_statuses
        assert self.spent == self.expected_spent


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS, header=list(HEADERS))
async def packets_equal_the_model_for_every_tail(dut: Any, stalls: Stalls, header: int) -> None:
    bench = JoinBench(dut, stalls)
    await bench.reset()
    for length in [*range(1, 2 * bench.width // 8 + 2), 256, 1000]:
        bench.send(length, header=header, limited=False)
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
@cocotb.parametrize(stalls=ALL_STALLS)
async def a_stream_that_ends_early_poisons_its_packet_and_ends_its_message(dut: Any, stalls: Stalls) -> None:
    bench = JoinBench(dut, stalls)
    await bench.reset()
    lanes = bench.width // 8
    for missing in (1, 2, 3, 4, 5, lanes - 1, lanes, lanes + 1, 100, 255):
        bench.send(256, stream=256 - missing)
        bench.send(256, 256, 100, stream=256 - missing)
        bench.send(256, 256, 100, stream=512 - missing)
        bench.send(256, 256, 300, stream=512 + 300 - missing)
        bench.send(missing)
    for length in range(2, 2 * lanes + 2):
        bench.send(length, stream=length - 1)
        bench.send(length, stream=1)
    await bench.check()
    assert {user["poisoned"] for user in bench.users} == {0, 1}


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def a_stream_that_ends_with_a_packet_poisons_none(dut: Any, stalls: Stalls) -> None:
    bench = JoinBench(dut, stalls)
    await bench.reset()
    for rest in (1, 64, 256):
        bench.send(256, 256, rest, stream=256)
        bench.send(rest)
        bench.send(256, 256, rest, stream=512)
    await bench.check()
    assert not any(user["poisoned"] for user in bench.users)
    assert {status for status, _ in bench.statuses} == {Status.OK, Status.SHORT}


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def what_a_stream_has_too_much_is_dropped(dut: Any, stalls: Stalls) -> None:
    bench = JoinBench(dut, stalls)
    await bench.reset()
    lanes = bench.width // 8
    for length in (1, 2, 3, 4, lanes - 1, lanes, lanes + 1, 250, 256):
        for more in (1, 2, 3, lanes - 1, lanes, lanes + 1, 3 * lanes, 500):
            bench.send(length, stream=length + more)
            bench.send(256, length, stream=256 + length + more)
            bench.send(more)
    await bench.check()
    assert not any(user["poisoned"] for user in bench.users)


@cocotb.test()
async def a_packet_of_a_limited_qp_waits_for_its_bucket(dut: Any) -> None:
    bench = JoinBench(dut)
    await bench.reset()
    bench.open = False
    bench.send(256, 256, limited=False)
    bench.send(256, 256, 256, limited=True)
    for _ in range(400):
        await bench.step()
    free = sum(axis.n_beats(len(p), bench.width) for p in bench.expected[:2])
    assert len(bench.out.items) == free
    for opening in range(3):
        bench.open = True
        await bench.step()
        bench.open = False
        for _ in range(400):
            await bench.step()
        beats = sum(axis.n_beats(len(p), bench.width) for p in bench.expected[: 3 + opening])
        assert len(bench.out.items) == beats, "a bucket that opens for one cycle lets one packet go"
    await bench.check()


@cocotb.test()
async def a_bucket_is_asked_when_it_knows_of_the_packet_before(dut: Any) -> None:
    bench = JoinBench(dut)
    await bench.reset()
    spent_at: list[int] = []
    bench.watch(lambda: spent_at.append(bench.cycle) if now(dut.spend_o) else None)
    for _ in range(20):
        bench.send(1, header=54, limited=True)
    await bench.check()
    assert {b - a for a, b in itertools.pairwise(spent_at)} == {LOOK + 1 + axis.n_beats(54, bench.width)}


@cocotb.test()
async def a_long_packet_hides_that_its_follower_waits_for_an_open_bucket(dut: Any) -> None:
    bench = JoinBench(dut)
    await bench.reset()
    for _ in range(5):
        bench.send(1000, limited=True)
    await bench.check()
    assert bench.out.taken[-1] - bench.out.taken[0] == len(bench.out.taken) - 1


@cocotb.test()
async def what_is_dropped_waits_for_no_bucket(dut: Any) -> None:
    bench = JoinBench(dut)
    await bench.reset()
    bench.open = False
    bench.send(256, status=Status.BAD_QP, limited=True)
    bench.send(256, 256, 100, limited=False, stream=256)
    bench.send(*[256] * 20, limited=False, stream=100)
    bench.send(3, limited=False)
    await bench.check()
    bench.forget()
    bench.out.clear()
    bench.send(*[256] * 20, limited=True, stream=100)
    bench.open = True
    await bench.until(lambda: bool(bench.out.items))
    bench.open = False
    await bench.check()


@cocotb.test()
async def a_partial_beat_in_mid_stream_poisons_its_packet(dut: Any) -> None:
    """Against the stream's contract: bytes are missing, and nobody can tell which."""
    bench = JoinBench(dut)
    await bench.reset()
    for at in range(256 * 8 // bench.width):
        bench.send(256)
        beat = bench.payload.items[at - 256 * 8 // bench.width]
        last = beat["tlast"]
        beat["tkeep"] >>= 1
        bench.send(40)
        await bench.until(lambda: not bench.payload.items and not bench.headers.items)
        for _ in range(20):
            await bench.step()
        users = [PACKET_USER_T.unpack(item["tuser"]) for item in bench.out.items if item["tlast"]]
        assert [user["poisoned"] for user in users] == [1, 0], f"beat {at}, last {last}"
        assert [status for status, _ in bench.statuses] == [Status.SHORT, Status.OK]
        assert bench.out.packets(bench.width)[1] == bench.expected[-1]
        bench.forget()
        bench.out.clear()


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS, status=[Status.OK, Status.BAD_QP])
async def a_reset_leaves_nothing_of_the_packet_under_way(dut: Any, stalls: Stalls, status: Status) -> None:
    bench = JoinBench(dut, stalls)
    for cycles in range(1, 25):
        for stream in (100, 40, 200):
            await bench.reset(cycles=1)
            bench.send(100, status=status, stream=stream)
            for _ in range(cycles):
                await bench.step()
            await bench.reset(cycles=1)
            bench.forget()
            bench.send(30)
            await bench.check()
            bench.forget()


@pytest.mark.parametrize("width", some_widths("roce_join"))
def test_roce_join(width: int) -> None:
    run("roce_join", DataW=width)
