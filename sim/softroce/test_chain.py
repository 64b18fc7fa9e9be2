"""The whole chain on SoftRoCE: Verilated transmitter, veth, the Linux driver, pipeline, file; against the soft NIC.

The guest opens a session a service and publishes them; the transmitter is configured with exactly these; the guest
replays its packets, with foreign packets between them, and receives. All services share one boot.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import acknowledgements
import chain_guest
from acknowledgements import Acknowledgement
from chain_receiver import CALIBRATION, MEMORY, PACKETS, RESULT, SESSION
from chain_reference import REFERENCE
from chain_services import FOREIGN, SOURCE_QPN, cases, transmit, with_foreign_packets, write
from chain_summary import SENT, Served, datasets, numbers, refused_by_driver
from framelane.calibration.calibration_file import write_calibration
from framelane.models.roce_tx import wire
from once import once
from rdma_link import RdmaLink
from rdma_testbed import RdmaTestbed
from run import PYTHONPATH, Run

HERE = Path(__file__).with_name("guest")
WORK = HERE.parents[2] / "build" / "softroce"
COMPILED = {"NUMBA_CACHE_DIR": str(WORK / "chain" / "numba"), "NUMBA_CPU_NAME": "generic"}
"""The machine's processor is another one: code for any, compiled here, kept where the guest may read and write."""
PATIENCE_S = 600
"""For a computer that does much else at the same time; 40 s are enough."""
NAMES = [case.name for case in cases(RdmaLink())]


@pytest.fixture(scope="module")
def served(testbed: RdmaTestbed) -> dict[str, Served]:
    """All services by name; their numbers are in build/softroce/summary.json, with the verdict."""
    folder = WORK / "chain"
    found = {case.name: Served(case, folder / case.name) for case in cases(testbed.link)}
    with once(folder, keep=("numba",)) as first:
        if first:
            run_all(testbed, folder, list(found.values()))
            summary = {name: numbers(each) for name, each in found.items()}
            (WORK / "summary.json").write_text(json.dumps(summary, indent=2) + "\n")
    return found


def run_all(testbed: RdmaTestbed, folder: Path, services: list[Served]) -> None:
    """The guest, the transmitter and the soft NIC, all services in one boot."""
    for each in services:
        each.folder.mkdir()
        (each.folder / chain_guest.PLAN).write_text(each.case.plan.model_dump_json())
        write_calibration(each.folder / CALIBRATION, each.case.detector().calibration)
    with Run(
        testbed,
        [sys.executable, str(HERE / "chain_guest.py"), str(folder)],
        folder,
        timeout_s=PATIENCE_S,
        environment=COMPILED,
    ) as run:
        for each in services:
            run.wait_for(f"{each.case.name}/{SESSION}")
            frames = transmit(each.case, each.session)
            write(each.folder / SENT, frames)
            write(each.folder / PACKETS, [with_foreign_packets(frame) for frame in frames])
        reference = [sys.executable, str(HERE / "chain_reference.py"), *(str(each.folder) for each in services)]
        subprocess.run(reference, check=True, env=os.environ | PYTHONPATH | COMPILED)
        (folder / chain_guest.GO).touch()
        outcome = run.wait()
        assert (outcome.status, outcome.stderr) == (0, b""), outcome.stderr.decode()


@pytest.fixture(params=NAMES)
def service(request: pytest.FixtureRequest, served: dict[str, Served]) -> Served:
    """Each service."""
    return served[request.param]


def test_every_frame_is_whole_in_the_guest_and_holds_the_pixels_that_were_sent(service: Served) -> None:
    report, sent = service.report(chain_guest.RECEIVED), service.case.frames
    assert (report["sent"], report["complete"], report["strays"]) == (sent, sent, 0)
    assert report["completions"] == sent
    layout = service.session.layout
    rings = np.fromfile(service.folder / chain_guest.RECEIVED / MEMORY, np.uint8)
    rings = rings.reshape(sent, layout.n_slots, layout.slot_bytes)
    detector = service.case.detector()
    for number, ring in enumerate(rings):
        image = detector.frame(number).raw
        assert ring[layout.slot(number), : layout.image_bytes].tobytes() == image.tobytes(), f"frame {number}"


def test_the_memory_after_every_frame_is_that_of_the_soft_nic(service: Served) -> None:
    received = service.memory(chain_guest.RECEIVED)
    assert len(received) == service.case.frames * service.session.layout.ring_bytes
    assert received == service.memory(REFERENCE)


def test_what_the_pipeline_has_written_is_that_of_the_soft_nic(service: Served) -> None:
    received, reference = (datasets(service.folder / kind / RESULT) for kind in (chain_guest.RECEIVED, REFERENCE))
    assert received["entry/data/data"][1] == (service.case.frames, service.case.plan.rows, service.case.plan.columns)
    assert "entry/sparse/values" in received
    assert received == reference


def test_the_soft_nic_has_refused_every_foreign_packet_and_no_other(service: Served) -> None:
    report = service.report(REFERENCE)
    assert report["refused"] == dict.fromkeys(FOREIGN, service.case.frames)
    assert report["placed"] == len(service.sent)


def test_softroce_has_refused_every_foreign_packet_and_no_other(service: Served) -> None:
    assert service.accepted == len(service.sent)
    found = numbers(service)
    assert found["refused"] == dict.fromkeys(FOREIGN, service.case.frames)
    assert found["passed"]


@pytest.mark.parametrize(("accepted", "memory_equal"), [(9, True), (11, True), (None, True), (10, False)])
def test_what_softroce_has_refused_is_not_claimed_where_it_is_not_known(
    accepted: int | None, memory_equal: bool
) -> None:
    foreign = {"icrc": 2, "qpn": 2}
    assert refused_by_driver(foreign, 10, accepted, memory_equal) is None
    assert refused_by_driver(foreign, 10, 10, True) == foreign


def test_a_receiver_of_uc_says_nothing(served: dict[str, Served]) -> None:
    assert [name for name in NAMES if name.startswith("uc") and served[name].answers] == []


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("rc")])
def test_every_packet_that_asks_is_acknowledged_once_in_order_to_the_source(
    served: dict[str, Served], name: str
) -> None:
    service = served[name]
    expected, ended = [], 0
    src, dst = service.session.receiver.endpoint(), service.session.source.endpoint()
    for packet in service.sent:
        headers, _ = wire.parse(packet)
        ended += wire.Opcode(headers.opcode).ends
        if headers.ack_request:
            expected.append((src, dst, SOURCE_QPN, headers.psn, ended, 0))
    assert len(expected) >= 2 * service.case.frames
    acks: list[Acknowledgement] = [acknowledgements.parse(answer) for answer in service.answers]
    assert [(ack.src, ack.dst, ack.qpn, ack.psn, ack.msn, ack.kind) for ack in acks] == expected
