"""det_send: messages and their payload are those of the model, in the order of what is done."""

from typing import Any

import cocotb
import pytest

from bench import ALL_STALLS, Bench, Stalls, run
from core_bench import BYTES, PACKETS, TARGET, writes_of
from det_packets import end_bits, item_bits
from framelane.driver.simulated.ports import target_t
from framelane.models.detector.det_place import End, Item, Kind
from framelane.models.detector.det_send import Write, writes
from widths import some_widths

MODULE_BYTES = PACKETS * BYTES


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def each_item_is_its_messages_with_their_payload(dut: Any, stalls: Stalls) -> None:
    bench = Bench(dut, stalls)
    items, pixels = bench.source("s_axis_item"), bench.source("s_axis_pixel")
    messages, payload = bench.sink("m_axis_msg"), bench.sink("m_axis_payload")
    dut.target_i.value, width, chance = target_t(TARGET), len(dut.s_axis_pixel_tdata), bench.random
    await bench.reset()
    expected: list[Write] = []
    for number in range(60):
        kind = chance.choice((Kind.PIXELS, Kind.PIXELS, Kind.DROP, Kind.HOLES, Kind.END))
        end = (
            End(number % 5, number % 8, number, 7, 8, 9, 10, 11, chance.getrandbits(256)) if kind is Kind.END else None
        )
        item = Item(kind, chance.getrandbits(48) & ~0xFFF, end)
        items.items.append({"tdata": item_bits(item), "tuser": end_bits(end) if end else 0})
        bad, data = False, b""
        if kind in (Kind.PIXELS, Kind.DROP):
            bad = chance.random() < 0.3
            data = chance.randbytes(chance.randrange(2, BYTES, 2) if bad else BYTES)
            pixels.send(data, width, tuser=0)
            pixels.items[-1]["tuser"] = int(bad)
        expected += writes(item, data, bad, TARGET, BYTES, MODULE_BYTES)
    await bench.until(lambda: not items.items and not pixels.items and len(messages.items) >= len(expected), 100_000)
    for _ in range(3 * BYTES):
        await bench.step()
    assert writes_of(messages.items, payload.items, width) == expected


@cocotb.test()
async def a_message_is_on_offer_with_its_item(dut: Any) -> None:
    bench = Bench(dut)
    items, messages = bench.source("s_axis_item"), bench.sink("m_axis_msg")
    dut.target_i.value = target_t(TARGET)
    await bench.reset()
    items.items.append({"tdata": item_bits(Item(Kind.PIXELS, 0x1000)), "tuser": 0})
    await bench.drain(messages, 1)
    assert messages.taken == items.accepted


@pytest.mark.parametrize("width", some_widths("det_send"))
def test_det_send(width: int) -> None:
    run("det_send", DataW=width, PacketBytes=BYTES, ModuleBytes=MODULE_BYTES)
