"""Packets of `framelane jungfrau send` through the simulated FPGA into a soft NIC, or straight into the receiver."""

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
from numpy.typing import NDArray
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from framelane.base.stopping import Stop
from framelane.driver.simulated.verilated_detector import DetectorSimulator
from framelane.models.detector.det_correct import DetCorrect
from framelane.models.detector.det_header import DetFate, DetHeader
from framelane.models.detector.det_place import Target
from framelane.models.jungfrau.jf_constants import needed_pitch
from framelane.models.jungfrau.jf_correct import ERROR_WORD, G1_ZERO_WORD, SATURATED_WORD, guard
from framelane.models.jungfrau.jf_fixed import FixedCalibration
from framelane.models.jungfrau.jf_packet import HEADER, HEADER_BYTES, PACKET_BYTES, PACKETS
from framelane.models.placement.slots import HOLE_WORD
from framelane.packets.detector_file import JUNGFRAU, shipped
from framelane.receiver import Live, Processing, Reception, Recorder, receive
from framelane.receiver.transport.sockets import lengthen_queue
from framelane.session.session import Session
from framelane.session.session_client import SessionClient
from framelane.session.session_plan import Node, SessionPlan
from framelane.source.sender import UdpSender
from jungfrau_live import free_ports, live_detector
from jungfrau_packets import Sent
from live_recv import FRAMELANE
from own_source import own_address, own_port

MODULES, FRAMES, SLOTS = 2, 6, 16
DETECTOR = DetHeader(shipped(JUNGFRAU), MODULES)
IMAGE_BYTES = MODULES * 512 * 1024 * 2
LINE_GAP = 40
"""Cycles of 4 ns between packets of 130 beats: a line of 100 Gb/s."""
FIRST_PORT = 50001
LOST_FRAME = 4
_BATCH = 8
"""Packets that fit the shortest queue which a kernel gives to those without privileges."""
_CONSTANTS = (5 << 32) - 2 * 4096
"""Where they lie: the first plane crosses a boundary of 4 GiB."""
_MEMORY_CYCLES = 100
"""400 ns at 250 MHz."""


def sent_packets(calibration: Path) -> list[Sent]:
    """What comes of `framelane jungfrau send`, stream and payload, in the order in which it is sent."""
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
    options = "--port", port, "--modules", MODULES, "--frames", FRAMES, "--rate", 10, "--calibration", calibration
    try:
        subprocess.run([*FRAMELANE, "jungfrau", "send", "127.0.0.1", *map(str, options)], check=True, timeout=120)
    finally:
        for stream, thread in enumerate(threads):
            sockets[stream].sendto(b"", ("127.0.0.1", port + stream))
            thread.join()
        for each in sockets:
            each.close()
    assert len(found) > FRAMES * MODULES * PACKETS // 2, "the kernel has lost most of them"
    return sorted(found, key=lambda packet: (number_of(packet), packet_of(packet), packet[0]))


def number_of(packet: Sent) -> int:
    return int(np.frombuffer(packet[1], HEADER, 1)["frame_number"][0])


def packet_of(packet: Sent) -> int:
    return int(np.frombuffer(packet[1], HEADER, 1)["packet_number"][0])


def impaired(packets: list[Sent], seed: int) -> list[Sent]:
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


def damaged(packets: list[Sent], seed: int) -> list[Sent]:
    """Some words of each packet are none, or at the end of their gain stage."""
    rng = random.Random(seed)
    found = []
    for stream, packet in packets:
        words = np.frombuffer(packet, "<u2").copy()
        for word in ERROR_WORD, G1_ZERO_WORD, SATURATED_WORD, HOLE_WORD:
            words[rng.randrange(HEADER_BYTES // 2, words.size)] = word
        found.append((stream, words.tobytes()))
    return found


def raw_images(packets: list[Sent]) -> NDArray[np.uint16]:
    """What these packets say, u16 (frames, rows, columns); what has not come is a hole."""
    places = {number: at for at, number in enumerate(sorted(set(map(number_of, packets))))}
    images = np.full((len(places), MODULES, PACKETS, (PACKET_BYTES - HEADER_BYTES) // 2), HOLE_WORD, np.uint16)
    for packet in packets:
        words, _ = guard(np.frombuffer(packet[1], "<u2", offset=HEADER_BYTES))
        images[places[number_of(packet)], packet[0], packet_of(packet)] = words
    return images.reshape(len(places), MODULES * 512, 1024)


def correction(fixed: FixedCalibration) -> DetCorrect:
    """This calibration for the FPGA."""
    return DetCorrect(DETECTOR, fixed, _CONSTANTS, needed_pitch(IMAGE_BYTES) + 4096)


def plan_of(source: Node, receiver: Node, corrected: bool, **others: Any) -> SessionPlan:
    """The acquisition of an FPGA that sends raw words, or photons."""
    shape = {"rows": MODULES * 512, "columns": 1024, "n_slots": SLOTS, "sources": MODULES}
    pixels = "corrected" if corrected else "raw"
    return SessionPlan.model_validate({"source": source, "receiver": receiver, "pixels": pixels, **shape, **others})


def fpga_of(plan: SessionPlan, session: Session, correct: DetCorrect | None) -> DetectorSimulator:
    """The simulated FPGA for a session. Its memory of constants, if there is one, takes its time."""
    target = Target(
        base=session.base,
        slot_bytes=session.slot_bytes,
        slots_log2=SLOTS.bit_length() - 1,
        first=1,
        mask_offset=IMAGE_BYTES,
        trailer_offset=session.layout.trailer_offset(0),
    )
    made = DETECTOR, target, plan.source.endpoint(), FIRST_PORT, session.qp_context()
    return DetectorSimulator(*made, correct=correct, memory_cycles=_MEMORY_CYCLES if correct else None)


def straight(packets: list[Sent], output: Path, processing: Processing | None = None) -> None:
    """By `recv --transport jungfrau`."""
    with live_detector(MODULES, processing=processing, output=output, slots=SLOTS) as live:
        live.send(packets)


def through_the_gateware(
    packets: list[Sent], output: Path, correct: DetCorrect | None = None, processing: Processing | None = None
) -> Counter[DetFate]:
    """By `detector_tx`, its packets sent to a soft NIC: what became of the detector's."""
    source = Node(mac="02:00:00:00:00:01", ip=IPv4Address(own_address()))
    receiver = Node(mac="02:00:00:00:00:02", ip=IPv4Address("127.0.0.1"))
    plan = plan_of(source, receiver, correct is not None, src_port=own_port())
    port = free_ports(1)
    with receive(Live(transport="udp", plan=plan, port=port, link_port=0), processing, stop=Stop()) as run:
        thread = threading.Thread(target=record, args=(run, output))
        address = run.serve()
        thread.start()
        session = run.session
        with (
            fpga_of(plan, session, correct) as fpga,
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
                    for start in range(0, len(each.packets), _BATCH):
                        sender.send(each.packets[start : start + _BATCH])
                        sent += len(each.packets[start : start + _BATCH])
                        until(lambda sent=sent: run.counters.packets >= sent)
            fates = fpga.fates()
            for index, client in enumerate((link, other)):
                client.report(index, offered=FRAMES, dropped=0, ended=True)
            thread.join(60)
    assert not thread.is_alive()
    assert run.tally.holds
    return fates


def headers(plan: SessionPlan) -> list[bytes]:
    """Ethernet, IPv4 and UDP of the packets of each stream that the detector sends to the FPGA."""
    to = Ether(src="02:00:00:00:00:09", dst=plan.source.mac) / IP(src="10.0.0.9", dst=str(plan.source.ip))
    udp = (UDP(sport=4321, dport=FIRST_PORT + stream, chksum=0) for stream in range(MODULES))
    return [bytes(to / each / Raw(bytes(PACKET_BYTES)))[:-PACKET_BYTES] for each in udp]


def record(run: Reception, output: Path) -> None:
    """Write all frames of a run."""
    with Recorder(run, output) as recorder:
        for frame in run:
            recorder.write(frame)


def until(condition: Any, patience_s: float = 30) -> None:
    """Wait until it is so."""
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
