"""bd_select: which flows take which frames, and their index, equal to the model; every frame ends."""

from dataclasses import replace
from typing import Any

import cocotb

from bench import ALL_STALLS, Bench, Stalls, run
from framelane.driver.simulated import ports
from framelane.driver.simulated.ports import CHOSEN_T, FLOW_T
from framelane.models.placement.bd_select import select
from framelane.models.placement.flow import Flow, FrameEvent
from signals import now, twice

PLAIN = Flow(source=1, first_destination=0, width=4, height=4, source_pitch=8, destination_pitch=8)


class SelectBench(Bench):
    """The block with the flow table behind it: an entry comes a cycle after its index."""

    def __init__(self, dut: Any, stalls: Stalls, flows: list[int]) -> None:
        super().__init__(dut, stalls)
        self.flows = flows
        self.frames, self.chosen = self.source("s_axis_frame"), self.sink("m_axis_chosen")
        self.seen = {"frame": 0, "ignored": 0}
        self._asked = 0
        dut.armed_i.value = 1
        self.answer(self._look_up)
        self.watch(self._sample)

    def _look_up(self) -> None:
        self.dut.flow_i.value = self.flows[self._asked] if self._asked < len(self.flows) else 0

    def _sample(self) -> None:
        self._asked = twice(self.dut.flow_index_o)
        for name in self.seen:
            self.seen[name] += now(getattr(self.dut, f"{name}_o"))

    def offer(self, event: FrameEvent) -> None:
        self.frames.items.append({"tdata": ports.frame_t(event)})

    def found(self) -> list[tuple[int, int] | str]:
        """What came out: (flow, index), "bad", or "over"."""
        items = [CHOSEN_T.unpack(item["tdata"]) for item in self.chosen.items]
        return ["over" if i["over"] else "bad" if i["bad"] else (i["id"], i["index"]) for i in items]


def expected(flows: list[Flow | None], events: list[FrameEvent]) -> list[tuple[int, int] | str]:
    wanted: list[tuple[int, int] | str] = []
    for event in events:
        taken = [(k, select(flow, event)) for k, flow in enumerate(flows) if flow]
        wanted += [(k, index) for k, index in taken if index is not None]
        wanted.append("over")
    return wanted


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def flows_take_their_frames_and_every_frame_ends(dut: Any, stalls: Stalls) -> None:
    flows = [
        PLAIN,
        replace(PLAIN, first=3, period=10, count=2),
        replace(PLAIN, kind=2),
        replace(PLAIN, first=2, period=7, burst=3, kind=5),
    ]
    bench = SelectBench(dut, stalls, [ports.flow_t(flow) for flow in flows])
    await bench.reset()
    events = [FrameEvent(n, n + 1, n + 2, n << 12, kind=n % 3 and 5 - n % 3, kind_index=n // 3) for n in range(60)]
    for event in events:
        bench.offer(event)
    await bench.drain(bench.chosen, len(expected([*flows], events)), quiet=100)
    assert bench.found() == expected([*flows], events)
    assert bench.seen == {"frame": 60, "ignored": 0}
    first = CHOSEN_T.unpack(bench.chosen.items[0]["tdata"])
    assert (first["frame"], first["flow"]) == (ports.frame_t(events[0]), ports.flow_t(PLAIN))


@cocotb.test()
async def numbers_of_64_bits_and_random_plans(dut: Any) -> None:
    bench = SelectBench(dut, Stalls.NONE, [])
    draw, bits = bench.random.randrange, bench.random.getrandbits
    await bench.reset()
    for _ in range(150):
        period = 1 + bits(draw(1, 33)) % ((1 << 32) - 1)
        burst = 1 + bits(draw(1, 33)) % period
        flow = replace(PLAIN, first=bits(draw(65)), period=period, burst=burst, count=bits(draw(1, 65)) & -draw(2))
        near = (flow.first + draw(4) * period + draw(-2, 4)) % (1 << 64)
        events = [FrameEvent(number, 0, 0, 0) for number in (bits(64), near, near + burst & (1 << 64) - 1)]
        bench.flows = [ports.flow_t(flow)]
        bench.chosen.clear()
        for event in events:
            bench.offer(event)
        await bench.drain(bench.chosen, len(expected([flow], events)), quiet=80)
        assert bench.found() == expected([flow], events), flow


@cocotb.test()
async def a_flow_that_cannot_be_served_is_said_and_the_others_go_on(dut: Any) -> None:
    zero = ("period", "burst", "bunch", "destinations", "width", "height", "max_length", "destination_pitch")
    for name in zero:
        bad = FLOW_T.pack(FLOW_T.unpack(ports.flow_t(PLAIN)) | {name: 0})
        bench = SelectBench(dut, Stalls.NONE, [bad, ports.flow_t(PLAIN)])
        await bench.reset()
        bench.offer(FrameEvent(7, 0, 0, 0))
        await bench.drain(bench.chosen, 3, quiet=80)
        assert bench.found() == ["bad", (1, 7), "over"], name


@cocotb.test()
@cocotb.parametrize(wide=[0, 1])
async def lines_may_touch_in_the_destination_but_not_overlap(dut: Any, wide: int) -> None:
    for missing in (0, 1):
        pitch = (4 << wide) * 2 - missing
        values = FLOW_T.unpack(ports.flow_t(PLAIN)) | {"destination_pitch": pitch, "wide": wide}
        bench = SelectBench(dut, Stalls.NONE, [FLOW_T.pack(values)])
        await bench.reset()
        bench.offer(FrameEvent(7, 0, 0, 0))
        await bench.drain(bench.chosen, 2, quiet=80)
        assert bench.found() == ["bad" if missing else (0, 7), "over"]


@cocotb.test()
async def frames_pass_untaken_while_not_armed(dut: Any) -> None:
    bench = SelectBench(dut, Stalls.NONE, [ports.flow_t(PLAIN)])
    await bench.reset()
    dut.armed_i.value = 0
    for n in range(5):
        bench.offer(FrameEvent(n, 0, 0, 0))
    await bench.drain(bench.chosen, 5)
    dut.armed_i.value = 1
    bench.offer(FrameEvent(5, 0, 0, 0))
    await bench.drain(bench.chosen, 7)
    assert bench.found() == ["over"] * 5 + [(0, 5), "over"]
    assert bench.seen == {"frame": 1, "ignored": 5}


@cocotb.test()
async def no_frame_is_taken_during_a_reset(dut: Any) -> None:
    bench = SelectBench(dut, Stalls.NONE, [ports.flow_t(PLAIN)])
    await bench.reset()
    dut.rst.value = 1
    bench.offer(FrameEvent(4, 0, 0, 0))
    for _ in range(5):
        await bench.step()
    assert bench.frames.items
    dut.rst.value = 0
    await bench.drain(bench.chosen, 2, quiet=80)
    assert bench.found() == [(0, 4), "over"]
    assert bench.seen == {"frame": 1, "ignored": 0}


@cocotb.test()
async def a_reset_starts_anew_whatever_was_under_way(dut: Any) -> None:
    bench = SelectBench(dut, Stalls.NONE, [ports.flow_t(replace(PLAIN, period=3, burst=2))] * 2)
    for cycles in range(0, 120, 3):
        await bench.reset(cycles=1)
        bench.offer(FrameEvent(4, 0, 0, 0))
        bench.offer(FrameEvent(1 << 60, 0, 0, 0))
        for _ in range(cycles):
            await bench.step()
        await bench.reset(cycles=1)
        bench.offer(FrameEvent(7, 0, 0, 0))
        await bench.drain(bench.chosen, 3, quiet=100)
        assert bench.found() == [(0, 5), (1, 5), "over"]


def test_bd_select() -> None:
    run("bd_select")
