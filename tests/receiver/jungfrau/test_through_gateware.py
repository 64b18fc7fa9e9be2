"""A simulated JUNGFRAU's packets through the simulated FPGA make the same file as straight into the host's receiver."""

import random
import socket
import subprocess
import threading
import time
from collections import Counter
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from framelane.base.stopping import Stop
from framelane.driver.simulated.tap import Tap
from framelane.driver.simulated.tap_board import ip_command
from framelane.driver.simulated.verilated_detector import DetectorSimulator
from framelane.driver.simulated.verilated_detector import Sent as Made
from framelane.models.detector.det_header import DetFate, DetHeader
from framelane.models.detector.det_place import Target
from framelane.models.jungfrau.jf_packet import HEADER, HEADER_BYTES, PACKET_BYTES, PACKETS
from framelane.models.placement.slots import HOLE_WORD
from framelane.packets.detector_file import JUNGFRAU, shipped
from framelane.receiver import Live, Reception, Recorder, receive
from framelane.receiver.detector import detector_transport
from framelane.receiver.transport.sockets import lengthen_queue
from framelane.session.session import Session
from framelane.session.session_client import SessionClient
from framelane.session.session_plan import Node, SessionPlan
from framelane.source.sender import UdpSender
from jungfrau_live import free_ports, live_detector
from jungfrau_packets import Sent
from live_recv import FRAMELANE
from own_source import own_address, own_port
from tap_wire import HOST, OUR_MAC, TAP, US, neighbour, skip_without_tap, tap_mac

MODULES, FRAMES, SLOTS = 2, 6, 16
IMAGE_BYTES = MODULES * 512 * 1024 * 2
LINE_GAP = 40
"""Cycles of 4 ns between packets of 130 beats: a line of 100 Gb/s."""
BATCH = 8
"""Packets that fit the shortest queue which a kernel gives to those without privileges."""
FIRST_PORT = 50001
LOST_FRAME = 4
LIVE_FRAMES = 2
"""Over the tap."""
SIMULATED_S = 120.0
"""A loaded machine simulates them in this time."""
UDP_PAYLOAD = 14 + 20 + 8
OF_A_RUN = {"entry/session", "entry/start_time", "entry/end_time", "entry/end_time_estimated"}
"""What says in a file when, and by what session, its frames came."""


@pytest.fixture(scope="module")
def packets() -> list[Sent]:
    """What came of `framelane jungfrau send`, stream and payload, in the order in which it was sent."""
    port = free_ports(MODULES)
    found: list[Sent] = []
    sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(MODULES)]

    def listen(stream: int) -> None:
        found.extend((stream, packet) for packet in iter(lambda: sockets[stream].recv(9000), b""))

    threads = [threading.Thread(target=listen, args=(stream,)) for stream in range(MODULES)]
    for stream, each in enumerate(sockets):
        lengthen_queue(each)
        each.bind(("127.0.0.1", port + stream))
        each.settimeout(120)
        threads[stream].start()
    sender = "--port", port, "--modules", MODULES, "--frames", FRAMES, "--rate", 10
    try:
        subprocess.run([*FRAMELANE, "jungfrau", "send", "127.0.0.1", *map(str, sender)], check=True, timeout=120)
    finally:
        for stream, thread in enumerate(threads):
            sockets[stream].sendto(b"", ("127.0.0.1", port + stream))
            thread.join()
        for each in sockets:
            each.close()
    assert len(found) > FRAMES * MODULES * PACKETS // 2, "the kernel has lost most of them"
    return sorted(found, key=lambda packet: (number_of(packet), packet_of(packet), packet[0]))


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take no pause of a loaded machine for the end of a frame."""
    monkeypatch.setattr(detector_transport, "SILENT_S", 60.0)


def number_of(packet: Sent) -> int:
    return int(np.frombuffer(packet[1], HEADER, 1)["frame_number"][0])


def packet_of(packet: Sent) -> int:
    return int(np.frombuffer(packet[1], HEADER, 1)["packet_number"][0])


def bad_weather(packets: list[Sent], seed: int) -> list[Sent]:
    """One frame is lost, and packets of others; some come twice, and some later than others by less than a frame."""
    rng = random.Random(seed)
    came: list[tuple[float, Sent]] = []
    for at, packet in enumerate(packets):
        if number_of(packet) == LOST_FRAME or rng.random() < 0.02:
            continue
        late = rng.randrange(PACKETS * MODULES // 2) if rng.random() < 0.2 and number_of(packet) > 1 else 0
        came.append((at + late, packet))
        if rng.random() < 0.02:
            came.append((at + late + rng.randrange(60), packet))
    return [packet for _, packet in sorted(came, key=lambda each: each[0])]


def headers(plan: SessionPlan) -> list[bytes]:
    """Ethernet, IPv4 and UDP of the packets of each stream that the detector sends to the FPGA."""
    to = Ether(src="02:00:00:00:00:09", dst=plan.source.mac) / IP(src="10.0.0.9", dst=str(plan.source.ip))
    udp = (UDP(sport=4321, dport=FIRST_PORT + stream, chksum=0) for stream in range(MODULES))
    return [bytes(to / each / Raw(bytes(PACKET_BYTES)))[:-PACKET_BYTES] for each in udp]


def straight(packets: list[Sent], output: Path) -> None:
    """By `recv --transport jungfrau`."""
    with live_detector(MODULES, output=output, slots=SLOTS) as live:
        live.send(packets)


def through_the_gateware(packets: list[Sent], output: Path) -> Counter[DetFate]:
    """By `detector_tx`, its packets sent to a soft NIC: what became of the detector's."""
    nodes = {"source": Node(mac="02:00:00:00:00:01", ip=IPv4Address(own_address()))}
    nodes["receiver"] = Node(mac="02:00:00:00:00:02", ip=IPv4Address("127.0.0.1"))
    shape = {"rows": MODULES * 512, "columns": 1024, "n_slots": SLOTS, "sources": MODULES}
    plan = SessionPlan.model_validate({**nodes, **shape, "src_port": own_port()})
    port = free_ports(1)
    with receive(Live(transport="udp", plan=plan, port=port, link_port=0), stop=Stop()) as run:
        thread = threading.Thread(target=record, args=(run, output))
        address = run.serve()
        thread.start()
        session = run.session
        target = target_of(session)
        with (
            DetectorSimulator(
                DetHeader(shipped(JUNGFRAU), MODULES), target, plan.source.endpoint(), FIRST_PORT, session.qp_context()
            ) as fpga,
            UdpSender(session, port) as sender,
            SessionClient(*address, 0) as link,
            SessionClient(*address, 1) as other,
        ):
            sent, before = 0, headers(plan)
            for at in range(0, len(packets) + 1, 64):
                fpga.credit(link.window_end)
                for stream, packet in packets[at : at + 64]:
                    fpga.receive(before[stream] + packet, gap=LINE_GAP)
                made = [fpga.run(), fpga.flush()] if at + 64 > len(packets) else [fpga.run()]
                for each in made:
                    for start in range(0, len(each.packets), BATCH):
                        sender.send(each.packets[start : start + BATCH])
                        sent += len(each.packets[start : start + BATCH])
                        until(lambda sent=sent: run.counters.packets >= sent)
            fates = fpga.fates()
            for source, client in enumerate((link, other)):
                client.report(source, offered=FRAMES, dropped=0, ended=True)
            thread.join(60)
    assert not thread.is_alive()
    assert run.tally.holds
    return fates


def target_of(session: Session) -> Target:
    return Target(
        base=session.base,
        slot_bytes=session.slot_bytes,
        slots_log2=SLOTS.bit_length() - 1,
        first=1,
        mask_offset=IMAGE_BYTES,
        trailer_offset=session.layout.trailer_offset(0),
    )


def record(run: Reception, output: Path) -> None:
    with Recorder(run, output) as recorder:
        for frame in run:
            recorder.write(frame)


def until(condition: Any, patience_s: float = 30) -> None:
    end = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.0002)


def contents(path: Path) -> dict[str, Any]:
    """All that a file says, by its path in the file: bytes of datasets, and attributes."""
    found: dict[str, Any] = {}

    def look(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset):
            found[name] = item.dtype.str, item.shape, np.asarray(item[()]).tobytes()
        found.update({f"{name}@{key}": np.asarray(value).tolist() for key, value in item.attrs.items()})

    with h5py.File(path) as file:
        file.visititems(look)
    return found


@pytest.mark.parametrize("weather", [None, 1], ids=["fine", "bad"])
def test_the_file_is_the_same_byte_for_byte(
    weather: int | None, packets: list[Sent], patient: None, tmp_path: Path
) -> None:
    came = packets if weather is None else bad_weather(packets, weather)
    straight(came, tmp_path / "straight.h5")
    fates = through_the_gateware(came, tmp_path / "gateware.h5")
    one, other = contents(tmp_path / "straight.h5"), contents(tmp_path / "gateware.h5")
    assert one.keys() == other.keys()
    assert {name for name in one if one[name] != other[name]} == OF_A_RUN
    assert fates[DetFate.PLACED] + fates[DetFate.DUPLICATE] == fates.total() == len(came)
    assert fates[DetFate.PLACED] == len(set(came))
    _, shape, data = one["entry/data/data"]
    holes = np.count_nonzero(np.frombuffer(data, np.uint16) == HOLE_WORD)
    assert shape[0] * MODULES * PACKETS - fates[DetFate.PLACED] == 2 * holes / (PACKET_BYTES - HEADER_BYTES)
    assert (fates[DetFate.DUPLICATE] > 0) == (weather is not None)
    assert shape[0] == FRAMES - (weather is not None)


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


def test_live_over_a_tap_from_the_command_to_the_file(network: tuple[str, str], patient: None, tmp_path: Path) -> None:
    """Linux asks the FPGA's station for its MAC, sends the detector's packets there, and takes the WRITEs."""
    with skip_without_tap() as tap:
        for setting in (f"address add {HOST}/24 dev {TAP}", f"link set {TAP} mtu 9000 txqueuelen 2000 up"):
            ip_command(setting)
        nodes = {"source": {"mac": OUR_MAC, "ip": US}, "receiver": {"mac": tap_mac(), "ip": HOST}}
        shape = {"rows": MODULES * 512, "columns": 1024, "n_slots": SLOTS, "sources": MODULES}
        plan = SessionPlan.model_validate({**nodes, **shape})
        output = tmp_path / "gateware.h5"
        with receive(Live(transport="udp", plan=plan, link_port=0), stop=Stop()) as run:
            thread = threading.Thread(target=record, args=(run, output))
            address = run.serve()
            thread.start()
            header, session = DetHeader(shipped(JUNGFRAU), MODULES), run.session
            with (
                DetectorSimulator(
                    header, target_of(session), plan.source.endpoint(), FIRST_PORT, session.qp_context()
                ) as fpga,
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
                for source, client in enumerate((link, other)):
                    client.report(source, offered=LIVE_FRAMES, dropped=0, ended=True)
                thread.join(60)
                assert not thread.is_alive()
                assert fpga.fates() == Counter({DetFate.PLACED: LIVE_FRAMES * MODULES * PACKETS})
        assert run.tally.holds
        straight(wire.packets(), tmp_path / "straight.h5")
    one, other_file = contents(tmp_path / "straight.h5"), contents(output)
    assert one.keys() == other_file.keys()
    assert {name for name in one if one[name] != other_file[name]} == OF_A_RUN
    assert one["entry/data/data"][1][0] == LIVE_FRAMES
