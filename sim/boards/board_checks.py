"""What every board must do at its pins, for the tests of each: answers, registers, frames of the picture."""

import itertools
import json
import os
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import cocotb
import numpy as np
import pattern
import pytest
from board_bench import ADDRESS, HOST, HOST_ADDRESS, MAC, BoardBench, Packet, datagram, who_has
from cocotb.triggers import Timer
from scapy.layers.inet import ICMP, IP, UDP
from scapy.layers.l2 import ARP, Ether

from framelane.driver import configure
from framelane.driver.board.board_address import open_board
from framelane.models.gmii import gmii
from framelane.models.jungfrau.jf_correct import guard
from framelane.models.placement.flow import FrameEvent
from framelane.models.placement.slots import SlotLayout
from framelane.models.placement.trailer import unpack
from framelane.models.remote.image_memory import IMAGE_BYTES
from framelane.models.remote.udp_registers import Datagram, Kind, Status, read, write
from framelane.models.tx import Tx
from framelane.session.session import Session
from framelane.session.session_plan import Node

COLUMNS = 1024
ONLY_WITH_IMMEDIATE = 0x0B
"""The opcode of a trailer, without its service: RDMA WRITE ONLY with immediate."""
MTUS = (4096, 1024)
"""RoCEv2's largest, and that of most networks."""
WRITE_BYTES = 8 + 14 + 20 + 8 + 12 + 16 + 4 + 4 + 12
"""On the wire beside a WRITE's payload: preamble, Ethernet, IPv4, UDP, BTH, RETH, ICRC, FCS, gap."""
TRAILER_BYTES = WRITE_BYTES + 4 + 64
"""Likewise all of a trailer: with immediate data, and its 64 bytes."""


def line_mbps(mtu: int) -> float:
    """What a line of 1 Gb/s has room for of payload, in WRITEs of a whole MTU each."""
    return 1000 * mtu / (mtu + WRITE_BYTES)


def session(mtu: int, rows: int, **more: Any) -> Session:
    """A receiver's at the host, for frames of so many rows of the picture; `more` of its fields."""
    return Session(
        source=Node(mac=MAC, ip=IPv4Address(ADDRESS)),
        receiver=Node(mac=HOST, ip=IPv4Address(HOST_ADDRESS)),
        rows=rows,
        columns=COLUMNS,
        mtu=mtu,
        qpn=0x11,
        psn=0xFFFFFE,
        rkey=0xCAFE,
        base=0x7F0000000000,
        n_slots=4,
        slot_bytes=SlotLayout.needed(rows * COLUMNS * 2),
        **more,
    )


def board_file(folder: Path, made: Session, every: int, receiver: str = "") -> Path:
    """The file that configures the board for this session; `receiver`: more of its table."""
    made.save(folder / "session.json", force=True)
    path = folder / "board.toml"
    path.write_text(
        f'[transmitter]\nmac = "{MAC}"\nip = "{ADDRESS}"\nclock_hz = 62_500_000\n\n'
        f'[[receiver]]\nname = "host"\nsession = "session.json"\n{receiver}\n'
        f'[[flow]]\nname = "picture"\nreceivers = ["host"]\nevery = {every}\n'
    )
    return path


async def arp_and_ping_answer_from_power_up_on(dut: Any) -> None:
    """Requests of all sizes for the board's address, and no others."""
    bench = BoardBench(dut)
    await bench.begin()
    answer = await bench.ask(who_has(ADDRESS))
    assert answer
    arp = Ether(answer)[ARP]
    assert (Ether(answer).src, Ether(answer).dst, arp.op) == (MAC, HOST, 2)
    assert (arp.hwsrc, arp.psrc, arp.hwdst, arp.pdst) == (MAC, ADDRESS, HOST, HOST_ADDRESS)
    assert await bench.ask(who_has("192.168.1.51"), timeout_us=20) is None
    for size, first in ((0, 0), (1, 7), (2, 0xF900), (56, 0x1234), (1472, 0xFFFF)):
        payload = first.to_bytes(2, "big") + bytes(range(256)) * 6
        echo = ICMP(type=8, id=77, seq=size) / payload[:size]
        request = Ether(src=HOST, dst=MAC) / IP(src=HOST_ADDRESS, dst=ADDRESS, ttl=9) / echo
        answer = await bench.ask(bytes(request))
        assert answer, size
        reply = Ether(answer)
        assert (reply[IP].src, reply[IP].dst, reply[ICMP].type, reply[ICMP].seq) == (ADDRESS, HOST_ADDRESS, 0, size)
        assert bytes(reply[ICMP].payload)[:size] == payload[:size]
        for layer in (IP, ICMP):  # scapy's own checksums
            again = Ether(bytes(reply)[: 14 + reply[IP].len])
            found = again[layer].chksum
            del again[layer].chksum
            assert Ether(bytes(again))[layer].chksum == found
        assert await bench.ask(bytes(request), broken=True, timeout_us=30) is None


async def registers_over_the_line_want_the_token(dut: Any) -> None:
    """A write without it is refused, one with it is done, and read back."""
    bench = BoardBench(dut)
    await bench.begin()

    async def ask(made: Datagram) -> Datagram:
        answer = await bench.ask(datagram(made.encode()))
        assert answer
        return Datagram.decode(bytes(Ether(answer)[UDP].payload)[: Ether(answer)[UDP].len - 8])

    hello = await ask(Datagram(kind=Kind.HELLO, number=1))
    assert hello.token
    scratch = (write(0x18, 0x12345678), read(0x18), read(0))
    refused = await ask(Datagram(kind=Kind.ACCESS, number=2, token=hello.token ^ 1, accesses=scratch))
    assert refused.status is Status.NO_TOKEN
    done = await ask(Datagram(kind=Kind.ACCESS, number=3, token=hello.token, accesses=scratch))
    assert done.status is Status.DONE
    assert [access.data for access in done.accesses[1:]] == [0x12345678, 0x58544C46]


async def the_token_is_told(dut: Any) -> None:
    """To a hello, `+hello_ns=` behind the moment when the board could answer first; it is left in token.txt."""
    bench = BoardBench(dut)
    await bench.begin()
    if wait_ns := int(cocotb.plusargs.get("hello_ns", 0)):
        await Timer(wait_ns, "ns")
    answer = await bench.ask(datagram(Datagram(kind=Kind.HELLO, number=1).encode()))
    assert answer
    token = Datagram.decode(bytes(Ether(answer)[UDP].payload)[: Ether(answer)[UDP].len - 8]).token
    assert token
    Path("token.txt").write_text(f"{token:016x}")


async def frames_of(bench: BoardBench, made: Session, frames: int) -> tuple[list[Packet], int]:
    """The packets of so many frames, and how many a frame has."""
    per_frame = -(-made.rows * COLUMNS * 2 // made.mtu) + 1
    packets: list[Packet] = []
    for _ in range(20_000):
        await Timer(10, "us")
        packets += [p for p in bench.new() if Ether(p.frame).haslayer(UDP) and Ether(p.frame)[UDP].dport == 4791]
        if len(packets) >= frames * per_frame:
            break
    return packets[: frames * per_frame], per_frame


async def frames_of_the_picture_fill_the_line(dut: Any, mtu: int) -> None:
    """Configured by the driver itself, through a socket: packets are the golden model's, and follow without a gap."""
    rows, frames = int(os.environ.get("FRAMELANE_BOARD_ROWS", "64")), 2
    bench = BoardBench(dut)
    await bench.begin()
    made = session(mtu, rows)

    def program(port: int) -> None:
        with open_board(f"udp:127.0.0.1:{port}") as board:
            configure(board, board_file(Path.cwd(), made, 1))
            board.arm()

    await bench.drive(program)
    packets, per_frame = await frames_of(bench, made, frames)
    trailers = [unpack(p.frame[-68:-4]) for p in packets if p.frame[42] & 0x1F == ONLY_WITH_IMMEDIATE]
    assert len(trailers) == frames
    model = Tx(made.tx_config(), pattern.read)
    expected: list[bytes] = []
    for trailer in trailers:
        assert trailer
        number = trailer.detector_frame
        expected += model.frame(FrameEvent(number, trailer.timestamp_ns, 0, number * pattern.STRIDE))
    assert [p.frame for p in packets] == [packet.ljust(60, b"\0") for packet in expected]
    # Of all frames, from the first byte of the first preamble to the gap behind the last trailer
    gaps = [after.start - before.end for before, after in itertools.pairwise(packets)]
    span_s = (packets[-1].end - packets[0].start) / 1e12 + 8e-9 * gmii.GAP_BYTES
    payload = frames * rows * COLUMNS * 2
    rate, of_writes = payload * 8 / span_s / 1e6, line_mbps(mtu)
    cocotb.log.info(
        "MTU %d: %.2f Mb/s of payload, %.2f in WRITEs alone, gaps of %d to %d ns",
        mtu,
        rate,
        of_writes,
        min(gaps) // 1000,
        max(gaps) // 1000,
    )
    assert set(gaps) == {8000 * gmii.GAP_BYTES}, "the line waited"
    on_the_wire = payload + frames * ((per_frame - 1) * WRITE_BYTES + TRAILER_BYTES)
    assert rate == pytest.approx(payload * 1000 / on_the_wire)
    Path(f"rate_{mtu}.json").write_text(
        json.dumps({"mbps": round(rate, 2), "line": round(of_writes, 2), "bytes": payload})
    )


async def images_of_its_memory_are_sent(dut: Any) -> None:
    """Loaded over the line by the driver, which reads them back: the packets of the golden model with their pixels."""
    is_netlist = Path.cwd().name.endswith("_netlist")  # which takes minutes for two rows
    rows, frames = 2 if is_netlist else 4, 5
    bench = BoardBench(dut)
    await bench.begin()
    made = session(1024, rows)
    words = np.random.default_rng(1).integers(0, 1 << 16, (3, rows, COLUMNS), np.uint16)
    images = [guard(image)[0] for image in words]

    def program(port: int) -> None:
        with open_board(f"udp:127.0.0.1:{port}") as board:
            configure(board, board_file(Path.cwd(), made, 1))
            memory = board.images()
            assert memory.room == 4
            memory.load(images)
            assert memory.sent == len(images)
            board.arm()

    await bench.drive(program, 1800.0 if is_netlist else 600.0)
    packets, per_frame = await frames_of(bench, made, frames)
    assert len(packets) == frames * per_frame

    def read(address: int, length: int) -> bytes:
        index, at = divmod(address, IMAGE_BYTES)
        return images[index].astype("<u2").tobytes()[at : at + length]

    def expected(first: int) -> list[bytes]:
        model = Tx(made.tx_config(), read)
        found: list[bytes] = []
        for k in range(frames):
            trailer = unpack(packets[(k + 1) * per_frame - 1].frame[-68:-4])
            assert trailer
            event = FrameEvent(trailer.detector_frame, trailer.timestamp_ns, 0, (first + k) % len(images) * IMAGE_BYTES)
            found += model.frame(event)
        return found

    got = [p.frame for p in packets]
    begins = [first for first in range(len(images)) if got == [packet.ljust(60, b"\0") for packet in expected(first)]]
    assert len(begins) == 1, "no image is the first frame's, or the others do not follow in order"
