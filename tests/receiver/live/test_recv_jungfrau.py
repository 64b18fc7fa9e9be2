"""A JUNGFRAU's own packets, live: what is made of them is what a recording of the same packets becomes."""

import random
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from framelane.calibration.calibration_file import write_calibration
from framelane.models.jungfrau.jf_detector import Detector, DetectorConfig
from framelane.models.jungfrau.jf_packet import HEADER, PACKET_BYTES
from framelane.receiver import Processing
from framelane.receiver.detector import detector_transport
from jungfrau_live import free_ports, live_detector
from jungfrau_packets import Sent, halves, sent, write_capture
from live_recv import FRAMELANE, heard

RunCli = Callable[..., tuple[int, str, str]]


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take no pause of a loaded machine for the end of a frame."""
    monkeypatch.setattr(detector_transport, "SILENT_S", 60.0)


def changed(packet: bytes, **fields: int) -> bytes:
    """The packet with other fields in its header."""
    header = np.frombuffer(packet, HEADER, 1).copy()
    for name, value in fields.items():
        header[name] = value
    return header.tobytes() + packet[HEADER.itemsize :]


def side_by_side(packets: list[Sent], modules: int, interfaces: int) -> list[Sent]:
    """As modules send: each its next packet."""
    streams = [[each for each in packets if each[0] == index] for index in range(modules * interfaces)]
    return [each for turn in zip(*streams, strict=True) for each in turn]


def impaired(modules: int, interfaces: int, seed: int) -> list[Sent]:
    """Frames 1 to 12, then 1 to 6 of another acquisition, with all that can happen to packets on their way."""
    rng = random.Random(seed)
    packets: list[Sent] = []
    for number in [*range(1, 13), *range(1, 7)]:
        frame = side_by_side(sent(number, modules, interfaces), modules, interfaces)
        if number == 7:
            continue
        begins = len(packets) == 0 or number == 1
        for stream, packet in frame:
            if begins or rng.random() > 0.02:
                packets.append((stream, packet))
            if not begins and rng.random() < 0.02:
                packets.append((stream, packet))
            if not begins and rng.random() < 0.01:
                packets.append((stream, rng.choice(foreign(packet))))
    for at in range(2 * 128 * modules, len(packets) - 1):
        other = at + rng.randrange(60)
        if rng.random() < 0.1 and other < 12 * 128 * modules - 200 * modules:
            packets[at], packets[other] = packets[other], packets[at]
    return packets


def foreign(packet: bytes) -> list[bytes]:
    """What is not a packet of this module."""
    return [
        packet[:8000],
        packet[:40],
        b"",
        packet + b"12",
        changed(packet, version=1),
        changed(packet, detector=1),
        changed(packet, packet_number=128),
        changed(packet, module_id=999),
        changed(packet, frame_number=1 << 60),
    ]


@pytest.mark.parametrize(("modules", "interfaces", "rows"), [(1, 1, 4), (2, 1, 4), (2, 2, 4), (2, 2, 2)])
def test_photons_are_those_of_a_recording_whatever_happened_to_the_packets(
    modules: int, interfaces: int, rows: int, patient: None, run_cli: RunCli, tmp_path: Path
) -> None:
    packets = impaired(modules, interfaces, seed=modules + interfaces)
    if rows == 2:
        packets = [each for one in packets for each in (halves([one]) if len(one[1]) == PACKET_BYTES else [one])]
    calibration = tmp_path / "c.h5"
    write_calibration(calibration, Detector(DetectorConfig(modules=modules, seed=5)).calibration)
    with live_detector(
        modules, interfaces, Processing(calibration=calibration), tmp_path / "live.h5", slots=32
    ) as live:
        live.send(packets)
    write_capture(tmp_path / "packets.pcap", packets)
    layout = "--modules", modules, "--interfaces", interfaces
    run_cli("jungfrau", "record", "--pcap", tmp_path / "packets.pcap", "--output", tmp_path / "raw.h5", *layout)
    run_cli("correct", "--input", tmp_path / "raw.h5", "--calibration", calibration, "--output", tmp_path / "off.h5")
    with h5py.File(tmp_path / "raw.h5") as recorded:
        assert live.order == recorded["frame_number"][:].tolist()
        assert len(live.order) > 14
        assert len(set(live.holes.values())) > 3
    online, offline = images(tmp_path / "live.h5"), images(tmp_path / "off.h5")
    assert online.dtype == offline.dtype
    assert online.tobytes() == offline.tobytes()
    tally, counters = live.run.tally, live.run.counters
    assert tally.holds
    assert tally.dropped_by_host == tally.dropped_at_source == 0
    assert (tally.complete + tally.incomplete, tally.missing) == (len(live.order), 1)
    assert counters.packets == counters.placed + sum(counters.refused.values()) == len(packets)
    assert {"size", "version", "detector", "packet", "module", "number", "duplicate"} <= set(counters.refused)
    assert live.run.notes == ["1 times the frame numbers began anew"]


def images(path: Path) -> Any:
    with h5py.File(path) as file:
        return file["entry/data/data"][:]


def test_the_command_receives_what_the_simulated_detector_sends(run_cli: RunCli, tmp_path: Path) -> None:
    port, output = free_ports(2), tmp_path / "out.h5"
    options = "--port", port, "--host", "127.0.0.1", "--interfaces", 2, "--frames", 5, "--expect", 5, "--idle", 60
    command = [*FRAMELANE, "recv", "--transport", "jungfrau", "--output", output, *options]
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True) as process:
        heard(process, process.stdout, f"listening on UDP 127.0.0.1:{port}, {port + 1}", "512 x 1024 pixels")
        sender = "--port", port, "--interfaces", 2, "--frames", 5, "--rate", 20, "--calibration", tmp_path / "c.h5"
        assert run_cli("jungfrau", "send", "127.0.0.1", *sender)[0] == 0
        out, _ = process.communicate(timeout=60)
    text = " ".join(out.split())
    assert process.returncode == 0, text
    assert "640 packets, 640 of them placed in the ring" in text
    assert "loss identity: 5 sent = 5 complete" in text
    with h5py.File(output) as file:
        assert file["entry/data/data"].shape == (5, 512, 1024)


def test_where_no_module_sends_the_page_with_help_is_named(run_cli: RunCli, tmp_path: Path) -> None:
    options = "--port", free_ports(1), "--idle", 0.1, "--output", tmp_path / "out.h5"
    status, out, _ = run_cli("recv", "--transport", "jungfrau", *options)
    assert status == 1
    assert '"Nothing arrives" in docs/reference/jungfrau_packets.md' in " ".join(out.split())
