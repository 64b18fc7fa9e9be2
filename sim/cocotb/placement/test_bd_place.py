"""bd_place: destination, slot, credit and addresses equal the model; RASHPA's formula is one of them."""

from dataclasses import replace
from typing import Any

import cocotb

from bench import ALL_STALLS, Bench, Stalls, run
from counter_ports import counter
from framelane.driver.simulated import ports
from framelane.driver.simulated.ports import CHOSEN_T, COUNT_T, DESTINATION_T, FLOW_T, PLACED_T, REFUSAL_T, TRAILER_T
from framelane.models.placement.bd_place import BdPlace, Room, receiver
from framelane.models.placement.flow import Destination, Flow, FrameEvent, Refusal
from framelane.models.placement.slots import FREE_RUNNING
from placement_ports import placed_t
from signals import now

DESTINATIONS = 16
FLOW = Flow(source=9, first_destination=2, width=10, height=6, source_pitch=64, destination_pitch=100)
RING = Destination(qp=3, base=0x7F00_0000_1000, slot_bytes=8192, n_slots=3, trailer_offset=8128)
MASK = (1 << 64) - 1


class PlaceBench(Bench):
    """The block with the destination table behind it, beside its model."""

    def __init__(self, dut: Any, stalls: Stalls, destinations: list[Destination | None]) -> None:
        super().__init__(dut, stalls)
        self.chosen = self.source("s_axis_chosen")
        self.placed, self.counts = self.sink("m_axis_placed"), self.sink("m_axis_count")
        self.destinations = destinations + [None] * (DESTINATIONS - len(destinations))
        self.window_ends = [FREE_RUNNING] * DESTINATIONS
        self.room: Room = lambda qp, descriptors: True
        self.admitted: list[tuple[int, int]] = []
        self._asked = 0
        self._wanted = (0, 0)
        self.answer(self._look_up)
        self.watch(self._sample)

    async def start(self) -> None:
        await self.reset(cycles=1)
        self.model = BdPlace(tuple(self.destinations))
        self.expected: list[int] = []
        self.expected_rooms: list[tuple[int, int]] = []
        self.admitted.clear()
        self.refusals: list[int] = []

    def _look_up(self) -> None:
        self.dut.room_i.value = self.room(*self._wanted)
        known = self.destinations[self._asked] if self._asked < DESTINATIONS else None
        self.dut.destination_i.value = ports.destination_t(known, self.window_ends[self._asked]) if known else 0

    def _sample(self) -> None:
        self._asked = now(self.dut.destination_index_o)
        self._wanted = now(self.dut.room_qp_o), now(self.dut.room_wanted_o)
        if now(self.dut.admit_o):
            self.admitted.append(self._wanted)
        if now(self.dut.refusal_valid_o):
            self.refusals.append(now(self.dut.refusal_o))

    def offer(self, flow: Flow, index: int, flow_id: int = 1) -> None:
        bits = self.random.getrandbits
        event = FrameEvent(bits(64), bits(64), bits(64), bits(64), time_flags=bits(32))
        self.send(ports.flow_t(flow), index, event, flow_id)
        placed = self.model.place(flow, flow_id, index, event, self.window_ends, self.room)
        if placed:
            self.expected_rooms.append((placed.destination.qp, flow.descriptors))
            self.expected.append(placed_t(placed, flow, event))

    def send(
        self, flow: int, index: int, event: FrameEvent, flow_id: int, *, over: bool = False, bad: bool = False
    ) -> None:
        fields = {"over": over, "bad": bad, "index": index, "id": flow_id, "flow": flow, "frame": ports.frame_t(event)}
        self.chosen.items.append({"tdata": CHOSEN_T.pack(fields)})

    async def check(self) -> None:
        await self.drain(self.placed, len(self.expected), quiet=400)
        for got, wanted in zip(self.placed.items, self.expected, strict=True):
            assert PLACED_T.unpack(got["tdata"]) == PLACED_T.unpack(wanted)
        counts: dict[int, int] = {}
        for item in self.counts.items:
            count = COUNT_T.unpack(item["tdata"])
            counts[count["index"]] = counts.get(count["index"], 0) + count["amount"]
        known = self.model.counts
        wanted_counts = {
            **{"flow_counters[].selected": known.selected, "flow_counters[].refused": known.refused},
            **{"destination_counters[].dropped": known.dropped, "destination_counters[].skipped": known.skipped},
        }
        assert counts == {counter(name, k): n for name, table in wanted_counts.items() for k, n in table.items()}
        names = ("reason", "flow", "destination", "number")
        wanted_refusals = [dict(zip(names, refusal, strict=True)) for refusal in self.model.refusals]
        assert self.admitted == self.expected_rooms
        assert [REFUSAL_T.unpack(bits) for bits in self.refusals] == wanted_refusals
        assert now(self.dut.idle_o)


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def frames_go_round_in_bunches_each_destination_with_its_own_numbers(dut: Any, stalls: Stalls) -> None:
    rings = [replace(RING, qp=k, base=k << 40, n_slots=k + 2) for k in range(5)]
    bench = PlaceBench(dut, stalls, [*rings])
    await bench.start()
    flow = replace(FLOW, first_destination=1, destinations=3, bunch=4)
    for index in range(40):
        bench.offer(flow, index)
    await bench.check()
    numbers = [PLACED_T.unpack(item["tdata"]) for item in bench.placed.items]
    by_destination = [
        [TRAILER_T.unpack(p["trailer"])["frame_number"] for p in numbers if p["qp"] == qp] for qp in (1, 2, 3)
    ]
    assert by_destination == [list(range(16)), list(range(12)), list(range(12))]


@cocotb.test()
async def random_rectangles_rings_and_jumps(dut: Any) -> None:
    bench = PlaceBench(dut, Stalls.NONE, [])
    draw, bits = bench.random.randrange, bench.random.getrandbits
    for _ in range(200):
        width, height, x1, y1, wide = draw(1, 2000), draw(1, 2000), draw(2000), draw(2000), bool(draw(2))
        row = width * (4 if wide else 2)
        pitch = (row, row + draw(5000))[draw(2)]
        flow = Flow(
            **{
                "source": bits(8),
                "first_destination": draw(8),
                "destinations": 1 + draw(8),
                "bunch": 1 + bits(draw(32)),
            },
            width=width,
            height=height,
            x0=bits(16),
            y0=bits(16),
            x1=x1,
            y1=y1,
            wide=wide,
            source_pitch=(row, bits(32))[draw(2)],
            destination_pitch=pitch,
            source_offset=bits(32),
            max_length=1 + bits(31),
        )
        slot = min(4096 * (-(-(y1 + height) * pitch // 4096) + draw(3)), (1 << 32) - 4096)
        ring = Destination(bits(8), bits(64), slot, 1 + bits(draw(33)) % ((1 << 32) - 1), slot - 64 * draw(1, 9))
        bench.destinations = [replace(ring, qp=bits(8)) for _ in range(DESTINATIONS)]
        await bench.start()
        index = bits(draw(64))
        for _ in range(6):
            bench.offer(flow, index & MASK)
            index += (1, 1, draw(1000), bits(draw(60)))[draw(4)]
        await bench.check()


@cocotb.test()
async def without_credit_a_frame_is_dropped_and_the_next_one_with_credit_says_so(dut: Any) -> None:
    bench = PlaceBench(dut, Stalls.NONE, [None, None, RING])
    await bench.start()
    for window_end, indexes in (
        (0, (0, 1)),
        (3, (2, 3, 4)),
        (6, (5,)),
        (9, (8, 9)),
        (1 << 63, (1 << 63, (1 << 63) - 1)),
    ):
        bench.window_ends[2] = window_end
        for index in indexes:
            bench.offer(FLOW, index)
        await bench.drain(bench.placed, len(bench.expected), quiet=400)
    await bench.check()
    last = TRAILER_T.unpack(PLACED_T.unpack(bench.placed.items[-1]["tdata"])["trailer"])
    assert last["frame_number"] == 8
    assert last["frames_dropped"] == 6, "0, 1, 3, 4 without credit, 6 and 7 never came"
    assert (Refusal.BACKWARDS, 1, 2) in [refusal[:3] for refusal in bench.model.refusals]


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def a_frame_for_a_queue_pair_without_room_is_dropped_like_one_without_credit(dut: Any, stalls: Stalls) -> None:
    bench = PlaceBench(dut, stalls, [replace(RING, qp=k) for k in range(4)])
    await bench.start()
    bench.room = lambda qp, descriptors: qp != 1 and (qp != 2 or descriptors <= 5)
    for index in range(30):
        height = bench.random.randrange(1, 7)
        bench.offer(replace(FLOW, first_destination=0, destinations=4, height=height), index)
    await bench.check()
    dropped = bench.model.counts.dropped
    assert dropped[1] == 8
    assert 0 < dropped[2] < 8
    assert dropped.keys() == {1, 2}


@cocotb.test()
async def a_flow_that_does_not_say_how_many_descriptors_it_needs_asks_for_all(dut: Any) -> None:
    bench = PlaceBench(dut, Stalls.NONE, [None, None, RING])
    await bench.start()
    silent = FLOW_T.pack(FLOW_T.unpack(ports.flow_t(FLOW)) | {"descriptors": 0})
    bench.send(silent, 0, FrameEvent(0, 0, 0, 0), 1)
    await bench.drain(bench.placed, 1)
    assert bench.admitted == [(RING.qp, 0xFFFF)]


@cocotb.test()
async def destinations_that_do_not_exist_are_refused(dut: Any) -> None:
    bench = PlaceBench(dut, Stalls.NONE, [None, RING])
    await bench.start()
    for first, count in ((0, 1), (1, 1), (15, 1), (15, 2), (200, 100)):
        for index in range(count):
            bench.offer(replace(FLOW, first_destination=first, destinations=count), index)
    await bench.check()
    assert {refusal[0] for refusal in bench.model.refusals} == {Refusal.BAD_DESTINATION}
    assert len(bench.model.refusals) == 104


@cocotb.test()
async def a_ring_without_slots_is_refused(dut: Any) -> None:
    bench = PlaceBench(dut, Stalls.NONE, [])
    await bench.start()
    bench._look_up = lambda: setattr(  # type: ignore[method-assign]
        dut.destination_i,
        "value",
        DESTINATION_T.pack(DESTINATION_T.unpack(ports.destination_t(RING, 9)) | {"n_slots": 0}),
    )
    bench._answers[:] = [bench._look_up]
    bench.offer(FLOW, 0)
    await bench.check()


@cocotb.test()
async def what_does_not_fit_the_slot_is_refused_to_the_byte(dut: Any) -> None:
    end = FLOW.destination_pitch * (FLOW.height - 1) + FLOW.row_bytes
    slot = 4096
    exact = replace(FLOW, y1=30, x1=(slot - end - 3000) // 2)
    fits = exact.y1 * 100 + exact.x1 * 2 + end
    assert fits == slot
    for flow, trailer_offset, good in (
        (exact, slot - 64, True),
        (replace(exact, x1=exact.x1 + 1), slot - 64, False),
        (replace(exact, y1=31), slot - 64, False),
        (exact, slot - 63, False),
        (exact, 0xFFFFFFFF, False),
        (replace(FLOW, height=65535, y1=65535, destination_pitch=0xFFFFFFFF), slot - 64, False),
    ):
        bench = PlaceBench(
            dut, Stalls.NONE, [None, None, replace(RING, slot_bytes=slot, trailer_offset=trailer_offset)]
        )
        await bench.start()
        bench.offer(flow, 0)
        bench.offer(flow, 1)
        await bench.check()
        assert len(bench.expected) == (2 if good else 0)


@cocotb.test()
async def the_address_is_that_of_the_published_double_buffer(dut: Any) -> None:
    """RASHPA: base + line * w1 + (n mod 2 * bunch) * w1 * h1 + x1 + y1 * w1, of an image of w1 x h1 (J. Synchrotron
    Rad. 27, 1297): a ring of 2 * bunch slots of one image each. Its slots have no trailer, ours do: h1 is larger.
    """
    w1, h1, x1, y1, n_bunch, base = 512, 72, 48, 20, 5, 0x1000_0000
    flow = Flow(
        source=0, first_destination=0, width=64, height=16, source_pitch=128, x1=x1 // 2, y1=y1, destination_pitch=w1
    )
    ring = Destination(0, base, w1 * h1, 2 * n_bunch, w1 * h1 - 64)
    bench = PlaceBench(dut, Stalls.NONE, [ring])
    await bench.start()
    for n in range(25):
        bench.offer(flow, n)
    await bench.check()
    found = [PLACED_T.unpack(item["tdata"]) for item in bench.placed.items]
    lines = [p["destination"] + r * p["destination_pitch"] for p in found for r in range(p["rows"])]
    assert lines == [
        base + line * w1 + (n % (2 * n_bunch)) * w1 * h1 + x1 + y1 * w1 for n in range(25) for line in range(16)
    ]


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def ends_of_frames_and_flows_that_cannot_be_served_keep_their_order(dut: Any, stalls: Stalls) -> None:
    bench = PlaceBench(dut, stalls, [None, None, RING])
    await bench.start()
    event = FrameEvent(0xABC, 0, 0, 0)
    for index in range(3):
        bench.offer(FLOW, index)
        bench.send(ports.flow_t(FLOW), 0, event, 3, bad=True)
        bench.model.counts.selected[3] = bench.model.counts.selected.get(3, 0) + 1
        bench.model.refuse(Refusal.BAD_FLOW, 3, 0, event)
        bench.send(0, 0, event, 7, over=True)
    await bench.drain(bench.placed, 6, quiet=100)
    assert [PLACED_T.unpack(item["tdata"])["over"] for item in bench.placed.items] == [0, 1] * 3
    bench.placed.items[:] = bench.placed.items[::2]
    await bench.check()


@cocotb.test()
async def only_a_jump_waits_for_the_division_by_the_slots(dut: Any) -> None:
    bench = PlaceBench(dut, Stalls.NONE, [None, None, RING])
    await bench.start()
    for index in (1 << 62, (1 << 62) + 1, (1 << 62) + 2):
        bench.offer(FLOW, index)
    await bench.check()
    first, second, third = bench.placed.taken
    assert third - second < 40
    assert second - bench.chosen.offered[1] < 40
    assert first - bench.chosen.offered[0] > 64


@cocotb.test()
async def a_reset_starts_anew_whatever_was_under_way(dut: Any) -> None:
    bench = PlaceBench(dut, Stalls.NONE, [None, None, RING])
    for cycles in range(0, 120, 3):
        await bench.start()
        bench.offer(FLOW, 50)
        bench.offer(FLOW, 51)
        for _ in range(cycles):
            await bench.step()
        await bench.start()
        bench.offer(FLOW, 2)
        await bench.check()


def test_the_formula_of_the_rounds_by_counting() -> None:
    for bunch, count in ((1, 1), (1, 3), (4, 3), (7, 2)):
        given = [0] * count
        for index in range(200):
            place, number = receiver(index, bunch, count)
            assert place == index // bunch % count
            assert number == given[place]
            given[place] += 1


def test_bd_place() -> None:
    run("bd_place", Destinations=DESTINATIONS)
