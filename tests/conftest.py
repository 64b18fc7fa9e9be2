"""What several tests need: sessions, images, and a network of their own."""

import atexit
import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from hypothesis import settings
from hypothesis.configuration import set_hypothesis_home_dir
from numpy.typing import NDArray

from framelane.base.errors import TransportError
from framelane.bench.own_network import own_network
from framelane.calibration.calibration_file import write_calibration, write_sets
from framelane.calibration.calibration_set import CalibrationSet
from framelane.calibration.provenance import Provenance
from framelane.cli import main
from framelane.driver.registers.recording import PaperRegisters
from framelane.driver.registers.register_file import RegisterFile
from framelane.models.jungfrau.jf_calibration import Calibration
from framelane.models.jungfrau.jf_detector import Detector, DetectorConfig
from framelane.models.jungfrau.jf_scene import Scene
from framelane.models.placement.slots import SlotLayout
from framelane.receiver.jungfrau.jungfrau_file import JungfrauFile
from framelane.session.session import Session
from on_a_gpu import cp, way_and_ring  # noqa: F401  (fixtures)
from own_source import own_address, own_port
from receiver_chain import make_chain  # noqa: F401  (a fixture)
from simulated_boards import board, link, make_found, make_rc, simulated  # noqa: F401  (fixtures)

os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="framelane-state-")
atexit.register(shutil.rmtree, os.environ["XDG_STATE_HOME"], ignore_errors=True)
"""The tokens of receivers here are not among the user's."""
set_hypothesis_home_dir(Path(__file__).resolve().parents[1] / "build" / "cache" / "hypothesis")
settings.register_profile("untimed", deadline=None)  # how long a case takes is for benches: machines are shared
settings.load_profile("untimed")


@pytest.fixture
def make_session() -> Callable[..., Session]:
    """Make a session on loopback with credit for its whole ring: 4 slots of 16 x 100 pixels, 3 packets and a rest each.

    The source's address and port are this test's own, so that tests may run side by side.
    """
    port = own_port()

    def make(**changes: Any) -> Session:
        fields: dict[str, Any] = {
            "source": {"mac": "02:00:00:00:00:01", "ip": own_address()},
            "src_port": port,
            "receiver": {"mac": "02:00:00:00:00:02", "ip": "127.0.0.1"},
            "qpn": 0x12345,
            "psn": 0xFFFFFE,
            "rkey": 0xCAFEF00D,
            "base": 0x7F12_3456_7000,
            "mtu": 1024,
            "n_slots": 4,
            "rows": 16,
            "columns": 100,
        } | changes
        fields.setdefault("window_end", fields["n_slots"])
        image_bytes = fields["rows"] * fields["columns"] * 2
        fields.setdefault("slot_bytes", SlotLayout.needed(image_bytes, fields.get("sources", 1)))
        return Session(**fields)

    return make


@pytest.fixture
def make_images() -> Callable[..., list[NDArray[np.uint16]]]:
    """Make `n` raw images for a session, (rows, columns) uint16, with no word of gain code 10."""

    def make(session: Session, n: int) -> list[NDArray[np.uint16]]:
        words = np.random.default_rng(7).integers(0, 0x8000, (n, session.rows, session.columns), np.uint16)
        return list(words)

    return make


@pytest.fixture
def network() -> Iterator[tuple[str, str]]:
    """Give the test a network of its own: loopback, and a veth pair whose two interfaces are returned."""
    with contextlib.ExitStack() as stack:
        try:
            interfaces = stack.enter_context(own_network())
        except TransportError as reason:
            pytest.skip(str(reason))
        yield interfaces


@pytest.fixture
def in_order() -> Iterator[None]:
    """Keep the test's thread on one processor.

    Linux has a queue for each processor behind loopback and a veth pair. If a sender moves to another processor, its
    packets can overtake those before.
    """
    usual = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(usual)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, usual)


@pytest.fixture
def unprivileged(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Run the test without root's capabilities."""
    if os.geteuid():
        yield
        return
    with tempfile.TemporaryDirectory() as state:
        os.chown(state, 65534, -1)
        monkeypatch.setenv("XDG_STATE_HOME", state)
        os.seteuid(65534)
        try:
            yield
        finally:
            os.seteuid(0)


@pytest.fixture
def tshark() -> Callable[[Path, list[str]], list[list[str]]]:
    """Decode a capture: the fields of each packet; numbers in decimal, whichever base tshark's version prints."""
    if not shutil.which("tshark"):
        pytest.skip("tshark is not installed: no second opinion on the headers")

    def decode(path: Path, fields: list[str]) -> list[list[str]]:
        options = ["-o", "ip.check_checksum:TRUE", "-o", "infiniband.identify_payload:FALSE"]  # random payload is none
        command = ["tshark", "-n", "-r", str(path), *options, "-T", "fields", "-E", "occurrence=f"]
        for field in fields:
            command += ["-e", field]
        lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
        return [[str(int(v, 16)) if v.startswith("0x") else v for v in line.split("\t")] for line in lines]

    return decode


@pytest.fixture(scope="session")
def real_file() -> Iterator[JungfrauFile]:
    """Open the real frames: `jungfrau_module.h5` in the folder FRAMELANE_DATA, or ../shared/data."""
    folder = os.environ.get("FRAMELANE_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data"
    path = Path(folder, "jungfrau_module.h5")
    if not path.is_file():
        pytest.skip(f"there are no real frames at {path}: set FRAMELANE_DATA to the folder with jungfrau_module.h5")
    with JungfrauFile(path) as file:
        yield file


@pytest.fixture(scope="session")
def make_calibration() -> Callable[..., Calibration]:
    """Make a calibration whose every pixel is nominal, of 2 x 3 pixels if not told, at 12.4 keV."""

    def make(shape: tuple[int, int] = (2, 3), **changes: Any) -> Calibration:
        fields: dict[str, Any] = {"photon_energy_kev": 12.4}
        for name, values in (("pedestal", (2400.0, 13600.0, 14100.0)), ("gain", (41.0, -1.44, -0.1145))):
            fields[name] = np.array(values).reshape(3, 1, 1) * np.ones(shape)
        return Calibration(**fields | changes)

    return make


@pytest.fixture
def write_both() -> Callable[[Path, Calibration], None]:
    """Write a calibration of both gain modes: the given one, and for the high gain pedestals 100 ADU above it."""

    def write(path: Path, normal: Calibration) -> None:
        masked = ~normal.usable
        high = replace(normal, pedestal=normal.pedestal + 100.0, mask=masked, high_gain=True)
        zeros = np.zeros(masked.shape, np.uint32)
        sets = [CalibrationSet(each, zeros.astype(np.float32), zeros, zeros) for each in (normal, high)]
        write_sets(path, sets, Provenance.now("", ()), force=True)

    return write


@pytest.fixture
def run_cli(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run the command line in this process: its exit status, stdout and stderr."""

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["framelane", *map(str, arguments)])
        monkeypatch.setenv("COLUMNS", "200")
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        code = ended.value.code
        return (code if isinstance(code, int) else 0), out, err

    return run


@pytest.fixture(scope="session")
def small_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Simulate a detector of 32 x 256 pixels: a file of 3 raw frames with their calibration."""
    detector = Detector(DetectorConfig(rows=32, columns=256, stuck_in_g1=5, scene=Scene(spots=20)))
    path = tmp_path_factory.mktemp("small") / "small.h5"
    write_calibration(path, detector.calibration)
    with h5py.File(path, "r+") as file:
        file["raw"] = np.stack([detector.frame(number).raw for number in range(3)])
    return path


@pytest.fixture
def make_uio(tmp_path: Path) -> Callable[..., Path]:
    """Make a root folder with the UIO device uio0, whose map 0 has so many bytes; the registers behind `offset`."""

    def make(size: int, offset: int = 0) -> Path:
        folder = tmp_path / "sys/class/uio/uio0/maps/map0"
        folder.mkdir(parents=True)
        (folder / "size").write_text(f"{size:#x}\n")
        (folder / "offset").write_text(f"{offset:#x}\n")
        (tmp_path / "dev").mkdir()
        (tmp_path / "dev/uio0").write_bytes(bytes(offset + size))
        return tmp_path

    return make


@pytest.fixture
def make_pci(tmp_path: Path) -> Callable[..., Path]:
    """Make a root folder with the PCI device 0000:03:00.0, whose memory BARs have so many bytes."""

    def make(bars: dict[int, int], command: int = 0x0406) -> Path:
        device = tmp_path / "sys/bus/pci/devices/0000:03:00.0"
        device.mkdir(parents=True)
        (device / "config").write_bytes(bytes.fromhex("ee109034") + command.to_bytes(2, "little") + bytes(58))
        lines = ["0x0000000000000000 0x0000000000000000 0x0000000000000000"] * 13
        lines[5] = "0x000000000000e000 0x000000000000e07f 0x0000000000040101"  # I/O ports
        for bar, size in bars.items():
            lines[bar] = f"{0xF0000000:#018x} {0xF0000000 + size - 1:#018x} {0x40200:#018x}"
            (device / f"resource{bar}").write_bytes(bytes(size))
        (device / "resource").write_text("\n".join(lines) + "\n")
        return tmp_path

    return make


class _Transmitter(PaperRegisters):
    """Commands take `delay` reads of the status; a frame is under way for ever while `stuck`."""

    def __init__(self, delay: int = 2, **words: int) -> None:
        super().__init__()
        self.delay, self.stuck = delay, False
        self._busy: dict[str, int] = {}
        find = RegisterFile(self).find
        self._at = {name: find(name).offset for name in ("control", "command", "status", "errors", "qp[0].control")}
        sizes = 2 | 2 << 12 | 3 << 16
        defaults = {"capabilities": 512, "sizes": sizes, "clock_hz": 322_265_625, "build": 7}
        for name, value in (defaults | words).items():
            self.words[find(name).offset] = value

    def read(self, offset: int) -> int:
        if offset != self._at["status"]:
            return super().read(offset)
        bits = {"idle": not self.stuck, "armed": self.words[self._at["control"]] & 1} | dict.fromkeys(self._busy, 1)
        self._busy = {name: left - 1 for name, left in self._busy.items() if left > 1}
        order = ("idle", "armed", "resetting", "snapshot_busy", "qp_busy")
        return sum(bool(bits.get(name)) << bit for bit, name in enumerate(order))

    def write(self, offset: int, value: int) -> None:
        first, last = self._at["qp[0].control"], self._at["qp[0].control"] + 0x3FFF
        assert not self._busy or offset == self._at["control"], f"{offset:#x} is written while {self._busy}"
        super().write(offset, value)
        started = {"snapshot_busy": value & 2, "resetting": value & 1} if offset == self._at["command"] else {}
        if first <= offset <= last and not offset % 0x40:
            started["qp_busy"] = 1
        if started.get("resetting"):
            self.words[self._at["control"]] = self.words[self._at["errors"]] = 0
        self._busy |= {name: self.delay for name, begun in started.items() if begun}


@pytest.fixture
def make_transmitter() -> Callable[..., PaperRegisters]:
    """Make a transmitter with 2 QPs, 2 flows, 3 destinations; keywords are contents of registers."""
    return _Transmitter
