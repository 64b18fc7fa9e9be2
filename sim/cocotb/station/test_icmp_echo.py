"""icmp_echo: every request is answered as the model does, or left unanswered for the model's reason."""

import struct
from collections import Counter
from random import Random
from typing import Any

import cocotb

from bench import ALL_STALLS, Bench, Stalls, assert_same_packets, run
from framelane.driver.simulated.neighbour_ports import ECHO_EVENTS_T, tag_t
from framelane.models.cells import axis
from framelane.models.roce_tx import wire
from framelane.models.roce_tx.wire import Endpoint
from framelane.models.station import icmp_echo
from framelane.models.station.icmp_echo import Verdict
from signals import now

US = Endpoint(0x02_00_00_00_00_01, 0x0A_00_00_01)
PEER = Endpoint(0x02_00_00_00_00_02, 0x0A_00_00_02)
JUDGING = 14
"""Cycles from the last beat of a frame to its verdict, at most."""


def echo(data: bytes, src: Endpoint = PEER, dst: Endpoint = US, **fields: Any) -> bytes:
    """An echo request, padded to 60 bytes. `fields`: kind, code, tos, flags, version and so on."""
    number = fields.get("number", 0x1234_0001)
    message = struct.pack(">BBHI", fields.get("kind", 8), fields.get("code", 0), 0, number) + data
    sum_ = fields.get("message_checksum", icmp_echo.checksum(message))
    message = message[:2] + sum_.to_bytes(2) + message[4:]
    ip = struct.pack(
        ">BBHHHBBHII",
        *(fields.get("version", 0x45), fields.get("tos", 0), fields.get("total", 20 + len(message)), 0xBEEF),
        *(fields.get("flags", 0x4000), fields.get("ttl", 63), fields.get("protocol", 1), 0, src.ip, dst.ip),
    )
    ip = ip[:10] + fields.get("header_checksum", wire.ip_checksum(ip)).to_bytes(2) + ip[12:]
    ethernet: bytes = dst.mac.to_bytes(6) + src.mac.to_bytes(6) + fields.get("ethertype", 0x0800).to_bytes(2)
    padding: bytes = fields.get("padding", b"\0")
    frame: bytes = ethernet + ip + message
    return frame.ljust(60, padding)


class EchoBench(Bench):
    """The block beside its model."""

    def __init__(self, dut: Any, stalls: Stalls = Stalls.NONE) -> None:
        super().__init__(dut, stalls)
        self.input, self.out = self.source("s_axis"), self.sink("m_axis")
        self.events: Counter[str] = Counter()
        self.expected: Counter[str] = Counter()
        self.replies: list[tuple[bytes, int | None]] = []
        dut.enabled_i.value, dut.local_mac_i.value, dut.local_ip_i.value = 1, US.mac, US.ip
        self.watch(self._count)

    def _count(self) -> None:
        fields = ECHO_EVENTS_T.unpack(now(self.dut.events_o))
        self.events.update(name for name, value in fields.items() if value and not now(self.dut.rst))

    async def hear(self, frame: bytes, tci: int | None = None) -> Verdict:
        """A frame comes while nothing is under way."""
        self.input.send(frame, 64, tuser=tag_t(tci))
        verdict = icmp_echo.judge(frame, US)
        self.expected[verdict.name.lower()] += 1
        beats = len(self.out.items)
        if verdict is Verdict.ANSWERED:
            answer = icmp_echo.answer(frame, US)
            self.replies.append((answer, tci))
            beats += axis.n_beats(len(answer), 64)
        await self.until(lambda: not self.input.items)
        for _ in range(JUDGING):
            await self.step()
        await self.until(lambda: len(self.out.items) >= beats, limit=2000)
        return verdict

    async def check(self) -> None:
        for _ in range(300):
            await self.step()
        assert_same_packets(self.out.packets(64), [answer for answer, _ in self.replies])
        users = [item["tuser"] for item in self.out.items if item["tlast"]]
        assert users == [tag_t(tci) for _, tci in self.replies]
        assert self.events == self.expected


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def a_request_of_any_length_is_answered(dut: Any, stalls: Stalls) -> None:
    bench = EchoBench(dut, stalls)
    await bench.reset()
    for size in (*range(48), 56, 63, 64, 65, 511, 512, 1000, 1471, 1472, 0):
        data, tci = bench.random.randbytes(size), bench.random.choice([None, bench.random.getrandbits(16)])
        tos, number = bench.random.getrandbits(8), bench.random.getrandbits(32)
        peer = Endpoint(PEER.mac, bench.random.getrandbits(31) + 1)
        frame = echo(data, peer, tos=tos, number=number, padding=b"\xa5")
        assert await bench.hear(frame, tci) is Verdict.ANSWERED
    await bench.check()


@cocotb.test()
async def a_frame_with_bytes_behind_the_datagram_is_answered_without_them(dut: Any) -> None:
    bench = EchoBench(dut)
    await bench.reset()
    for size, behind in ((0, 4), (0, 1472), (31, 1), (33, 7), (1471, 1), (100, 999)):
        assert await bench.hear(echo(bench.random.randbytes(size)) + b"\xff" * behind) is (
            Verdict.ANSWERED if len(echo(bytes(size))) + behind <= 1514 else Verdict.MALFORMED
        )
    await bench.check()


@cocotb.test()
async def any_wrong_bit_in_header_or_message_is_a_wrong_checksum_or_no_request(dut: Any) -> None:
    bench = EchoBench(dut)
    await bench.reset()
    good = echo(bench.random.randbytes(33))
    for bit in range(14 * 8, len(good) * 8):
        bad = bytearray(good)
        bad[bit // 8] ^= 1 << bit % 8
        assert (await bench.hear(bytes(bad)) is Verdict.ANSWERED) == (bit // 8 >= 14 + 28 + 33)
    await bench.check()


@cocotb.test()
@cocotb.parametrize(stalls=[Stalls.NONE, Stalls.BOTH])
async def what_is_no_request_to_us_is_not_answered(dut: Any, stalls: Stalls) -> None:
    bench = EchoBench(dut, stalls)
    await bench.reset()
    data = bench.random.randbytes(40)
    away = Endpoint(PEER.mac, PEER.ip)
    ignored = [
        *(echo(data, kind=kind) for kind in (0, 3, 13, 17)),
        *(echo(data, code=1), echo(data, protocol=17), echo(data, ethertype=0x86DD)),
        *(
            echo(data, dst=Endpoint(US.mac, PEER.ip)),
            echo(data, dst=away),
            echo(data, dst=Endpoint((1 << 48) - 1, US.ip)),
        ),
        *(echo(data, src=Endpoint(PEER.mac, ip)) for ip in (0, US.ip, 0xFFFFFFFF, 0xE0000001, 0xEFFFFFFF)),
        *(echo(data, src=Endpoint(mac, PEER.ip)) for mac in ((1 << 48) - 1, 0x01_00_5E_00_00_01)),
    ]
    malformed = [
        *(echo(data, version=version) for version in (0x46, 0x4F, 0x44, 0x65)),
        *(echo(data, flags=flags) for flags in (0x2000, 0x6000, 0x0001, 0x1FFF, 0x3000)),
        *(echo(data, total=total) for total in (0, 19, 20, 27, 69, 1501, 1600, 0x7FFF, 0x8000, 0xFFF2, 0xFFFF)),
        *(echo(bytes(1473)), echo(bytes(2000)), echo(bytes(4000)), echo(data)[:39], echo(data)[:8], echo(data)[:41]),
    ]
    checksum = [
        echo(data, header_checksum=0),
        echo(data, message_checksum=0xFFFF),
        echo(bytes(1472), message_checksum=1),
    ]
    for frames, verdict in ((ignored, Verdict.IGNORED), (malformed, Verdict.MALFORMED), (checksum, Verdict.CHECKSUM)):
        for frame in frames:
            assert await bench.hear(frame) is verdict, frame[:60].hex(" ")
            assert await bench.hear(echo(data)) is Verdict.ANSWERED  # nothing of it stays
    await bench.check()


@cocotb.test()
async def checksums_with_every_carry_are_right(dut: Any) -> None:
    """The corners of one's complement: sums of zeros and of ones."""
    bench = EchoBench(dut)
    await bench.reset()
    for number in (0, 0xFFFF_0000, 0xFFFF_FFFF, 0xF7FF_0000, 0x07FF_F800):
        for data in (b"", bytes(2), b"\xff\xff", b"\xff" * 1472, b"\0\xff" * 736, b"\xf8\0"):
            frame = echo(data, number=number)
            assert await bench.hear(frame) is Verdict.ANSWERED
            assert not icmp_echo.checksum(bench.replies[-1][0][34 : 42 + len(data)])
    for tos, src in ((0xFF, 0xFFFFFFFE), (0, 1), (0xFF, 0x7FFFFFFF)):
        await bench.hear(echo(b"", src=Endpoint(PEER.mac, src), tos=tos))
    await bench.check()


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def what_comes_while_one_is_answered_is_dropped_whole_and_counted(dut: Any, stalls: Stalls) -> None:
    bench = EchoBench(dut, stalls)
    await bench.reset()
    chance = Random(5)
    frames = []
    for n in range(150):
        frames.append(echo(chance.randbytes(chance.choice([0, 8, 56, 700, 1472])), number=n))
        if chance.random() < 0.2:
            frames[-1] = frames[-1][:50] + bytes([frames[-1][50] ^ 1]) + frames[-1][51:]
        bench.input.send(frames[-1], 64, tuser=tag_t(None))
        for _ in range(chance.choice([0, 0, 50, 300])):
            await bench.step()
    await bench.until(lambda: not bench.input.items)
    for _ in range(1000):
        await bench.step()
    assert sum(bench.events.values()) == len(frames), "each frame counts once"
    assert bench.events["busy"] > 10
    assert bench.events["checksum"] > 0
    answers = bench.out.packets(64)
    assert len(answers) == bench.events["answered"] > 10
    possible = iter([icmp_echo.answer(f, US) for f in frames if icmp_echo.judge(f, US) is Verdict.ANSWERED])
    assert all(answer in possible for answer in answers), "an answer to no request, or not in order"
    assert bench.input.pauses == 0 or stalls.source, "the block has stalled its source"


@cocotb.test()
async def a_flood_is_answered_as_fast_as_it_can_be(dut: Any) -> None:
    bench = EchoBench(dut)
    await bench.reset()
    for n in range(60):
        bench.input.send(echo(bytes(56), number=n), 64, tuser=0)
    await bench.until(lambda: not bench.input.items)
    for _ in range(100):
        await bench.step()
    assert bench.events["answered"] >= 60 // 4
    assert bench.events["answered"] + bench.events["busy"] == 60


@cocotb.test()
async def a_disabled_block_answers_nothing(dut: Any) -> None:
    bench = EchoBench(dut)
    await bench.reset()
    dut.enabled_i.value = 0
    bench.input.send(echo(bytes(56)), 64, tuser=0)
    for _ in range(100):
        await bench.step()
    assert bench.events == {"ignored": 1}
    assert not bench.out.items


@cocotb.test()
async def a_reset_forgets_what_is_under_way(dut: Any) -> None:
    bench = EchoBench(dut)
    for cycles in range(1, 60):
        await bench.reset(cycles=1)
        bench.input.send(echo(bench.random.randbytes(70)), 64, tuser=0)
        for _ in range(cycles):
            await bench.step()
        await bench.reset(cycles=1)
        bench.replies.clear()
        bench.expected.clear()
        bench.events.clear()
        await bench.hear(echo(bench.random.randbytes(20)))
        assert_same_packets(bench.out.packets(64), [answer for answer, _ in bench.replies])


def test_icmp_echo() -> None:
    run("icmp_echo")
