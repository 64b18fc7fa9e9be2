"""A board's clock follows a grandmaster, by the board's own messages, and the board can say how it does."""

import time
from collections.abc import Callable
from dataclasses import replace

from framelane.base.errors import BoardError
from framelane.driver.ptp.board_time import BoardTime
from framelane.driver.ptp.clock_state import ClockState, clock_state
from framelane.driver.ptp.frame_messages import FrameMessages
from framelane.driver.ptp.settings import PtpSettings
from framelane.driver.ptp.slave import PtpSlave
from framelane.driver.ptp.status import PtpState, PtpStatus
from framelane.driver.registers.registers import Registers
from framelane.models.roce_tx.wire import Endpoint
from framelane.models.time.frame_stamp import Stamp
from framelane.models.time.ptp_frame import Transport

_TELLS_S = 1.0
_LAPSES_S = 5
"""A lock that is not told again for so long ends by itself: the program was killed."""


class PtpFollower:
    """Sets the clock of the board behind `registers`, whose station is `local`, as long as `turn` is called.

    `frames`: whose time frames have from now on; None: as before. BoardError where the board has no clock, or no MAC.
    """

    def __init__(
        self,
        registers: Registers,
        local: Endpoint,
        settings: PtpSettings | None = None,
        *,
        transport: Transport = "ethernet",
        frames: Stamp | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        if not local.mac:
            raise BoardError("the board has no Ethernet address yet: configure it first")
        self._registers, self._monotonic = registers, monotonic
        self._clock = BoardTime(registers)
        self._clock.lapse_after(_LAPSES_S)
        if frames is not None:
            self._clock.stamp_frames(frames)
        messages = FrameMessages(self._clock, local, transport)
        self._slave = PtpSlave(self._clock, messages, settings, monotonic=monotonic)
        self._tell_at = 0.0
        self._told: PtpState | None = None

    @property
    def status(self) -> PtpStatus:
        """How it is now, with what is wrong and why."""
        return self._slave.status

    @property
    def state(self) -> ClockState:
        """What the board says to others."""
        state = clock_state(self._registers)
        if state is None:
            raise BoardError("the board has no clock any more: was another design loaded?")
        return state

    def turn(self) -> float:
        """Do what is due; in how many seconds it is to be called again, or as soon as a message has come."""
        after = self._slave.steer()
        now, status = self._monotonic(), self._slave.status
        if status.state is not self._told or now >= self._tell_at:
            self._clock.tell(status)
            self._told, self._tell_at = status.state, now + _TELLS_S
        return max(0.0, min(after, self._tell_at - now))

    def release(self) -> None:
        """Nobody sets it any more: it runs free, at the last rate, and the board says so."""
        self._clock.tell(replace(self._slave.status, state=PtpState.LISTENING, grandmaster=None))
