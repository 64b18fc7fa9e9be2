"""One transmitter, whatever is behind its registers: probe, configure, arm, publish credit, read counters."""

import time
from collections.abc import Callable, Iterable
from dataclasses import fields

from framelane.driver.board_readings import (
    Capabilities,
    Counters,
    DestinationCounters,
    Errors,
    FlowCounters,
    RefusedFrame,
    State,
)
from framelane.driver.entries import FrameRing, Write, all_writes, check_fits
from framelane.driver.register_file import RegisterFile
from framelane.driver.registers import WORD, Registers
from framelane.models.errors import BoardError, ConfigError
from framelane.models.image_writer import Correction
from framelane.models.tx import TxConfig

IDENTITY = 0x58544C46
MAJOR = 1
"""Version of the register map that this software knows."""
TIMEOUT_S = 2.0
_PAUSE_S = 0.0005
_NO_BOARD = {
    WORD: "no device answers: has the board power, is its design loaded, is this its PCI BAR?",
    0: "nothing is there: is the design loaded and out of reset, is this its PCI BAR?",
}


class Board:
    """The transmitter behind `registers`, which whoever opened them closes.

    Nothing of its state is kept here: a client that dies leaves the board as it is, and the next one goes on from
    there. BoardError where the board does not answer, is not known, or does not do in `timeout_s` what it was told.
    """

    def __init__(self, registers: Registers, timeout_s: float = TIMEOUT_S) -> None:
        self.registers = RegisterFile(registers)
        self._timeout_s = timeout_s

    def probe(self) -> Capabilities:
        """What the board is. BoardError unless it is a transmitter with a register map of a known major version."""
        identity = self.registers["identity"]
        if identity != IDENTITY:
            advice = _NO_BOARD.get(identity, "another design is loaded, or these are the registers of another block")
            raise BoardError(f"this is no transmitter, its identity reads {identity:#010x} for {IDENTITY:#x}: {advice}")
        version = self.registers.read_register("version")
        number = version["major"], version["minor"], version["patch"]
        if number[0] != MAJOR:
            raise BoardError(
                f"this transmitter's registers are of version {'.'.join(map(str, number))}, but this software knows "
                f"version {MAJOR}: {'update framelane' if number[0] > MAJOR else 'load a newer design'}"
            )
        able = self.registers.read_register("capabilities")
        sizes = self.registers.read_register("sizes")
        build, clock_hz = self.registers["build"], self.registers["clock_hz"]
        store, correction = bool(able["frame_store"]), bool(able["correction"])
        network = {name: bool(able[name]) for name in ("rc", "station")}
        return Capabilities(number, build, clock_hz, able["data_width"], store, correction, **sizes, **network)

    def state(self) -> State:
        """What goes on now."""
        return State(**{name: bool(value) for name, value in self.registers.read_register("status").items()})

    def configure(self, config: TxConfig, ring: FrameRing | None = None, correction: Correction | None = None) -> None:
        """Disarm, reset, and write the whole configuration; entries that it does not name are disabled.

        No destination has credit then; counters and errors are cleared. `ring` is the memory of a build with a frame
        store. With `correction`, whose constants are in the board's memory already, frames are corrected on the way
        there. ConfigError, before anything is written, where the build cannot hold the configuration.
        """
        capabilities = self.probe()
        check_fits(config, ring, correction, capabilities)
        self.disarm()
        self.registers["command.reset"] = 1
        self.wait_idle()
        for table, size in (("flow", capabilities.flows), ("destination", capabilities.destinations)):
            for index in range(size):
                self.registers[f"{table}[{index}].control.enabled"] = 0
        self.registers["correction.enabled"] = 0
        # Flows are enabled when all else is there: nobody can arm a board of which half is of another configuration.
        writes = list(all_writes(config, ring, correction, capabilities))
        last = [write for write in writes if write[0].startswith("flow[") and write[0].endswith(".control")]
        self._write([write for write in writes if write not in last])
        self._write(last)

    def _write(self, writes: list[Write]) -> None:
        for name, values in writes:
            self.registers.write_register(name, values)
            if name.startswith("qp[") and name.endswith("control"):
                self._wait(lambda state: not state.qp_busy, f"{name} is not in force yet", "load the design anew")
        self._verify(writes)

    def _verify(self, writes: Iterable[Write]) -> None:
        for name, values in writes:
            read = self.registers.read_register(name)
            kept = {field.name for field in self.registers.find(name).register.fields if field.access == "rw"}
            for field, value in values.items():
                if field in kept and read[field] != value:
                    raise BoardError(
                        f"{name}, field {field}, reads {read[field]:#x} after {value:#x} was written: another process "
                        "drives this board, or accesses to it fail: stop that process, or load the design anew"
                    )

    def arm(self) -> None:
        """Send frames from the next one on. Does nothing where that is so. BoardError where no flow is enabled."""
        flows = range(self.probe().flows)
        if not any(self.registers[f"flow[{index}].control.enabled"] for index in flows):
            raise BoardError("no flow is enabled: configure the board first (`framelane board configure FILE`)")
        self.registers["control.arm"] = 1
        self._wait(lambda state: state.armed, "it is not armed", "a reset was under way: configure it again")

    def disarm(self) -> None:
        """Send no frame but what has begun. Does nothing where that is so."""
        self.registers["control.arm"] = 0

    def wait_idle(self) -> None:
        """Wait until no frame is under way."""
        self._wait(
            lambda state: state.idle and not state.resetting,
            "a frame is still under way",
            "is the Ethernet link down, or paused by the switch, does a rate limit (qp[].rate) make a frame take "
            "longer, or does a memory (of frames, of constants) not answer? Mend that and try again, a reset goes on "
            "by itself then; loading the design anew always helps",
        )

    def _wait(self, done: Callable[[State], bool], what: str, advice: str) -> None:
        deadline = time.monotonic() + self._timeout_s
        while not done(state := self.state()):
            if time.monotonic() > deadline:
                bits = [field.name for field in fields(state) if getattr(state, field.name)]
                raise BoardError(
                    f"the transmitter hangs: after {self._timeout_s:g} s {what} "
                    f"(status: {', '.join(bits) or 'no bit set'}): {advice}"
                )
            time.sleep(_PAUSE_S)

    def publish_credit(self, destination: int, window_end: int) -> None:
        """Let the frames of a destination below `window_end` be sent.

        ConfigError where that takes credit back from an armed board: those frames may be on their way already.
        """
        entry = f"destination[{destination}]"
        if not self.registers[f"{entry}.control.enabled"]:
            raise ConfigError(f"there can be no credit for {entry}, it is not enabled: configure the board first")
        given = self.registers[f"{entry}.window_end"]
        if window_end < given and self.state().armed:
            raise ConfigError(
                f"the credit of {entry} cannot fall from {given} to {window_end} while the board is armed: disarm it"
            )
        self.registers[f"{entry}.window_end"] = window_end

    def counters(self) -> Counters:
        """All counters, of one moment. For one client at a time."""
        capabilities = self.probe()
        self.registers["command.snapshot"] = 1
        self._wait(lambda state: not state.snapshot_busy, "the counters are not copied", "load the design anew")

        def group(entry: str, *names: str) -> dict[str, int]:
            return {name: self.registers[f"{entry}.{name}"] for name in names}

        def named(kind: type[Counters | FlowCounters | DestinationCounters]) -> list[str]:
            return [field.name for field in fields(kind) if field.name not in ("flows", "destinations")]

        flows, destinations = range(capabilities.flows), range(capabilities.destinations)
        return Counters(
            **group("counters", *named(Counters)),
            flows=tuple(FlowCounters(**group(f"flow_counters[{k}]", *named(FlowCounters))) for k in flows),
            destinations=tuple(
                DestinationCounters(**group(f"destination_counters[{k}]", *named(DestinationCounters)))
                for k in destinations
            ),
        )

    def errors(self) -> Errors:
        """What went wrong since the errors were cleared."""
        names = tuple(name for name, value in self.registers.read_register("errors").items() if value)
        refusal = None
        if "refused" in names:
            refusal = RefusedFrame(**self.registers.read_register("refusal"), frame=self.registers["refusal_frame"])
        return Errors(names, refusal)

    def clear_errors(self) -> None:
        """Forget what went wrong."""
        bits = self.registers.find("errors").register.fields
        self.registers.write_register("errors", {field.name: 1 for field in bits})
