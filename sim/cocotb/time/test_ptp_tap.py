"""ptp_tap: of all packets on a line those with PTP are kept whole, with the time of their first beat."""

import random
from typing import Any

import cocotb
import pytest

from bench import SEED, Stalls, run
from clocks_bench import RATIOS, Side, start_all
from framelane.models.cells import axis
from framelane.models.time.ptp_tap import keeps
from signals import now

LEAST = 60


def random_packet(chance: random.Random) -> bytes:
    """A packet with PTP, or one that is so nearly: on any layer, with a tag or without, of any length."""
    addresses, tag = chance.randbytes(12), chance.choice([b"", b"\x81\x00" + chance.randbytes(2)])
    ip = bytes([chance.choice([0x45, 0x45, 0x45, 0x46])]) + chance.randbytes(8)
    ip += bytes([chance.choice([17, 17, 17, 6])]) + chance.randbytes(12)
    ip += chance.choice([319, 320, 320, 318, 4791]).to_bytes(2, "big")
    head = chance.choice([b"\x88\xf7", b"\x88\xf8", b"\x08\x00" + ip, b"\x08\x00" + ip, b"\x81\x00"])
    length = chance.choice([LEAST, 64, 86, 127, 128, 129, chance.randrange(LEAST, 200)])
    return (addresses + tag + head + chance.randbytes(200))[:length]


class Tap:
    """The tap between a line and what reads messages."""

    def __init__(self, dut: Any, periods: tuple[int, int], stalls: Stalls) -> None:
        self.dut, self.chance = dut, random.Random(SEED)
        self.line, self.core = Side(dut, "line", periods[0]), Side(dut, "", periods[1])
        self.stalls = stalls
        self.lost = 0
        for name in ("tdata_i", "tkeep_i", "tlast_i", "tuser_i", "taken_i", "tai_i", "index_i", "next_i"):
            getattr(dut, name).value = 0
        dut.enable_i.value = 1
        self.core.watch(self._count)

    def _count(self) -> None:
        self.lost += now(self.dut.lost_o)

    async def send(self, packet: bytes, bad: bool = False, stamp: int | None = None) -> int:
        """Put a packet on the line; the time of its first beat."""
        dut, first = self.dut, None
        for beat in axis.beats(packet, len(dut.tdata_i)):
            while self.stalls.source and self.chance.random() < 0.4:
                dut.taken_i.value = 0
                dut.tdata_i.value = self.chance.getrandbits(len(dut.tdata_i))
                dut.tai_i.value = self.chance.getrandbits(80)
                await self.line.wait(1)
            time = stamp if stamp is not None else self.chance.getrandbits(80)
            first = time if first is None else first
            dut.tdata_i.value, dut.tkeep_i.value, dut.tlast_i.value = beat.data, beat.keep, int(beat.last)
            dut.tuser_i.value, dut.taken_i.value, dut.tai_i.value = int(bad and beat.last), 1, time
            await self.line.wait(1)
        dut.taken_i.value = 0
        assert first is not None
        return first

    async def receive(self) -> tuple[bytes, int] | None:
        """The oldest message and its stamp, which is given back; None where there is none for a while."""
        dut = self.dut
        for _ in range(60):
            if now(dut.valid_o):
                break
            await self.core.wait(1)
        else:
            return None
        length, stamp, octets = now(dut.bytes_o), now(dut.tai_o), b""
        for index in range(32):
            dut.index_i.value = index
            await self.core.wait(4)
            octets += now(dut.word_o).to_bytes(4, "little")
        dut.next_i.value = 1
        await self.core.wait(1)
        dut.next_i.value = 0
        await self.core.wait(1)
        return octets[:length], stamp


async def started(dut: Any, periods: tuple[int, int], stalls: Stalls = Stalls.NONE) -> Tap:
    tap = Tap(dut, periods, stalls)
    await start_all(tap.line, tap.core)
    await tap.line.wait(10)
    return tap


@cocotb.test()
@cocotb.parametrize(periods=RATIOS[:3], stalls=[Stalls.NONE, Stalls.SOURCE])
async def what_carries_ptp_is_kept_with_its_stamp_and_nothing_else(
    dut: Any, periods: tuple[int, int], stalls: Stalls
) -> None:
    tap = await started(dut, periods, stalls)
    for _ in range(8 if len(dut.tdata_i) > 8 else 3):
        expected = []
        for _ in range(9):
            packet, bad = random_packet(tap.chance), tap.chance.random() < 0.1
            stamp = await tap.send(packet, bad)
            if keeps(packet) and not bad:
                expected.append((packet, stamp))
        found = []
        while (message := await tap.receive()) is not None:
            found.append(message)
        assert found == expected[:7]


@cocotb.test()
async def one_without_room_is_lost_and_counted_and_the_others_stay(dut: Any) -> None:
    tap = await started(dut, RATIOS[1])
    packets = [bytes(12) + b"\x88\xf7" + tap.chance.randbytes(46 + k) for k in range(10)]
    sent = [(packet, await tap.send(packet)) for packet in packets]
    await tap.core.wait(30)
    for message in sent[:7]:
        assert await tap.receive() == message
    assert await tap.receive() is None
    assert tap.lost == 3
    stamp = await tap.send(packets[9])
    assert await tap.receive() == (packets[9], stamp)


@cocotb.test()
async def nothing_is_kept_while_it_is_switched_off(dut: Any) -> None:
    tap = await started(dut, RATIOS[0])
    tap.dut.enable_i.value = 0
    await tap.line.wait(10)
    await tap.send(bytes(12) + b"\x88\xf7" + bytes(50))
    assert await tap.receive() is None
    assert tap.lost == 0


@pytest.mark.parametrize("width", [8, 64, 512])
def test_ptp_tap(width: int) -> None:
    run("ptp_tap", MacW=width)
