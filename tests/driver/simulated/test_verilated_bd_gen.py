"""The Verilated descriptor generator alone: its descriptors are those of the model and of the C program beside it."""

import random
from dataclasses import replace
from typing import Any

import pytest

from framelane.base.errors import ConfigError
from framelane.bench.transmitter.placement_software import SoftwarePlacement
from framelane.driver.simulated.verilated_bd_gen import MAX_DESTINATIONS, MAX_FLOWS, BdGenSimulator
from framelane.models.placement.bd_gen import BdGen
from framelane.models.placement.flow import Destination, Flow, FrameEvent

RING = Destination(qp=3, base=0x7F00_0000_1000, slot_bytes=8192, n_slots=3, trailer_offset=8128)
FLOW = Flow(source=9, first_destination=0, width=10, height=6, source_pitch=64, destination_pitch=100)


def random_plan(chance: random.Random) -> tuple[list[Flow], list[Destination], list[FrameEvent]]:
    """Return flows of all kinds, each with four destinations of its own, and frames; some do not fit their slot."""
    draw, bits = chance.randrange, chance.getrandbits
    rings = [
        Destination(bits(8), bits(64), 4096 * (1 + draw(4)), 1 + draw(1 << draw(32)), 4032)
        for _ in range(MAX_DESTINATIONS)
    ]
    flows = []
    for k in range(MAX_FLOWS):
        width, period = 1 + draw(40), 1 + draw(4)
        fields: dict[str, Any] = {
            **{"source": bits(8), "first_destination": 4 * k, "destinations": 1 + draw(4), "bunch": 1 + draw(3)},
            **{"first": draw(5), "period": period, "burst": 1 + draw(period), "count": draw(2) * draw(6)},
            **{"kind": chance.choice((None, draw(3))), "wide": bool(draw(2)), "x0": bits(16), "y0": bits(16)},
            **{"width": width, "height": 1 + draw(40), "x1": draw(10), "y1": draw(10), "source_offset": bits(32)},
            **{"source_pitch": chance.choice((2 * width, bits(32))), "destination_pitch": width * 4 * (1 + draw(2))},
            **{"max_length": chance.choice((1 << 31, 1 + draw(99)))},
        }
        flows.append(Flow(**fields))
        if not flows[-1].wide and draw(2):
            flows[-1] = replace(flows[-1], source_pitch=2 * width, destination_pitch=2 * width)
    start = chance.choice((0, bits(60)))
    seen, events = [start] * 3, []
    for number in sorted(chance.sample(range(40), 12)):
        kind = draw(3)
        events.append(FrameEvent(start + number, bits(64), bits(64), bits(64), kind, seen[kind]))
        seen[kind] += 1
    return flows, rings, events


def test_the_gateware_the_model_and_the_c_program_give_the_same_descriptors() -> None:
    chance = random.Random(5)
    total = refused = 0
    with BdGenSimulator() as simulator:
        for _ in range(50):
            flows, rings, events = random_plan(chance)
            model = BdGen(tuple(flows), tuple(rings), (1024,) * len(rings))
            wanted = [bd for event in events for descriptors, _ in model.frame(event) for bd in descriptors]
            placement = simulator.run(flows, rings, events)
            assert placement.descriptors() == wanted
            assert SoftwarePlacement(flows, rings).descriptors(events) == wanted
            assert sorted(set(placement.cycles.tolist())) == placement.cycles.tolist(), "two in one cycle"
            total += len(wanted)
            refused += sum(model.placer.counts.refused.values())
    assert total > 5000
    assert refused > 20


def test_a_run_knows_nothing_of_the_one_before() -> None:
    events = [FrameEvent(7, 0, 0, 0)]
    with BdGenSimulator() as simulator:
        first = simulator.run([FLOW, replace(FLOW, first_destination=1)], [RING, RING], events).descriptors()
        again = simulator.run([FLOW], [RING], events).descriptors()
        assert (len(first), len(again)) == (14, 7)
        assert first[:7] == again
        assert simulator.run([], [], events).descriptors() == []


def test_more_flows_than_the_table_holds_are_refused() -> None:
    with (
        BdGenSimulator() as simulator,
        pytest.raises(ConfigError, match=r"^5 flows to 1 destinations do not fit .* 4 and"),
    ):
        simulator.run([FLOW] * 5, [RING], [])
