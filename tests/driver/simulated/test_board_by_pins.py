"""A board by its pins and Linux on one wire: the rehearsal of docs/tutorials/first_board.md, to photons in a file.

Of the boards one a commit: they share all that is looked at here.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from ipaddress import IPv4Address
from pathlib import Path

import h5py
import numpy as np
import pattern
import pytest

from framelane.base.errors import ConfigError
from framelane.calibration import Calibration, read_calibration, write_calibration
from framelane.driver.simulated.pins.verilated_pins import BOARDS, PinBoard
from framelane.models.jungfrau.jf_correct import PixelCode, correct_int16
from framelane.models.jungfrau.jf_fixed import quantize
from framelane.models.remote.udp_registers import Datagram, Kind, Status, read, write
from live_recv import FRAMELANE

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "tutorials" / "first_board.md").read_text()
SECTION = PAGE.partition("## A rehearsal without the board\n")[2].partition("\n## ")[0]
BOARD = "colorlight_5a_75b"
"""The page's."""
EACH = pytest.mark.parametrize("name", BOARDS)
ROWS, COLUMNS, FRAMES = 64, 1024, 4
PATIENCE_S = 850
"""The board has all that a busy machine leaves of a processor, and needs half a minute of it."""
WAIT = "timeout 200 sh -c 'until [ -s session.json ]; do sleep 0.1; done'"


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", SECTION, re.DOTALL)


@pytest.fixture
def can_make_networks() -> None:
    own = ["unshare", "--net", *(["--map-root-user"] if os.geteuid() else [])]
    making = [*own, "ip", "tuntap", "add", "mode", "tap"]
    if not shutil.which("unshare") or subprocess.run(making, capture_output=True).returncode:
        pytest.skip("no network with a tap device can be made: unshare --net, or ip tuntap, is refused")


def beside(folder: Path, name: str, script: str) -> tuple[int, str, str]:
    """Run a script of the shell beside the board, as on the page: its status, what it said, and on stderr."""
    named = 'trap "kill %1 2>/dev/null || true" EXIT\n'
    named += f'framelane() {{ {sys.executable} -c "from framelane.cli import main; main()" "$@"; }}\n'
    command = [*FRAMELANE, "tap", "--board", name, "bash", "-e", "-c", named + script]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    return done.returncode, done.stdout, done.stderr


def calibration() -> Calibration:
    """With another pedestal and gain for each pixel."""
    shape = 3, ROWS, COLUMNS
    rng = np.random.default_rng(3)
    signs = np.array([1, -1, -1])[:, None, None]
    return Calibration(
        rng.uniform(800, 1200, shape),
        rng.uniform(30, 50, shape) * signs,
        photon_energy_kev=8.0,
        mask=rng.random((ROWS, COLUMNS)) < 0.01,
    )


@EACH
@pytest.mark.timeout(PATIENCE_S)
@pytest.mark.usefixtures("can_make_networks")
def test_the_rehearsal_ends_in_the_photons_of_the_model(tmp_path: Path, name: str) -> None:
    plan, board = blocks("toml")
    (tmp_path / "plan.toml").write_text(plan)
    (tmp_path / "board.toml").write_text(board)
    write_calibration(tmp_path / "calibration.h5", calibration())
    (lines,) = blocks("console")
    script = re.sub("sleep 10 .*", WAIT, lines).replace("--frames 4", "--frames 4 --calibration calibration.h5")
    assert WAIT in script
    assert f"--board {BOARD}" in SECTION
    assert "--calibration" in script
    status, out, err = beside(tmp_path, name, f"{script}wait\n")
    assert (status, err) == (0, ""), (out, err)
    assert "3 packets transmitted, 3 received" in out
    assert "64 bits at 62.5 MHz, frames in memory already" in out
    passed = json.loads(out.splitlines()[-1])
    assert passed["wrong"] == 0
    with h5py.File(tmp_path / "frames.h5") as file:
        data = file["entry/data"]
        numbers, photons, holes = data["detector_frame"][()].tolist(), data["data"][()], data["holes"][()].tolist()
    # As the file has it, in float32: the last bit of a constant decides about a photon in some frames.
    fixed = quantize(read_calibration(tmp_path / "calibration.h5"), 0, "photons")
    assert len(numbers) == FRAMES
    assert sorted(set(numbers)) == numbers
    for number, found, missing in zip(numbers, photons, holes, strict=True):
        # A busy machine may lose a packet between its own sockets: then the file says so, pixel for pixel.
        lost = found == PixelCode.HOLE
        assert np.count_nonzero(lost) == missing, number
        expected = np.where(lost, PixelCode.HOLE, correct_int16(pattern.image(number)[:ROWS], fixed))
        assert np.array_equal(found, expected), number
    assert holes.count(0) > 0


def ask(board: PinBoard, made: Datagram, host: int = 10) -> Datagram | None:
    """What the board answers to a datagram of a host."""
    payload = made.encode()
    udp = (40000).to_bytes(2, "big") + (4792).to_bytes(2, "big") + (8 + len(payload)).to_bytes(2, "big") + bytes(2)
    ip = (
        bytes.fromhex("45000000000040004011 0000")
        + IPv4Address(f"192.168.1.{host}").packed
        + IPv4Address("192.168.1.50").packed
    )
    board.receive(bytes.fromhex("020000000001 02000000000a 0800") + ip + udp + payload)
    board.step(20_000)
    answers = [frame for frame in board.take() if frame[12:14] == b"\x08\x00"]  # an ECPIX-5 sends ARP, too
    return Datagram.decode(answers[0][42:]) if answers else None


@EACH
def test_the_button_makes_the_board_forget_its_peer(name: str) -> None:
    with PinBoard(name) as board:
        hello = Datagram(kind=Kind.HELLO, number=1)
        first = ask(board, hello)
        assert first
        assert (first.status, first.token != 0) == (Status.DONE, True)
        other = ask(board, hello, host=11)
        assert other
        assert other.status is Status.NOT_PEER
        board.press()
        access = ask(board, Datagram(kind=Kind.ACCESS, number=2, token=first.token, accesses=(write(0x18, 5),)))
        assert access
        assert access.status is Status.NOT_PEER
        again = ask(board, hello, host=11)
        assert again
        assert again.status is Status.DONE
        assert board.wrong == 0


@EACH
def test_the_uart_reads_and_writes_registers_and_shows_the_token(name: str) -> None:
    with PinBoard(name, uart=True) as board:

        def say(line: bytes) -> bytes:
            board.say(line + b"\n")
            heard = b""
            for _ in range(50):
                board.step(10_000)
                heard += board.heard()
                if heard.endswith(b"\n"):
                    break
            return heard

        assert say(b"r0000") == b"=58544c46\n"
        assert say(b"w0018 12345678") == b"=12345678\n"
        shown = say(b"t")
        hello = ask(board, Datagram(kind=Kind.HELLO, number=1))
        assert hello
        assert shown == b"=%016x\n" % hello.token
        access = Datagram(kind=Kind.ACCESS, number=2, token=hello.token, accesses=(read(0x18), write(0x18, 5)))
        done = ask(board, access)
        assert done
        assert done.accesses[0].data == 0x12345678
        assert say(b"r0018") == b"=00000005\n"
        assert say(b"r00") == b"?\n"


def test_a_board_that_is_none_is_refused() -> None:
    with pytest.raises(ConfigError, match="'colorlight' is not a board that can be simulated by its pins: give colorl"):
        PinBoard("colorlight")
