"""roce_tx: packets equal the golden model and scapy's ICRC for any length, at line rate, whatever stalls."""

import dataclasses
from collections import Counter
from collections.abc import Collection
from typing import Any

import cocotb
import pytest

from bench import ALL_STALLS, Bench, Stalls, assert_same_packets, run
from framelane.driver.simulated import ports
from framelane.driver.simulated.ports import ERRORS_T
from framelane.models.cells import axis
from framelane.models.roce_tx import roce_icrc, roce_pacer, wire
from framelane.models.roce_tx.roce_qp import AckPolicy, QpContext, Segmentation, Service
from framelane.models.roce_tx.roce_segment import MAX_MESSAGE_BYTES, Message, Status
from framelane.models.roce_tx.roce_tx import RoceTx
from framelane.models.roce_tx.wire import MTUS, Endpoint, Opcode
from signals import now
from widths import some_widths

LOCAL = Endpoint(mac=0x02_0A_0B_0C_0D_0E, ip=0x0A000001)
PIPELINE = 8
"""Cycles from a message's acceptance to its first beat."""
PEER = Endpoint(mac=0x02_1A_1B_1C_1D_1E, ip=0xC0A8FFFE)


class RoceTxBench(Bench):
    """The packetizer with its QPs, and the golden model beside it."""

    def __init__(self, dut: Any, stalls: Stalls = Stalls.NONE, **only: bool) -> None:
        """`only` may name the sources that stall: `msg`, `payload`."""
        super().__init__(dut, stalls)
        self.width = len(dut.m_axis_tdata)
        self.msg = self.source("s_axis_msg", only.get("msg", False) if only else None)
        self.payload = self.source("s_axis_payload", only.get("payload", False) if only else None)
        self.qp_table = self.source("s_axis_qp", False)
        dut.s_axis_rate_tvalid.value = dut.s_axis_rate_index.value = dut.s_axis_rate_tdata.value = 0
        self.out = self.sink("m_axis")
        self.statuses: list[tuple[int, int]] = []
        self.watch(self._note_status)
        self.expected: list[bytes] = []
        self.expected_statuses: list[tuple[int, int]] = []
        self.bubbles = self._pauses_before = 0
        self._sent: list[int] = []
        """Packets of every message that was queued."""
        self._left = self._ended = 0

    def _note_status(self) -> None:
        """Not idle from the cycle after a message's acceptance until its status and its last beat."""
        begun = sum(cycle < self.cycle for cycle in self.msg.accepted[self._ended :]) + self._ended
        if now(self.dut.idle_o):
            assert self._ended == begun, "idle before a message's status"
            assert self._left == sum(self._sent[:begun]), "idle before a message's last beat"
        self._left += now(self.dut.m_axis_tvalid) and now(self.dut.m_axis_tready) and now(self.dut.m_axis_tlast)
        self._ended += now(self.dut.status_valid_o)
        if now(self.dut.status_valid_o):
            self.statuses.append((now(self.dut.status_o), now(self.dut.status_qp_o)))

    def note_bubble(self) -> None:
        """Between the first beat and the last input, each cycle without a beat must have its pause before it."""
        paused = self.msg.pauses + self.payload.pauses
        if not self.out.items:
            self._pauses_before = max(0, paused - PIPELINE)
        elif self.payload.items and now(self.dut.m_axis_tready) and not now(self.dut.m_axis_tvalid):
            self.bubbles += 1
            assert self.bubbles <= paused - self._pauses_before, f"a bubble without a cause, cycle {self.cycle}"

    async def start(self, *qps: QpContext) -> None:
        self.dut.local_mac_i.value, self.dut.local_ip_i.value = LOCAL.mac, LOCAL.ip
        self.dut.mtu_index_i.value = self.dut.default_burst_i.value = self.dut.pace_all_i.value = 0
        await self.reset()
        for index, qp in enumerate(qps):
            await self.write(index, qp)
        self.model = RoceTx(LOCAL, qps)

    async def write(self, index: int, qp: QpContext, set_psn: bool = True) -> None:
        self.qp_table.items.append({"tdata": ports.qp_write_t(index, qp, set_psn)})
        await self.hand_over(self.qp_table)

    async def set_rate(self, index: int, rate: int) -> None:
        """Write the rate of a QP and nothing else of it."""
        self.dut.s_axis_rate_tvalid.value = 1
        self.dut.s_axis_rate_index.value, self.dut.s_axis_rate_tdata.value = index, rate
        await self.step()
        await self.until(lambda: bool(now(self.dut.s_axis_rate_tready)))
        self.dut.s_axis_rate_tvalid.value = 0
        self.dut.s_axis_rate_index.value = self.dut.s_axis_rate_tdata.value = 0
        for _ in range(20):
            await self.step()

    def send(
        self,
        length: int,
        qp: int = 0,
        imm: int | None = None,
        *,
        psn: int | None = None,
        resume: bool = False,
        stream: int | None = None,
        wrong: Collection[int] = (),
    ) -> None:
        """Queue one message with `stream` random bytes (as many as it says), in the design and in the model.

        The beats `wrong` of them are marked.
        """
        address = self.random.getrandbits(64)
        payload = self.random.randbytes(min(length, 1 << 16) if stream is None else stream)
        message = Message(address, length, qp, imm, psn, resume)
        self.msg.items.append({"tdata": ports.message_t(message)})
        if payload:
            lanes = self.width // 8
            for n, beat in enumerate(axis.beats(payload, self.width)):
                item = {"tdata": beat.data, "tkeep": beat.keep, "tlast": int(beat.last), "tuser": int(n in wrong)}
                self.payload.items.append(item)
            marked = [range(n * lanes, (n + 1) * lanes) for n in wrong if n * lanes < len(payload)]
        status, packets = self.model.send(message, payload, marked if payload else ())
        self._sent.append(len(packets))
        self.expected += packets
        self.expected_statuses.append((status, qp))

    async def check(self) -> None:
        """Run until all is out; packets and statuses equal the model's."""
        beats = sum(axis.n_beats(len(p), self.width) for p in self.expected)
        await self.drain(self.out, beats)
        assert_same_packets(self.out.packets(self.width), self.expected)
        await self.until(lambda: bool(now(self.dut.idle_o)))
        assert self.statuses == self.expected_statuses
        errors = ERRORS_T.unpack(now(self.dut.errors_o))
        seen = Counter(status for status, _ in self.expected_statuses)
        assert errors == {
            "bad_payload": seen[Status.BAD_PAYLOAD],
            "too_long": seen[Status.LONG],
            "too_short": seen[Status.SHORT],
            "bad_length": seen[Status.BAD_LENGTH],
            "bad_qp": seen[Status.BAD_QP],
        }


def context(**changes: Any) -> QpContext:
    fields: dict[str, Any] = {"dst": PEER, "dest_qpn": 0x11, "rkey": 0xDEADBEEF, "psn": 0xFFFFF0, "tos": 2}
    return QpContext(**(fields | changes))


def every_kind(segmentation: Segmentation, count: int) -> list[QpContext]:
    """QPs that differ in all that changes a packet's form."""
    return [
        context(
            mtu=MTUS[k % 5],
            segmentation=segmentation,
            dest_qpn=k << 12,
            service=Service(k % 2),
            ack_policy=AckPolicy(k // 2 % 3) if k % 2 else AckPolicy.NEVER,
            ack_log2=k % 4,
            vlan=0xE001 + k if k % 3 == 0 else None,
            entropy=k % 4 == 1,
            pkey=0x7FFF - k,
        )
        for k in range(count)
    ]


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS, segmentation=list(Segmentation))
async def packets_equal_the_model_for_any_length(dut: Any, stalls: Stalls, segmentation: Segmentation) -> None:
    bench = RoceTxBench(dut, stalls)
    table = every_kind(segmentation, int(dut.NumQp.value))
    await bench.start(*table)
    lengths = [*range(1, 140), *(n * 256 + d for n in (1, 2, 3) for d in (-2, -1, 0, 1, 2)), 4095, 4096, 4097, 9001]
    for length in lengths:
        imm = bench.random.getrandbits(32) if bench.random.random() < 0.5 else None
        bench.send(length, qp=bench.random.randrange(len(table)), imm=imm)
    await bench.check()


@cocotb.test()
@cocotb.parametrize(segmentation=list(Segmentation))
async def a_packet_leaves_every_ideal_number_of_cycles(dut: Any, segmentation: Segmentation) -> None:
    """Every length at 512 bits: payload 1 to 4096 at every path MTU end, no bubble between or inside packets."""
    bench = RoceTxBench(dut)
    await bench.start(context(segmentation=segmentation))
    step = 1 if bench.width == 512 else 61
    for length in range(1, 4097, step):
        bench.send(length)
    await bench.check()
    assert bench.out.taken[-1] - bench.out.taken[0] == len(bench.out.taken) - 1


@cocotb.test()
async def a_long_message_leaves_without_bubbles(dut: Any) -> None:
    bench = RoceTxBench(dut)
    await bench.start(context(segmentation=Segmentation.MESSAGE, mtu=256))
    for length in (1, 257, 256 * 5 + 3, 258, 4096, 1, 1, 259):
        bench.send(length, imm=length)
    await bench.check()
    assert bench.out.taken[-1] - bench.out.taken[0] == len(bench.out.taken) - 1


@cocotb.test()
@cocotb.parametrize(sink=[False, True], payload=[False, True], msg=[False, True])
async def a_bubble_has_a_stall_that_explains_it(dut: Any, sink: bool, payload: bool, msg: bool) -> None:
    bench = RoceTxBench(dut, Stalls.SINK if sink else Stalls.NONE, payload=payload, msg=msg)
    bench.watch(bench.note_bubble)
    await bench.start(*every_kind(Segmentation.ONLY, 8), *every_kind(Segmentation.MESSAGE, 8))
    for _ in range(150):
        bench.send(bench.random.randrange(1, 600), qp=bench.random.randrange(16))
    await bench.check()
    assert bench.bubbles > 0 or not payload
    assert bench.bubbles == 0 or payload or msg


@cocotb.test()
async def the_first_beat_leaves_4_cycles_after_its_payload_and_8_after_its_message(dut: Any) -> None:
    bench = RoceTxBench(dut)
    await bench.start(context(segmentation=Segmentation.MESSAGE, mtu=256), context(vlan=1))
    for length, qp in ((1, 0), (300, 0), (4096, 0), (100, 1)):
        messages, beats, packet = len(bench.msg.accepted), len(bench.payload.accepted), len(bench.out.taken)
        bench.send(length, qp)
        await bench.check()
        header = wire.ip_offset(bench.expected[-1]) - wire.ETH_BYTES + 70
        beats_before = header // (bench.width // 8)  # whole header beats: they leave before payload is taken
        assert bench.out.taken[packet] - bench.msg.accepted[messages] == PIPELINE
        assert bench.out.taken[packet + beats_before] - bench.payload.accepted[beats] == 4


@cocotb.test()
@cocotb.parametrize(segmentation=list(Segmentation))
async def every_beat_leaves_as_soon_as_its_payload_allows(dut: Any, segmentation: Segmentation) -> None:
    """With payload that pauses: each beat one cycle after the one before, or four after the payload it needs came."""
    bench = RoceTxBench(dut, payload=True)
    lanes = bench.width // 8
    await bench.start(*every_kind(segmentation, 16))
    for _ in range(120):
        bench.send(bench.random.randrange(1, 600), qp=bench.random.randrange(16))
    await bench.check()
    offers, beat = iter(bench.payload.offered), bench.out.taken[0] - 4
    earliest = []
    for packet in bench.expected:
        headers, payload = wire.parse(packet)
        before = len(packet) - wire.ICRC_BYTES - len(payload) - headers.pad
        for n in range(axis.n_beats(len(packet), bench.width)):
            takes = before // lanes <= n < before // lanes + axis.n_beats(len(payload), bench.width)
            beat = max(beat + (n > 0 or packet is not bench.expected[0]), next(offers) if takes else 0)
            earliest.append(beat + 4)
    assert bench.out.taken == earliest
    assert next(offers, None) is None


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def a_stream_of_another_length_ends_in_its_error_and_the_next_one_is_served(dut: Any, stalls: Stalls) -> None:
    bench = RoceTxBench(dut, stalls)
    await bench.start(*every_kind(Segmentation.ONLY, 8), *every_kind(Segmentation.MESSAGE, 8))
    for length in (2, 3, 64, 65, 256, 257, 700, 5000):
        for stream in (1, length - 1, length // 2, length // 256 * 256, length, length + 1, length + 64, length + 700):
            bench.send(length, bench.random.randrange(16), stream=stream or 1)
    await bench.check()
    broken = [p for p in bench.out.packets(bench.width) if not roce_icrc.check(p)]
    assert broken, "nothing was poisoned"
    assert {s for s, _ in bench.statuses} == {Status.OK, Status.SHORT, Status.LONG}


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def a_packet_with_a_marked_beat_is_poisoned_and_no_other(dut: Any, stalls: Stalls) -> None:
    bench = RoceTxBench(dut, stalls)
    await bench.start(*every_kind(Segmentation.ONLY, 8), *every_kind(Segmentation.MESSAGE, 8))
    for length in (1, 60, 256, 257, 700, 3000):
        beats = axis.n_beats(length, bench.width)
        for wrong in ({0}, {beats - 1}, {beats // 2}, {bench.random.randrange(beats) for _ in range(3)}, set()):
            bench.send(length, bench.random.randrange(16), wrong=wrong)
    for stream in (300, 5000):
        bench.send(3000, wrong={0}, stream=stream)
    await bench.check()
    good = [roce_icrc.check(p) for p in bench.out.packets(bench.width)]
    assert 0 < good.count(False) < good.count(True)
    assert {s for s, _ in bench.statuses} == {Status.OK, Status.BAD_PAYLOAD, Status.SHORT, Status.LONG}


@cocotb.test()
async def the_rest_of_a_message_goes_on_where_its_first_packets_ended(dut: Any) -> None:
    bench = RoceTxBench(dut)
    await bench.start(context(psn=100, mtu=256, service=Service.RC, segmentation=Segmentation.MESSAGE))
    bench.send(1000)
    bench.send(1000 - 2 * 256, psn=102, resume=True)
    bench.send(1000 - 3 * 256, imm=5, psn=103, resume=True)
    bench.send(50)
    await bench.check()
    headers = [wire.parse(p)[0] for p in bench.out.packets(bench.width)]
    assert [h.psn for h in headers] == [100, 101, 102, 103, 102, 103, 103, 104]
    assert [Opcode(h.opcode).name for h in headers[4:]] == [
        "WRITE_MIDDLE",
        "WRITE_LAST",
        "WRITE_LAST_IMM",
        "WRITE_ONLY",
    ]


@cocotb.test()
async def a_repeated_message_has_its_old_psns_and_the_next_new_one_goes_on(dut: Any) -> None:
    bench = RoceTxBench(dut)
    await bench.start(context(psn=100, mtu=256, service=Service.RC, segmentation=Segmentation.MESSAGE, entropy=True))
    bench.send(1000)
    bench.send(600)
    bench.send(1000, psn=100)
    bench.send(600, psn=104)
    bench.send(50)
    await bench.check()
    psns = [wire.parse(p)[0].psn for p in bench.out.packets(bench.width)]
    assert psns == [*range(100, 107), *range(100, 107), 107]
    ports_seen = [wire.parse(p)[0].src_port for p in bench.out.packets(bench.width)]
    assert ports_seen[:7] == ports_seen[7:14], "a repeated message takes its old path"


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def a_limited_qp_keeps_its_rate_whatever_stalls(dut: Any, stalls: Stalls) -> None:
    bench = RoceTxBench(dut, stalls)
    rate, burst = 2, 3000
    await bench.start(context(mtu=1024, rate=rate << roce_pacer.RATE_BITS, burst=burst, vlan=7))
    for _ in range(1600):
        await bench.step()  # the bucket fills
    for _ in range(12):
        bench.send(1500)
        for _ in range(bench.random.choice([0, 1, 700])):
            await bench.step()
    await bench.check()
    sizes = [len(p) + wire.LINE_BYTES for p in bench.out.packets(bench.width)]
    ends = [cycle for cycle, item in zip(bench.out.taken, bench.out.items, strict=True) if item["tlast"]]
    for k in range(len(ends)):
        for n in range(k, len(ends)):
            most = burst + rate * (ends[n] - ends[k]) + 3 * max(sizes) * (stalls.sink or 1)
            assert sum(sizes[k : n + 1]) <= most, "over the rate"
    assert (sum(sizes[:-1]) - burst) / (ends[-1] - ends[0]) >= 0.9 * rate


@cocotb.test()
async def a_qp_without_limit_is_as_fast_as_ever_behind_a_limited_one(dut: Any) -> None:
    bench = RoceTxBench(dut)
    await bench.start(context(rate=1 << roce_pacer.RATE_BITS), context())
    for _ in range(5):
        bench.send(1500)
    await bench.check()
    first = len(bench.out.taken)
    for _ in range(40):
        bench.send(1500, qp=1)
    await bench.check()
    assert bench.out.taken[-1] - bench.out.taken[first] == len(bench.out.taken) - first - 1


@cocotb.test()
@cocotb.parametrize(enabled=[True, False])
async def a_limit_that_is_lifted_frees_the_packets_that_wait_for_it(dut: Any, enabled: bool) -> None:
    bench = RoceTxBench(dut)
    limited = context(mtu=256, rate=1, burst=0)  # 2^-16 bytes a cycle: for ever
    await bench.start(limited, context())
    bench.send(5000)
    bench.send(100, qp=1)
    for _ in range(3000):
        await bench.step()
    assert len(bench.statuses) == 0
    await bench.write(0, dataclasses.replace(limited, rate=0, enabled=enabled), set_psn=False)
    await bench.check()


@cocotb.test()
async def a_rate_that_is_written_alone_limits_and_frees_its_qp(dut: Any) -> None:
    bench = RoceTxBench(dut)
    await bench.start(context(mtu=256), context(mtu=256))
    dut.pace_all_i.value = 1
    await bench.set_rate(0, 1)
    bench.send(5000)
    bench.send(100, qp=1)
    for _ in range(3000):
        await bench.step()
    assert len(bench.statuses) == 0
    await bench.set_rate(1, 1 << roce_pacer.RATE_BITS)
    assert len(bench.statuses) == 0, "the rate of another QP"
    await bench.set_rate(0, 0)
    await bench.check()


@cocotb.test()
async def packets_that_are_left_out_wait_for_no_limit(dut: Any) -> None:
    bench = RoceTxBench(dut)
    await bench.start(context(mtu=256, rate=1 << roce_pacer.RATE_BITS, burst=1000), context())
    for _ in range(1500):
        await bench.step()
    bench.send(25_600, stream=1)
    start = bench.cycle
    bench.send(100, qp=1)
    await bench.check()
    assert bench.out.taken[-1] - start < 100 * 2 * axis.n_beats(74, bench.width) + 50


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def a_refused_message_sends_nothing_and_the_next_one_is_served(dut: Any, stalls: Stalls) -> None:
    bench = RoceTxBench(dut, stalls)
    await bench.start(context(), context(enabled=False))
    for length, qp in ((100, 0), (200, 1), (64, 0), (0, 0), (65, 0), (3, 255), (0, 1), (300, 0)):
        bench.send(length, qp=qp)
    bench.send(MAX_MESSAGE_BYTES + 1, qp=0)
    bench.send(5000, qp=0)
    await bench.check()
    assert {s for s, _ in bench.statuses} == {Status.OK, Status.BAD_QP, Status.BAD_LENGTH}


@cocotb.test()
async def every_qp_keeps_its_own_psn_across_the_wrap(dut: Any) -> None:
    bench = RoceTxBench(dut)
    await bench.start(*(context(psn=(0xFFFFFE + n) & 0xFFFFFF, mtu=256) for n in range(4)))
    for n in range(24):
        bench.send(700 if n % 3 else 20, qp=n % 4)
    await bench.check()


@cocotb.test()
async def a_qp_that_is_written_again_starts_at_its_new_psn_or_goes_on(dut: Any) -> None:
    bench = RoceTxBench(dut)
    await bench.start(context(psn=5, mtu=256))
    bench.send(600)
    await bench.check()
    for qp, set_psn in ((context(psn=77, rkey=1, mtu=256), True), (context(psn=5, rkey=2, mtu=512), False)):
        await bench.write(0, qp, set_psn)
        psn = qp.psn if set_psn else 80
        bench.model = RoceTx(LOCAL, (dataclasses.replace(qp, psn=psn),))
        bench.send(600)
        await bench.check()
    psns = [wire.parse(p)[0].psn for p in bench.out.packets(bench.width)]
    assert psns == [5, 6, 7, 77, 78, 79, 80, 81]


@cocotb.test()
async def a_message_that_has_begun_keeps_its_qp_while_that_is_written(dut: Any) -> None:
    bench = RoceTxBench(dut)
    await bench.start(context(rkey=1, mtu=256), context(rkey=9))
    bench.send(5000)
    for _ in range(PIPELINE):
        await bench.step()
    changed = context(rkey=2, mtu=256)
    await bench.write(0, changed, set_psn=False)
    bench.model = RoceTx(LOCAL, (dataclasses.replace(changed, psn=changed.psn + 20 & 0xFFFFFF),))
    bench.send(300)
    await bench.check()
    rkeys = [reth.rkey for p in bench.out.packets(bench.width) if (reth := wire.parse(p)[0].reth)]
    assert rkeys == [1] * 20 + [2] * 2


@pytest.mark.parametrize("width", [*some_widths("roce_tx"), *some_widths("roce_tx, other widths", (128, 256, 1024))])
def test_roce_tx(width: int) -> None:
    run("roce_tx", DataW=width, NumQp={128: 32, 1024: 256}.get(width, 16))
