"""time_unit in framelane_top: a grandmaster sets its clock, and frames have that time."""

from dataclasses import replace
from typing import Any

import cocotb
import pytest

from bench import Stalls, assert_same_packets, run
from clocks_bench import moment
from framelane.driver.ptp.board_time import BoardTime
from framelane.models.placement import trailer
from framelane.models.roce_tx import wire
from framelane.models.roce_tx.wire import Endpoint
from framelane.models.time.frame_stamp import Stamp, flags
from framelane.models.time.grandmaster import Grandmaster, MasterSettings
from framelane.models.time.ptp_frame import unwrap, wrap
from framelane.models.time.ptp_message import Announced, Kind, Message, PortIdentity, parse
from framelane.models.time.ptp_tap import keeps
from framelane.models.time.time_counter import NS
from time_top_bench import EPOCH, PERIODS, TIME, TimeTopBench, deliver, half_cycle, ns_of, true_ns
from widths import some_of

CLOCK_HZ = 250_000_000
MASTER, US = Endpoint(0x02_00_00_00_00_01, 0), Endpoint(0x02_00_00_00_00_09, 0)
SETTINGS = MasterSettings(port=PortIdentity(1), announced=Announced(grandmaster=1), follow_up_after=3000 * NS)
WAY_PS = 1_234_567
"""How long a packet takes each way."""
RX_NS, TX_NS = 100, 52
"""From the start frame delimiter on the line to the first beat from the MAC, and from one to it to that."""
PPS, RECEIVE = 1 << 2, 1 << 3
LOCKED, HOLDOVER = 37 << 16 | 0x21 << 8 | 1 << 4 | 1 << 2 | 1 << 1, 37 << 16 | 0xFE << 8 | 1 << 5 | 1 << 4 | 1 << 2
"""time.quality: PTP, TAI - UTC 37 s: within 100 ns; not known."""


@cocotb.test()
async def its_registers_lie_behind_the_others_and_its_clock_counts_seconds(dut: Any) -> None:
    bench = TimeTopBench(dut)
    await bench.start()
    assert (await bench.get_time("identity")).to_bytes(4, "little") == b"FLTM"
    assert await bench.get_time("clock_hz") == CLOCK_HZ
    assert await bench.get_time("sizes") == 128 << 8 | 3 << 4 | 0b11
    assert await bench.read(0) == int.from_bytes(b"FLTX", "little")
    await bench.put_time("control", PPS)
    await bench.set_to(EPOCH - 2000)
    bench.seconds.clear()
    ahead = await bench.ahead_ns()
    (second,) = bench.seconds
    # A cycle behind the first time of the second; a time here is a multiple of the period.
    assert abs(true_ns(second - PERIODS[""]) + ahead) < 0.2
    rose = await bench.edge_of("trigger_i", 1777)
    await bench.put_time("trigger_latency", -5 * 65536)
    other = await bench.edge_of("trigger_i", 333)
    assert await bench.get_time("trigger_event") >> 16 == 2
    error = await bench.stamp("trigger_tai", "trigger_event") - true_ns(other) - ahead
    assert abs(error - 5) <= PERIODS[""] / 2000 + 0.2
    assert other > rose


async def hear(bench: TimeTopBench, message: Message, departure: int) -> None:
    """Let a master's message come, which leaves at that true time (2^-32 ns)."""
    departure_ps = round(ns_of(departure) * 1000)
    await deliver(bench, wrap(message, "ethernet", MASTER), departure_ps + WAY_PS + 1000 * RX_NS)


def received(board: BoardTime) -> tuple[Message, int]:
    """The oldest message, and its stamp."""
    found = board.receive()
    assert found
    return parse(unwrap(found[0]).payload), found[1]


@cocotb.test()
async def a_grandmaster_s_exchange_sets_the_clock_by_the_driver_s_own_hand(dut: Any) -> None:
    """Sync, Follow_Up, Delay_Req, Delay_Resp: the stamps are those of the line, and the offset between both is true."""
    bench = TimeTopBench(dut)
    await bench.start()
    await bench.put_time("rx_latency", RX_NS << 16)
    await bench.put_time("tx_latency", TX_NS << 16)
    await bench.by_driver(lambda board: board.step(12_345_678_987 * NS))
    ahead = await bench.ahead_ns()
    master = Grandmaster(SETTINGS, EPOCH * NS + (moment() + 2_000_000) * NS // 1000)
    (announced_at, announce), (sync_at, sync), (follow_up_at, follow_up) = master.act()
    await hear(bench, sync, sync_at)
    sync_arrived = bench.arrivals[-1]
    await hear(bench, follow_up, follow_up_at)
    await hear(bench, announce, announced_at)
    await bench.side["register"].wait(20)

    told, came = await bench.by_driver(received)
    assert told == sync
    assert abs(ns_of(came) - ahead - true_ns(sync_arrived) + RX_NS) <= half_cycle("rx") + 0.2
    told, _ = await bench.by_driver(received)
    assert told == follow_up
    assert (await bench.by_driver(received))[0] == announce
    assert await bench.by_driver(BoardTime.receive) is None

    request = Message(kind=Kind.DELAY_REQ, source=PortIdentity(9), sequence=7)
    frame = wrap(request, "ethernet", US)
    left = await bench.by_driver(lambda board: board.send(frame))
    assert left is not None
    assert bench.packets_sent() == [frame]
    (departure,) = bench.departures
    assert abs(ns_of(left) - ahead - true_ns(departure) - TX_NS) <= half_cycle("tx") + 0.2
    arrival = EPOCH * NS + (departure + 1000 * TX_NS + WAY_PS) * NS // 1000
    answer = master.answer(parse(unwrap(frame).payload), arrival)
    assert answer
    response_at, response = answer
    await hear(bench, response, response_at)
    await bench.side["register"].wait(20)
    told, _ = await bench.by_driver(received)
    assert (told, told.requester) == (response, request.source)

    offset = (came - follow_up.time_ns * NS - (told.time_ns * NS - left)) // 2
    await bench.by_driver(lambda board: board.step(-offset))
    # Each stamp is right to half a cycle, a packet comes by two cycles too late; the master's ticks are of 4 ns.
    limit = (half_cycle("rx") + half_cycle("tx") + 2 * PERIODS["rx"] / 1000 + 8) / 2
    assert abs(await bench.ahead_ns()) < limit
    assert await bench.counters("counters.mac_bad", "counters.mac_lost") == [0, 0]


async def stamped(bench: TimeTopBench, frames: int) -> list[trailer.Trailer]:
    """Detect frames, and compare all that leaves but messages with the model's; their trailers."""
    bench.out.clear()
    first = len(bench.frames)
    bench.detect(frames)
    packets = [packet for packet in await bench.finish() if not keeps(packet)]
    ends = [payload for headers, payload in map(wire.parse, packets) if headers.imm is not None]
    trailers = [end for end in map(trailer.unpack, ends) if end]
    told = {end.detector_frame: end for end in trailers}
    expected: list[bytes] = []
    for frame in bench.frames[first:]:
        end = told.get(frame.info.number)
        info = replace(frame.info, timestamp_ns=end.timestamp_ns, time_flags=end.time_flags) if end else frame.info
        expected += bench.top.frame(info, frame.pixels, late=frame.info.number not in told)
    assert_same_packets(packets, expected)
    return trailers


@cocotb.test()
@cocotb.parametrize(stalls=[Stalls.NONE, Stalls.BOTH])
async def frames_have_the_time_of_their_first_pixel_or_of_their_trigger(dut: Any, stalls: Stalls) -> None:
    bench = TimeTopBench(dut, stalls)
    await bench.start()
    await bench.set_truly()
    ahead = await bench.ahead_ns()
    await bench.put_time("quality", LOCKED)
    by_itself = await stamped(bench, 3)
    assert by_itself
    for end in by_itself:
        info = bench.frames[end.detector_frame].info
        assert (end.timestamp_ns, end.time_flags) == (info.timestamp_ns, info.time_flags)

    await bench.put_time("control", Stamp.PIXEL)
    await bench.side[""].wait(30)
    by_pixel = await stamped(bench, 4)
    assert by_pixel
    for end in by_pixel:
        assert end.time_flags == LOCKED | 1 == flags(Stamp.PIXEL, 0, LOCKED)
        error = end.timestamp_ns - EPOCH - ahead - true_ns(bench.frame_starts[end.detector_frame])
        assert -half_cycle("pixel") - 1.2 <= error <= half_cycle("pixel") + 0.2  # whole ns are told

    await bench.put_time("control", Stamp.TRIGGER)
    rose = await bench.edge_of("trigger_i", 999)
    await bench.put_time("quality", HOLDOVER)
    await bench.side[""].wait(60)
    by_trigger = await stamped(bench, 2)
    assert by_trigger
    for end in by_trigger:
        assert end.time_flags == HOLDOVER | 1 | 1 << 6 == flags(Stamp.TRIGGER, 0, HOLDOVER)
        error = end.timestamp_ns - EPOCH - ahead - true_ns(rose)
        assert -PERIODS[""] / 2000 - 1.2 <= error <= PERIODS[""] / 2000 + 0.2


@cocotb.test()
async def messages_go_between_the_packets_of_frames_and_cost_none(dut: Any) -> None:
    bench = TimeTopBench(dut, Stalls.BOTH)
    await bench.start()
    await bench.put_time("control", RECEIVE)
    frames = [wrap(Message(kind=Kind.DELAY_REQ, source=PortIdentity(9), sequence=k), "udp", US) for k in range(3)]
    bench.detect(5)
    for k, frame in enumerate(frames):
        for word in range(0, len(frame), 4):
            await bench.write(TIME["time.tx[].word"].offset + word, int.from_bytes(frame[word : word + 4], "little"))
        await bench.put_time("tx_message", len(frame))
        await bench.put_time("command", 1 << 4)
        while await bench.get_time("status") & 1 << 2:
            pass
        assert await bench.get_time("tx_event") >> 16 == k + 1
    packets = await bench.finish()
    assert [packet for packet in packets if keeps(packet)] == frames
    others = [packet for packet in packets if not keeps(packet)]
    assert_same_packets(others, bench.at_the_mac(bench.sent(others)))
    assert len(bench.sent(others)) >= 3
    assert await bench.counters("counters.mac_underruns", "counters.mac_too_long") == [0, 0]


@pytest.mark.parametrize(("width", "mac_width"), some_of("time_unit", [(128, 64), (64, 512)]))
def test_time_unit(width: int, mac_width: int) -> None:
    parameters: dict[str, Any] = {"NumQp": 4, "RcQps": 2, "RcDepth": 32, "MaxSlots": 16, "ClockHz": CLOCK_HZ}
    run("time_unit", top="framelane_top", DataW=width, MacW=mac_width, Time=1, **parameters)
