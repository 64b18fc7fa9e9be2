"""A board that is only a map, behind UDP datagrams: the golden model of its end, served by a thread of this process."""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from framelane.driver.registers.recording import PaperRegisters
from framelane.models.remote.udp_registers import SLVERR, Access, UdpRegisters

MAC = bytes.fromhex("020000000001")
_HEAD = MAC + bytes.fromhex("0200000000020800 45000000 00004000 40110000 0a000002 0a000001 9c40".replace(" ", ""))


@dataclass
class DatagramBoard:
    """What is served; `lose` says of each datagram, in both directions, whether it is lost."""

    port: int
    model: UdpRegisters
    registers: PaperRegisters = field(default_factory=PaperRegisters)
    lose: Callable[[bytes], bool] = lambda _: False
    broken: int = -1
    """An access at this offset is an error of the bus."""

    def access(self, access: Access) -> Access:
        if access.address == self.broken:
            return Access(address=access.address, operation=SLVERR)
        if access.operation:
            self.registers.write(access.address, access.data)
            return Access(address=access.address, data=access.data)
        return Access(address=access.address, data=self.registers.read(access.address))

    def answer(self, payload: bytes) -> bytes | None:
        udp = self.model.port.to_bytes(2, "big") + (8 + len(payload)).to_bytes(2, "big") + bytes(2)
        frame = None if self.lose(payload) else self.model.answer(_HEAD + udp + payload)
        return None if frame is None or self.lose(frame[42:]) else frame[42:]


@contextlib.contextmanager
def serve_datagrams() -> Iterator[DatagramBoard]:
    over = threading.Event()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
        end.bind(("127.0.0.1", 0))
        end.settimeout(0.02)
        model = UdpRegisters(MAC, lambda access: board.access(access), token=0x0123456789ABCDEF)
        board = DatagramBoard(end.getsockname()[1], model)

        def serve() -> None:
            while not over.is_set():
                with contextlib.suppress(TimeoutError):
                    payload, address = end.recvfrom(2048)
                    if answer := board.answer(payload):
                        end.sendto(answer, address)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield board
        finally:
            over.set()
            thread.join()
