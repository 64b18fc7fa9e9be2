"""`recv --transport pcie`: the simulated board writes into the ring of this process, the file has what it sent."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import h5py
import numpy as np
import pytest
from numpy.typing import NDArray

from framelane.base.errors import ConfigError
from framelane.demo.simulated_card import SimulatedCard, image_of, simulated_card
from framelane.receiver import Live, receive
from framelane.receiver.ring.tally import Tally
from framelane.session.session import Session
from framelane.session.session_plan import Node, SessionPlan

RunCli = Callable[..., tuple[int, str, str]]
ROWS, COLUMNS = 8, 256
SHAPE = ROWS, COLUMNS
PLAN = f"""
rows = {ROWS}
columns = {COLUMNS}
n_slots = 4
source = {{ mac = "02:00:00:00:00:01", ip = "127.0.0.2" }}
receiver = {{ mac = "02:00:00:00:00:02", ip = "127.0.0.1" }}
"""
NODES = {
    name: Node(mac=f"02:00:00:00:00:0{n}", ip=f"127.0.0.{n}")  # type: ignore[arg-type]
    for n, name in enumerate(("receiver", "source"), 1)
}


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "plan.toml"
    path.write_text(PLAN)
    return path


def session_plan(**other: object) -> SessionPlan:
    return SessionPlan(**NODES, rows=ROWS, columns=COLUMNS, n_slots=4, **other)  # type: ignore[arg-type]


def test_the_file_has_the_frames_that_the_board_sent(run_cli: RunCli, plan: Path, tmp_path: Path) -> None:
    """Three rings full: slots are used again as their credit comes back."""
    output = tmp_path / "frames.h5"
    command = ("recv", "--transport", "pcie", "--device", "sim", "--plan", plan, "--output", output, "--frames", 12)
    status, out, err = run_cli(*command, "--strict")
    assert status == 0, err
    assert "waiting for the board on PCIe, 8 x 256 pixels, 4 slots" in out
    assert "12 sent = 12 complete + 0 incomplete" in out
    with h5py.File(output) as file:
        images = file["entry/data/data"]
        assert images.shape == (12, *SHAPE)
        for number in range(12):
            assert np.array_equal(images[number], image_of(number, SHAPE))


def test_without_a_number_the_board_tells_its_end() -> None:
    with receive(Live(transport="pcie", plan=session_plan(), card=simulated_card())) as run:
        numbers = [frame.number for frame in run]
    assert numbers == list(range(10))
    assert run.sources_ended
    assert run.tally == Tally(10, 10, 0, 0, 0, 0)


@pytest.mark.parametrize("down_at", [0, 5])
def test_a_link_that_goes_down_ends_the_run_with_what_has_come(down_at: int) -> None:
    sent = simulated_card(8)

    @contextlib.contextmanager
    def failing(session: Session, memory: Callable[[int], NDArray[np.uint8]]) -> Iterator[SimulatedCard]:
        with sent(session, memory) as card:
            offer = card.simulator.frame

            def frame(info, image) -> None:  # type: ignore[no-untyped-def]
                if info.number == down_at:
                    card.simulator.link_up(up=False)
                offer(info, image)

            card.simulator.frame = frame  # type: ignore[method-assign]
            yield card

    with receive(Live(transport="pcie", plan=session_plan(), card=failing)) as run:
        numbers = [frame.number for frame in run if frame.complete]
    assert numbers == list(range(down_at))
    assert "the PCIe engine sends nothing any more: its link was down" in run.fault
    assert run.tally.complete == down_at
    assert run.tally.holds, str(run.tally)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "--transport pcie is a board in this host: give --device, its PCI address, or sim"),
        (["--device", "sim", "--link-port", 0], "no link is served: leave --link-port out"),
        (["--device", "sim", "--publish", "s.json"], "no link is served: leave --publish out"),
        (["--device", "sim", "--interface", "lo"], "--interface is of --transport packet: leave it out with pcie"),
        (["--device", "ffff:ff:1f.7"], "ffff:ff:1f.7"),
    ],
)
def test_what_cannot_be_is_one_sentence(
    arguments: list[object], said: str, run_cli: RunCli, plan: Path, tmp_path: Path
) -> None:
    output = tmp_path / "frames.h5"
    status, _, err = run_cli("recv", "--transport", "pcie", "--plan", plan, "--output", output, *arguments)
    assert status == 2
    assert said in err
    assert err.count("\n") == 1
    assert not output.exists()


@pytest.mark.parametrize(
    ("other", "said"),
    [({"sources": 2}, "a board on PCIe is one source"), ({"pixels": "corrected"}, "sends raw words")],
)
def test_sessions_that_it_does_not_send_are_refused(other: dict[str, object], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        receive(Live(transport="pcie", plan=session_plan(**other), card=simulated_card()))


def test_an_old_session_is_none_of_a_board_on_pcie(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="takes new memory every time: give plan, not session"):
        Live(transport="pcie", session=tmp_path / "session.json", card=simulated_card())
