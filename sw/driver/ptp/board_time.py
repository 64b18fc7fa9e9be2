"""A board's time unit by its registers (docs/integrating/time_registers.md): its clock, its messages with stamps."""

import time

from framelane.base.errors import BoardError
from framelane.driver.ptp.clock_state import told_ns
from framelane.driver.ptp.status import PtpState, PtpStatus
from framelane.driver.registers._time_register_map import REGISTERS
from framelane.driver.registers.register_file import RegisterFile
from framelane.driver.registers.registers import WORD, WORD_BYTES, Registers
from framelane.models.time.frame_stamp import Stamp
from framelane.models.time.time_counter import NS, SECOND, adjust_of, rate_of, seconds_and_rest

_IDENTITY = int.from_bytes(b"FLTM", "little")
_MAJOR = 1
_PATIENCE_S = 0.5
_SUB_NS = 1 << 16
_SECONDS = (1 << 48) - 1
_ACCURACIES = (
    (25, 0x20),
    (100, 0x21),
    (250, 0x22),
    (1e3, 0x23),
    (2.5e3, 0x24),
    (1e4, 0x25),
    (2.5e4, 0x26),
    (1e5, 0x27),
)
"""clockAccuracy of IEEE 1588-2019, table 5: within so many ns."""
_UNKNOWN = 0xFE


class BoardTime:
    """The time unit behind `registers`: a `PtpClock`, and `StampedFrames` where it has messages.

    Its period is set to what its own clock has nominally; its rate and its time stay as they are.
    BoardError where there is no such unit, it is of another version, or it does not do what it is told.
    """

    def __init__(self, registers: Registers) -> None:
        self._board, self._registers = registers, RegisterFile(registers, REGISTERS)
        if self._registers["time.identity"] != _IDENTITY:
            raise BoardError(
                "this board has no time unit: load a design that has, see docs/integrating/time_registers.md"
            )
        if (major := self._registers["time.version.major"]) != _MAJOR:
            raise BoardError(f"the time unit is of version {major}, this software knows {_MAJOR}: update one of them")
        self._minor = self._registers["time.version.minor"]
        self._told: PtpState | None = None
        self._patience_s: float = getattr(registers, "patience_s", _PATIENCE_S)
        rate = rate_of(self._registers["time.clock_hz"])
        if self._registers["time.period"] != rate.period:
            self._registers["time.period"] = rate.period
        remainder = {"numerator": rate.numerator, "denominator": rate.denominator}
        self._registers.write_register("time.remainder", remainder)
        self._period = rate.period
        self._most = self._registers["time.sizes.message_bytes"]
        self._rx, self._tx = (self._registers.find(f"time.{way}[0].word").offset for way in ("rx", "tx"))
        if self._registers["time.sizes.messages"]:
            self._registers.write_register("time.control", {"receive": 1, "manual": 1})

    def read(self) -> int:
        """See `PtpClock`."""
        self._registers.write_register("time.command", {"capture": 1})
        rest = self._registers.read_register("time.now")
        return (self._registers["time.now_seconds"] * 10**9 + rest["ns"]) * NS + rest["fraction"]

    def step(self, offset: int) -> None:
        """See `PtpClock`."""
        self._wait("stepping")
        seconds, ns, fraction = seconds_and_rest(offset)
        self._registers["time.value_seconds"] = seconds & _SECONDS
        self._registers.write_register("time.value", {"ns": ns, "fraction": fraction})
        self._registers.write_register("time.command", {"step": 1})
        self._wait("stepping")

    def adjust(self, ppb: float) -> float:
        """See `PtpClock`."""
        adjust = adjust_of(self._period, ppb)
        self._registers["time.adjust"] = adjust & WORD
        return adjust / self._period * 1e9

    def receive(self) -> tuple[bytes, int] | None:
        """See `StampedFrames`."""
        message = self._registers.read_register("time.rx_message")
        if not message["valid"]:
            return None
        words = range(0, message["bytes"], WORD_BYTES)
        frame = b"".join(self._board.read(self._rx + at).to_bytes(WORD_BYTES, "little") for at in words)
        stamp = self._registers["time.rx_tai"] * NS + self._registers["time.rx_event.fraction"] * _SUB_NS
        self._registers.write_register("time.command", {"next": 1})
        return frame[: message["bytes"]], stamp

    def send(self, frame: bytes) -> int | None:
        """See `StampedFrames`. BoardError for a frame that the unit has no room for."""
        if len(frame) > self._most:
            raise BoardError(f"a message of {len(frame)} bytes does not fit the time unit: it has {self._most}")
        self._wait("sending")
        before = self._registers["time.tx_event.count"]
        for at in range(0, len(frame), WORD_BYTES):
            self._board.write(self._tx + at, int.from_bytes(frame[at : at + WORD_BYTES], "little"))
        self._registers["time.tx_message.bytes"] = len(frame)
        self._registers.write_register("time.command", {"send": 1})
        self._wait("sending")
        event = self._registers.read_register("time.tx_event")
        if event["count"] == before:
            return None
        return self._registers["time.tx_tai"] * NS + event["fraction"] * _SUB_NS

    def stamp_frames(self, stamp: Stamp) -> None:
        """From now on the time of frames is this. BoardError where the unit cannot."""
        if stamp is not Stamp.OWN and not self._registers["time.sizes.frames"]:
            raise BoardError("this time unit does not stamp frames: they lie in memory already when they come to it")
        self._registers.write_register("time.control", {"frames": stamp})

    def lapse_after(self, seconds: int) -> None:
        """A lock that is not told again for so long ends by itself (1 to 65535 s; 0: never)."""
        self._registers["time.quality_limit"] = seconds

    def tell(self, status: PtpStatus) -> None:
        """Say what the clock is worth: it goes into the trailers of frames. And whom it follows, for `ClockState`."""
        if self._minor:
            self._tell_more(status)
        within = [
            code for ns, code in _ACCURACIES if status.uncertainty_ns is not None and 2 * status.uncertainty_ns <= ns
        ]
        self._registers.write_register(
            "time.quality",
            {
                "locked": int(status.locked and status.tai),
                "source": int(status.state in (PtpState.LOCKED, PtpState.TRACKING, PtpState.HOLDOVER)),
                "utc_known": int(status.utc_offset_s is not None),
                "holdover": int(status.state is PtpState.HOLDOVER),
                "accuracy": within[0] if within and status.locked else _UNKNOWN,
                "tai_utc": (status.utc_offset_s or 0) & 0xFFFF,
            },
        )

    def _tell_more(self, status: PtpStatus) -> None:
        if status.state is not self._told:
            self._told = status.state
            self._registers["time.told_since"] = self.read() // SECOND & WORD
        grandmaster = int(status.grandmaster or "0", 16)
        named = {"low": grandmaster & WORD, "high": grandmaster >> 32}
        self._registers.write_register("time.told_grandmaster", named)
        for name, ns in ("offset", status.offset_ns), ("delay", status.path_delay_ns):
            self._registers[f"time.told_{name}"] = told_ns(ns) & WORD

    def _wait(self, bit: str) -> None:
        deadline = time.monotonic() + self._patience_s
        while self._registers[f"time.status.{bit}"]:
            if time.monotonic() > deadline:
                raise BoardError(f"the time unit is {bit} and does not come to an end: is its clock there?")
            time.sleep(getattr(self._board, "pause_s", 0.0001))
