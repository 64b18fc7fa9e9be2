"""frame_stamp: of each frame's first beat the time when it was offered first, whatever waits."""

from typing import Any

import cocotb

from bench import ALL_STALLS, Bench, Stalls, run
from framelane.driver.simulated.ports import FRAME_INFO_T
from framelane.models.time.frame_stamp import Stamp, flags, stamp
from signals import now

QUALITY = 0xFFFF_FF3E
"""Bits that time.quality has."""


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def a_first_beat_has_the_time_of_its_first_offer(dut: Any, stalls: Stalls) -> None:
    bench = Bench(dut)
    chance = bench.random
    names = ("mode_i", "tai_i", "trigger_i", "quality_i", "tvalid_i", "tready_i", "tlast_i", "info_i")
    values = dict.fromkeys(names, 0)
    for name in names:
        getattr(dut, name).value = 0
    await bench.reset()
    seen = 0
    for _ in range(300):
        values["mode_i"] = chance.choice([*Stamp, 3])
        beats, expected = chance.randrange(1, 4), None
        info = {"kind": 3, "bunch_id": chance.getrandbits(64), "timestamp_ns": chance.getrandbits(64), "number": seen}
        info["time_flags"] = chance.getrandbits(32)
        values["info_i"] = FRAME_INFO_T.pack(info)
        for beat in range(beats):
            taken = False
            while not taken:
                offered = values["tvalid_i"] = int(
                    bool(values["tvalid_i"]) or not stalls.source or chance.random() < 0.5
                )
                taken = not stalls.sink or chance.random() < 0.5
                values["tready_i"], values["tlast_i"] = int(taken), int(beat == beats - 1)
                values["quality_i"] = quality = chance.getrandbits(32) & QUALITY
                pixel, trigger = values["tai_i"], values["trigger_i"] = chance.getrandbits(80), chance.getrandbits(64)
                for name, value in values.items():
                    getattr(dut, name).value = value
                if offered and beat == 0 and expected is None:
                    mode = Stamp(values["mode_i"]) if values["mode_i"] in list(Stamp) else Stamp.OWN
                    expected = info | {
                        "timestamp_ns": stamp(mode, info["timestamp_ns"], pixel >> 16, trigger),
                        "time_flags": flags(mode, info["time_flags"], quality),
                    }

                def look(first: bool = beat == 0 and bool(offered), expected: Any = expected) -> None:
                    if first:
                        assert FRAME_INFO_T.unpack(now(dut.info_o)) == expected

                bench.watch(look)
                await bench.step()
                bench._watchers.clear()
                taken = taken and bool(offered)
            values["tvalid_i"] = 0
        seen += 1
    assert seen == 300


@cocotb.test()
async def a_reset_within_a_frame_begins_the_next_one(dut: Any) -> None:
    bench = Bench(dut)
    dut.mode_i.value, dut.trigger_i.value, dut.info_i.value, dut.quality_i.value = 1, 0, 0, 0
    dut.tlast_i.value, dut.tready_i.value, dut.tvalid_i.value, dut.tai_i.value = 0, 1, 0, 5 << 16
    await bench.reset()
    for ready in (1, 0):
        dut.tvalid_i.value, dut.tready_i.value, dut.tai_i.value = 1, ready, 7 << 16
        await bench.step()
        await bench.step()
        dut.tvalid_i.value = 0
        await bench.reset()
        dut.tvalid_i.value, dut.tready_i.value, dut.tai_i.value = 1, 0, 9 << 16
        await bench.step()
        dut.tai_i.value = 11 << 16
        stamps: list[int] = []

        def look(stamps: list[int] = stamps) -> None:
            stamps.append(FRAME_INFO_T.unpack(now(dut.info_o))["timestamp_ns"])

        bench.watch(look)
        await bench.step()
        bench._watchers.clear()
        assert stamps == [9]
        dut.tvalid_i.value = 0
        await bench.reset()


def test_frame_stamp() -> None:
    run("frame_stamp")
