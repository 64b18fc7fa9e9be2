"""What a board says of its clock: what that follows, since when, and how well (docs/integrating/time_registers.md)."""

from dataclasses import dataclass, replace

from framelane.base.errors import BoardError
from framelane.base.real_time import TAI_NS, is_real, iso
from framelane.driver.registers._time_register_map import REGISTERS
from framelane.driver.registers.register_file import RegisterFile
from framelane.driver.registers.registers import WORD, Registers
from framelane.models.time.frame_stamp import Stamp
from framelane.models.time.time_flags import TimeFlags, TimeSource, unpack

_IDENTITY = int.from_bytes(b"FLTM", "little")
_MAJOR = 1
_UNKNOWN = -(1 << 31)
_PER_NS = 1 << 8
_SOURCES = {TimeSource.PTP: "PTP", TimeSource.PPS: "pulses per second"}
_STAMPS = {
    Stamp.OWN: "the detector's own",
    Stamp.PIXEL: "of the first pixel, by this clock",
    Stamp.TRIGGER: "of the trigger, by this clock",
}


def told_ns(ns: float | None) -> int:
    """An offset or a delay as its register has it, 2^-8 ns; what it has no room for is the most that it has."""
    return _UNKNOWN if ns is None else max(_UNKNOWN + 1, min(-_UNKNOWN - 1, round(ns * _PER_NS)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockState:
    """One moment of a board's clock, as its driver has told the board.

    `quality`: whether it is locked, to what, how well. `lapsed`: it was locked, and its driver tells no more.
    `since_ns` is the TAI, in ns since 1970, at which this state began, `grandmaster` the identity of the clock that it
    follows or has followed last, in 16 digits; `offset_ns` how far it is ahead of that, `path_delay_ns` how long the
    way from it is. All four are None where nobody has said so. `frames`: whose time a frame's `timestamp_ns` is.
    """

    quality: TimeFlags
    lapsed: bool
    frames: Stamp
    since_ns: int | None
    grandmaster: str | None
    offset_ns: float | None
    path_delay_ns: float | None

    def lines(self) -> list[str]:
        """It in words: the clock, and the time of frames."""
        quality, source = self.quality, _SOURCES.get(self.quality.source, "")
        if quality.locked:
            said = [f"locked to {source}"]
        elif quality.holdover:
            said = [f"holdover, {source} lost"]
        else:
            said = [f"follows {source}, is not locked" if source else "runs free"]
        if self.since_ns and is_real(self.since_ns):
            said[0] += f" since {iso(self.since_ns - self._ahead_ns)}"
        if self.grandmaster:
            said.append(f"grandmaster {self.grandmaster}")
        if self.offset_ns is not None:
            said.append(f"offset {self.offset_ns:+.1f} ns")
        if self.path_delay_ns is not None:
            said.append(f"path delay {self.path_delay_ns:.1f} ns")
        if quality.accuracy_ns is not None:
            said.append(f"within {quality.accuracy_ns} ns")
        if quality.utc_known:
            said.append(f"TAI - UTC {quality.tai_utc} s")
        return [f"clock: {', '.join(said)}", f"time of frames: {_STAMPS[self.frames]}"]

    def sentences(self) -> list[str]:
        """What is wrong, and what to do."""
        if self.lapsed:
            return ["the clock's driver has ended, and its lock with it: start the PTP slave again"]
        if self.frames is not Stamp.OWN and not (self.quality.locked or self.quality.holdover):
            if self.quality.source is TimeSource.PPS:
                return ["frames are stamped by a clock that is not locked: look for its pulses per second, at pps_i"]
            return ["frames are stamped by a clock that is not locked: start a PTP slave, and see what it says"]
        return []

    @property
    def _ahead_ns(self) -> int:
        return self.quality.tai_utc * 10**9 if self.quality.utc_known else TAI_NS


def clock_state(board: Registers) -> ClockState | None:
    """The clock of the board behind these registers, which are only read; None where it has none.

    BoardError where it is of another version.
    """
    registers = RegisterFile(board, REGISTERS)
    if registers["time.identity"] != _IDENTITY:
        return None
    version = registers.read_register("time.version")
    if version["major"] != _MAJOR:
        raise BoardError(
            f"the time unit is of version {version['major']}, this software knows {_MAJOR}: update one of them"
        )
    told, since_s, grandmaster = bool(version["minor"]), 0, 0
    if told:
        since_s = registers["time.told_since"]
        grandmaster = registers.read_bits(registers.find("time.told_grandmaster"))
    stamp = registers["time.control.frames"]
    quality = unpack(registers.read_bits(registers.find("time.quality")))
    offset_ns = _ns(registers["time.told_offset"]) if told else None
    if registers["time.sizes.servo"] and not registers["time.control.manual"]:
        servo = registers.read_register("time.servo")
        quality = replace(
            quality, locked=bool(servo["locked"]), holdover=bool(servo["holdover"]), source=TimeSource.PPS
        )
        told, since_s, grandmaster, offset_ns = False, 0, 0, _ns(registers["time.servo_offset"])
    return ClockState(
        quality=quality,
        lapsed=bool(registers["time.status.lapsed"]),
        frames=Stamp(stamp) if stamp in list(Stamp) else Stamp.OWN,
        since_ns=since_s * 10**9 or None,
        grandmaster=f"{grandmaster:016x}" if grandmaster else None,
        offset_ns=offset_ns,
        path_delay_ns=_ns(registers["time.told_delay"]) if told else None,
    )


def _ns(word: int) -> float | None:
    signed = (word & WORD ^ 1 << 31) - (1 << 31)
    return None if signed == _UNKNOWN else signed / _PER_NS
