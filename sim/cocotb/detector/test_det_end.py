"""det_end: mask and trailer of a frame that is over, byte for byte the model's."""

from typing import Any

import cocotb
import pytest

from bench import ALL_STALLS, Bench, Stalls, assert_same_packets, run
from det_packets import end_bits
from framelane.models.detector.det_place import End
from framelane.models.detector.det_send import end_trailer, mask_record
from widths import some_widths

MODULE_BYTES = 1 << 20


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def each_end_is_its_mask_and_its_trailer(dut: Any, stalls: Stalls) -> None:
    bench = Bench(dut, stalls)
    source, mask, trailer = bench.source("s_axis_end"), bench.sink("m_axis_mask"), bench.sink("m_axis_trailer")
    width, chance = len(dut.m_axis_mask_tdata), bench.random
    await bench.reset()
    dut.first_source_i.value = 5
    ends = [
        End(
            **{"module_number": chance.randrange(16), "slot": chance.getrandbits(16), "mask": chance.getrandbits(256)},
            **{"frame_number": chance.getrandbits(64), "timestamp_ns": chance.getrandbits(64)},
            **{"bunch_id": chance.getrandbits(64), "detector_frame": chance.getrandbits(64)},
            **{"frames_dropped": chance.getrandbits(64), "packets": chance.getrandbits(9)},
        )
        for _ in range(20)
    ]
    source.items.extend({"tdata": end_bits(end)} for end in ends)
    beats = max(1, 512 // width) * len(ends)
    await bench.until(lambda: len(mask.items) >= beats and len(trailer.items) >= beats)
    assert_same_packets(mask.packets(width), [mask_record(end, 5) for end in ends])
    assert_same_packets(trailer.packets(width), [end_trailer(end, 5, MODULE_BYTES).pack() for end in ends])


@pytest.mark.parametrize("width", some_widths("det_end"))
def test_det_end(width: int) -> None:
    run("det_end", DataW=width, ModuleBytes=MODULE_BYTES)
