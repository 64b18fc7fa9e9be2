"""axis_frame_fifo: whole frames in order; one that finds no room or is taken back is lost whole, and no other."""

from collections import Counter
from typing import Any

import cocotb
import pytest

from bench import ALL_STALLS, Bench, Sink, Source, Stalls, assert_same_packets, run
from receive_bench import count_pulses, line
from widths import some_widths


class FifoBench(Bench):
    """The queue behind a line. A frame that is taken back says so with its last beat."""

    def __init__(self, dut: Any, stalls: Stalls = Stalls.NONE) -> None:
        super().__init__(dut, stalls)
        self.line: Source = line(self, stalls)
        self.out: Sink = self.sink("m_axis")
        self.width, self.depth, self.frames = len(dut.s_axis_tdata), int(dut.Depth.value), int(dut.Frames.value)
        self.lost: Counter[int] = count_pulses(self, dut.lost_o)
        self.sent: list[bytes] = []
        self.backs: set[int] = set()
        dut.drop_i.value = 0
        self._drops: list[int] = []
        self._driven = 0
        self.answer(self._drive_drop)

    def _drive_drop(self) -> None:
        """With tlast whether this frame is taken back, else anything."""
        at = len(self.line.accepted)
        last = at < len(self._drops) and self._drops[at] >= 0
        self.dut.drop_i.value = self._drops[at] if last else 1

    def send(self, length: int, back: bool = False) -> None:
        """A frame of random bytes, with its number beside it in its last beat."""
        frame = self.random.randbytes(length)
        first = len(self.line.items)
        self.line.send(frame, self.width, tuser=0x5A)
        self.line.items[-1]["tuser"] = len(self.sent) & 0xFF
        self._drops += [-1] * (len(self.line.items) - first - 1) + [int(back)]
        if back:
            self.backs.add(len(self.sent))
        self.sent.append(frame)

    async def finish(self) -> list[int]:
        """Run until all is through: the numbers of the frames that came, which are checked."""
        await self.until(lambda: not self.line.items, 200_000)
        quiet = 0
        while quiet < 40 + 4 * self.depth:
            before = len(self.out.items)
            await self.step()
            quiet = quiet + 1 if len(self.out.items) == before else 0
        users = [item["tuser"] for item in self.out.items]
        lasts = [k for k, item in enumerate(self.out.items) if item["tlast"]]
        numbers = [users[k] for k in lasts]
        for begin, end in zip([0, *(k + 1 for k in lasts)], lasts, strict=False):
            assert set(users[begin : end + 1]) == {users[end]}
        assert_same_packets(self.out.packets(self.width), [self.sent[n] for n in numbers])
        assert numbers == sorted(numbers)
        assert not self.backs.intersection(numbers)
        assert len(numbers) + len(self.backs) + self.lost[0] == len(self.sent)
        return numbers


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def frames_pass_whole_in_order_and_those_taken_back_do_not(dut: Any, stalls: Stalls) -> None:
    bench = FifoBench(dut, stalls)
    await bench.reset()
    lanes = bench.width // 8
    for _ in range(120):
        back = bench.random.random() < 0.3
        bench.send(bench.random.randint(1, lanes * 6), back)
        while bench.line.items:
            await bench.step()
        for _ in range(bench.random.randrange(4 * 6)):
            await bench.step()
    assert len(await bench.finish()) > 60
    if not stalls.sink:
        assert not bench.lost


@cocotb.test()
async def back_to_back_at_full_rate_nothing_is_lost(dut: Any) -> None:
    bench = FifoBench(dut)
    await bench.reset()
    for n in range(200):
        bench.send(bench.random.randint(1, bench.width // 8 * 4), n % 7 == 3)
    await bench.finish()
    assert not bench.lost
    assert bench.line.accepted[-1] - bench.line.accepted[0] == len(bench.line.accepted) - 1


@cocotb.test()
async def a_frame_comes_out_two_cycles_behind_its_end_and_without_a_bubble(dut: Any) -> None:
    bench = FifoBench(dut)
    await bench.reset()
    bench.send(bench.width // 8 * 5)
    await bench.finish()
    assert bench.out.taken == [bench.line.accepted[-1] + 2 + k for k in range(5)]


@cocotb.test()
@cocotb.parametrize(beats=[1, 2, 3, 5])
async def while_the_sink_waits_whole_frames_are_kept_as_far_as_there_is_room_and_the_rest_is_lost_whole(
    dut: Any, beats: int
) -> None:
    bench = FifoBench(dut)
    bench.out._stall = lambda: bench.cycle < 3 * bench.depth * 2
    await bench.reset()
    n_frames = 2 * bench.depth // beats
    for _ in range(n_frames):
        bench.send(bench.width // 8 * beats)
    numbers = await bench.finish()
    room = min((bench.depth + 1) // beats, bench.frames)  # one beat more is in the output register
    assert numbers[:room] == list(range(room))
    assert bench.lost[0] >= n_frames - room - 1
    assert bench.line.accepted[-1] - bench.line.accepted[0] == n_frames * beats - 1


@cocotb.test()
async def a_frame_longer_than_the_queue_is_lost_and_the_next_one_is_not(dut: Any) -> None:
    bench = FifoBench(dut)
    await bench.reset()
    for beats in (bench.depth, bench.depth + 1, 3 * bench.depth, 1, bench.depth):
        bench.send(bench.width // 8 * beats)
        await bench.until(lambda: not bench.line.items)
        for _ in range(bench.depth + 5):
            await bench.step()
    assert await bench.finish() == [0, 3, 4]


@cocotb.test()
async def one_taken_back_is_not_counted_as_lost_even_when_there_was_no_room(dut: Any) -> None:
    bench = FifoBench(dut)
    await bench.reset()
    for back in (True, False):
        bench.send(bench.width // 8 * (bench.depth + 3), back)
    bench.send(1)
    assert await bench.finish() == [2]
    assert bench.lost[0] == 1


@cocotb.test()
@cocotb.parametrize(seed=[1, 2, 3])
async def under_random_stalls_every_frame_comes_whole_or_is_counted(dut: Any, seed: int) -> None:
    bench = FifoBench(dut, list(Stalls)[seed])
    bench.random.seed(seed)
    await bench.reset()
    waits = 0

    def stall() -> bool:
        nonlocal waits
        if not waits and bench.random.random() < 0.01:
            waits = bench.random.randrange(3 * bench.depth)
        waits -= bool(waits)
        return waits > 0

    bench.out._stall = stall
    for _ in range(250):
        longest = bench.random.choice((1, 1, 4, bench.depth + 2))
        bench.send(bench.random.randint(1, bench.width // 8 * longest), bench.random.random() < 0.3)
    numbers = await bench.finish()
    assert bench.lost[0] > 5
    assert len(numbers) > 50


@cocotb.test()
async def a_reset_empties_it(dut: Any) -> None:
    bench = FifoBench(dut)
    bench.out._stall = lambda: True
    for beats in (2, bench.depth + 9):
        await bench.reset()
        for name in (bench._drops, bench.sent):
            name.clear()
        bench.send(bench.width // 8)
        bench.send(bench.width // 8 * beats)
        for _ in range(beats - 3):  # inside the second frame, which has found no room or is just in
            await bench.step()
        await bench.reset(cycles=1)
        for name in (bench._drops, bench.sent):
            name.clear()
        bench.lost.clear()
        bench.out._stall = lambda: False
        bench.send(3)
        assert await bench.finish() == [0]
        bench.out._stall = lambda: True


@pytest.mark.parametrize("width", some_widths("axis_frame_fifo"))
def test_axis_frame_fifo(width: int) -> None:
    run("axis_frame_fifo", DataW=width, UserW=8, Depth=16, Frames=8)
