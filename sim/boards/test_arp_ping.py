"""arp_ping: scapy makes the requests and judges the answers; what is no request for the board is not answered."""

from typing import Any

import cocotb
from board_runner import BOARDS
from scapy.layers.inet import ICMP, IP, UDP
from scapy.layers.l2 import ARP, Ether
from scapy.utils import checksum

from bench import ALL_STALLS, Bench, Stalls, run

MAC, ADDRESS = "02:00:00:00:00:01", "192.168.1.50"
HOST, HOST_ADDRESS = "02:00:00:00:00:0a", "192.168.1.10"
OTHER, OTHER_ADDRESS = "02:00:00:00:00:0b", "192.168.1.51"
EVERYBODY = "ff:ff:ff:ff:ff:ff"
SHORTEST, LONGEST = 60, 2047
"""Bytes of a frame without its FCS: Ethernet's least, the block's most."""
HEADS = 14 + 20 + 8


class EchoBench(Bench):
    """The block, and what it has answered."""

    def __init__(self, dut: Any, stalls: Stalls = Stalls.NONE) -> None:
        super().__init__(dut, stalls)
        self.requests, self.answers = self.source("s_axis"), self.sink("m_axis")
        dut.mac_i.value, dut.ip_i.value = int(MAC.replace(":", ""), 16), 0xC0A80132

    def send(self, frame: bytes, *, cut: bool = False) -> None:
        for at, byte in enumerate(frame):
            last = at == len(frame) - 1
            self.requests.items.append({"tdata": byte, "tlast": int(last), "tuser": int(last and cut)})

    async def settle(self) -> list[bytes]:
        """The answers since this was called last, when nothing more is to come."""
        for limit in (200_000, 20_000):
            await self.until(lambda: not self.requests.items, limit)
            for _ in range(3):
                await self.step()
            await self.until(self.requests.is_ready, 20_000)
        found, frame = [], bytearray()
        for item in self.answers.items:
            frame.append(item["tdata"])
            if item["tlast"]:
                found.append(bytes(frame))
                frame.clear()
        assert not frame, "an answer without an end"
        self.answers.clear()
        return found

    async def ask(self, frame: bytes, *, cut: bool = False) -> bytes | None:
        """What comes back of one frame."""
        self.send(frame, cut=cut)
        got = await self.settle()
        assert len(got) <= 1
        return got[0] if got else None


def padded(frame: Any, fill: bytes = b"\0") -> bytes:
    return bytes(frame).ljust(SHORTEST, fill)


def who_has(address: str = ADDRESS, to: str = EVERYBODY, **fields: Any) -> bytes:
    return padded(Ether(src=HOST, dst=to) / ARP(hwsrc=HOST, psrc=HOST_ADDRESS, pdst=address, **fields))


def echo(payload: bytes = b"", *, number: int = 7, to: str = MAC, fill: bytes = b"\0", **ip: Any) -> bytes:
    fields: dict[str, Any] = {"src": HOST_ADDRESS, "dst": ADDRESS, "ttl": 9, "id": 0x1234} | ip
    head = IP(**fields)
    return padded(Ether(src=HOST, dst=to) / head / ICMP(type=8, id=77, seq=number) / payload, fill)


def demand_is_at(answer: bytes | None) -> None:
    """The answer to `who_has`, as RFC 826 has it."""
    expected = ARP(op="is-at", hwsrc=MAC, psrc=ADDRESS, hwdst=HOST, pdst=HOST_ADDRESS)
    assert answer == padded(Ether(src=MAC, dst=HOST) / expected)


def demand_reply(answer: bytes | None, request: bytes) -> None:
    """The answer to an echo request: it turned round, both checksums right, and its padding with it."""
    assert answer
    assert len(answer) == max(SHORTEST, 14 + Ether(request)[IP].len)
    asked, got = Ether(request), Ether(answer)
    assert (got.src, got.dst) == (MAC, HOST)
    assert (got[IP].src, got[IP].dst, got[IP].len, got[IP].id) == (ADDRESS, HOST_ADDRESS, asked[IP].len, asked[IP].id)
    assert (got[ICMP].type, got[ICMP].code) == (0, 0)
    assert (got[ICMP].id, got[ICMP].seq) == (asked[ICMP].id, asked[ICMP].seq)
    assert answer[HEADS:] == request[HEADS : len(answer)]
    assert checksum(answer[14:34]) == 0
    assert checksum(answer[34 : 14 + got[IP].len]) == 0


@cocotb.test()
@cocotb.parametrize(stalls=ALL_STALLS)
async def requests_are_answered_in_order(dut: Any, stalls: Stalls) -> None:
    bench = EchoBench(dut, stalls)
    await bench.reset()
    requests = [who_has(), who_has(to=MAC)]
    for size in (0, 1, 17, 18, 19, 56, 301):
        requests += [echo(bench.random.randbytes(size), number=size), who_has()]
    for frame in requests:
        bench.send(frame)
    answers = await bench.settle()
    assert len(answers) == len(requests)
    for request, answer in zip(requests, answers, strict=True):
        if ARP in Ether(request):
            demand_is_at(answer)
        else:
            demand_reply(answer, request)


@cocotb.test()
async def checksums_are_right_where_they_carry(dut: Any) -> None:
    """The payload takes the request's checksum to where 8 << 8 more carries, and where it just does not."""
    bench = EchoBench(dut)
    await bench.reset()
    seen = set()
    for wanted in (0, 1, 0x07FF, 0x0800, 0xF7FE, 0xF7FF, 0xF800, 0xF8FF, 0xFFFE, 0xFFFF):
        plain = Ether(echo(bytes(2)))[ICMP].chksum
        word = (plain - wanted) % 0xFFFF
        request = echo(word.to_bytes(2, "big"))
        seen.add(Ether(request)[ICMP].chksum)
        demand_reply(await bench.ask(request), request)
    assert {0xF7FF, 0xF800, 0xFFFE} <= seen
    nothing = padded(Ether(src=HOST, dst=MAC) / IP(src=HOST_ADDRESS, dst=ADDRESS) / ICMP(type=8, id=0, seq=0))
    demand_reply(await bench.ask(nothing), nothing)


@cocotb.test()
async def the_longest_request_is_answered_and_a_longer_one_is_not(dut: Any) -> None:
    bench = EchoBench(dut)
    await bench.reset()
    longest = echo(bench.random.randbytes(LONGEST - HEADS))
    assert len(longest) == LONGEST
    demand_reply(await bench.ask(longest), longest)
    for more in (1, 2, 60, 2048, 2049):
        assert await bench.ask(echo(bytes(LONGEST - HEADS + more))) is None
    filled = echo(b"abc", fill=b"\xa5")
    demand_reply(await bench.ask(filled), filled)
    demand_reply(await bench.ask(filled + bytes(40)), filled)  # what is behind the padding stays out


@cocotb.test()
async def what_is_no_request_for_the_board_is_not_answered(dut: Any) -> None:
    bench = EchoBench(dut)
    await bench.reset()
    udp = Ether(src=HOST, dst=MAC) / IP(src=HOST_ADDRESS, dst=ADDRESS) / UDP(sport=8, dport=0)
    reply = Ether(src=HOST, dst=MAC) / IP(src=HOST_ADDRESS, dst=ADDRESS) / ICMP(type=0)
    code = Ether(src=HOST, dst=MAC) / IP(src=HOST_ADDRESS, dst=ADDRESS) / ICMP(type=8, code=1)
    others = [
        who_has(OTHER_ADDRESS),
        who_has(to=OTHER),
        who_has(op="is-at"),
        who_has(hwtype=6),
        who_has(ptype=0x86DD),
        echo(dst=OTHER_ADDRESS),
        echo(to=OTHER),
        echo(to=EVERYBODY),
        echo(bytes(40), flags="MF"),
        echo(bytes(40), frag=1),
        echo(options=b"\x01\x01\x01\x00"),
        echo(bytes(10), len=27),
        echo(bytes(10), len=400),  # more than there is
        padded(udp),
        padded(reply),
        padded(code),
        who_has()[:42],  # too short for Ethernet
        echo()[:42],
        bytes(64),
        b"\xff",
        bench.random.randbytes(700),
    ]
    for number, frame in enumerate(others):
        assert await bench.ask(frame) is None, number
        right = echo(bytes([number]), number=number)
        demand_reply(await bench.ask(right), right)
    for frame in (who_has(), echo()):
        assert await bench.ask(frame, cut=True) is None
    demand_is_at(await bench.ask(who_has()))
    whole = echo(b"do not fragment", flags="DF")
    demand_reply(await bench.ask(whole), whole)


@cocotb.test()
async def every_byte_that_matters_does(dut: Any) -> None:
    """A bit of each byte of the heads is turned: no answer, where it says what the frame is, and for whom."""
    bench = EchoBench(dut)
    await bench.reset()
    judged = {
        who_has(): {*range(6), *range(12, 22), *range(38, 42)},
        echo(b"payload"): {*range(6), 12, 13, 14, 20, 21, 23, *range(30, 36)},
    }
    for frame, must_fit in judged.items():
        for at in range(HEADS):
            if at in (16, 17) and ICMP in Ether(frame):
                continue  # its length
            turned = bytearray(frame)
            turned[at] ^= 1 << (at % 6)  # not the bits of DF and of the one beside it
            assert (await bench.ask(bytes(turned)) is None) == (at in must_fit), at


@cocotb.test()
async def a_reset_in_an_answer_leaves_nothing_of_it(dut: Any) -> None:
    bench = EchoBench(dut)
    await bench.reset()
    for cycles in (1, 30, 61, 62, 63, 70, 181):
        bench.send(echo(bytes(4)))
        for _ in range(cycles):
            await bench.step()
        await bench.reset()
        bench.answers.clear()
        demand_is_at(await bench.ask(who_has()))


def test_arp_ping() -> None:
    run("arp_ping", folders=[BOARDS / "common"])
