"""What the doctor says of each planted fault, word for word: the values found, those that should be, who refuses it.

`doctor_said.txt` has a paragraph for each fault: its causes, worst first, how often and in which packets, each value
with its count, and who does not place the packet for it. Every sentence there was compared with what was planted.
"""

from pathlib import Path

import pytest

from doctor_cases import examine, make, stream
from planted_faults import FAULTS, HARMLESS, PlantedFault

SAID = {
    name: lines
    for name, *lines in (
        paragraph.splitlines()
        for paragraph in Path(__file__).with_name("doctor_said.txt").read_text().rstrip("\n").split("\n\n")
    )
}


def said(fault: PlantedFault) -> list[str]:
    session = make(segmentation=fault.segmentation)
    lines = []
    for group in examine(fault.mutate(stream(session), session), session).diagnosis.groups:
        values = "; ".join(f"{value} ({count})" for value, count in group.values.items())
        lines.append(
            f"  {group.cause.code}: {group.count} in packets {group.first} to {group.last}: {values}"
            f" | not placed by {group.refused_by.words()}"
        )
    return lines


@pytest.mark.parametrize("fault", [*FAULTS, *HARMLESS], ids=lambda fault: fault.name)
def test_every_word_on_a_planted_fault_is_right(fault: PlantedFault) -> None:
    assert said(fault) == SAID[fault.name]


def test_there_is_a_paragraph_for_each_fault() -> None:
    assert list(SAID) == [fault.name for fault in (*FAULTS, *HARMLESS)]
