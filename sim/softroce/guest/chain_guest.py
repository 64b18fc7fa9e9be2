"""The guest's side of the chain: opens all sessions, publishes them, replays their packets, receives.

    chain_guest.py FOLDER

FOLDER has a folder for each case, with its plan; see `test_chain.py`.
"""

import contextlib
import json
import sys
import time
from pathlib import Path

from chain_receiver import PACKETS, SESSION, ChainReceiver
from chain_services import split
from framelane.packets import pcap
from framelane.packets.pcap import PcapWriter
from framelane.receiver.ring.memory import host_memory
from framelane.receiver.ring.ring import Ring
from framelane.receiver.transport.packet_port import PacketPort
from framelane.receiver.transport.verbs import VerbsTransport
from framelane.session.session_plan import SessionPlan
from framelane.source.sender import PacketSender
from rdma_link import RdmaLink

PLAN, GO, ANSWERS, ACCEPTED, RECEIVED = "plan.json", "go", "answers.pcap", "accepted.json", "received"
"""`go` in FOLDER: all packets are there. ANSWERS are the packets that came back; ACCEPTED how many the driver counted
while they were replayed; RECEIVED the folder of the result."""
_PATIENCE_S = 5.0
_QUIET_S = 0.2


def main(folder: Path) -> None:
    """Serve all cases at the same time, then replay one after the other."""
    link = RdmaLink.of()
    with contextlib.ExitStack() as stack:
        opened = []
        for case in sorted(path.parent for path in folder.glob(f"*/{PLAN}")):
            plan = SessionPlan.model_validate_json((case / PLAN).read_bytes())
            memory = host_memory(plan.layout.ring_bytes)
            transport = stack.enter_context(VerbsTransport(memory, plan, device=link.device, window_end=plan.n_slots))
            ring = Ring(transport.session, memory)
            transport.session.save(case / SESSION)
            opened.append((case, transport, ring))
        wait_for(folder / GO)
        for case, transport, ring in opened:
            output = case / RECEIVED
            output.mkdir()
            before = transport.nic.writes()
            replay(case, link, ChainReceiver(case, output, transport.session, ring, transport))
            now = transport.nic.writes()
            (case / ACCEPTED).write_text(json.dumps(None if now is None or before is None else now - before))


def wait_for(path: Path) -> None:
    """Wait until the host has made the file."""
    while not path.exists():
        time.sleep(0.02)


def replay(case: Path, link: RdmaLink, receiver: ChainReceiver) -> None:
    """Send frame after frame, each once the one before is over, and write down what is answered."""
    with (
        PacketSender(link.sender) as sender,
        contextlib.closing(PacketPort(link.sender)) as back,
        PcapWriter(case / ANSWERS) as answers,
    ):
        for packets in split(list(pcap.read(case / PACKETS))):
            sender.send(packets)
            over = is_over(receiver)
            for answer in back.batch(0):
                answers.write(answer)
            if not over:  # nothing will come any more
                break
        while batch := back.batch(_QUIET_S):
            for answer in batch:
                answers.write(answer)
    receiver.close()


def is_over(receiver: ChainReceiver) -> bool:
    """Wait until a frame is over; whether one is."""
    deadline = time.monotonic() + _PATIENCE_S
    while not (over := receiver.poll(0.02)) and time.monotonic() < deadline:
        pass
    return bool(over)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
