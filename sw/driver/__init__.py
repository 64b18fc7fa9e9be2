"""A transmitter, real or simulated: open it, configure it, arm it, read what it counts.

Public names: docs/reference/api.md.
"""

from typing import TYPE_CHECKING

from framelane.base.lazily import lazily

__all__ = [
    "Board",
    "BoardConfig",
    "Capabilities",
    "ClockState",
    "Counters",
    "Errors",
    "PtpClock",
    "PtpFollower",
    "PtpMessages",
    "PtpSettings",
    "PtpSlave",
    "PtpState",
    "PtpStatus",
    "State",
    "configure",
    "open_board",
]

if TYPE_CHECKING:
    from framelane.driver.board.board import Board
    from framelane.driver.board.board_address import open_board
    from framelane.driver.board.board_readings import Capabilities, Counters, Errors, State
    from framelane.driver.config.board_config import BoardConfig
    from framelane.driver.config.configuring import configure
    from framelane.driver.ptp.clock import PtpClock
    from framelane.driver.ptp.clock_state import ClockState
    from framelane.driver.ptp.follower import PtpFollower
    from framelane.driver.ptp.messages import PtpMessages
    from framelane.driver.ptp.settings import PtpSettings
    from framelane.driver.ptp.slave import PtpSlave
    from framelane.driver.ptp.status import PtpState, PtpStatus
else:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            "Board": "framelane.driver.board.board",
            "BoardConfig": "framelane.driver.config.board_config",
            "Capabilities": "framelane.driver.board.board_readings",
            "ClockState": "framelane.driver.ptp.clock_state",
            "Counters": "framelane.driver.board.board_readings",
            "Errors": "framelane.driver.board.board_readings",
            "PtpClock": "framelane.driver.ptp.clock",
            "PtpFollower": "framelane.driver.ptp.follower",
            "PtpMessages": "framelane.driver.ptp.messages",
            "PtpSettings": "framelane.driver.ptp.settings",
            "PtpSlave": "framelane.driver.ptp.slave",
            "PtpState": "framelane.driver.ptp.status",
            "PtpStatus": "framelane.driver.ptp.status",
            "State": "framelane.driver.board.board_readings",
            "configure": "framelane.driver.config.configuring",
            "open_board": "framelane.driver.board.board_address",
        },
    )
