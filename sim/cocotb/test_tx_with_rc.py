"""tx with RC and a receive path: whole frames through a bad network into the memory of receivers that are models."""

from dataclasses import replace
from functools import partial
from typing import Any

import cocotb
import pytest
from scapy.layers.l2 import ARP, Ether

from bench import ROOT, Source, Stalls, run
from framelane.models.rc.lossy_network import LinkImpairments, LossyNetwork
from framelane.models.rc.rc_protocol import RcLimits, RcReason, RcState
from framelane.models.rc.rc_responder import RcResponder, Region
from framelane.models.registers import registers
from framelane.models.roce_tx import wire
from framelane.models.roce_tx.roce_qp import AckPolicy, Segmentation, Service
from framelane.models.station.roce_rx import FIRST_QPN, Event, EventKind
from receive_bench import acknowledge, congestion, ethernet, ip
from signals import now
from tx_bench import SOURCE, TxBench, session
from tx_registers import COMMAND, DROPPED, FAILED, MAP, RESET, SENT
from widths import some_widths

QPS, DEPTH, CLOCK_HZ = 4, 32, 10_000_000
FRAMES = 16
IN_FLIGHT = 3
"""Frames that are offered and not released: as many as a ring holds."""
LIMITS = RcLimits(window=40, timeout=4, backoff=2, retries=7)
LOSSLESS = LinkImpairments(delay=100)
CNP_COUNTER = "qp_counters[].cnps"


class RcBench(TxBench):
    """The transmitter, a network in each direction, and a receiver for each QP from 1 on, flow k on QP 1 + k."""

    def __init__(
        self, dut: Any, impairments: LinkImpairments = LOSSLESS, qps: int = 1, stalls: Stalls = Stalls.NONE, **qp: Any
    ) -> None:
        plain = session(rows=30, columns=101, mtu=256, n_slots=4 * FRAMES)
        super().__init__(dut, stalls, plain, latency=20)
        config = self.config
        known: dict[str, Any] = {"service": Service.RC, "ack_policy": AckPolicy.LAST} | qp
        contexts = [replace(self.qp, dest_qpn=0x11 + k, **known) for k in range(qps)]
        rings = [replace(config.destinations[0], qp=1 + k) for k in range(qps)]
        flow = replace(config.flows[0], max_length=700)
        flows = [replace(flow, first_destination=k, source=k) for k in range(qps)]
        self.plan(replace(config, qps=(config.qps[0], *contexts), destinations=tuple(rings), flows=tuple(flows)))
        assert flow.descriptors * IN_FLIGHT <= DEPTH
        self.there: LossyNetwork[tuple[int, wire.Headers, bytes]] = LossyNetwork(impairments, 3)
        self.back: LossyNetwork[bytes] = LossyNetwork(impairments, 4)
        self.responders = {1 + k: self.responder(1 + k) for k in range(qps)}
        self.silent: set[int] = set()
        self.others: list[bytes] = []
        self.payload_bytes = self.offered = 0
        self.contents: list[bytes] = []
        self.line = Source(dut, "s_axis_rx", lambda: False)
        self._sources.append(self.line)
        dut.link_up_i.value = 0
        self.watch(self._world)

    def responder(self, index: int, psn: int | None = None) -> RcResponder:
        """A new receiver for a QP; its memory is a ring of slots."""
        qp, ring = self.config.qps[index], self.config.destinations[index - 1]
        region = Region(ring.base, qp.rkey, bytearray(ring.n_slots * ring.slot_bytes))
        responder = RcResponder(qp.psn if psn is None else psn, qp.mtu, region, qp=index)
        self.memories = getattr(self, "memories", {}) | {index: region.memory}
        return responder

    def _world(self) -> None:
        if self.board.board_packet_count():
            for packet in self.take():
                if len(packet) > wire.ETH_BYTES and packet[12:14] == b"\x08\x00" and packet[23] == 17:
                    headers, payload = wire.parse(packet)
                    self.there.send(self.cycle, (headers.dest_qpn - 0x10, headers, payload))
                else:
                    self.others.append(packet)
        for index, headers, payload in self.there.due(self.cycle):
            if index in self.responders and index not in self.silent:
                for event in self.responders[index].receive(headers, payload):
                    self.back.send(self.cycle, self.answer_of(event))
        for frame in self.back.due(self.cycle):
            self.line.send(frame, self.width, tuser=0)

    def answer_of(self, event: Event) -> bytes:
        """The packet in which a receiver says that."""
        code = event.kind - EventKind.NAK_SEQUENCE | 0x60
        syndrome = {EventKind.ACK: 0x1F, EventKind.RNR: 0x20 | event.value}.get(event.kind, code)
        return acknowledge(FIRST_QPN + event.qp, event.psn, syndrome, event.msn, under=self.under())

    def under(self) -> Any:
        receiver = self.qp.dst
        return ethernet(receiver, SOURCE.endpoint()) / ip(receiver, SOURCE.endpoint(), flags="DF")

    async def put_register(self, name: str, value: int, index: int = 0) -> None:
        register = MAP[name]
        await self.write(register.offset_of(index), *(value >> k & 0xFFFF_FFFF for k in range(0, register.width, 32)))

    async def get_register(self, name: str, index: int = 0) -> int:
        register = MAP[name]
        words = [await self.registers.read(register.offset_of(index) + k // 8) for k in range(0, register.width, 32)]
        return sum(word << 32 * k for k, word in enumerate(words))

    async def configure(self) -> None:
        await super().configure()
        for index in self.responders:
            await self.put_register("qp[].limits", registers.limits_word(LIMITS), index)
            await self.arm(index, self.config.qps[index].psn)

    async def arm(self, index: int, psn: int) -> None:
        """Start a QP, and let it settle."""
        await self.put_register("rc_start", psn | index << 24)
        await self.put_register("rc_command", 1)
        for _ in range(1000):
            if not await self.get_register("rc_status") & 1:
                break
        assert await self.get_register("rc_status") == 0
        for _ in range(2000):
            if await self.get_register("qp[].rc_state", index) & 3 == RcState.RUN:
                return
        raise AssertionError(f"QP {index} does not run: {await self.get_register('qp[].rc_state', index):#x}")

    def offer_next(self) -> None:
        """Put a frame into the memory, and offer it."""
        self.contents.append(self.image())
        self.offer(self.offered, self.contents[-1])
        self.offered += 1

    async def transmit(self, frames: int, limit: int = 400_000) -> int:
        """Offer frames as fast as they are released; until all are. How many cycles that took."""
        start, last = self.cycle, self.offered + frames
        while self.released < last:
            if self.offered < last and self.offered - self.released < IN_FLIGHT:
                self.offer_next()
            await self.step()
            assert self.cycle - start < limit, "frames hang"
        taken = self.cycle - start
        await self.until(lambda: bool(now(self.dut.idle_o)), 2000)
        return taken

    def check_frames(self, index: int, numbers: range | list[int], memory: bytearray | None = None) -> None:
        """Those frames lie in the QP's receiver's memory, with trailers, and nothing was written twice."""
        ring, responder = self.config.destinations[index - 1], self.responders[index]
        assert responder.writes.max() <= 1
        size = self.config.flows[index - 1].payload_bytes
        source = self.config.flows[index - 1].source
        assert set(responder.immediates) >= {source << 24 | n for n in numbers}
        for n in numbers:
            at = n % ring.n_slots * ring.slot_bytes
            assert self.memories[index][at : at + size] == self.contents[n][:size], f"frame {n} of QP {index}"

    async def station_counters(self, *names: str) -> list[int]:
        await self.counters("counters.cycles")
        return [await self.get_register(f"station_counters.{name}") for name in names]


@cocotb.test()
@cocotb.parametrize(loss=[0.0, 0.01, 0.05], segmentation=list(Segmentation))
async def all_frames_arrive_once_and_in_place(dut: Any, loss: float, segmentation: Segmentation) -> None:
    """Also with duplicates, damaged and late packets, and acknowledgements in the middle of a message."""
    impairments = replace(LOSSLESS, loss=loss, duplicate=loss / 2, late=loss / 2, lateness=300)
    policy = AckPolicy.INTERVAL if segmentation is Segmentation.MESSAGE else AckPolicy.LAST
    bench = RcBench(dut, impairments, segmentation=segmentation, ack_policy=policy, ack_log2=1)
    await bench.start()
    await bench.transmit(FRAMES)
    bench.check_frames(1, range(FRAMES))
    assert await bench.counters(SENT, DROPPED, FAILED) == [FRAMES, 0, 0]
    acks, again = await bench.station_counters("acks", "rc_again")
    assert acks
    assert bool(again) == bool(loss)
    una, nxt = [await bench.get_register(f"qp[].rc_{name}", 1) for name in ("una", "next")]
    assert una == nxt == bench.responders[1].expected
    if not loss:
        assert bench.there.counts["sent"] == len(bench.expected), "a packet left twice"


@cocotb.test()
async def a_receiver_that_is_silent_costs_the_others_nothing_and_its_queue_pair_starts_anew(dut: Any) -> None:
    bench = RcBench(dut, replace(LOSSLESS, loss=0.01), qps=2)
    await bench.start()
    bench.silent.add(2)
    await bench.transmit(FRAMES)
    bench.check_frames(1, range(FRAMES))
    assert await bench.counters(SENT, DROPPED, FAILED) == [FRAMES, 0, 0]
    sent, dropped, failed = await bench.counters(SENT, DROPPED, FAILED, index=1)
    assert sent == 0
    assert dropped + failed == FRAMES
    assert failed
    state = await bench.get_register("qp[].rc_state", 2)
    assert state == RcState.ERROR | RcReason.TIMEOUT << 4
    assert await bench.get_register("qp[].rc_state", 1) == RcState.RUN
    bench.silent.clear()
    bench.responders[2] = bench.responder(2, 0x123456)
    await bench.arm(2, 0x123456)
    await bench.transmit(FRAMES)
    bench.check_frames(1, range(2 * FRAMES))
    bench.check_frames(2, range(FRAMES, 2 * FRAMES))
    assert await bench.counters(SENT, index=1) == [FRAMES]
    assert await bench.station_counters("rc_failed") == [1]


@cocotb.test()
async def a_reset_ends_though_a_receiver_is_never_ready(dut: Any) -> None:
    bench = RcBench(dut)
    await bench.start()
    bench.responders[1].receives = 0
    for _ in range(IN_FLIGHT):
        bench.offer_next()
    await bench.until(lambda: bench.responders[1].counts["not_ready"] > 2, 20_000)
    assert not bench.released
    await bench.write(COMMAND, RESET)
    await bench.ready()
    assert bench.released == IN_FLIGHT, "memory of frames is still held"
    bench.responders[1] = bench.responder(1)
    bench.plan(bench.config)
    await bench.configure()
    await bench.transmit(4)
    bench.check_frames(1, range(IN_FLIGHT, IN_FLIGHT + 4))


@cocotb.test()
async def requests_are_answered_between_the_packets_of_frames(dut: Any) -> None:
    """ARP in the middle of the frames; a CNP is counted for its queue pair."""
    bench = RcBench(dut)
    await bench.start()
    await bench.put_register("station", 0b011)
    bench.offer_next()
    request = Ether(src="02:00:00:00:00:02", dst="ff:ff:ff:ff:ff:ff") / ARP(
        op=1, hwsrc="02:00:00:00:00:02", psrc="10.0.0.2", pdst="10.0.0.1"
    )
    await bench.until(lambda: bench.there.counts["sent"] > 2, 5000)
    bench.line.send(bytes(request).ljust(60, b"\0"), bench.width, tuser=0)
    bench.line.send(congestion(FIRST_QPN + 1, under=bench.under()), bench.width, tuser=0)
    await bench.until(lambda: bool(bench.others), 5000)
    await bench.until(lambda: bench.released == 1, 5000)
    bench.check_frames(1, range(1))
    (reply,) = [Ether(packet)[ARP] for packet in bench.others]
    assert (reply.op, reply.psrc, reply.hwsrc, reply.pdst) == (2, "10.0.0.1", SOURCE.mac, "10.0.0.2")
    assert await bench.station_counters("arp_answered", "cnps", "rx_full") == [1, 1, 0]
    assert await bench.get_register(CNP_COUNTER, 1) == 1
    assert await bench.get_register(CNP_COUNTER, 2) == 0


@cocotb.test()
async def congestion_notifications_slow_their_queue_pair_down_and_no_other(dut: Any) -> None:
    bench = RcBench(dut, qps=2)
    await bench.start()
    for name, value in (("line", 8 << 16), ("minimum", 1 << 16), ("burst", 2000), ("period", 0xFFFF_FFFF)):
        await bench.put_register(f"dcqcn_{name}", value)
    await bench.put_register("dcqcn", 1 | 8 << 4 | 5 << 8 | 31 << 12)
    fast = await bench.transmit(3)
    for _ in range(4):
        bench.line.send(congestion(FIRST_QPN + 1, under=bench.under()), bench.width, tuser=0)
        for _ in range(200):
            await bench.step()
    assert await bench.get_register(CNP_COUNTER, 1) == 0, "no snapshot yet"
    slow = await bench.transmit(3)
    assert slow > 3.5 * fast, "a rate of 1 byte a cycle beside one of up to 8"
    bench.check_frames(1, range(6))
    bench.check_frames(2, range(6))
    assert await bench.station_counters("cnps", "rc_timed_out", "rc_again") == [4, 0, 0]
    assert [await bench.get_register(CNP_COUNTER, index) for index in (1, 2)] == [4, 0]
    await bench.put_register("dcqcn_burst", 1 << 14)
    for _ in range(9000):
        await bench.step()
    assert await bench.transmit(1) < fast, "a whole frame, for which idle time has filled the burst"
    await bench.put_register("dcqcn", 0)
    assert await bench.transmit(3) < 1.2 * fast + 200


def has_sent(bench: RcBench, packets: int) -> bool:
    return bench.there.counts["sent"] >= packets


def pause(quanta: int) -> bytes:
    """An 802.3x pause."""
    return (bytes.fromhex("0180c2000001020000000002880800 01") + quanta.to_bytes(2, "big")).ljust(60, b"\0")


@cocotb.test()
async def a_pause_holds_the_packets_but_no_reset(dut: Any) -> None:
    bench = RcBench(dut)
    await bench.start()
    await bench.put_register("station", 0b100)
    await bench.put_register("pause_quanta", 1 << 16)
    for ends_by_reset in (False, True):
        for _ in range(IN_FLIGHT):
            bench.offer_next()
        enough = bench.there.counts["sent"] + 4
        await bench.until(partial(has_sent, bench, enough), 5000)
        bench.line.send(pause(0xFFFF), bench.width, tuser=0)
        for _ in range(400):  # and what is in the port
            await bench.step()
        held = bench.there.counts["sent"]
        for _ in range(2000):
            await bench.step()
        assert bench.there.counts["sent"] == held, "packets left during a pause"
        if ends_by_reset:
            await bench.write(COMMAND, RESET)
            await bench.ready()
            assert bench.released == 2 * IN_FLIGHT
        else:
            bench.line.send(pause(0), bench.width, tuser=0)
            await bench.until(lambda: bench.released == IN_FLIGHT, 10_000)
            bench.check_frames(1, range(IN_FLIGHT))
            assert await bench.station_counters("pause_global", "rc_again") == [2, 0]


@cocotb.test()
async def a_packet_that_a_pause_keeps_from_leaving_is_under_way_however_long(dut: Any) -> None:
    """Its message has ended: it is not sent again for that, and its queue pair is not armed before it leaves."""
    bench = RcBench(dut, rate=3 << 16, burst=1)
    await bench.start()
    await bench.put_register("station", 0b100)
    await bench.put_register("pause_quanta", 1 << 16)
    await bench.transmit(1)
    packets = bench.there.counts["sent"]
    bench.offer_next()
    await bench.until(lambda: bench.there.counts["sent"] == 2 * packets - 1, 20_000)
    bench.line.send(pause(0xFFFF), bench.width, tuser=0)
    await bench.put_register("qp[].limits", registers.limits_word(replace(LIMITS, timeout=0, retries=1, backoff=0)), 1)
    for _ in range(2500):
        await bench.step()
    assert bench.there.counts["sent"] == 2 * packets - 1
    assert await bench.get_register("qp[].rc_state", 1) == RcState.RUN
    await bench.put_register("rc_start", 5 | 1 << 24)
    await bench.put_register("rc_command", 1)
    for _ in range(1000):
        await bench.step()
    assert await bench.get_register("qp[].rc_state", 1) & 3 == RcState.ERROR, "armed before its packet has left"
    await bench.put_register("qp[].limits", registers.limits_word(LIMITS), 1)
    bench.line.send(pause(0), bench.width, tuser=0)
    while await bench.get_register("rc_status") & 1:
        pass
    await bench.until(lambda: bench.there.counts["sent"] == 2 * packets, 200)
    await bench.until(lambda: bench.there.next_arrival() is None)
    await bench.arm(1, bench.responders[1].expected)
    await bench.transmit(1)
    bench.check_frames(1, [0, 2])
    assert await bench.station_counters("rc_again", "rc_timed_out") == [0, 0]


@pytest.mark.parametrize("width", some_widths("tx_with_rc"))
def test_tx_with_rc(width: int) -> None:
    harness = ROOT / "sim" / "dpi"
    args = [str(harness / "board.cpp"), "-CFLAGS", f"-I{harness}", "-LDFLAGS", "-rdynamic"]
    parameters: dict[str, Any] = {
        "ClockHz": CLOCK_HZ,
        "Station": 1,
        "Rc": 1,
        "RcQps": QPS,
        "RcDepth": DEPTH,
        "MacPort": 1,
    }
    run("tx_with_rc", top="tx_board", build_args=args, DataW=width, **parameters)
