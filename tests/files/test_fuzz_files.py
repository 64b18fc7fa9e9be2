"""Hostile files: a session, a plan, a board's configuration or a capture is read, or refused with one of our errors.

FRAMELANE_FUZZ_FILES is the number of files of each kind (100 if it is not set).
"""

import io
import json
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from doctor_cases import make, stream
from framelane.base.errors import FramelaneError
from framelane.doctor.doctor_run import DoctorOptions, run
from framelane.driver.board.board_readings import Capabilities
from framelane.driver.config import board_config
from framelane.driver.config.board_document import CorrectionTable
from framelane.models.jungfrau.jf_fixed import FixedCalibration
from framelane.receiver.transport.pcap_port import PcapPort
from framelane.receiver.transport.softnic import SoftNic
from framelane.session.plan_file import load_plan
from framelane.session.session import Session

MakeSession = Callable[..., Session]
FILES = int(os.environ.get("FRAMELANE_FUZZ_FILES", "100"))
hostile = settings(max_examples=FILES, deadline=None, derandomize=FILES == 100, database=None)
CAPABILITIES = Capabilities((1, 0, 0), 7, 322_265_625, 512, True, True, qps=16, flows=4, destinations=16)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(1 << 65), 1 << 65)
    | st.sampled_from([0, 1, -1, 1 << 16, 1 << 31, (1 << 32) - 1, 1 << 32, (1 << 64) - 1, 1 << 64])
    | st.floats()
    | st.text(max_size=8)
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=4,
)
EDITS = st.lists(st.tuples(st.integers(0, 1 << 16), st.binary(max_size=4), st.integers(0, 6)), max_size=4)
"""Where, what is put there, and how many bytes it replaces."""


def edited(data: bytes, edits: list[tuple[int, bytes, int]]) -> bytes:
    for place, new, gone in edits:
        at = place % (len(data) + 1)
        data = data[:at] + new + data[at + gone :]
    return data


def taken(read: Callable[[], object]) -> bool:
    """Whether it was read; any error but ours, or one without a sentence, fails the test."""
    try:
        read()
    except FramelaneError as error:
        if str(error).strip():
            return False
        raise
    return True


def test_a_session_with_any_bytes_changed_is_read_or_refused(make_session: MakeSession, tmp_path: Path) -> None:
    good, path = make_session(), tmp_path / "session.json"
    good.save(path)
    data = path.read_bytes()

    @hostile
    @given(edits=EDITS)
    def check(edits: list[tuple[int, bytes, int]]) -> None:
        path.write_bytes(edited(data, edits))
        taken(lambda: Session.load(path).layout)

    check()


def test_a_session_with_any_value_in_any_field_is_read_or_refused(make_session: MakeSession, tmp_path: Path) -> None:
    document, path = json.loads(make_session().model_dump_json()), tmp_path / "session.json"
    names = [*document, "source.ip", "source.mac", "other"]

    @hostile
    @given(changes=st.dictionaries(st.sampled_from(names), VALUES, max_size=3))
    def check(changes: dict[str, Any]) -> None:
        wrong = json.loads(json.dumps(document))
        for name, value in changes.items():
            table, _, field = name.rpartition(".")
            target = wrong[table] if table and isinstance(wrong[table], dict) else wrong
            target[field] = value
        path.write_text(json.dumps(wrong))
        taken(lambda: use(Session.load(path)))

    check()


def use(session: Session) -> None:
    """What follows when a session is read, except the memory."""
    session.qp_context()
    for source in range(session.sources):
        session.destination(source)
    session.flow()


BOARD = """
[transmitter]
mac = "02:00:00:00:00:01"
ip = "10.0.0.1"
clock_hz = 322265625

[source]
rows = 16
columns = 100

[store]
base = 1048576
slots = 3

[correction]
calibration = "16x100.h5"
base = 65536
unit = "keV"
fraction_bits = 3

[[receiver]]
name = "a"
session = "a.json"
source = 0
rate_gbps = 10.5

[[flow]]
name = "all"
receivers = ["a"]
burst = 1
every = 2

[flow.roi]
x = 0
y = 0
width = 100
height = 16
"""


PLAN = """
n_slots = 4
rows = 16
columns = 100
mtu = 1024
[source]
mac = "02:00:00:00:00:01"
ip = "10.0.0.1"
[receiver]
mac = "02:00:00:00:00:02"
ip = "10.0.0.2"
"""


def calibrate(path: Path, table: CorrectionTable) -> FixedCalibration:
    planes = np.ones((3, 16, 100), np.uint16)
    return FixedCalibration(planes, planes, (1, 2, 3), table.fraction_bits, table.mode == "hg0")


@pytest.fixture
def board(make_session: MakeSession, tmp_path: Path) -> Callable[[bytes], bool]:
    """Read such a configuration beside a session: whether it was taken."""
    source = {"mac": "02:00:00:00:00:01", "ip": "10.0.0.1"}
    session = make_session(source=source, pixels="corrected", unit="keV", fraction_bits=3)
    session.save(tmp_path / "a.json")
    path = tmp_path / "board.toml"
    path.write_text(BOARD)
    board_config.load(path, CAPABILITIES, calibrate)

    def read(data: bytes) -> bool:
        path.write_bytes(data)
        return taken(lambda: board_config.load(path, CAPABILITIES, calibrate))

    return read


def test_a_configuration_with_any_bytes_changed_is_read_or_refused(board: Callable[[bytes], bool]) -> None:
    @hostile
    @given(edits=EDITS)
    def check(edits: list[tuple[int, bytes, int]]) -> None:
        board(edited(BOARD.encode(), edits))

    check()


def test_a_configuration_with_any_value_in_any_line_is_read_or_refused(board: Callable[[bytes], bool]) -> None:
    lines = BOARD.splitlines()
    fields = [n for n, line in enumerate(lines) if "=" in line]

    @hostile
    @given(changes=st.dictionaries(st.sampled_from(fields), LEAVES, max_size=3))
    def check(changes: dict[int, Any]) -> None:
        wrong = list(lines)
        for number, value in changes.items():
            name = wrong[number].partition("=")[0]
            wrong[number] = "" if value is None else f"{name}= {json.dumps(value)}"
        board("\n".join(wrong).encode(errors="replace"))

    check()


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "[" * 10_000,
        "a" + ".a" * 10_000 + " = 1",
        "a = " + "9" * 5_000,
        "a = 0x" + "f" * 100_000,
        "a = 1e999",
        BOARD.replace("a.json", "a\\u0000.json"),
        BOARD.replace("a.json", "a" * 64),
        BOARD.replace("16x100.h5", "\\u0000"),
        BOARD.replace("10.5", "nan"),
        BOARD.replace("10.5", "1e-300"),
        BOARD.replace("10.5", "1e308"),
        BOARD.replace("10.5", "inf"),
        "\ufeff" + BOARD,
    ],
    ids=range(13),
)
def test_what_no_configuration_should_hold_is_refused(
    board: Callable[[bytes], bool], tmp_path: Path, text: str
) -> None:
    assert not board(text.encode())
    (tmp_path / "plan.toml").write_text(text)
    assert not taken(lambda: load_plan(tmp_path / "plan.toml"))


@pytest.mark.parametrize(
    "text", ["[" * 10_000, '{"a":' * 10_000, "9" * 5_000, '{"psn": ' + "9" * 5_000 + "}", "NaN", ""]
)
def test_what_no_session_should_hold_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "session.json").write_text(text)
    assert not taken(lambda: Session.load(tmp_path / "session.json"))


def test_a_plan_with_any_bytes_changed_is_read_or_refused(make_session: MakeSession, tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"

    @hostile
    @given(edits=EDITS)
    def check(edits: list[tuple[int, bytes, int]]) -> None:
        path.write_bytes(edited(PLAN.encode(), edits))
        taken(lambda: Session.random(load_plan(path)))

    path.write_text(PLAN)
    assert taken(lambda: Session.random(load_plan(path)))
    check()


@pytest.mark.parametrize("order", ["<", ">"])
def test_a_capture_with_any_bytes_changed_is_read_or_refused(
    make_session: MakeSession, tmp_path: Path, order: str
) -> None:
    session, path = make_session(), tmp_path / "x.pcap"
    ring = np.zeros(session.layout.ring_bytes, np.uint8)
    data = struct.pack(order + "IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    for size in (0, 14, 60, 78, 200):
        data += struct.pack(order + "IIII", 1, 2, size, size) + bytes(range(size))

    def read() -> None:
        with SoftNic(PcapPort(path), ring, session) as nic:
            while not nic.ended:
                nic.poll(0)

    @hostile
    @given(edits=EDITS)
    def check(edits: list[tuple[int, bytes, int]]) -> None:
        path.write_bytes(edited(data, edits))
        taken(read)

    path.write_bytes(data)
    assert taken(read)
    check()


def pcapng(packets: list[bytes], resolution: int, time: int) -> bytes:
    """A capture of one interface (draft-ietf-opsawg-pcapng), all packets at the same time."""

    def block(kind: int, body: bytes) -> bytes:
        body += bytes(-len(body) % 4)
        size = struct.pack("<I", len(body) + 12)
        return struct.pack("<I", kind) + size + body + size

    data = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    data += block(1, struct.pack("<HHIHHB7x", 1, 0, 65535, 9, 1, resolution))
    for packet in packets:
        times = time >> 32, time & 0xFFFFFFFF
        data += block(6, struct.pack("<5I", 0, *times, len(packet), len(packet)) + packet)
    return data


@pytest.fixture
def doctor(tmp_path: Path) -> Callable[[bytes], bool]:
    """Examine a capture, from the file to the report and its document: whether it was read."""
    make().save(tmp_path / "session.json")
    options = DoctorOptions(session=tmp_path / "session.json", pcap=tmp_path / "x.pcap", json=tmp_path / "x.json")

    def read(data: bytes) -> bool:
        (tmp_path / "x.pcap").write_bytes(data)
        return taken(lambda: run(options, Console(file=io.StringIO())))

    return read


@pytest.fixture
def wrong_packets() -> list[bytes]:
    """Packets of a session: some good ones, one for another QP, one cut short, one corrupt."""
    good = stream(make(), frames=1)
    return [*good[:3], stream(make(qpn=1), frames=1)[0], good[3][:70], good[3][:-1] + b"?"]


@pytest.mark.parametrize("time", [0, 1, 1 << 32, 1 << 62, 1 << 63, (1 << 64) - 1])
@pytest.mark.parametrize("resolution", [0, 1, 6, 9, 127, 128, 138, 255])
def test_the_doctor_reads_a_capture_of_any_time(
    doctor: Callable[[bytes], bool], wrong_packets: list[bytes], resolution: int, time: int
) -> None:
    assert doctor(pcapng(wrong_packets, resolution, time))


@pytest.mark.parametrize("kind", ["pcap", "pcapng"])
def test_the_doctor_reads_or_refuses_a_capture_with_any_bytes_changed(
    doctor: Callable[[bytes], bool], wrong_packets: list[bytes], kind: str
) -> None:
    data = pcapng(wrong_packets, 9, 1_700_000_000_000_000_000)
    if kind == "pcap":
        data = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
        data += b"".join(struct.pack("<IIII", 1, 2, len(each), len(each)) + each for each in wrong_packets)

    @hostile
    @given(edits=EDITS)
    def check(edits: list[tuple[int, bytes, int]]) -> None:
        doctor(edited(data, edits))

    assert doctor(data)
    check()
