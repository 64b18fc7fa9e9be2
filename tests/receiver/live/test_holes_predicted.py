"""Every hole of every frame is where a calculator that shares nothing with the receiver says it is.

FRAMELANE_HOLE_FRAMES frames in all (600 if it is not set), lost, repeated and reordered at random;
`make nightly` runs 10,000.
"""

import ast
import itertools
import os
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hole_oracle
from framelane.packets.pcap import PcapWriter
from framelane.receiver.live.packet_source import Capture
from framelane.receiver.live.reception import receive
from framelane.session.session import Session
from framelane.source.emulator import Emulator
from framelane.source.impairments.impairments import parse
from hole_oracle import Oracle

MakeSession = Callable[..., Session]
SHAPE = {"mtu": 256, "rows": 8, "columns": 75, "n_slots": 32, "window_end": 32}
"""1200 bytes: 4 packets of 256, a rest of 176, and the trailer."""
CASES: dict[str, tuple[dict[str, Any], str]] = {
    "little": ({}, "drop=0.02,duplicate=0.01,reorder=0.01"),
    "much": ({}, "drop=0.3,duplicate:3=0.1,reorder:2=0.1"),
    "far": ({}, "reorder:9=0.1,delay:2=0.05,duplicate:20=0.1,drop=0.1"),
    "corrupted": ({}, "corrupt:payload=0.05,corrupt:icrc=0.05,truncate=0.02,drop=0.05"),
    "messages": ({"segmentation": "message"}, "drop=0.05,duplicate=0.02,reorder=0.02"),
    "two sources": ({"sources": 2}, "drop=0.1,duplicate:4=0.05,reorder:3=0.05"),
    "die": ({"segmentation": "message"}, "die:2=0.01,drop=0.1"),
}
FRAMES = int(os.environ.get("FRAMELANE_HOLE_FRAMES", "600")) // len(CASES) + 1


def write(path: Path, session: Session, faults: str, seed: int) -> None:
    """A capture of `FRAMES` frames of which no two in a row are alike, as the faults leave it."""
    rng = np.random.default_rng(seed)
    images = rng.integers(0, 0x8000, (5, session.rows, session.columns), np.uint16)
    sources = [Emulator(session, source) for source in range(session.sources)]
    prepared = [[source.prepare(image) for image in images] for source in sources]
    lines = [parse(faults, seed + 1000 * n) for n in range(session.sources)]
    with PcapWriter(path) as capture:
        for number in range(FRAMES):
            packets = []
            for source, pictures, line in zip(sources, prepared, lines, strict=True):
                source.window_end = number + 1
                batch = source.frame(number, pictures[number % len(images)])
                assert batch is not None
                packets.append(line.feed(list(batch), number))
            for packet in itertools.chain.from_iterable(itertools.zip_longest(*packets)):
                if packet is not None:
                    capture.write(packet)
        for packet in itertools.chain.from_iterable(line.flush() for line in lines):
            capture.write(packet)


@pytest.mark.parametrize("case", CASES)
def test_every_hole_and_every_fate_is_as_predicted(case: str, make_session: MakeSession, tmp_path: Path) -> None:
    changes, faults = CASES[case]
    session = make_session(**SHAPE | changes)
    session.save(tmp_path / "session.json")
    write(tmp_path / "x.pcap", session, faults, seed=len(case))
    fates = Oracle(tmp_path / "session.json").follow(tmp_path / "x.pcap")
    expected = {n: fate for n, fate in enumerate(fates) if fate.kind != "missing"}
    found = set()
    with receive(Capture(tmp_path / "x.pcap", tmp_path / "session.json")) as run:
        for frame in run:
            found.add(frame.number)
            fate = expected[frame.number]
            assert frame.received.image.tobytes() == fate.image, f"frame {frame.number}"
            assert (
                frame.hole_mask().sum() == frame.holes == np.count_nonzero(np.frombuffer(fate.image, "<u2") == 0x8000)
            )
            assert ("complete" if frame.complete else "incomplete") == fate.kind, f"frame {frame.number}"
    assert found == set(expected)
    counts = Counter(fate.kind for fate in fates)
    tally = run.tally
    assert (tally.complete, tally.incomplete) == (counts["complete"], counts["incomplete"])
    assert (tally.sent, tally.missing + tally.dropped_at_source) == (len(fates), counts["missing"])
    assert len(fates) > FRAMES - 10
    assert counts["complete"] > 0 < counts["incomplete"], "both kinds were tried"


def test_the_calculator_shares_nothing_with_what_it_judges() -> None:
    tree = ast.parse(Path(hole_oracle.__file__).read_text())
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.partition(".")[0] for name in names} <= set(sys.stdlib_module_names)
