"""axil_turns: two masters each get their own answers, and neither waits for more than one access."""

from dataclasses import dataclass
from typing import Any

import cocotb

from bench import Bench, run
from signals import now

ADDRESSES = 8
REQUEST = {"awaddr": 16, "awvalid": 1, "wdata": 32, "wvalid": 1, "bready": 1, "araddr": 16, "arvalid": 1, "rready": 1}
UNUSED = {"awprot": 3, "wstrb": 4, "arprot": 3}


@dataclass
class Access:
    """One that a master makes, from its first cycle on."""

    address: int
    data: int | None
    start: int
    first: str | None
    """What of a write comes alone, until it is taken."""
    address_taken: bool = False
    data_taken: bool = False


class Master:
    """Accesses at random; its words are those above `base`."""

    def __init__(self, bench: "Turns", index: int) -> None:
        self._bench, self._index = bench, index
        self.words: dict[int, int] = {}
        self.access: Access | None = None
        self.done = 0
        self.longest = 0
        self.ready = False

    def drive(self) -> dict[str, int]:
        random = self._bench.random
        if self.access is None and random.random() < self._bench.share:
            address = self._index << 12 | 4 * random.randrange(ADDRESSES)
            data = random.getrandbits(32) if random.random() < 0.5 else None
            first = random.choice(("address", "data", None))
            self.access = Access(address, data, self._bench.cycle, first)
        self.ready = random.random() < 0.7
        a = self.access
        reads, writes = a is not None and a.data is None, a is not None and a.data is not None
        return {
            "awaddr": a.address if a else random.getrandbits(16),
            "awvalid": int(writes and a is not None and not a.address_taken and (a.first != "data" or a.data_taken)),
            "wdata": (a.data or 0) if a else random.getrandbits(32),
            "wvalid": int(writes and a is not None and not a.data_taken and (a.first != "address" or a.address_taken)),
            "araddr": a.address if a else random.getrandbits(16),
            "arvalid": int(reads and a is not None and not a.address_taken),
            "bready": int(writes and self.ready),
            "rready": int(reads and self.ready),
        }

    def sample(self) -> None:
        a = self.access

        def get(name: str) -> int:
            return self._bench.answer_of(name, self._index)

        if a is None:
            assert not any(get(name) for name in ("bvalid", "rvalid"))
            return
        if a.data is None:
            over = get("rvalid") and self.ready
            if over:
                assert a.address_taken
                assert get("rdata") == self.words.get(a.address, 0)
            a.address_taken |= bool(get("arready"))
        else:
            over = get("bvalid") and self.ready
            if over:
                assert a.address_taken
                assert a.data_taken
                self.words[a.address] = a.data
            address, data = a.address_taken, a.data_taken
            a.address_taken |= bool(get("awready")) and (a.first != "data" or data)
            a.data_taken |= bool(get("wready")) and (a.first != "address" or address)
        if over:
            self.longest = max(self.longest, self._bench.cycle - a.start)
            self.done += 1
            self.access = None


class Registers:
    """What is behind: one access at a time, each part taken and answered when it likes."""

    def __init__(self, bench: "Turns") -> None:
        self._bench = bench
        self.words: dict[int, int] = {}
        self.address: int | None = None
        self.data: int | None = None
        self.read: int | None = None
        self.out: dict[str, int] = {}

    def drive(self) -> dict[str, int]:
        random = self._bench.random
        self.out = {
            "awready": int(self.address is None and random.random() < 0.6),
            "wready": int(self.data is None and random.random() < 0.6),
            "bvalid": int(None not in (self.address, self.data)),
            "arready": int(self.read is None and random.random() < 0.6),
            "rvalid": int(self.read is not None),
            "rdata": self.words.get(self.read, 0) if self.read is not None else random.getrandbits(32),
        }
        return self.out

    def sample(self) -> None:
        def get(name: str) -> int:
            return now(getattr(self._bench.dut, f"m_axil_{name}"))

        if self.out["bvalid"] and get("bready"):
            assert self.address is not None
            assert self.data is not None
            self.words[self.address] = self.data
            self.address = self.data = None
        elif self.out["rvalid"] and get("rready"):
            self.read = None
        if get("awvalid") and self.out["awready"]:
            self.address = get("awaddr")
        if get("wvalid") and self.out["wready"]:
            self.data = get("wdata")
        if get("arvalid") and self.out["arready"]:
            self.read = get("araddr")
        assert self.read is None or (self.address is None and self.data is None), "two accesses at once"


class Turns(Bench):
    """The design between two masters and the registers."""

    def __init__(self, dut: Any, share: float) -> None:
        super().__init__(dut)
        self.share = share
        self.masters = [Master(self, k) for k in range(2)]
        self.registers = Registers(self)
        for name in UNUSED:
            getattr(dut, f"s_axil_{name}").value = 0
        for name in ("bresp", "rresp"):
            getattr(dut, f"m_axil_{name}").value = 0
        self.answer(self._drive)
        self.watch(self._sample)

    def _drive(self) -> None:
        requests = [master.drive() for master in self.masters]
        for name, width in REQUEST.items():
            value = requests[1][name] << width | requests[0][name]
            getattr(self.dut, f"s_axil_{name}").value = value
        for name, word in self.registers.drive().items():
            getattr(self.dut, f"m_axil_{name}").value = word

    def answer_of(self, name: str, k: int) -> int:
        width = 32 if name == "rdata" else 1
        return now(getattr(self.dut, f"s_axil_{name}")) >> width * k & (1 << width) - 1

    def _sample(self) -> None:
        for master in self.masters:
            master.sample()
        self.registers.sample()


@cocotb.test()
@cocotb.parametrize(share=[0.05, 0.5, 1.0])
async def each_gets_its_own_answers_and_its_turn(dut: Any, share: float) -> None:
    bench = Turns(dut, share)
    await bench.reset()
    for _ in range(6000):
        await bench.step()
    first, second = bench.masters
    assert first.words | second.words == bench.registers.words
    assert min(first.done, second.done) > 100
    assert max(first.longest, second.longest) < 60
    if share == 1.0:
        assert abs(first.done - second.done) <= 1


def test_axil_turns() -> None:
    run("axil_turns", flat=True)
