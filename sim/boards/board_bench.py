"""A board whose pins are simulated, and a host at the other end of its line: packets, and datagrams of the driver."""

import select
import socket
import threading
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from cocotb.triggers import RisingEdge, Timer, ValueChange
from line_judge import LineJudge
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import ARP, Ether

from framelane.driver.registers import udp_registers
from framelane.models.gmii import gmii

MAC, ADDRESS = "02:00:00:00:00:01", "192.168.1.50"
HOST, HOST_ADDRESS = "02:00:00:00:00:0a", "192.168.1.10"
REGISTERS = 4792
ANSWER_S = 30.0
"""How long the driver waits for an answer, by the clock of the machine that simulates the board."""
IPV4, ROCE = bytes.fromhex("0800"), (4791).to_bytes(2, "big")
LINE = Path("line.txt")
"""What `rgmii_line.sv` writes: times and bytes of all that the board sends."""


@dataclass(frozen=True)
class Packet:
    """A packet on the line, with its preamble: the bytes, when its first one came, in ps, and when its last had."""

    line: bytes
    start: int
    end: int

    @property
    def frame(self) -> bytes:
        """Without preamble and FCS, which are right."""
        start, fcs = len(gmii.START), gmii.FCS_BYTES
        assert self.line[:start] == gmii.START
        frame = self.line[start:-fcs]
        assert zlib.crc32(frame).to_bytes(4, "little") == self.line[-fcs:], "a wrong FCS"
        assert len(self.line) - start >= gmii.MIN_BYTES
        return frame


def read_line(at: int) -> tuple[list[Packet], int]:
    """The packets in `LINE` from a place of it on, and where the next one will be."""
    packets = []
    with LINE.open("rb") as file:
        file.seek(at)
        whole = file.read()
    whole = whole[: whole.rfind(b"\n") + 1]  # the last one may be on its way
    for text in whole.decode().splitlines():
        start, _, data = text.partition(" ")
        assert "!" not in data, "TX_ER"
        line = bytes.fromhex(data)
        packets.append(Packet(line, int(start), int(start) + 8000 * len(line)))
    return packets, at + len(whole)


class BoardBench:
    """The board of `<board>_line.sv` from its reset on."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.judge = LineJudge(dut)
        self.seen = 0
        """Bytes of `LINE` that were looked at."""
        self.unasked: list[Packet] = []
        """Those of RoCE that came while an answer was waited for."""
        dut.button_n.value, dut.status_i.value, dut.start_i.value = 1, 0, 0
        dut.packet_i.value = dut.bytes_i.value = 0

    async def begin(self) -> None:
        """Until it is out of its reset, and the link is up."""
        await Timer(2, "us")
        self.dut.button_n.value = 0  # all that is said of the line before counts for nothing
        await Timer(1, "us")
        self.dut.button_n.value = 1
        self.dut.status_i.value = 1
        await Timer(2, "us")
        _, self.seen = read_line(self.seen)
        self.judge.forget()

    async def send(self, frame: bytes, *, broken: bool = False) -> None:
        """A packet for the board, padded; `broken`: with a wrong FCS."""
        line = gmii.sent(frame.ljust(60, b"\0"), spoiled=broken)
        self.dut.packet_i.value = int.from_bytes(line, "little")
        self.dut.bytes_i.value = len(line)
        self.dut.start_i.value = 1
        await RisingEdge(self.dut.sending_o)
        self.dut.start_i.value = 0
        while int(self.dut.sending_o.value):
            await ValueChange(self.dut.sending_o)

    def new(self) -> list[Packet]:
        """Packets of the board since this was asked last, and those that it sent of itself before an answer.

        Each is one that cocotbext-eth has read at the pins as well.
        """
        packets, self.seen = read_line(self.seen)
        for packet in packets:
            self.judge.take(packet.line)
        unasked, self.unasked = self.unasked, []
        return unasked + packets

    async def ask(self, frame: bytes, *, timeout_us: int = 100, broken: bool = False) -> bytes | None:
        """What the board answers, and nothing where it does not. Frames that it sends by itself are left."""
        await self.send(frame, broken=broken)
        for _ in range(timeout_us):
            await Timer(1, "us")
            packets = self.new()
            self.unasked = [p for p in packets if p.frame[12:14] == IPV4 and p.frame[36:38] == ROCE]
            others = [p.frame for p in packets if p not in self.unasked]
            answers = [frame for frame in others if frame[:6] == bytes.fromhex(HOST.replace(":", ""))]
            if answers:
                (answer,) = answers
                return answer
        return None

    async def drive(self, program: Callable[[int], None], limit_s: float = 600.0) -> None:
        """Run a program of the driver in a thread: what its socket sends to the port is put on the line, and back.

        The simulation waits for it: as long as that runs, the program's thread hardly does. It has more patience
        than with a board: a netlist takes a second for some 20 us of its line, and an answer takes that long.
        """
        patience = patch.object(udp_registers, "_ANSWER_S", ANSWER_S)
        with patience, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
            end.bind(("127.0.0.1", 0))
            end.setblocking(False)
            failed: list[BaseException] = []

            def body() -> None:
                try:
                    program(end.getsockname()[1])
                except BaseException as error:
                    failed.append(error)

            thread = threading.Thread(target=body, daemon=True)
            thread.start()
            deadline = time.monotonic() + limit_s
            while thread.is_alive() and time.monotonic() < deadline:
                asked, _, _ = select.select([end], [], [], 0.005)
                if not asked:
                    await Timer(1, "us")
                    continue
                payload, address = end.recvfrom(2048)
                got = await self.ask(datagram(payload))
                if got:
                    end.sendto(bytes(Ether(got)[UDP].payload)[: Ether(got)[UDP].len - 8], address)
            thread.join(5)
            assert not thread.is_alive(), "the driver has not ended"
            if failed:
                raise failed[0]


def datagram(payload: bytes, port: int = REGISTERS) -> bytes:
    """A frame with a UDP datagram for the board."""
    return bytes(Ether(src=HOST, dst=MAC) / IP(src=HOST_ADDRESS, dst=ADDRESS) / UDP(sport=40000, dport=port) / payload)


def who_has(address: str) -> bytes:
    """A question by ARP."""
    question = ARP(op="who-has", hwsrc=HOST, psrc=HOST_ADDRESS, pdst=address)
    return bytes(Ether(src=HOST, dst="ff:ff:ff:ff:ff:ff") / question)
