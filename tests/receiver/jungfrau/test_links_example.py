"""The example of docs/integrating/detector.md, four modules by eight links: its plan and its program, word for word."""

import re
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from framelane.base.stopping import Stop
from framelane.driver.board import board_address
from framelane.driver.simulated.verilated_detector import DetectorRegisters
from framelane.models.detector.det_header import DetHeader
from framelane.packets.detector_file import JUNGFRAU, shipped
from framelane.receiver import Live, receive
from framelane.session import session_client
from framelane.session.plan_file import load_plan
from framelane.session.session_client import SessionClient
from framelane.source.sender import UdpSender
from jungfrau_gateware import LINE_GAP, until
from jungfrau_live import free_ports
from jungfrau_packets import raw, sent
from own_source import own_address, own_port

PAGE = Path(__file__).resolve().parents[3] / "docs" / "integrating" / "detector.md"
MODULES, INTERFACES, FIRST_PORT = 4, 2, 50001
FIRST_NUMBER = 7
_BATCH = 8

pytestmark = pytest.mark.timeout(120)


def blocks() -> dict[str, str]:
    """Plan and program of the example, by their languages."""
    section = PAGE.read_text().partition("\n## Four modules by eight links\n")[2].partition("\n## ")[0]
    return dict(re.findall(r"```(\w+)\n(.*?)```", section, re.DOTALL))


def test_the_example_receives_a_frame_by_all_ports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    here = {"10.0.0.1": own_address(), "10.0.0.2": "127.0.0.1"}  # the FPGA, the receiver
    text = re.sub(r"10\.0\.0\.[12]\b", lambda found: here[found[0]], blocks()["toml"])
    Path("plan.toml").write_text(f"src_port = {own_port()}\n{text}")
    plan, port = load_plan(Path("plan.toml")), free_ports(1)
    images: list[Any] = []
    live = Live(transport="udp", plan=plan, publish=Path("session.json"), port=port, link_port=0, frames=1)
    with receive(live, stop=Stop()) as run:
        _, link_port = run.serve()
        thread = threading.Thread(target=lambda: images.extend(frame.image.copy() for frame in run))
        thread.start()
        fpga = DetectorRegisters(DetHeader(shipped(JUNGFRAU), MODULES, INTERFACES))
        to = Ether(src="02:00:00:00:00:09", dst=plan.source.mac) / IP(src="10.0.0.10", dst=str(plan.source.ip))
        rest = sent(FIRST_NUMBER, MODULES, INTERFACES)

        def pause(_: float) -> None:
            """A part of the frame comes; when all of it has, wait for the receiver."""
            for stream, packet in rest[:64]:
                frame = bytes(to / UDP(sport=32410, dport=FIRST_PORT + stream, chksum=0) / Raw(packet))
                fpga.receive(frame, gap=LINE_GAP)
            del rest[:64]
            with UdpSender(run.session, port) as sender:
                made = [packet for packet in fpga.run().packets if packet[12:14] != b"\x08\x06"]  # but for ARP
                for start in range(0, len(made), _BATCH):
                    before = run.counters.packets
                    sender.send(made[start : start + _BATCH])
                    until(lambda: run.counters.packets >= before + len(made[start : start + _BATCH]))  # noqa: B023
            time.sleep(0.001)

        monkeypatch.setattr(board_address, "open_registers", lambda _: fpga)
        monkeypatch.setattr(session_client, "SessionClient", partial(SessionClient, port=link_port))
        program = blocks()["python"].replace("from time import sleep\n", "")
        names: dict[str, Any] = {"sleep": pause}
        exec(compile(program, str(PAGE), "exec"), names)
        for client in names["clients"]:
            client.close()
        thread.join(60)
    assert not thread.is_alive()
    assert not rest
    (image,) = images
    assert np.array_equal(image, raw(FIRST_NUMBER, MODULES))
    assert f"'placed': {MODULES * 128}, 'size': 0" in capsys.readouterr().out
