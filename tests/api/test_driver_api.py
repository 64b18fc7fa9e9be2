"""`framelane.driver` as from a notebook: a board is opened, configured from a file, armed, and let go of."""

from collections.abc import Callable
from pathlib import Path

import pytest

from framelane.base.errors import BoardError, ConfigError, FramelaneError
from framelane.driver import BoardConfig, Capabilities, configure, open_board
from framelane.session.session import Session

MakeSession = Callable[..., Session]


@pytest.fixture
def board_toml(tmp_path: Path, make_session: MakeSession) -> Path:
    session = make_session(source={"mac": "02:00:00:00:00:01", "ip": "10.0.0.1"}, window_end=7)
    session.save(tmp_path / "session.json")
    path = tmp_path / "board.toml"
    path.write_text(
        '[transmitter]\nmac = "02:00:00:00:00:01"\nip = "10.0.0.1"\n'
        "[source]\nrows = 16\ncolumns = 100\n[store]\nbase = 0\nslots = 4\n"
        '[[receiver]]\nname = "disk"\nsession = "session.json"\n'
        '[[flow]]\nname = "all"\nreceivers = ["disk"]\n'
    )
    return path


def test_a_simulated_board_is_configured_from_a_file_and_armed(board_toml: Path) -> None:
    with open_board("sim") as board:
        assert isinstance(board.probe(), Capabilities)
        with pytest.raises(BoardError, match="no flow is enabled: configure the board first"):
            board.arm()
        config = configure(board, str(board_toml))
        assert isinstance(config, BoardConfig)
        assert (config.flows, config.destinations, config.credit) == (("all",), ("disk",), (7,))
        assert board.registers["destination[0].window_end"] == 7, "the session's credit is there"
        assert not board.state().armed
        board.arm()
        assert board.state().armed
        assert board.counters().frames == 0
        assert board.errors().sentences() == []
    with pytest.raises(FramelaneError, match="closed"):
        board.probe()


def test_a_file_that_is_wrong_says_where_and_leaves_the_board_as_it_was(board_toml: Path) -> None:
    with open_board("sim") as board:
        configure(board, board_toml)
        board.arm()
        board_toml.write_text(board_toml.read_text().replace('"session.json"', '"other.json"'))
        with pytest.raises(FramelaneError, match=r"other\.json"):
            configure(board, board_toml)
        assert board.state().armed


def test_an_address_that_names_no_board_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"'usb' names no board: give uio:/dev/uio0"):
        open_board("usb")
