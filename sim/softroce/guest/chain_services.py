"""The sessions of the chain, the frames and the packets that the transmitter makes of them."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from framelane.base.errors import SimulationError
from framelane.driver.simulated.verilated import TxSimulator
from framelane.models.jungfrau.jf_detector import Detector, DetectorConfig
from framelane.models.jungfrau.jf_scene import Scene
from framelane.models.memory.frame_store import FrameInfo
from framelane.models.roce_tx import roce_icrc, wire
from framelane.packets.pcap import PcapWriter
from framelane.receiver.transport.refusals import Refusal
from framelane.session.session import Session
from framelane.session.session_plan import SessionPlan
from rdma_link import RdmaLink

SOURCE_QPN = 0x00F1A7
"""To which the receiver of RC sends its acknowledgements."""


@dataclass(frozen=True, slots=True)
class Case:
    """One service: its session's plan, and how many frames go over it."""

    name: str
    plan: SessionPlan
    frames: int

    def detector(self) -> Detector:
        """The detector whose frames they are."""
        plan = self.plan
        return Detector(
            DetectorConfig(rows=plan.rows, columns=plan.columns, stuck_in_g1=5, scene=Scene(spots=20), seed=plan.mtu)
        )


def cases(link: RdmaLink) -> list[Case]:
    """UC and RC, each with both segmentations; rows and columns that make packets of every length, padded ones too."""
    fixed = {"source": link.source_node, "receiver": link.receiver_node, "source_qpn": SOURCE_QPN, "n_slots": 3}
    shapes = {
        ("UC", "only"): (4096, 64, 256, 24),
        ("UC", "message"): (1024, 33, 251, 14),
        ("RC", "only"): (2048, 47, 127, 28),
        ("RC", "message"): (4096, 64, 256, 20),
    }
    return [
        Case(
            f"{service.lower()}_{segmentation}",
            SessionPlan.model_validate(
                {
                    **fixed,
                    "service": service,
                    "segmentation": segmentation,
                    "mtu": mtu,
                    "rows": rows,
                    "columns": columns,
                }
            ),
            frames,
        )
        for (service, segmentation), (mtu, rows, columns, frames) in shapes.items()
    ]


def transmit(case: Case, session: Session) -> list[list[bytes]]:
    """The packets that the Verilated transmitter sends, frame by frame."""
    detector = case.detector()
    packets = []
    with TxSimulator(session.tx_config()) as simulator:
        for number in range(case.frames):
            frame = detector.frame(number)
            simulator.frame(FrameInfo(number, frame.timestamp_ns, frame.bunch_id), frame.raw)
            packets.append(simulator.run())
        counters = simulator.counters()
        if counters.destinations[0].failed or counters.flows[0].refused:
            raise SimulationError(f"the transmitter did not send all frames: {counters}")
    return packets


def with_foreign_packets(packets: list[bytes]) -> list[bytes]:
    """The packets of one frame, and behind its first three copies of it that no receiver may place.

    Each has another payload, and one thing wrong (see `FOREIGN`).
    """
    first = packets[0]
    headers, payload = wire.parse(first)
    other = bytes(byte ^ 0xFF for byte in payload) + bytes(headers.pad)
    wrong_qpn = wire.pack(replace(headers, dest_qpn=headers.dest_qpn ^ 1)) + other
    wrong_source = wire.pack(replace(headers, src=wire.Endpoint(headers.src.mac, headers.src.ip + 1))) + other
    copies = (
        roce_icrc.append(wire.pack(headers) + other, poisoned=True),
        roce_icrc.append(wrong_qpn),
        roce_icrc.append(wrong_source),
    )
    return [first, *copies, *packets[1:]]


FOREIGN = (Refusal.ICRC, Refusal.QPN, Refusal.SOURCE)
"""Why the copies are refused."""


def write(path: Path, frames: list[list[bytes]]) -> None:
    """All packets to a capture."""
    with PcapWriter(path) as capture:
        for packet in (packet for frame in frames for packet in frame):
            capture.write(packet)


def split(packets: list[bytes]) -> Iterator[list[bytes]]:
    """The packets of each frame: it ends with the one WITH_IMM."""
    frame: list[bytes] = []
    for packet in packets:
        frame.append(packet)
        if wire.parse(packet)[0].imm is not None:
            yield frame
            frame = []


def as_uc(packet: bytes) -> bytes:
    """A packet of RC as one of UC, otherwise the same: a soft NIC serves UC only. A wrong ICRC stays wrong."""
    headers, payload = wire.parse(packet)
    covered = wire.pack(replace(headers, opcode=headers.opcode | wire.UC, ack_request=False)) + payload
    return roce_icrc.append(covered + bytes(headers.pad), poisoned=not roce_icrc.check(packet))
