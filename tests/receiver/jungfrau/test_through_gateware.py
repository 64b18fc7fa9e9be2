"""A simulated JUNGFRAU's packets through the simulated FPGA make the same file as straight into the host's receiver."""

import socket
import subprocess
import threading
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from framelane.base.errors import OptionError
from framelane.base.stopping import Stop
from framelane.calibration import read_calibration, write_calibration
from framelane.driver.simulated.tap import Tap
from framelane.driver.simulated.tap_board import ip_command
from framelane.driver.simulated.verilated_detector import DetectorSimulator
from framelane.driver.simulated.verilated_detector import Sent as Made
from framelane.models.detector.det_header import DetFate
from framelane.models.jungfrau.jf_correct import STAGE_SHIFT, PixelCode, correct_int16
from framelane.models.jungfrau.jf_fixed import quantize
from framelane.models.jungfrau.jf_packet import HEADER_BYTES, PACKET_BYTES, PACKETS
from framelane.models.placement.slots import HOLE_WORD
from framelane.receiver import Live, Processing, receive
from framelane.receiver.detector import detector_transport
from framelane.session.session_client import SessionClient
from framelane.session.session_plan import Node
from jungfrau_gateware import (
    FIRST_PORT,
    FRAMES,
    LINE_GAP,
    MODULES,
    contents,
    correction,
    damaged,
    fpga_of,
    impaired,
    plan_of,
    raw_images,
    record,
    sent_packets,
    straight,
    through_the_gateware,
    until,
)
from jungfrau_packets import Sent
from live_recv import FRAMELANE
from tap_wire import HOST, OUR_MAC, TAP, US, neighbour, skip_without_tap, tap_mac

LIVE_FRAMES = 2
"""Over the tap."""
SIMULATED_S = 120.0
"""A loaded machine simulates them in this time."""
UDP_PAYLOAD = 14 + 20 + 8
OF_A_RUN = {"entry/session", "entry/start_time", "entry/end_time", "entry/end_time_estimated"}
"""What says in a file when, and by what session, its frames came."""
OF_A_CALIBRATION = "entry/instrument/detector/pixel_mask", "entry/instrument/beam"
"""What a receiver of corrected pixels does not know."""
JUDGING: dict[str, Any] = {"threshold": 3, "sparse": 2}


@pytest.fixture(scope="module")
def sent(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Sent], Path]:
    """The packets, damaged in some words, and the detector's calibration, with some pixels masked in each stage."""
    path = tmp_path_factory.mktemp("sent") / "calibration.h5"
    packets = damaged(sent_packets(path), seed=1)
    calibration = read_calibration(path)
    mask = np.random.default_rng(1).random(calibration.pedestal.shape) < 0.01
    write_calibration(path, replace(calibration, mask=mask | ~calibration.usable), force=True)
    return packets, path


def check_equal(one: dict[str, Any], other: dict[str, Any], corrected: bool = False) -> None:
    """The contents of two files are the same, but for what is of a run, and of a calibration."""
    of_a_calibration = {name for name in one.keys() | other.keys() if name.startswith(OF_A_CALIBRATION) and corrected}
    assert one.keys() - of_a_calibration == other.keys() - of_a_calibration
    different = {name for name in one if one[name] != other.get(name)}
    assert different - of_a_calibration == OF_A_RUN


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take no pause of a loaded machine for the end of a frame."""
    monkeypatch.setattr(detector_transport, "SILENT_S", 60.0)


@pytest.mark.parametrize("seed", [None, 1], ids=["whole", "impaired"])
def test_the_file_is_the_same_byte_for_byte(
    seed: int | None, sent: tuple[list[Sent], Path], patient: None, tmp_path: Path
) -> None:
    packets, _ = sent
    came = packets if seed is None else impaired(packets, seed)
    straight(came, tmp_path / "straight.h5")
    fates = through_the_gateware(came, tmp_path / "gateware.h5")
    one, other = contents(tmp_path / "straight.h5"), contents(tmp_path / "gateware.h5")
    check_equal(one, other)
    assert fates[DetFate.PLACED] + fates[DetFate.DUPLICATE] == fates.total() == len(came)
    assert fates[DetFate.PLACED] == len(set(came))
    _, shape, data = one["entry/data/data"]
    holes = np.count_nonzero(np.frombuffer(data, np.uint16) == HOLE_WORD)
    assert shape[0] * MODULES * PACKETS - fates[DetFate.PLACED] == 2 * holes / (PACKET_BYTES - HEADER_BYTES)
    assert (fates[DetFate.DUPLICATE] > 0) == (seed is not None)
    assert shape[0] == FRAMES - (seed is not None)


@pytest.mark.parametrize("seed", [None, 2], ids=["whole", "impaired"])
def test_corrected_on_the_way_its_photons_are_those_of_the_receiver(
    seed: int | None, sent: tuple[list[Sent], Path], patient: None, tmp_path: Path
) -> None:
    packets, path = sent
    came = packets if seed is None else impaired(packets, seed)
    fixed = quantize(read_calibration(path))
    straight(came, tmp_path / "straight.h5", Processing(calibration=path, **JUDGING))
    fates = through_the_gateware(came, tmp_path / "gateware.h5", correction(fixed), Processing(**JUDGING))
    one, other = contents(tmp_path / "straight.h5"), contents(tmp_path / "gateware.h5")
    check_equal(one, other, corrected=True)
    assert fates[DetFate.PLACED] + fates[DetFate.DUPLICATE] == fates.total() == len(came)
    raw = raw_images(came)
    assert set(np.unique(raw >> STAGE_SHIFT)) >= {0, 1, 3}
    expected = correct_int16(raw, fixed)
    assert all((expected == code).any() for code in PixelCode if seed or code is not PixelCode.HOLE)
    assert other["entry/data/data"] == ("<i2", expected.shape, expected.tobytes())


def test_images_that_come_corrected_are_not_corrected_again(sent: tuple[list[Sent], Path]) -> None:
    node = Node.model_validate({"mac": "02:00:00:00:00:01", "ip": "127.0.0.1"})
    plan = plan_of(node, node, corrected=True)
    with (
        pytest.raises(OptionError, match="corrected by their source, they would be corrected twice"),
        receive(Live(transport="udp", plan=plan, link_port=0), Processing(calibration=sent[1])),
    ):
        pass


class TapFpga:
    """The simulated FPGA at one end of a tap device, in a thread: Linux is at the other, with detector and receiver."""

    def __init__(self, fpga: DetectorSimulator, tap: Tap, link: SessionClient) -> None:
        self.came: list[bytes] = []
        self._fpga, self._tap, self._link = fpga, tap, link
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="tap")

    def __enter__(self) -> "TapFpga":
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        deadline = time.monotonic() + 2 * SIMULATED_S
        while not self._over.is_set() and time.monotonic() < deadline:
            if not self._tap.wait(0.01):
                continue
            self._fpga.credit(self._link.window_end)
            while (frame := self._tap.receive()) is not None:
                self.came.append(frame)
                self._fpga.receive(frame, gap=LINE_GAP)
                self._pass_on(self._fpga.run())
        self._pass_on(self._fpga.flush())

    def _pass_on(self, made: Made) -> None:
        for packet in made.packets:
            self._tap.send(packet)

    def packets(self) -> list[Sent]:
        """The detector's, stream and payload."""
        udp = [frame for frame in self.came if frame[12:14] == b"\x08\0" and frame[23] == 17]
        ports = [int.from_bytes(frame[36:38], "big") for frame in udp]
        return [
            (port - FIRST_PORT, frame[UDP_PAYLOAD:])
            for port, frame in zip(ports, udp, strict=True)
            if FIRST_PORT <= port < FIRST_PORT + MODULES
        ]


@pytest.mark.parametrize("corrected", [False, True], ids=["raw", "corrected"])
def test_live_over_a_tap_from_the_command_to_the_file(
    corrected: bool, sent: tuple[list[Sent], Path], network: tuple[str, str], patient: None, tmp_path: Path
) -> None:
    """Linux asks the FPGA's station for its MAC, sends the detector's packets there, and takes the WRITEs."""
    path = sent[1]  # the same detector
    with skip_without_tap() as tap:
        for setting in (f"address add {HOST}/24 dev {TAP}", f"link set {TAP} mtu 9000 txqueuelen 2000 up"):
            ip_command(setting)
        nodes = {"mac": OUR_MAC, "ip": US}, {"mac": tap_mac(), "ip": HOST}
        source, receiver = map(Node.model_validate, nodes)
        plan = plan_of(source, receiver, corrected)
        correct = correction(quantize(read_calibration(path))) if corrected else None
        output = tmp_path / "gateware.h5"
        with receive(Live(transport="udp", plan=plan, link_port=0), stop=Stop()) as run:
            thread = threading.Thread(target=record, args=(run, output))
            address = run.serve()
            thread.start()
            with (
                fpga_of(plan, run.session, correct) as fpga,
                SessionClient(*address, 0) as link,
                SessionClient(*address, 1) as other,
            ):
                with TapFpga(fpga, tap, link) as wire:
                    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other_socket:
                        other_socket.sendto(b"who are you", (US, 9))  # Linux keeps few packets while it asks
                    until(lambda: OUR_MAC in neighbour(US))
                    sender = "--port", FIRST_PORT, "--modules", MODULES, "--frames", LIVE_FRAMES, "--rate", 1
                    command = [*FRAMELANE, "jungfrau", "send", US, *map(str, sender)]
                    subprocess.run(command, check=True, timeout=120)
                    until(lambda: len(wire.packets()) == LIVE_FRAMES * MODULES * PACKETS, SIMULATED_S)
                for index, client in enumerate((link, other)):
                    client.report(index, offered=LIVE_FRAMES, dropped=0, ended=True)
                thread.join(60)
                assert not thread.is_alive()
                assert fpga.fates() == Counter({DetFate.PLACED: LIVE_FRAMES * MODULES * PACKETS})
        assert run.tally.holds
        straight(wire.packets(), tmp_path / "straight.h5", Processing(calibration=path) if corrected else None)
    one, other_file = contents(tmp_path / "straight.h5"), contents(output)
    check_equal(one, other_file, corrected)
    assert one["entry/data/data"][1][0] == LIVE_FRAMES
