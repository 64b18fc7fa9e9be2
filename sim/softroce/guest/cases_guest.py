"""What SoftRoCE does with any packets: the guest's side.

    cases_guest.py FOLDER

All sessions of PLANS are opened at once and published as SESSIONS. Once CASES is there, each case's ring is filled with
holes and its packets are replayed, step after step. After each step the ring's memory is appended to MEMORY;
COMPLETIONS holds, for each case and step, the immediates that came in it.
"""

import contextlib
import json
import sys
import time
from pathlib import Path
from typing import Any

from framelane.base.part_file import PartFile
from framelane.receiver.ring.memory import host_memory
from framelane.receiver.ring.ring import Ring
from framelane.receiver.transport.verbs import VerbsTransport
from framelane.session.session_plan import SessionPlan
from framelane.source.sender import PacketSender
from rdma_link import RdmaLink

PLANS, SESSIONS, CASES, MEMORY, COMPLETIONS = "plans", "sessions", "cases", "memory", "completions"
"""Files of FOLDER. CASES is a list: each case has the number of its `session`, and `steps`, each with its `packets`
(hex) and in `completions` how many messages WITH_IMM they end, which are waited for."""
_PATIENCE_S, _SHORT_PATIENCE_S = 5.0, 0.5
"""How long what is expected is waited for, and how long once something has not come."""
_QUIET_S = 0.02
"""How long after a step something unexpected may come; what comes later shows after the next one."""


def main(folder: Path) -> None:
    """Serve all cases."""
    link = RdmaLink.of()
    with contextlib.ExitStack() as stack:
        opened = []
        for text in json.loads((folder / PLANS).read_text()):
            plan = SessionPlan.model_validate(text)
            memory = host_memory(plan.layout.ring_bytes)
            transport = stack.enter_context(VerbsTransport(memory, plan, device=link.device, receives=16))
            opened.append((transport, memory))
        put(folder / SESSIONS, [transport.session.model_dump(mode="json") for transport, _ in opened])
        while not (folder / CASES).exists():
            time.sleep(0.02)
        sender = stack.enter_context(PacketSender(link.sender))
        written = stack.enter_context((folder / MEMORY).open("wb"))
        immediates: list[list[list[int]]] = []
        patience_s = _PATIENCE_S
        for case in json.loads((folder / CASES).read_text()):
            transport, memory = opened[case["session"]]
            Ring(transport.session, memory)  # filled with holes
            immediates.append([])
            for step in case["steps"]:
                sender.send([bytes.fromhex(packet) for packet in step["packets"]])
                found = completions(transport, step["completions"], patience_s)
                if len(found) < step["completions"]:
                    patience_s = _SHORT_PATIENCE_S
                immediates[-1].append(found)
                written.write(memory)
        put(folder / COMPLETIONS, immediates)


def completions(transport: VerbsTransport, expected: int, patience_s: float) -> list[int]:
    """The immediates that come, until there are as many as expected and no other follows."""
    found: list[int] = []
    deadline = time.monotonic() + patience_s
    while len(found) < expected and time.monotonic() < deadline:
        found += [each.imm for each in transport.poll(_QUIET_S)]
    return found + [each.imm for each in transport.poll(_QUIET_S)]


def put(path: Path, document: Any) -> None:
    """Write a file that appears whole."""
    with PartFile(path) as part:
        part.path.write_text(json.dumps(document))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
