"""The images of a board's memory: loaded by datagrams, read back, refused where they do not fit or nothing is there."""

import time
from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np
import pytest
from numpy.typing import NDArray
from typer.testing import CliRunner

from framelane.base.errors import BoardError, ConfigError
from framelane.cli._main import app
from framelane.driver import open_board
from framelane.driver.board import board_images
from framelane.driver.board.board_images import BoardImages
from framelane.driver.registers.udp_registers import UdpRegisters
from framelane.models.remote.image_memory import IMAGE_BYTES, MEMORY, READY, ImageMemory
from framelane.models.remote.udp_registers import SLVERR, Access
from serve_datagrams import DatagramBoard, serve_datagrams


@pytest.fixture
def board() -> Iterator[DatagramBoard]:
    with serve_datagrams() as served:
        yield served


@pytest.fixture
def memory(board: DatagramBoard) -> ImageMemory:
    """That of `board`."""
    made, others = ImageMemory(), board.access
    board.access = lambda access: (made.access if access.address >= MEMORY else others)(access)  # type: ignore[method-assign]
    return made


@pytest.fixture
def images() -> NDArray[np.uint16]:
    return np.random.default_rng(1).integers(0, 1 << 14, (3, 5, 1023), np.uint16)


def test_images_are_loaded_and_sent(board: DatagramBoard, memory: ImageMemory, images: NDArray[np.uint16]) -> None:
    told: list[tuple[int, int]] = []
    with open_board(f"udp:127.0.0.1:{board.port}") as opened:
        loaded = opened.images()
        assert (loaded.room, loaded.sent) == (4, 0)
        loaded.load(list(images), lambda done, all_: told.append((done, all_)))
        assert (memory.images, loaded.sent) == (3, 3)
        loaded.sent = 0
        assert memory.images == 0
    for index, image in enumerate(images):
        assert memory.read(index * IMAGE_BYTES, image.nbytes) == image.astype("<u2").tobytes()
    assert told[-1][0] == told[-1][1]
    assert told == sorted(told)


def test_a_whole_image_is_written_page_by_page(board: DatagramBoard, memory: ImageMemory) -> None:
    image = np.arange(512 * 1024, dtype=np.uint32).astype(np.uint16).reshape(512, 1024)
    registers = UdpRegisters("127.0.0.1", board.port)
    BoardImages(registers).load([image])
    registers.close()
    assert memory.read(0, IMAGE_BYTES) == image.astype("<u2").tobytes()
    assert memory.page == IMAGE_BYTES // 0x2000 - 1


@pytest.mark.parametrize("lag", [1, 3])
def test_a_memory_that_is_late_is_read_right(
    board: DatagramBoard, memory: ImageMemory, images: NDArray[np.uint16], lag: int
) -> None:
    memory.lag = lag
    with open_board(f"udp:127.0.0.1:{board.port}") as opened:
        opened.images().load(list(images[:, :1]))
    assert memory.delay == lag


def test_a_memory_that_forgets_is_said_and_nothing_of_it_is_sent(
    board: DatagramBoard, memory: ImageMemory, images: NDArray[np.uint16], monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.images = 2
    place = memory._place
    monkeypatch.setattr(memory, "_place", lambda address: place(address) & ~(1 << 12))  # a broken wire
    with open_board(f"udp:127.0.0.1:{board.port}") as opened:
        with pytest.raises(BoardError, match=r"image 0 is not in the board's memory .* the first at 0x0 .*own picture"):
            opened.images().load([np.resize(image, (5, 1024)) for image in images])
        monkeypatch.setattr(memory, "_place", lambda address: address * 0)
        with pytest.raises(BoardError, match="does not hold what is written, whatever delay"):
            opened.images().load(list(images))
    assert memory.images == 0


def test_what_does_not_fit_is_refused_before_anything_is_written(board: DatagramBoard, memory: ImageMemory) -> None:
    small, large = np.zeros((1, 2), np.uint16), np.zeros((513, 1024), np.uint16)
    memory.images = 1
    with open_board(f"udp:127.0.0.1:{board.port}") as opened:
        loaded = opened.images()
        for images, sentence in (
            ([], "0 images do not fit"),
            ([small] * 5, "holds 1 to 4"),
            ([large], "fewer rows"),
            ([small, small[:0]], "image 1 has no pixels"),
        ):
            with pytest.raises(ConfigError, match=sentence):
                loaded.load(images)
        with pytest.raises(ConfigError, match="5 images cannot be sent"):
            loaded.sent = 5
    assert memory.images == 1
    assert not memory.words


@pytest.mark.parametrize("answer", ["nothing", "error"])
def test_a_board_without_such_a_memory_is_said(board: DatagramBoard, answer: str) -> None:
    if answer == "error":
        board.broken = MEMORY
        assert board.access(Access(address=MEMORY)).operation == SLVERR
    with open_board(f"udp:127.0.0.1:{board.port}") as opened, pytest.raises(BoardError, match="no memory for images"):
        opened.images()


def test_a_memory_that_never_gets_ready_is_said(
    board: DatagramBoard, memory: ImageMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(board_images, "_READY_S", 0.05)
    found = memory.access
    monkeypatch.setattr(memory, "access", lambda access: Access(address=MEMORY, data=found(access).data & ~READY))
    begin = time.monotonic()
    with open_board(f"udp:127.0.0.1:{board.port}") as opened, pytest.raises(BoardError, match="does not get ready"):
        opened.images()
    assert time.monotonic() - begin < 5


def test_the_command_loads_files_and_gives_the_picture_back(
    board: DatagramBoard, memory: ImageMemory, images: NDArray[np.uint16], tmp_path: Path
) -> None:
    np.save(tmp_path / "frames.npy", images)
    with h5py.File(tmp_path / "frames.h5", "w") as file:
        file["raw"] = images

    def load(*arguments: str) -> str:
        done = CliRunner().invoke(app, ["board", "load", *arguments, "--board", f"udp:127.0.0.1:{board.port}"])
        return done.output if done.exit_code == 0 else f"{done.exit_code}: {done.exception}"

    assert "3 images of 5 x 1023 pixels are loaded and compared" in load(str(tmp_path / "frames.npy"))
    assert memory.images == 3
    assert "own picture" in load()
    assert memory.images == 0
    assert "1 images" in load(str(tmp_path / "frames.h5"), "--first", "2", "--frames", "1")
    assert memory.read(0, images[2].nbytes) == images[2].astype("<u2").tobytes()
    assert "has no frame 3" in load(str(tmp_path / "frames.h5"), "--first", "3")
    np.save(tmp_path / "other.npy", images.astype(np.int32))
    assert "no raw frames" in load(str(tmp_path / "other.npy"))
    whole = (tmp_path / "frames.npy").read_bytes()
    for kept in (0, 20, len(whole) - 1):
        (tmp_path / "cut.npy").write_bytes(whole[:kept])
        assert "cannot read" in load(str(tmp_path / "cut.npy"))
    assert "the board's memory holds so many" in load(str(tmp_path / "frames.npy"), "--frames", "5")


def test_words_that_stand_for_holes_are_replaced(board: DatagramBoard, memory: ImageMemory, tmp_path: Path) -> None:
    np.save(tmp_path / "frame.npy", np.array([[0x8000, 0x1234]], np.uint16))
    address = f"udp:127.0.0.1:{board.port}"
    done = CliRunner().invoke(app, ["board", "load", str(tmp_path / "frame.npy"), "--board", address])
    assert "1 words of gain code 10" in done.output
    assert memory.read(0, 4) == bytes.fromhex("ffff3412")
