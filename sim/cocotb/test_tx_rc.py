"""tx_rc: frames of a queue pair of RC, from their descriptors to the acknowledgements that come back as packets."""

from collections import deque
from dataclasses import asdict, replace
from typing import Any

import cocotb
import pytest

from bench import ALL_STALLS, Bench, Stalls, run
from counter_ports import RC_PULSES_T, count_events, counter
from framelane.driver.simulated import ports
from framelane.driver.simulated.ports import BD_T, COUNT_T, TRAILER_T
from framelane.models.cells import axis
from framelane.models.placement.bd_rows import Descriptor
from framelane.models.placement.trailer import TRAILER_BYTES, Trailer
from framelane.models.rc.rc_protocol import RcLimits, RcReason, RcState
from framelane.models.roce_tx.roce_qp import AckPolicy, QpContext, Service
from framelane.models.station.roce_rx import FIRST_QPN
from rc_ports import COMMAND_T, DCQCN_T, ITEM_T, LIMITS_T, RC_CONTROL_T, RC_REPORT_T, STATUS_T, has_room
from receive_bench import PEER, acknowledge, congestion, ethernet, ip
from signals import now
from widths import some_widths

QPS, DEPTH, CLOCK_HZ = 2, 32, 10_000_000
MTU, RATE = 256, 0x40000
LIMITS = RcLimits(window=100, timeout=4, backoff=2, retries=7)
QP = QpContext(PEER, 0x11, 0x77, psn=0xFFFFF0, mtu=MTU, rate=RATE, service=Service.RC, ack_policy=AckPolicy.LAST)
ARRIVES = 60
"""Cycles from an item to the end of its message, and to the leaving of its packets."""
NAK_SEQUENCE, NAK_ACCESS = 0x60, 0x62
DCQCN = {"enabled": 1, "line": RATE, "minimum": 0x100, "additive": 0x100, "hyper": 0x1000, "alpha_period": 54,
         "rise_period": 54, "bytes_log2": 24, "gain_log2": 8, "fast_rounds": 5}  # fmt: skip


class RcBench(Bench):
    """The block before a packetizer that takes a while, and a receiver that the test plays."""

    def __init__(self, dut: Any, stalls: Stalls = Stalls.NONE) -> None:
        super().__init__(dut, stalls)
        width = int(dut.DataW.value)
        self.bds, self.trailers = self.source("s_axis_bd"), self.source("s_axis_trailer")
        self.overs, self.issued = self.source("s_axis_over"), self.source("s_axis_item", stalls=False)
        self.roce = self.source("s_axis_roce")
        self.items, self.out_trailers = self.sink("m_axis_item"), self.sink("m_axis_trailer")
        self.counts, self.rates, self.cnps = (
            self.sink("m_axis_count"),
            self.sink("m_axis_rate"),
            self.sink("m_axis_cnp"),
        )
        for name in ("beat_i", "ended_i", "failed_i", "ended_qp_i", "in_line_i", "left_i", "spend_i", "spend_index_i",
                     "spend_bytes_i", "room_qp_i", "room_wanted_i", "admit_i", "qp_write_valid_i"):  # fmt: skip
            getattr(dut, name).value = 0
        self.control = dict.fromkeys(RC_CONTROL_T.fields, 0) | {"dcqcn": DCQCN_T.pack(DCQCN)}
        self.events = count_events(self, dut.pulses_o, RC_PULSES_T)
        self.changed: list[int] = []
        self.released = self.packets = self.descriptors = 0
        self._ends: deque[tuple[int, int, int]] = deque()
        self._taken = self._leaving = self._beats = 0
        self._lanes = width // 8
        self.watch(self._look)

    def _look(self) -> None:
        dut = self.dut
        self.released += now(dut.release_o)
        if now(dut.m_axis_rate_tvalid) and now(dut.m_axis_rate_tready):
            self.changed.append(now(dut.m_axis_rate_index))
        for item in self.items.items[self._taken :]:
            bd = BD_T.unpack(ITEM_T.unpack(item["tdata"])["bd"])
            self.issued.items.append({"tdata": item["tdata"]})
            self._beats += -(-bd["length"] // self._lanes)
            self._ends.append((self.cycle + ARRIVES, bd["qp"], -(-bd["length"] // MTU)))
        self._taken = len(self.items.items)

    async def step(self) -> None:
        """One cycle: a beat of payload is read; the packets of one message leave, then it ends."""
        dut = self.dut
        dut.beat_i.value = int(self._beats > 0)
        self._beats -= self._beats > 0
        dut.ended_i.value = dut.left_i.value = 0
        if self._ends and self._ends[0][0] <= self.cycle and not self.issued.items:
            _, qp, packets = self._ends[0]
            dut.ended_qp_i.value = qp
            if self._leaving < packets:
                dut.left_i.value = 1
                self._leaving += 1
            else:
                dut.ended_i.value = 1
                self._ends.popleft()
                self._leaving = 0
        await super().step()

    async def tell(self, **fields: int) -> None:
        """Another word of the registers."""
        self.control |= fields
        self.dut.control_i.value = RC_CONTROL_T.pack(self.control)
        await self.step()

    def report(self) -> dict[str, int]:
        return RC_REPORT_T.unpack(now(self.dut.report_o))

    def status(self) -> dict[str, int]:
        """State of the QP that was asked for."""
        return STATUS_T.unpack(self.report()["status"])

    async def start(self) -> None:
        """Both QPs are written, and the first one runs."""
        await self.reset()
        for _ in range(300):
            await self.step()
        for index, qp in enumerate((QP, replace(QP, service=Service.UC, ack_policy=AckPolicy.NEVER))):
            self.dut.qp_write_i.value, self.dut.qp_write_valid_i.value = ports.qp_write_t(index, qp), 1
            await self.step()
        self.dut.qp_write_valid_i.value = 0
        await self.tell(limits=LIMITS_T.pack(asdict(LIMITS)), limits_write=1)
        await self.tell(limits_write=0)
        assert await self.command(0)
        await self.until(lambda: self.status()["state"] == RcState.RUN)

    async def command(self, qp: int, arm: bool = True) -> bool:
        """Arm a QP, or close it; whether that was accepted."""
        await self.tell(
            command_valid=1, command=COMMAND_T.pack({"arm": arm, "qp": qp, "reason": RcReason.CLOSED, "psn": QP.psn})
        )
        for _ in range(1000):
            if self.report()["command_ready"]:
                break
            await self.step()
        refused = self.report()["command_refused"]
        await self.tell(command_valid=0)
        return not refused

    async def frame(self, rows: int, qp: int = 0) -> None:
        """Descriptors and trailer of a frame; it asks for room first, as bd_gen does."""
        dut, bits = self.dut, self.random.getrandbits
        assert await has_room(self, qp, rows + 1)
        dut.admit_i.value = 1
        await self.step()
        dut.admit_i.value = 0
        lengths = [self.random.randrange(1, 3 * MTU) for _ in range(rows)] + [TRAILER_BYTES]
        for k, length in enumerate(lengths):
            last = k == rows
            bd = Descriptor(bits(32), bits(64), length, qp, qp, last, bits(32) if last else 0)
            self.bds.items.append({"tdata": BD_T.pack(asdict(bd))})
            self.packets += -(-length // MTU)
        trailer = Trailer(1, bits(32), bits(64), bits(64), bits(64), bits(32), bits(32), bits(64), bits(64), bits(32))
        self.trailers.items.append({"tdata": TRAILER_T.pack(asdict(trailer))})
        self.descriptors += len(lengths)
        self.overs.items.append({"tdata": self.descriptors & 0xFFFF})

    def answer_to(self, psn: int, syndrome: int = 0x1F) -> None:
        """An acknowledgement of that kind for QP 0 comes."""
        self.hear(acknowledge(FIRST_QPN, psn & 0xFFFFFF, syndrome, under=ethernet() / ip(flags="DF")))

    def hear(self, packet: bytes) -> None:
        """A frame for this station comes, as tx_station gives it: padded to 60 bytes."""
        for beat in axis.beats(packet.ljust(60, b"\0"), 64):
            self.roce.items.append({"tdata": beat.data, "tkeep": beat.keep, "tlast": int(beat.last)})

    def sent(self) -> list[dict[str, int]]:
        return [BD_T.unpack(ITEM_T.unpack(item["tdata"])["bd"]) for item in self.items.items]

    async def all_left(self) -> None:
        """All descriptors are sent, and their messages have ended."""
        await self.until(lambda: len(self.items.items) >= self.descriptors and not self._ends, 20_000)

    def counted(self) -> dict[int, int]:
        found: dict[int, int] = {}
        for item in self.counts.items:
            count = COUNT_T.unpack(item["tdata"])
            found[count["index"]] = found.get(count["index"], 0) + count["amount"]
        return found


def sent_or_failed(name: str, qp: int = 0) -> int:
    return counter(f"destination_counters[].{name}", qp)


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def a_frame_is_kept_until_its_last_packet_is_acknowledged(dut: Any, stalls: Stalls) -> None:
    bench = RcBench(dut, stalls)
    await bench.start()
    offered: list[int] = []
    for rows in (3, 1, 5):
        await bench.frame(rows)
        offered += [item["tdata"] for item in bench.bds.items if item["tdata"] not in offered]
    await bench.all_left()
    assert [BD_T.pack(bd) for bd in bench.sent()] == offered
    assert bench.released == 0, "what is not acknowledged may be sent again"
    assert not now(dut.idle_o)
    bench.answer_to(QP.psn + bench.packets - 1)
    await bench.until(lambda: bench.released == 3)
    await bench.until(lambda: bool(now(dut.idle_o)))
    assert bench.counted() == {sent_or_failed("sent"): 3}
    assert bench.events == {"acks": 1, "rc_acked": 1, "rc_armed": 1}
    assert bench.status()["una"] == (QP.psn + bench.packets) & 0xFFFFFF


@cocotb.test()
async def what_a_receiver_misses_is_sent_again(dut: Any) -> None:
    bench = RcBench(dut)
    await bench.start()
    await bench.frame(4)
    await bench.all_left()
    first = bench.sent()
    bench.answer_to(QP.psn, NAK_SEQUENCE)
    bench.descriptors *= 2
    await bench.all_left()
    assert bench.sent() == first * 2
    assert [ITEM_T.unpack(item["tdata"])["psn"] for item in bench.items.items][len(first)] == QP.psn
    bench.answer_to(QP.psn + bench.packets - 1)
    await bench.until(lambda: bench.released == 1)
    assert bench.counted() == {sent_or_failed("sent"): 1}
    assert bench.events["rc_again"] == len(first)
    assert (bench.events["naks_sequence"], bench.events["rc_went_back"]) == (1, 1)


@cocotb.test()
async def silence_ends_in_a_repetition_and_a_refusal_in_an_error(dut: Any) -> None:
    bench = RcBench(dut)
    await bench.start()
    await bench.frame(1)
    await bench.all_left()
    await bench.until(lambda: bench.events["rc_timed_out"] > 0, 20_000)
    bench.answer_to(QP.psn, NAK_ACCESS)
    await bench.until(lambda: bench.released == 1)
    assert bench.counted() == {sent_or_failed("failed"): 1}
    assert (bench.status()["state"], bench.status()["reason"]) == (RcState.ERROR, RcReason.ACCESS)
    assert bench.events["rc_failed"] == bench.events["naks_access"] == 1


@cocotb.test()
async def a_queue_pair_of_uc_passes_and_cannot_be_armed(dut: Any) -> None:
    bench = RcBench(dut)
    await bench.start()
    assert not await bench.command(1)
    await bench.frame(2, qp=1)
    await bench.until(lambda: bench.released == 1)
    await bench.until(lambda: bool(bench.counts.items))
    assert bench.counted() == {sent_or_failed("sent", 1): 1}
    assert [ITEM_T.unpack(item["tdata"])["rc"] for item in bench.items.items] == [0, 0, 0]


@cocotb.test()
async def a_frame_right_behind_a_reset_waits_until_it_can_be_followed(dut: Any) -> None:
    bench = RcBench(dut)
    await bench.reset()
    await bench.frame(1, qp=1)
    for _ in range(50):
        await bench.step()
    assert len(bench.bds.items) == 2
    await bench.until(lambda: bench.released == 1)
    assert len(bench.items.items) == 2


@cocotb.test()
async def congestion_is_counted_for_its_queue_pair_and_lowers_its_rate(dut: Any) -> None:
    bench = RcBench(dut)
    await bench.start()
    for index in (1, 0, 0):
        bench.hear(congestion(FIRST_QPN + index, under=ethernet() / ip(flags="DF")))
        await bench.until(lambda: not bench.roce.items)
        for _ in range(400):
            await bench.step()
    assert [item["tdata"] for item in bench.cnps.items] == [1, 0, 0]
    assert bench.events["cnps"] == 3
    lowered = [item["tdata"] for item, qp in zip(bench.rates.items, bench.changed, strict=True) if qp == 0]
    assert 0 < lowered[-1] < RATE


@cocotb.test()
async def notifications_wait_for_their_counters_and_acknowledgements_behind_them_count_once(dut: Any) -> None:
    bench = RcBench(dut)
    await bench.start()
    bench._sinks.remove(bench.cnps)
    dut.m_axis_cnp_tready.value, bench.cnps._is_ready = 0, False
    for _ in range(24):
        bench.hear(congestion(FIRST_QPN, under=ethernet() / ip(flags="DF")))
        bench.answer_to(QP.psn - 1)
    for _ in range(2000):
        await bench.step()
    assert bench.roce.items, "nothing waits"
    bench._sinks.append(bench.cnps)
    await bench.drain(bench.cnps, 24, quiet=500)
    assert bench.events == {"cnps": 24, "acks": 24, "rc_acked": 24, "rc_armed": 1}


@cocotb.test()
async def a_packet_from_somebody_else_is_dropped_and_counted(dut: Any) -> None:
    bench = RcBench(dut)
    await bench.start()
    under = ethernet() / ip(replace(PEER, ip=PEER.ip + 1), flags="DF")
    bench.hear(acknowledge(FIRST_QPN, QP.psn, under=under))
    bench.hear(acknowledge(FIRST_QPN + QPS + 20, QP.psn))
    bench.hear(acknowledge(FIRST_QPN, QP.psn)[:-1] + b"?")
    await bench.until(lambda: not bench.roce.items)
    for _ in range(100):
        await bench.step()
    assert bench.events == {"rc_armed": 1, "roce_source": 1, "roce_qp": 1, "roce_icrc": 1}


@pytest.mark.parametrize("width", some_widths("tx_rc"))
def test_tx_rc(width: int) -> None:
    run("tx_rc", DataW=width, NumQp=4, RcQps=QPS, RcDepth=DEPTH, ClockHz=CLOCK_HZ)
