"""`framelane board` and the correction: the constants as a file, and the registers that belong to them."""

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from framelane.calibration.calibration_file import write_calibration
from framelane.driver.registers.recording import RecordingRegisters
from framelane.driver.registers.register_file import RegisterFile
from framelane.driver.simulated.verilated_top import SimulatedTop
from framelane.models.jungfrau import jf_constants
from framelane.models.jungfrau.jf_calibration import Calibration
from framelane.models.jungfrau.jf_correct import guard
from framelane.models.jungfrau.jf_fixed import quantize
from framelane.models.memory.frame_store import FrameInfo
from framelane.models.roce_tx import wire
from framelane.receiver.pipeline.correction import Correction
from framelane.session.session import Session
from simulated_boards import found

RunCli = Callable[..., tuple[int, str, str]]
PAGE = (Path(__file__).resolve().parents[2] / "docs" / "howto" / "board.md").read_text()
EXAMPLE, FRAGMENT, *_ = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
SMALL = """
[transmitter]
mac = "02:00:00:00:00:01"
ip = "10.0.0.1"
[source]
rows = 16
columns = 100
[store]
base = 0
slots = 4
[correction]
calibration = "calibration.h5"
base = 0x1_0000_0000
[[receiver]]
name = "a"
session = "a.json"
[[flow]]
name = "all"
receivers = ["a"]
image = "corrected"
"""


@pytest.fixture
def transmitter(make_found: Callable[..., RecordingRegisters]) -> RecordingRegisters:
    """Make a board that can correct, with room for the page's example."""
    return make_found(capabilities=3 << 16 | 512)


@pytest.fixture
def calibration(make_calibration: Callable[..., Calibration]) -> Calibration:
    """Make one that differs from pixel to pixel and whose float32 is exact."""
    nominal = make_calibration((16, 100))
    steps = np.arange(1600).reshape(16, 100) / 64
    return replace(
        nominal, pedestal=nominal.pedestal + steps, gain=(nominal.gain * (1 + steps / 100)).astype(np.float32)
    )


@pytest.fixture
def config(tmp_path: Path, make_session: Callable[..., Session], calibration: Calibration) -> Path:
    session = make_session(source={"mac": "02:00:00:00:00:01", "ip": "10.0.0.1"}, pixels="corrected")
    session.save(tmp_path / "a.json")
    write_calibration(tmp_path / "calibration.h5", calibration)
    path = tmp_path / "board.toml"
    path.write_text(SMALL)
    return path


def expecting(config: Path, **changes: Any) -> None:
    """Change what the receiver of `config` says that its pixels are."""
    session = Session.load(config.with_name("a.json"))
    session.model_copy(update=changes).save(config.with_name("a.json"))


def test_a_board_that_corrects_says_so(run_cli: RunCli, transmitter: RecordingRegisters) -> None:
    _, out, _ = run_cli("board", "probe")
    assert "frames in a store of its own, corrected on the way there if wanted\n" in out


@pytest.mark.parametrize(
    ("keys", "energy", "bits", "pitch"),
    [
        ("", 12.4, 0, 4096),
        ("pitch = 8192", 12.4, 0, 8192),
        ('fraction_bits = 3\nunit = "photons"', 12.4, 3, 4096),
        ('fraction_bits = 2\nunit = "keV"', 1.0, 2, 4096),
    ],
)
def test_the_file_holds_the_constants_that_the_registers_belong_to(
    run_cli: RunCli,
    transmitter: RecordingRegisters,
    config: Path,
    calibration: Calibration,
    keys: str,
    energy: float,
    bits: int,
    pitch: int,
) -> None:
    config.write_text(SMALL.replace("[[receiver]]", f"{keys}\n[[receiver]]"))
    expecting(config, fraction_bits=bits, unit="keV" if "keV" in keys else "photons")
    output = config.with_name("constants.bin")
    status, out, err = run_cli("board", "constants", config, "--output", output)
    assert (status, err) == (0, "")
    fixed = quantize(replace(calibration, photon_energy_kev=energy), bits)
    constants = output.read_bytes()
    assert constants == jf_constants.pack(fixed, pitch)
    line = f"constants: {6 * pitch} bytes at 0x100000000, SHA-256 {hashlib.sha256(constants).hexdigest()}\n"
    assert out.startswith(line)
    assert f"`dma_to_device -d /dev/xdma0_h2c_0 -a 0x100000000 -s {6 * pitch} -f {output}`" in out
    assert not transmitter.accesses, "no board is needed"
    status, out, err = run_cli("board", "configure", config)
    assert (status, err) == (0, "")
    assert out == f"flow 0: all, 100 x 16 corrected pixels\n  destination 0: a, credit 4\n{line}configured, not armed\n"
    document = json.loads(run_cli("board", "configure", config, "--json")[1])
    digest = hashlib.sha256(constants).hexdigest()
    assert document["constants"] == {"address": 0x100000000, "bytes": 6 * pitch, "sha256": digest}
    assert document["flows"][0]["corrected"] is True
    regs = RegisterFile(transmitter)
    assert regs.read_register("correction") == {
        **{"enabled": 1, "guard": 1, "high_gain": 0},
        **{f"shift{stage}": shift for stage, shift in enumerate(fixed.shift)},
    }
    assert regs["flow[0].source_offset"] == regs["corrected_offset"] == 3200
    assert (regs["constants_base"], regs["constants_pitch"], regs["constants_bytes"]) == (1 << 32, pitch, 3200)


def test_the_high_gain_is_that_of_the_detectors_mode(
    run_cli: RunCli, transmitter: RecordingRegisters, config: Path, calibration: Calibration
) -> None:
    write_calibration(config.with_name("calibration.h5"), replace(calibration, high_gain=True), force=True)
    status, _, err = run_cli("board", "configure", config)
    assert (status, err.count("is a calibration of the high gain only")) == (2, 1)
    assert all(access.op == "read" for access in transmitter.accesses)
    config.write_text(SMALL.replace("[[receiver]]", 'mode = "hg0"\n[[receiver]]'))
    assert run_cli("board", "configure", config)[0] == 0
    assert RegisterFile(transmitter)["correction.high_gain"] == 1


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (SMALL, EXAMPLE, "board.toml has no table [correction]: there are no constants to write"),
        ("calibration.h5", "none.h5", "board.toml is not usable: [correction]: "),
        ("0x1_0000_0000", "0", "board.toml is not usable: [correction]: the constants would lie at 0x0 to 0x5fff"),
        (
            "rows = 16",
            "rows = 15",
            "[correction]: calibration: it is for 16 x 100 pixels, the image of [source] has 15",
        ),
    ],
)
def test_no_file_appears_where_the_configuration_is_wrong(
    run_cli: RunCli, config: Path, old: str, new: str, sentence: str
) -> None:
    config.write_text(SMALL.replace(old, new))
    output = config.with_name("constants.bin")
    status, out, err = run_cli("board", "constants", config, "--output", output)
    assert (status, out) == (2, "")
    assert sentence in err
    assert sorted(path.name for path in config.parent.iterdir()) == ["a.json", "board.toml", "calibration.h5"]


@pytest.mark.parametrize("name", ["board.toml", "calibration.h5"])
def test_constants_never_replace_what_they_are_made_of(run_cli: RunCli, config: Path, name: str) -> None:
    target = config.with_name(name)
    before = target.read_bytes()
    status, _, err = run_cli("board", "constants", config, "--output", target)
    assert (status, err.count("it is an input of this run")) == (2, 1)
    assert target.read_bytes() == before


def test_a_full_disk_leaves_no_half_of_the_constants(
    run_cli: RunCli, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, data: bytes) -> int:
        with path.open("wb") as file:
            file.write(data[:4096])
        raise OSError(28, "No space left on device")

    output = config.with_name("constants.bin")
    output.write_bytes(b"older")
    monkeypatch.setattr(Path, "write_bytes", full)
    status, _, err = run_cli("board", "constants", config, "--output", output, "--force")
    assert (status, err) == (
        2,
        f"framelane: cannot write {output}: No space left on device: make room there, or give another file\n",
    )
    assert output.read_bytes() == b"older"
    assert not list(config.parent.glob(".part-*"))


def test_the_pages_example_with_correction_is_configured_as_the_page_says(
    run_cli: RunCli,
    transmitter: RecordingRegisters,
    tmp_path: Path,
    make_session: Callable[..., Session],
    make_calibration: Callable[..., Calibration],
) -> None:
    for number, name in enumerate(("disk1", "disk2", "monitor", "pedestal", "photons")):
        shape = {"rows": 256, "columns": 512} if name == "monitor" else {"rows": 512, "columns": 1024}
        source = {"mac": "02:00:00:00:00:01", "ip": "10.0.0.1"}
        pixels = "corrected" if name == "photons" else "raw"
        make_session(source=source, qpn=number, pixels=pixels, **shape).save(tmp_path / f"{name}.json")
    write_calibration(tmp_path / "calibration.h5", make_calibration((512, 1024)))
    config = tmp_path / "board.toml"
    config.write_text(EXAMPLE + FRAGMENT)
    status, out, err = run_cli("board", "configure", config)
    assert (status, err) == (0, "")
    assert "flow 0: all, 1024 x 512 pixels\n" in out
    assert "flow 3: photons, 1024 x 512 corrected pixels\n" in out
    regs = RegisterFile(transmitter)
    assert [regs[f"flow[{flow}].source_offset"] for flow in range(4)] == [0, 0, 0, 1 << 20]
    assert (regs["store_slot_bytes"], regs["constants_base"]) == (2 << 20, 1 << 32)
    _, out, _ = run_cli("board", "constants", config, "--output", tmp_path / "constants.bin")
    (command,) = re.findall(r"dma_to_device (-d \S+ -a \S+ -s \S+) -f", PAGE)
    assert f"dma_to_device {command} -f" in out


def test_a_board_brought_up_by_the_commands_sends_what_the_host_would_compute(
    run_cli: RunCli, config: Path, calibration: Calibration
) -> None:
    config.write_text(SMALL.replace("0x1_0000_0000", "0x1_0000\nfraction_bits = 2"))
    expecting(config, fraction_bits=2)
    output = config.with_name("constants.bin")
    raw = np.random.default_rng(11).integers(0, 1 << 16, (16, 100), np.uint16)
    with SimulatedTop() as board, found(board):
        assert run_cli("board", "constants", config, "--output", output)[0] == 0
        board.write_memory(0x1_0000, output.read_bytes())
        assert run_cli("board", "configure", config)[0] == 0
        assert run_cli("board", "arm")[0] == 0
        board.frame(FrameInfo(0, 0, 0), raw)
        packets = [wire.parse(packet) for packet in board.run()]
        _, out, _ = run_cli("board", "counters")
    base = Session.load(config.with_name("a.json")).base
    image = bytearray(3200)
    for headers, payload in packets:
        if headers.reth and headers.imm is None:
            at = headers.reth.address - base
            image[at : at + len(payload)] = payload
    expected = Correction(calibration, fraction_bits=2)(guard(raw)[0])
    np.testing.assert_array_equal(np.frombuffer(image, "<i2").reshape(16, 100), expected)
    assert re.search(r"mismatches +0 +Frames that were not of", out)
    assert re.search(r"constant_errors +0 +Beats of constants", out)
