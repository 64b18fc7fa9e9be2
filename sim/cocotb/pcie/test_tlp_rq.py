"""tlp_rq: the hard block is asked for the model's TLPs, straddled; each takes half a beat more than its payload."""

from typing import Any

import cocotb
from cocotb.triggers import Timer
from cocotbext.axi import AxiStreamBus
from cocotbext.pcie.xilinx.us import UltraScalePlusPcieDevice

from bench import ALL_STALLS, Bench, Source, Stalls, run
from framelane.driver.simulated.ports import TLP_USER_T
from framelane.models.pcie import tlp_rq, tlp_split
from framelane.models.pcie.tlp_join import Sent
from framelane.models.pcie.tlp_rq import BEAT, HALF
from framelane.models.pcie.tlp_split import MPS, Tlp, Write
from link import Host
from measured import note
from tlp_ports import request

DWORDS = BEAT // 4


def field(user: int, low: int, width: int) -> int:
    """Bits of tuser."""
    return user >> low & (1 << width) - 1


class Straddled:
    """TLPs of beats of the interface, by the rules of PG213 for 512 bits."""

    def __init__(self) -> None:
        self.frames: list[tuple[bytes, int, int, bool]] = []
        """Descriptor and payload, first_be, last_be, whether it was discontinued."""
        self._open: bytearray | None = None
        self._enables = (0, 0)

    def beat(self, data: bytes, user: int) -> None:
        """One beat: what is going on goes on from its first byte; at most two TLPs begin in it, in byte 0 or 32."""
        starts = {16 * field(user, 22 + 2 * k, 2): k for k in range(2) if field(user, 20 + k, 1)}
        ends = [4 * field(user, 28 + 4 * k, 4) + 4 for k in range(2) if field(user, 26 + k, 1)]
        assert set(starts) <= {0, HALF}
        assert field(user, 27, 1) <= field(user, 26, 1)
        assert field(user, 21, 1) <= field(user, 20, 1)
        assert ends == sorted(set(ends))
        discontinue = bool(field(user, 36, 1))
        touched = 0
        at = 0
        while at < BEAT:
            if at in starts:
                assert self._open is None, "a TLP begins before the one before has ended"
                k = starts.pop(at)
                self._open = bytearray()
                self._enables = field(user, 4 * k, 4), field(user, 8 + 4 * k, 4)
            if self._open is None:
                assert at != 0, "nothing begins in a beat's first byte"
                at += HALF - at % HALF
                continue
            touched += 1
            end = next((e for e in ends if e > at), BEAT)
            self._open += data[at:end]
            at = end
            if end in ends:
                self.frames.append((bytes(self._open), *self._enables, discontinue))
                self._open = None
                ends.remove(end)
                at += -at % HALF
        assert not starts
        assert not ends
        assert not discontinue or touched == 1, "another TLP is discontinued with the one that is meant"


class RqBench(Bench):
    """The shim with TLPs of the port; what it wants sent."""

    def __init__(self, dut: Any, stalls: Stalls = Stalls.NONE) -> None:
        super().__init__(dut, stalls)
        self.tlps: Source = self.source("s_axis_tlp")
        self.expected: list[Sent] = []

    def send(self, sent: Sent) -> None:
        tlp = sent.tlp
        data = self.random.randbytes(tlp.lead) + sent.data
        data += self.random.randbytes(4 * tlp.dwords - len(data))
        for at in range(0, len(data), BEAT):
            part, last = data[at : at + BEAT], at + BEAT >= len(data)
            user = TLP_USER_T.pack(request(tlp, sent.fence) | {"poisoned": last and sent.poisoned})
            keep = (1 << len(part) // 4) - 1
            beat = {"tdata": int.from_bytes(part, "little"), "tkeep": keep, "tlast": int(last), "tuser": user}
            self.tlps.items.append(beat)
        self.expected.append(sent)

    def write(self, offset: int, length: int, mps: int = 256, poisoned: float = 0.0) -> None:
        for tlp in tlp_split.split(Write(offset, length), mps):
            self.send(Sent(tlp, self.random.randbytes(tlp.length), self.random.random() < poisoned))


class StreamBench(RqBench):
    """The shim with a sink that reads beats."""

    def __init__(self, dut: Any, stalls: Stalls = Stalls.NONE) -> None:
        super().__init__(dut, stalls)
        self.out = self.sink("m_axis_rq")

    def halves(self) -> int:
        return sum(tlp_rq.halves(sent) for sent in self.expected)

    async def check(self) -> None:
        await self.until(lambda: not self.tlps.items)
        for _ in range(20):
            await self.step()
        reader = Straddled()
        for item in self.out.items:
            reader.beat(item["tdata"].to_bytes(BEAT, "little"), item["tuser"])
        for (frame, first_be, last_be, discontinued), sent in zip(reader.frames, self.expected, strict=True):
            assert frame[:16] == tlp_rq.descriptor(sent)
            assert len(frame) == 16 + (4 * sent.tlp.dwords if sent.fence is None else 0)
            assert (first_be, last_be) == (sent.tlp.first_be, sent.tlp.last_be)
            assert discontinued == sent.poisoned
            lead = 16 + sent.tlp.lead
            assert sent.poisoned or frame[lead : lead + sent.tlp.length] == sent.data


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS, mps=MPS)
async def tlps_of_any_length_equal_the_model(dut: Any, stalls: Stalls, mps: int) -> None:
    bench = StreamBench(dut, stalls)
    await bench.reset()
    for dwords in range(1, mps // 4 + 1):
        bench.send(Sent(Tlp(1 << 33 | dwords << 12, 4 * dwords), bench.random.randbytes(4 * dwords)))
    for _ in range(150):
        length = bench.random.choice([bench.random.randrange(1, 20), bench.random.randrange(1, 1500)])
        bench.write(bench.random.getrandbits(40), length, mps)
    await bench.check()


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def a_poisoned_tlp_is_discontinued_and_no_other(dut: Any, stalls: Stalls) -> None:
    bench = StreamBench(dut, stalls)
    await bench.reset()
    for _ in range(200):
        bench.write(bench.random.getrandbits(40), bench.random.choice([1, 4, 16, 17, 48, 49, 64, 200, 300]), 128, 0.3)
    await bench.check()


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def a_fence_is_a_read_without_data_between_writes(dut: Any, stalls: Stalls) -> None:
    bench = StreamBench(dut, stalls)
    await bench.reset()
    for tag in range(32):
        bench.write(bench.random.getrandbits(40), bench.random.choice([1, 16, 17, 48, 64, 200]), 128, 0.1)
        bench.send(Sent(Tlp(bench.random.getrandbits(40) & ~3, 0), b"", fence=tag))
    await bench.check()


@cocotb.test()
@cocotb.parametrize(payload=[64, 128, 256, 512])
async def a_tlp_takes_half_a_beat_more_than_its_payload(dut: Any, payload: int) -> None:
    bench = StreamBench(dut)
    await bench.reset()
    for k in range(40):
        bench.write(k * payload, payload, max(payload, 128))
    await bench.check()
    assert bench.halves() == 40 * (2 * payload // BEAT + 1)
    assert bench.out.taken[-1] - bench.out.taken[0] == bench.halves() // 2 - 1
    assert bench.out.taken[0] - bench.tlps.accepted[0] == 1


@cocotb.test()
async def a_reset_forgets_the_tlp_under_way(dut: Any) -> None:
    bench = StreamBench(dut)
    await bench.reset()
    for cycles in (1, 2, 3, 4, 5, 6):
        bench.write(0, 64)
        bench.write(64, 1000)
        for _ in range(cycles):
            await bench.step()
        await bench.reset(cycles=1)
        bench.expected.clear()
        bench.write(0, 64)
        bench.write(100, 300)
        await bench.check()
        bench.out.clear()
        bench.expected.clear()


class BlockBench(RqBench):
    """The shim before cocotbext-pcie's model of the hard block, which has the clock, and a host."""

    def __init__(self, dut: Any, mps: int = 256) -> None:
        super().__init__(dut)
        self.host = Host(mps)
        self.block = UltraScalePlusPcieDevice(
            pcie_generation=3,
            pcie_link_width=16,
            user_clk_frequency=250e6,
            rq_straddle=True,
            max_payload_size=512,
            user_clk=dut.clk,
            rq_bus=AxiStreamBus.from_prefix(dut, "m_axis_rq"),
        )
        self.block.log.setLevel("WARNING")
        self.block.rq_sink.log.setLevel("WARNING")
        self.block.rq_sink.queue_occupancy_limit_frames = 4
        self.block.rq_sink.pause = True  # before its first reset the shim may offer anything
        self.host.connect(self.block)

    def start_clock(self) -> None:
        """The hard block's."""

    async def start(self) -> None:
        await self.reset()
        self.block.rq_sink.pause = False
        await self.host.complex.enumerate()
        device = self.host.complex.find_device(self.block.functions[0].pcie_id)
        await device.enable_device()
        await device.set_master()

    async def finish(self) -> None:
        whole = sum(not sent.poisoned for sent in self.expected)
        await self.until(lambda: len(self.host.arrived) == whole)
        await Timer(1, "us")
        assert len(self.host.arrived) == whole


@cocotb.test()
@cocotb.parametrize(mps=MPS)
async def host_memory_behind_the_hard_block_holds_what_was_sent(dut: Any, mps: int) -> None:
    bench = BlockBench(dut, mps)
    await bench.start()
    (page,) = bench.host.memory.pages(1, 65536)
    ring = bytearray(b"\xa5" * 65536)
    for _ in range(60):
        length = bench.random.choice([bench.random.randrange(1, 20), bench.random.randrange(1, 1500)])
        offset = bench.random.randrange(len(ring) - length)
        for tlp in tlp_split.split(Write(page + offset, length), mps):
            sent = Sent(tlp, bench.random.randbytes(tlp.length), bench.random.random() < 0.1)
            bench.send(sent)
            if not sent.poisoned:
                at = tlp.address - page
                ring[at : at + tlp.length] = sent.data
    await bench.finish()
    assert bench.host.memory.contents() == ring


CEILING = {128: 12.80, 256: 14.22, 512: 15.05}
"""1e9 bytes a second of 64 bytes at 250 MHz, with half a beat more a TLP; of 512 bytes it is the wire's."""


@cocotb.test()
@cocotb.parametrize(mps=MPS)
async def the_rate_is_that_of_the_hard_blocks_bus(dut: Any, mps: int) -> None:
    bench = BlockBench(dut, mps)
    await bench.start()
    (page,) = bench.host.memory.pages(1, 1 << 17)
    bench.write(page, 1 << 17, mps)
    await bench.finish()
    rate = bench.host.gb_per_s(skip=40)
    dut._log.info("UltraScale+ RQ, gen3 x16, MPS %d: %.3f GB/s", mps, rate)
    note("rq", mps=mps, gb_s=rate)
    assert 0.998 * CEILING[mps] <= rate <= 1.002 * CEILING[mps]


def test_tlp_rq() -> None:
    run("tlp_rq")
