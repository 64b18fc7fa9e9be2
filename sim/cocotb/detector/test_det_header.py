"""det_header: heads and pixels of a detector's packets are those of the model, by its description, a beat a clock."""

import os
from collections import Counter
from typing import Any

import cocotb
import pytest

from bench import Bench, Sink, Stalls, run
from det_packets import DATAGRAM_T, EXAMPLE, JUNGFRAU, build_of, head_of
from framelane.models.cells import axis
from framelane.models.detector.det_header import DetFate, DetHeader, Head
from framelane.models.detector.udp_match import Datagram
from receive_bench import line
from signals import now
from widths import some_widths

MODULES = 3
GAPS = [Stalls.NONE, Stalls.SOURCE]


def of_bench(interfaces: int = 1) -> DetHeader:
    """What the block was built for."""
    return DetHeader(EXAMPLE if os.environ.get("DETECTOR") == "example" else JUNGFRAU, MODULES, interfaces)


class HeaderBench(Bench):
    def __init__(self, dut: Any, header: DetHeader, stalls: Stalls = Stalls.NONE) -> None:
        super().__init__(dut, stalls)
        self.header, self.line, self.width = header, line(self, stalls), len(dut.s_axis_tdata)
        self.line._signals["bad"] = dut.bad_i
        self.out = Sink(dut, "m_axis", lambda: False)
        self._sinks.append(self.out)
        dut.armed_i.value = dut.room_i.value = 1
        dut.two_ports_i.value, dut.modules_i.value, dut.bad_i.value = header.interfaces - 1, MODULES, 0
        self.sent: list[tuple[Datagram, bool]] = []
        self.heads: list[Head] = []
        self.head_at: list[int] = []
        self.fates: Counter[DetFate] = Counter()
        self.watch(self._look)

    def _look(self) -> None:
        if now(self.dut.head_valid_o):
            self.heads.append(head_of(now(self.dut.head_o)))
            self.head_at.append(self.cycle)
        if now(self.dut.fate_valid_o):
            self.fates[DetFate(now(self.dut.fate_o))] += 1

    def packet(self, stream: int = 0, **numbers: int) -> Datagram:
        """A packet with any numbers but these."""
        chance, of = self.random, self.header.of
        fields = {
            n: chance.getrandbits(8 * f.width) for n, f in of.header.fields.items() if n not in of.header.constant
        }
        per_port = self.header.packets // self.header.interfaces
        fields["packet_number"] = of.header.packet_number.first + chance.randrange(per_port)
        if of.header.module_number:
            fields["module_number"] = of.header.module_number.first + chance.randrange(MODULES)
        payload = of.written(fields | numbers) + chance.randbytes(self.header.packet_bytes)
        return Datagram(stream, len(payload), payload)

    def send(self, datagram: Datagram, bad: bool = False) -> None:
        user = DATAGRAM_T.pack({"bytes": datagram.size, "stream": datagram.stream})
        self.line.send(datagram.payload, self.width, tuser=user, bad=0)
        self.line.items[-1]["bad"] = int(bad)
        self.sent.append((datagram, bad))

    async def check(self) -> None:
        """Heads, pixels and fates are the model's."""
        await self.until(lambda: not self.line.items, 1_000_000)
        for _ in range(8):
            await self.step()
        read = [self.header.read(datagram) for datagram, _ in self.sent]
        assert self.heads == [head for head in read if isinstance(head, Head)]
        assert self.fates == Counter(fate for fate in read if isinstance(fate, DetFate))
        beats = iter(self.out.items)
        for (datagram, bad), head in zip(self.sent, read, strict=True):
            if isinstance(head, DetFate):
                continue
            pixels, whole = self.header.pixels(datagram.payload)
            found = [next(beats)]
            while not found[-1]["tlast"]:
                found.append(next(beats))
            (got,) = axis.packets((axis.Beat(i["tdata"], i["tkeep"], bool(i["tlast"])) for i in found), self.width)
            assert got[: len(got) // 2 * 2] == pixels
            if len(datagram.payload) - self.header.of.header.bytes <= self.header.packet_bytes:
                assert bool(found[-1]["tuser"]) == (bad or not whole)
            else:
                assert found[-1]["tuser"], "one that goes on"
        assert next(beats, None) is None


@cocotb.test()
@cocotb.parametrize(stalls=GAPS)
async def heads_and_pixels_are_those_of_the_model(dut: Any, stalls: Stalls) -> None:
    bench = HeaderBench(dut, of_bench(), stalls)
    await bench.reset()
    ports = 1 if bench.header.of.header.module_number else MODULES + 1
    for _ in range(12):
        bench.send(bench.packet(bench.random.randrange(ports)), bench.random.random() < 0.3)
    await bench.check()


@cocotb.test()
async def wrong_headers_lengths_and_numbers_are_refused_each_for_its_reason(dut: Any) -> None:
    bench = HeaderBench(dut, of_bench())
    await bench.reset()
    of, limits = bench.header.of, of_bench().packets
    good = bench.packet()
    first = of.header.packet_number.first
    name, constant = next(iter(of.header.constant.items()))
    cases = [good, Datagram(0, good.size + 2, good.payload), Datagram(0, good.size - 64, good.payload)]
    cases += [bench.packet(packet_number=number) for number in (first + limits - 1, first + limits, first - 1 & 0xFFFF)]
    cases += [bench.packet(**{name: (constant.value ^ 1 << bit) & constant.most}) for bit in range(8 * constant.width)]
    if of.header.module_number:
        cases += [bench.packet(module_number=number) for number in (MODULES - 1, MODULES, 255)]
    else:
        cases += [bench.packet(stream=stream) for stream in (MODULES - 1, MODULES, 255)]
    header = of.header.bytes
    lengths = [1, 7, header - 1, header, header + 1, header + 64, header + 65, len(good.payload) - 1]
    cases += [Datagram(0, good.size, good.payload[:length]) for length in lengths]
    cases += [Datagram(0, good.size, good.payload + bytes(more)) for more in (1, 63, 64, 65, 300)]
    bench.random.shuffle(cases)
    for case in cases:
        bench.send(case)
        bench.send(good)
    await bench.check()
    assert set(bench.fates) == {DetFate.SIZE, DetFate.CONSTANT, DetFate.PACKET, DetFate.MODULE}


@cocotb.test()
async def two_ports_a_module_have_half_of_its_packets_each(dut: Any) -> None:
    if of_bench().of is not JUNGFRAU:
        return
    bench = HeaderBench(dut, of_bench(interfaces=2))
    await bench.reset()
    for stream in range(2 * MODULES + 2):
        for number in (0, 63, 64):
            bench.send(bench.packet(stream, packet_number=number))
    await bench.check()
    assert {head.packet for head in bench.heads} == {0, 63, 64, 127}
    assert bench.fates == {DetFate.PACKET: 2 * MODULES + 2, DetFate.MODULE: 4}


@cocotb.test()
async def what_has_no_room_or_comes_unarmed_is_dropped_whole(dut: Any) -> None:
    bench = HeaderBench(dut, of_bench())
    for armed, room in ((1, 0), (0, 1), (1, 1)):
        await bench.reset()
        dut.armed_i.value, dut.room_i.value = armed, room
        for kept in (bench.sent, bench.heads, bench.fates):
            kept.clear()
        if armed and room:
            bench.send(bench.packet())
            await bench.check()
            continue
        bench.send(bench.packet())
        await bench.until(lambda: not bench.line.items)
        for _ in range(8):
            await bench.step()
        assert not bench.heads
        assert not bench.out.items
        assert bench.fates == ({DetFate.FULL: 1} if armed else {})


@cocotb.test()
async def packets_back_to_back_pass_without_a_bubble_and_the_head_a_cycle_behind_its_beat(dut: Any) -> None:
    bench = HeaderBench(dut, of_bench())
    await bench.reset()
    for _ in range(6):
        bench.send(bench.packet())
    await bench.check()
    lanes = bench.width // 8
    assert bench.line.accepted[-1] - bench.line.accepted[0] == len(bench.line.accepted) - 1
    last = (bench.header.of.header.bytes - 1) // lanes
    assert bench.head_at[0] == bench.line.accepted[last] + 1
    assert bench.out.taken[0] == bench.line.accepted[last + 1] + 3
    per = bench.header.packet_bytes // lanes
    assert all(bench.out.taken[k + per - 1] - bench.out.taken[k] == per - 1 for k in range(0, 6 * per, per))


@pytest.mark.parametrize("width", some_widths("det_header"))
def test_det_header(width: int) -> None:
    os.environ.pop("DETECTOR", None)
    run("det_header", DataW=width)


@pytest.mark.parametrize("width", some_widths("det_header"))
def test_another_description(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DETECTOR", "example")
    parameters, others = build_of(of_bench())
    values: dict[str, Any] = {"DataW": width, **parameters}
    run("det_header", build_args=others, **values)
