"""udp_registers: every answer is the model's, scapy finds its headers right, and the driver drives it by a socket."""

import itertools
import socket
import threading
from collections.abc import Callable
from typing import Any

import cocotb
import pytest
from cocotb.triggers import ReadOnly
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from axil_words import HOLE, AxilWords
from bench import ALL_STALLS, Bench, Stalls, run
from framelane.base.errors import BoardError
from framelane.driver.registers.udp_registers import UdpRegisters
from framelane.models.remote import udp_registers as model
from framelane.models.remote.udp_registers import Access, Datagram, Kind, Status, read, write
from signals import now

MAC = "02:00:00:00:00:01"
HOST, OTHER = ("02:00:00:00:00:0a", "192.168.1.10"), ("02:00:00:00:00:0b", "192.168.1.11")
BOARD_IP = "192.168.1.50"


class RegistersBench(Bench):
    """The design, words behind it, and the model with words of its own."""

    def __init__(self, dut: Any, stalls: Stalls = Stalls.NONE) -> None:
        super().__init__(dut, stalls)
        self.requests, self.answers = self.source("s_axis"), self.sink("m_axis")
        dut.mac_i.value, dut.port_i.value, dut.stir_i.value = int(MAC.replace(":", ""), 16), model.PORT, 0
        dut.show_i.value = 0
        self.answer(lambda: setattr(dut.stir_i, "value", self.random.getrandbits(1)))
        self.words = AxilWords(self, stalls=stalls.sink)
        self.counts = dict.fromkeys(("answered_o", "refused_o"), 0)
        self.watch(self._count)
        self.model = model.UdpRegisters(bytes.fromhex(MAC.replace(":", "")), self.words.access_of_model)

    def _count(self) -> None:
        for name in self.counts:
            self.counts[name] += now(getattr(self.dut, name))

    def send(self, frame: bytes, *, cut: bool = False) -> None:
        for at, byte in enumerate(frame):
            last = at == len(frame) - 1
            self.requests.items.append({"tdata": byte, "tlast": int(last), "tuser": int(last and cut)})

    async def ask(self, frame: bytes, *, cut: bool = False, cycles: int = 20_000) -> bytes | None:
        """What comes back of a frame, and nothing where the next one is waited for."""
        self.answers.clear()
        self.send(frame, cut=cut)
        await self.until(lambda: not self.requests.items, cycles)
        for _ in range(3):
            await self.step()
        if not self.requests.is_ready():
            await self.until(self.requests.is_ready, cycles)
        items = self.answers.items
        assert [item["tlast"] for item in items] == [0] * (len(items) - 1) + [1] * bool(items)
        return bytes(item["tdata"] for item in items) or None

    async def same(self, frame: bytes, *, cut: bool = False) -> Datagram | None:
        """The answer, which must be the model's."""
        expected = None if cut else self.model.answer(frame)
        got = await self.ask(frame, cut=cut)
        assert got == expected, (got and got.hex(), expected and expected.hex())
        assert self.words.words == self.words.of_model
        return Datagram.decode(bytes(Ether(got)[UDP].payload)) if got else None

    async def hello(self, host: tuple[str, str] = HOST) -> int:
        """Say hello; the token, which the model is told of."""
        frame = packet(Datagram(kind=Kind.HELLO, number=7), host)
        got = await self.ask(frame)
        assert got
        token = Datagram.decode(bytes(Ether(got)[UDP].payload)).token
        self.model.token = token
        assert got == self.model.answer(frame)
        return token


def packet(datagram: Datagram, host: tuple[str, str] = HOST, *, fill: int = 0, port: int = model.PORT) -> bytes:
    head = Ether(src=host[0], dst=MAC) / IP(src=host[1], dst=BOARD_IP, id=77, ttl=63)
    return bytes(head / UDP(sport=40000, dport=port) / datagram.encode()) + bytes(fill)


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def accesses_are_done_in_order_and_answered(dut: Any, stalls: Stalls) -> None:
    bench = RegistersBench(dut, stalls)
    await bench.reset()
    token = await bench.hello()
    assert token
    for number in range(12):
        count = (1, 2, 7, 64)[number % 4]
        accesses = tuple(
            (write(address, bench.random.getrandbits(32)) if bench.random.random() < 0.5 else read(address))
            for address in (4 * bench.random.randrange(16) | bench.random.choice((0, HOLE)) for _ in range(count))
        )
        datagram = Datagram(kind=Kind.ACCESS, number=number, token=token, accesses=accesses)
        answer = await bench.same(packet(datagram, fill=number % 3 * 5))
        assert answer
        assert answer.status is Status.DONE
    assert bench.counts == {"answered_o": 13, "refused_o": 0}


@cocotb.test()
async def headers_of_an_answer_are_right_by_scapy(dut: Any) -> None:
    bench = RegistersBench(dut)
    await bench.reset()
    got = await bench.ask(packet(Datagram(kind=Kind.HELLO, number=1)))
    assert got
    ether = Ether(got)
    assert (ether.src, ether.dst, ether[IP].src, ether[IP].dst) == (MAC, HOST[0], BOARD_IP, HOST[1])
    assert (ether[UDP].sport, ether[UDP].dport, ether[UDP].chksum) == (model.PORT, 40000, 0)
    checksum = ether[IP].chksum
    del ether[IP].chksum
    assert Ether(bytes(ether))[IP].chksum == checksum
    assert len(ether[UDP].payload) == len(bytes(ether[Raw])) == ether[UDP].len - 8


@cocotb.test()
async def who_may_do_what(dut: Any) -> None:
    bench = RegistersBench(dut)
    await bench.reset()

    async def status(datagram: Datagram, host: tuple[str, str] = HOST) -> Status:
        answer = await bench.same(packet(datagram, host))
        assert answer
        return answer.status

    def access(number: int, *accesses: Access, token: int = 0) -> Datagram:
        return Datagram(kind=Kind.ACCESS, number=number, token=token, accesses=accesses)

    hello = Datagram(kind=Kind.HELLO, number=3)
    assert await status(access(1, read(0))) is Status.NOT_PEER  # nobody has said hello
    token = await bench.hello()
    assert await status(hello, OTHER) is Status.NOT_PEER
    for host in ((HOST[0], OTHER[1]), (OTHER[0], HOST[1])):
        assert await status(access(2, read(0)), host) is Status.NOT_PEER
    assert await status(access(2, read(0))) is Status.DONE
    for wrong in (0, token ^ 1, token ^ 1 << 63):
        assert await status(access(3, write(0, 5), token=wrong)) is Status.NO_TOKEN
        assert await status(access(3, read(0), write(0, 5), token=wrong)) is Status.NO_TOKEN
    assert bench.words.writes == []
    assert await status(access(3, write(0, 5), token=token)) is Status.DONE
    bench.words.of_model[0] = bench.words.words[0] = 6  # by another hand
    assert await status(access(3, write(0, 5), read(0), token=token)) is Status.REPEATED
    assert bench.words.writes == [(0, 5)]
    assert await status(access(4, write(0, 5), token=token)) is Status.DONE
    assert await status(hello) is Status.DONE  # the peer again: the same token
    assert await status(access(4, write(0, 5), token=token)) is Status.DONE
    assert bench.counts["refused_o"] == 10
    await bench.reset()
    bench.model._peer = None
    assert await bench.hello(OTHER) != token


@cocotb.test()
async def the_token_may_be_shown_before_and_after_the_first_hello(dut: Any) -> None:
    bench = RegistersBench(dut)

    async def show() -> int:
        dut.show_i.value = 1
        await bench.step()
        dut.show_i.value = 0
        await ReadOnly()
        shown = now(dut.token_o)
        await bench.step()
        return shown

    await bench.reset()
    for _ in range(100):
        await bench.step()
    shown = await show()
    assert shown
    assert await show() == shown
    assert await bench.hello() == shown
    assert await bench.same(packet(Datagram(kind=Kind.ACCESS, number=1, token=shown, accesses=(write(0, 5),))))
    assert bench.words.writes == [(0, 5)]
    await bench.reset()
    bench.model._peer = None
    token = await bench.hello()
    assert token != shown
    assert await show() == token


@cocotb.test()
async def what_is_not_for_the_board_is_left_out(dut: Any) -> None:
    bench = RegistersBench(dut)
    await bench.reset()
    token = await bench.hello()
    datagram = Datagram(kind=Kind.ACCESS, number=1, token=token, accesses=(write(4, 1), read(4)))
    right = packet(datagram)
    for at in range(len(right)):  # every bit of the head, and of what follows
        for bit in (0, 7) if at > 61 else range(8):
            frame = bytearray(right)
            frame[at] ^= 1 << bit
            await bench.same(bytes(frame))
    for length in (1, 14, 41, 48, 61, len(right) - 1):
        assert await bench.same(right[:length]) is None
    assert await bench.same(right, cut=True) is None
    assert await bench.same(bench.random.randbytes(2000)) is None
    assert await bench.same(packet(datagram, port=model.PORT + 1)) is None
    full = Datagram(kind=Kind.ACCESS, number=2, token=token, accesses=(read(0),) * 65)
    assert await bench.same(packet(full)) is None
    assert await bench.same(packet(Datagram(kind=Kind.HELLO, number=2, accesses=(read(0),)))) is None
    assert await bench.same(packet(Datagram(kind=Kind.ACCESS, number=9, token=token, answer=True))) is None
    assert await bench.same(packet(Datagram(kind=Kind.ACCESS, number=9, token=token))) is not None


async def driven(bench: RegistersBench, program: Callable[[int], None], lose: Callable[[], bool]) -> None:
    """Run a program of the driver; what its socket sends reaches the design, and the answers go back."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as board:
        board.bind(("127.0.0.1", 0))
        board.setblocking(False)
        failed: list[BaseException] = []

        def body() -> None:
            try:
                program(board.getsockname()[1])
            except BaseException as error:
                failed.append(error)

        thread = threading.Thread(target=body, daemon=True)
        thread.start()
        for _ in range(400_000):
            if not thread.is_alive():
                break
            try:
                payload, address = board.recvfrom(2048)
            except BlockingIOError:
                await bench.step()
                continue
            if lose():
                continue
            frame = packet(Datagram(kind=Kind.HELLO, number=0))[:42]
            ether = Ether(frame)
            ether[UDP].remove_payload()
            del ether[IP].len, ether[IP].chksum, ether[UDP].len, ether[UDP].chksum
            got = await bench.ask(bytes(ether / payload))
            if got and not lose():
                board.sendto(bytes(Ether(got)[UDP].payload), address)
        thread.join(5)
        assert not thread.is_alive(), "the driver has not ended"
        if failed:
            raise failed[0]


@cocotb.test()
async def the_driver_reads_and_writes_through_loss(dut: Any) -> None:
    bench = RegistersBench(dut)
    await bench.reset()
    turn = itertools.cycle([False, True, False, False, True, False, False])

    def program(port: int) -> None:
        registers = UdpRegisters("127.0.0.1", port)
        for k in range(4):
            registers.write(4 * k, 0x1234_0000 + k)
        assert [registers.read(4 * k) for k in range(4)] == [0x1234_0000 + k for k in range(4)]
        with pytest.raises(BoardError, match="cannot read offset 0xf000"):
            registers.read(HOLE)
        registers.close()

    await driven(bench, program, lambda: next(turn))
    assert bench.words.writes == [(4 * k, 0x1234_0000 + k) for k in range(4)]  # each once


def test_udp_registers() -> None:
    run("udp_registers", flat=True)
