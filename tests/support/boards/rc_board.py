"""A simulated board whose file names receivers of RC, and these receivers behind a network, all of one process."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from framelane.driver.board.board import Board
from framelane.driver.config.board_config import BoardConfig, load
from framelane.driver.config.board_document import CorrectionTable
from framelane.driver.simulated.verilated_rc import SimulatedRcBoard
from framelane.models.jungfrau.jf_fixed import FixedCalibration
from framelane.models.placement.flow import FrameEvent
from framelane.models.placement.slots import FREE_RUNNING
from framelane.models.rc.lossy_network import LinkImpairments
from framelane.models.rc.rc_remote import RcRemote
from framelane.models.rc.rc_responder import RcResponder, Region
from framelane.session.session import Session

STEP = 64
TRANSMITTER = '[transmitter]\nmac = "02:00:00:00:00:01"\nip = "10.0.0.1"\n'
RC = "rc = { window = 24, timeout_ms = 0.03, backoff = 1, retries = 3 }\n"


def rc_session(make: Callable[..., Session], index: int, **changes: Any) -> Session:
    """A session of RC, free-running, for queue pair `index` of the board; `make` is the fixture `make_session`."""
    fields: dict[str, Any] = {
        **{"service": "RC", "source_qpn": 2 + index, "qpn": 0x100 + index, "psn": 0xFFFFF0 + index},
        **{"source": {"mac": "02:00:00:00:00:01", "ip": "10.0.0.1"}, "mtu": 256, "n_slots": 16},
        "receiver": {"mac": "02:00:00:00:00:02", "ip": "10.0.0.2"},
        "window_end": FREE_RUNNING,
    }
    return make(**fields | changes)


def images(session: Session, n: int, seed: int = 1) -> list[bytes]:
    """Images of random bytes, as large as the session's."""
    chance = np.random.default_rng(seed)
    return [chance.bytes(session.image_bytes) for _ in range(n)]


def no_calibration(path: Path, table: CorrectionTable) -> FixedCalibration:
    """None of these boards corrects."""
    raise AssertionError(path)


class RcLink:
    """The board, and a receiver in memory for each session; times in clock cycles."""

    def __init__(self, board: SimulatedRcBoard, impairments: LinkImpairments, seed: int = 1) -> None:
        self.board = board
        self.remote = RcRemote({}, impairments, seed)
        self.memories: dict[int, bytearray] = {}
        self.offered = 0
        self.images: list[bytes] = []
        self.others: list[bytes] = []
        board.link_up(True)

    def serve(self, session: Session) -> RcResponder:
        """A receiver for the session, started anew."""
        region = Region(session.base, session.rkey, bytearray(session.layout.ring_bytes))
        responder = RcResponder(session.psn, session.mtu, region, qp=session.source_qpn - 2)
        self.remote.receivers[session.qpn] = responder
        self.memories[session.qpn] = region.memory
        return responder

    def step(self, cycles: int = STEP) -> None:
        """Let time pass, and bring the packets on their way."""
        end = self.board.cycle + cycles
        while (now := self.board.cycle) < end:
            self.board.step_until(end - now)
            self._carry(self.board.cycle)

    def _carry(self, now: int) -> None:
        for frame in self.board.take():
            ours = frame[12:14] == b"\x08\x00" and frame[36:38] == (4791).to_bytes(2, "big")
            self.remote.send(now, [frame]) if ours else self.others.append(frame)
        for frame in self.remote.due(now):
            self.board.receive(frame)

    def until(self, done: Callable[[], bool], cycles: int = 400_000) -> None:
        """Go on until something is so. AssertionError after so many cycles."""
        end = self.board.cycle + cycles
        while not done():
            assert self.board.cycle < end, "nothing more happens"
            self.step()

    def send(self, image: bytes) -> None:
        """Offer a frame, and go on until its memory is free again."""
        address = self.offered * 0x10000
        self.board.write_memory(address, image)
        self.board.offer(FrameEvent(self.offered, 0, 0, address))
        self.images.append(image)
        self.offered += 1
        self.until(lambda: self.board.released == self.offered)

    def image_of(self, session: Session, frame: int) -> bytes:
        """What lies in the frame's slot."""
        at = frame % session.n_slots * session.layout.slot_bytes
        return bytes(self.memories[session.qpn][at : at + session.image_bytes])


def configure(board: Board, path: Path) -> BoardConfig:
    """As `framelane board configure` does."""
    config = load(path, board.probe(), no_calibration)
    board.configure(config.tx, config.ring, config.correction, config.network)
    for index, window_end in enumerate(config.credit):
        board.publish_credit(index, window_end)
    return config


def write_file(folder: Path, sessions: dict[str, Session], head: str = "", **keys: Any) -> Path:
    """A file of one flow for each session, all of all frames; `head` goes before them, RC to each receiver."""
    text = TRANSMITTER + head
    rc = keys.get("rc", RC)
    for name, session in sessions.items():
        session.save(folder / f"{name}.json")
        more = keys.get(name, "")
        text += f'[[receiver]]\nname = "{name}"\nsession = "{name}.json"\n{rc if session.service == "RC" else ""}{more}'
    text += "".join(f'[[flow]]\nname = "to {name}"\nreceivers = ["{name}"]\n' for name in sessions)
    path = folder / "board.toml"
    path.write_text(text)
    return path
