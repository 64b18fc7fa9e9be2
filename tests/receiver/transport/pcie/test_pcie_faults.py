"""Each fault of the link, the table and its host costs its own bytes: exact holes, and all frames are accounted for."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import pytest
from numpy.typing import NDArray

from framelane.base.errors import TransportError
from framelane.driver.pcie.over_pcie import over_pcie
from framelane.driver.registers._pcie_register_map import REGISTERS
from framelane.driver.registers.register_file import RegisterFile
from framelane.driver.registers.registers import WORD
from framelane.driver.simulated.verilated_pcie import PcieSimulator
from framelane.models.memory.frame_store import FrameInfo
from framelane.models.pcie import page_map
from framelane.models.placement.slots import HOLE_WORD
from framelane.receiver.ring.receiver import ReceivedFrame, Receiver
from framelane.receiver.ring.tally import Tally
from framelane.session.session import Session
from simulated_device import Device, transmitter

MakeSession = Callable[..., Session]
MakeImages = Callable[..., list[NDArray[np.uint16]]]
Plant = Callable[[Device[PcieSimulator]], None]
PAGE = 4096
ROWS = 64
"""An image has 12,800 bytes, a slot four pages."""
LOST = range(PAGE // 2, PAGE)
"""Pixels of the second page of slot 0."""
FRAMES = 6


def no_page(there: Device[PcieSimulator]) -> None:
    there.engine.load([None if page == 1 else address for page, address in enumerate(there.pages)], there.plan)


def changed_bit(there: Device[PcieSimulator]) -> None:
    """One entry is written again, with a bit of it changed."""
    registers = RegisterFile(there.simulator, REGISTERS)
    registers["pcie[0].map_index"] = 1
    word = page_map.entry(there.pages[1]) ^ 1 << 9
    at = registers.find("pcie[0].map_entry").offset
    there.simulator.write(at, word & WORD)
    there.simulator.write(at + 4, word >> 32)


def unknown_to_the_iommu(there: Device[PcieSimulator]) -> None:
    memory = [there.memory[at : at + PAGE] for at in range(0, there.memory.nbytes, PAGE)]
    there.simulator.unmap()
    for page, address in enumerate(there.pages):
        if page != 1:
            there.simulator.map(memory[page], address)


def late_completions(there: Device[PcieSimulator]) -> None:
    there.simulator.delay(completions=400)


def lost_completions(there: Device[PcieSimulator]) -> None:
    there.simulator.mute()


def unexpected_completions(there: Device[PcieSimulator]) -> None:
    for tag in (9, 10):
        there.simulator.complete(tag, bad=tag == 10)


def another_payload_size(there: Device[PcieSimulator]) -> None:
    there.simulator.retrain(512)


@dataclass(frozen=True)
class Fault:
    """`plant` it: frames in slot 0 then lack `lost` pixels, events say `refused`, the engine `told`."""

    plant: Plant
    lost: range = range(0)
    refused: dict[str, int] = field(default_factory=dict)
    told: tuple[str, ...] = ()
    options: dict[str, float] = field(default_factory=dict)


FENCES = {"fence_s": 4e-6}
FAULTS = {
    "a page missing": Fault(no_page, LOST, {"no_page": 2}, ("no_page",)),
    "a bit of an entry changed": Fault(changed_bit, LOST, {"bad_parity": 2}, ("bad_parity",)),
    "a page that the IOMMU does not know": Fault(unknown_to_the_iommu, LOST),
    "completions late, at random": Fault(late_completions, options={"fence_s": 4e-5}),
    "completions lost": Fault(lost_completions, refused={"unanswered": FRAMES}, told=("unanswered",), options=FENCES),
    "completions for nobody, one an error": Fault(unexpected_completions, told=("unexpected",), options=FENCES),
    "hardly any credit": Fault(lambda there: None, options={"link_stall": 0.97}),
    "another Max_Payload_Size": Fault(another_payload_size),
}


def holes(frame: ReceivedFrame) -> NDArray[np.bool_]:
    """Pixels that were never written."""
    mask: NDArray[np.bool_] = frame.image == HOLE_WORD
    return mask


def send(there: Device[PcieSimulator], receiver: Receiver, images: list[NDArray[np.uint16]]) -> Iterator[ReceivedFrame]:
    """Three at a time, with credit; the frames that are over, in order."""
    for first in range(0, len(images), 3):
        there.simulator.board.publish_credit(0, there.ring.window_end)
        for number, image in enumerate(images[first : first + 3], first):
            there.simulator.frame(FrameInfo(number, number, number), image)
        there.simulator.run()
        yield from receiver.poll(0)


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_costs_its_own_bytes_and_the_identity_holds(
    name: str, make_session: MakeSession, make_images: MakeImages
) -> None:
    fault = FAULTS[name]
    session = make_session(rows=ROWS, window_end=4)
    images = make_images(session, FRAMES)
    with transmitter(session, **fault.options) as there:
        there.simulator.start(over_pcie(session.tx_config()), there.ring.window_end)
        fault.plant(there)
        receiver = Receiver(there.ring, there.transport)
        damaged = 0
        for frame in send(there, receiver, images):
            lost = fault.lost if frame.number % session.n_slots == 0 else range(0)
            assert holes(frame).ravel().nonzero()[0].tolist() == list(lost)
            seen = ~holes(frame)
            assert np.array_equal(frame.image[seen], images[frame.number][seen])
            damaged += bool(lost)
            receiver.release(frame)
        assert receiver.tally(FRAMES) == Tally(FRAMES, FRAMES - damaged, damaged, 0, 0, 0)
        assert damaged == (2 if fault.lost else 0)
        assert there.transport.counters.refused == fault.refused
        assert tuple(there.engine.faults()) == fault.told


@pytest.mark.parametrize("cycles", [150, 900])
def test_a_link_down_in_mid_frame_leaves_what_was_written_and_holes(
    cycles: int, make_session: MakeSession, make_images: MakeImages, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = make_session(rows=ROWS, window_end=4)
    images = make_images(session, 3)
    monkeypatch.setattr("framelane.receiver.transport.pcie.transport._CHECK_S", 0.0)
    with transmitter(session) as there:
        there.simulator.start(over_pcie(session.tx_config()), there.ring.window_end)
        receiver = Receiver(there.ring, there.transport)
        there.simulator.frame(FrameInfo(0, 0, 0), images[0])
        there.simulator.run()
        for number in (1, 2):
            there.simulator.frame(FrameInfo(number, number, number), images[number])
        there.simulator.step(cycles)
        there.simulator.link_up(up=False)
        there.simulator.run()
        (whole,) = receiver.poll(0)
        assert np.array_equal(whole.image, images[0])
        with pytest.raises(TransportError, match="its link was down"):
            receiver.poll(1)
        left = receiver.settle(3)
        part = 0
        for frame in left:
            seen = ~holes(frame)
            assert np.array_equal(frame.image[seen], images[frame.number][seen])
            part += bool(seen.any() and not seen.all())
        assert part == 1, "one frame was under way"
        tally = receiver.tally(3)
        assert tally.holds, str(tally)
        assert tally.complete == 3 - len(left) - tally.missing + sum(frame.complete for frame in left)
        assert not tally.whole
