"""vlan_strip: frames leave without their VLAN tag, all else of them as it was, for every length."""

from typing import Any

import cocotb

from bench import ALL_STALLS, Bench, Sink, Stalls, assert_same_packets, run
from framelane.models.cells import axis, vlan_strip
from framelane.models.station.rx_filter import RxClass, RxUser
from receive_bench import rx_user, rx_user_bits

WIDTH = 64


def users_of(sink: Sink) -> list[RxUser]:
    """What came beside each frame; it must not change inside one."""
    users: list[RxUser] = []
    first = True
    for item in sink.items:
        user = rx_user(item["tuser"])
        if first:
            users.append(user)
        assert user == users[-1]
        first = bool(item["tlast"])
    return users


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def frames_of_every_length_leave_without_their_tag(dut: Any, stalls: Stalls) -> None:
    bench = Bench(dut, stalls)
    source, out = bench.source("s_axis"), bench.sink("m_axis")
    await bench.reset()
    chance = bench.random
    sent = []
    for length in [*range(17, 120), 1518, 9000]:
        for tci in (None, 0, 0xE123)[: 1 + 2 * (length < 9000)]:
            user = RxUser(chance.choice(list(RxClass)), tci)
            tag = b"" if tci is None else b"\x81\0" + tci.to_bytes(2, "big")
            frame = chance.randbytes(12) + tag
            sent.append((frame + chance.randbytes(length - len(frame)), user))
    chance.shuffle(sent)
    for frame, user in sent:
        source.send(frame, WIDTH, tuser=rx_user_bits(user))
    expected = [vlan_strip.strip(frame, user) for frame, user in sent]
    await bench.drain(out, sum(axis.n_beats(len(frame), WIDTH) for frame in expected))
    assert_same_packets(out.packets(WIDTH), expected)
    assert users_of(out) == [user for _, user in sent]
    if stalls is Stalls.NONE:
        assert out.taken[0] - source.accepted[0] == 1
        taken = source.accepted[-1] - source.accepted[0] + 1
        tails = sum(len(frame) % 8 > 4 or len(frame) % 8 == 0 for frame, user in sent if user.tci is not None)
        assert tails - 1 <= taken - sum(axis.n_beats(len(frame), WIDTH) for frame, _ in sent) <= tails


@cocotb.test()
async def a_reset_leaves_nothing_of_the_frame_under_way(dut: Any) -> None:
    bench = Bench(dut)
    source, out = bench.source("s_axis"), bench.sink("m_axis")
    tagged = RxUser(RxClass.ICMP, 3)
    frame = bytes(range(12)) + b"\x81\0\0\3" + bytes(range(30))
    for cycles in range(1, 10):
        await bench.reset(cycles=1)
        source.send(frame, WIDTH, tuser=rx_user_bits(tagged))
        for _ in range(cycles):
            await bench.step()
        await bench.reset(cycles=1)
        source.send(frame, WIDTH, tuser=rx_user_bits(tagged))
        await bench.drain(out, axis.n_beats(len(frame) - 4, WIDTH))
        assert_same_packets(out.packets(WIDTH), [vlan_strip.strip(frame, tagged)])


def test_vlan_strip() -> None:
    run("vlan_strip")
