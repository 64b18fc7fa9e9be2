"""A board that is only a map, behind UDP datagrams: the golden model of its end, served by a thread of this process."""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from framelane.models.remote.udp_registers import UdpRegisters
from paper_board import PaperBoard

MAC = bytes.fromhex("020000000001")
_HEAD = MAC + bytes.fromhex("0200000000020800 45000000 00004000 40110000 0a000002 0a000001 9c40".replace(" ", ""))


@dataclass
class DatagramBoard(PaperBoard):
    """What is served; `lose` says of each datagram, in both directions, whether it is lost."""

    port: int
    model: UdpRegisters
    lose: Callable[[bytes], bool] = lambda _: False

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
