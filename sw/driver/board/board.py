"""One transmitter, whatever is behind its registers: probe, configure, arm, publish credit, read counters."""

import time
from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from typing import Self, cast

from framelane.base.errors import BoardError, ConfigError
from framelane.driver.board import rearming
from framelane.driver.board.board_images import BoardImages
from framelane.driver.board.board_readings import (
    ADVICE,
    Capabilities,
    Counters,
    Errors,
    RefusedFrame,
    State,
)
from framelane.driver.board.network import (
    Network,
    Write,
    check_network,
    dcqcn_writes,
    gives_up_after_s,
    limits_writes,
    station_writes,
)
from framelane.driver.board.queue_pairs import QueuePair, QueuePairs
from framelane.driver.board.station import StationRegisters, StationState
from framelane.driver.board.watchdogs import Watchdogs
from framelane.driver.ptp.clock_state import ClockState, clock_state
from framelane.driver.ptp.follower import PtpFollower
from framelane.driver.ptp.settings import PtpSettings
from framelane.driver.registers.counter_registers import read_counters
from framelane.driver.registers.entries import (
    FrameRing,
    all_writes,
    check_fits,
    check_written_memory,
    endpoint_writes,
)
from framelane.driver.registers.register_file import RegisterFile
from framelane.driver.registers.registers import WORD, Interruptible, Registers
from framelane.models.memory.image_writer import Correction
from framelane.models.roce_tx.roce_qp import Service
from framelane.models.roce_tx.wire import Endpoint
from framelane.models.time.frame_stamp import Stamp
from framelane.models.tx import TxConfig
from framelane.session.session import Session

IDENTITY = 0x58544C46
MAJOR = 1
"""Major version of the register map that this software knows."""
TIMEOUT_S = 2.0
_PAUSE_S = 0.0005
"""Seconds between two polls, unless the registers have another `pause_s`."""
_LOOKS = 5
"""The least number of polls before the board is said to hang."""
_KEEPS_DISARMED = ("bad_address",)
"""Bits of `errors` that explain why a board does not arm."""
_NO_BOARD = {
    WORD: "no device answers: has the board power, is its design loaded, is this its PCI BAR?",
    0: "nothing is there: is the design loaded and out of reset, is this its PCI BAR?",
}


class Board:
    """The transmitter behind `registers`, which a `with` block or `close` releases.

    This class keeps no state of the board. If a client dies, the board stays as it is, and the next client goes on from
    there. Methods raise BoardError if the board does not answer, is unknown, or does not obey within `timeout_s`.
    """

    def __init__(self, registers: Registers, timeout_s: float = TIMEOUT_S) -> None:
        self.registers = RegisterFile(registers)
        self._opened = registers
        self._timeout_s: float = getattr(registers, "patience_s", timeout_s)
        self._pause_s: float = getattr(registers, "pause_s", _PAUSE_S)
        self._queue_pairs = QueuePairs(self.registers, self._wait_until)
        self._station = StationRegisters(self.registers, self._wait_until)

    @property
    def token(self) -> int | None:
        """What writes over UDP must have, 64 bits; None where the registers are reached in a way that tells none."""
        token: int | None = getattr(self._opened, "token", None)
        return token

    def images(self) -> BoardImages:
        """The memory for images of a board that has one; BoardError where it has none."""
        return BoardImages(self._opened)

    def close(self) -> None:
        """Release the board, which goes on as it is. May be called twice."""
        self._opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def probe(self) -> Capabilities:
        """What the board is. BoardError unless it is a transmitter whose register map has a known major version."""
        identity = self.registers["identity"]
        if identity != IDENTITY:
            advice = _NO_BOARD.get(identity, "another design is loaded, or these are the registers of another block")
            raise BoardError(
                f"this is not a transmitter, its identity reads {identity:#010x} for {IDENTITY:#x}: {advice}"
            )
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
        rc, station = bool(able["rc"]), bool(able["station"])
        found = Capabilities(
            number, build, clock_hz, able["data_width"], store, correction, **sizes, rc=rc, station=station
        )
        if rc:
            room = self.registers.read_register("rc_sizes")
            found = replace(found, rc_qps=room["qps"], rc_depth=room["depth"])
        return found

    def state(self) -> State:
        """The state of the board now."""
        return State(**{name: bool(value) for name, value in self.registers.read_register("status").items()})

    def configure(
        self,
        config: TxConfig,
        ring: FrameRing | None = None,
        correction: Correction | None = None,
        network: Network | None = None,
    ) -> TxConfig:
        """Disarm, reset, and write the whole configuration. Entries that it does not name are disabled.

        Afterwards no destination has credit, and counters and errors are cleared. `ring` is the memory of a build with
        a frame store. With `correction`, frames are corrected on the way there; its constants must already be in the
        board's memory. `network` says which MACs to ask for, and the limits of RC queue pairs (default:
        `default_limits`), which are started and settle. Raises ConfigError, before anything is written, if the build
        cannot hold the configuration. Returns the configuration with the MACs that ARP has found.
        """
        capabilities = self.probe()
        network = network or Network()
        check_fits(config, ring, correction, capabilities)
        check_network(config, network, capabilities)
        served = config.qps if capabilities.rc else ()
        reliable = {index: qp for index, qp in enumerate(served) if qp.service is Service.RC}
        for index, qp in reliable.items():
            self._queue_pairs.check_unused(index, qp)
        station = list(station_writes(network, capabilities)) if capabilities.station else []
        self.disarm()
        self.registers["command.reset"] = 1
        self.wait_idle()
        for table, size in (("flow", capabilities.flows), ("destination", capabilities.destinations)):
            for index in range(size):
                self.registers[f"{table}[{index}].control.enabled"] = 0
        self.registers["correction.enabled"] = 0
        if station:
            self._write([*endpoint_writes(config), *station])
            try:
                config = self._resolved(config, network)
            except BoardError as error:
                raise BoardError(f"{error}. The board is disarmed, and has no flows until it is configured") from error
        # Enable flows last: nobody can arm a board that is configured by half.
        writes = list(all_writes(config, ring, correction, capabilities))
        last = [write for write in writes if write[0].startswith("flow[") and write[0].endswith(".control")]
        self._write([write for write in writes if write not in last])
        for index, qp in reliable.items():
            self._write(list(limits_writes(index, network.limits_of(index, qp))))
            self._queue_pairs.start(index, qp.psn)
        if capabilities.rc:
            self._write(list(dcqcn_writes(network.dcqcn, capabilities)))
        self._write(last)
        return config

    def _resolved(self, config: TxConfig, network: Network) -> TxConfig:
        """The configuration with the MACs that ARP has found."""
        qps = []
        for index, qp in enumerate(config.qps):
            ip = network.asked_of(index)
            qps.append(qp if ip is None else replace(qp, dst=replace(qp.dst, mac=self.resolve(ip))))
        return replace(config, qps=tuple(qps))

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
        """Wait until all queue pairs have settled, then send frames from the next one on. No effect if it is armed.

        Raises BoardError if no flow is enabled, or if the frame store or the constants are not in the board's memory.
        """
        capabilities = self.probe()
        flows = range(capabilities.flows)
        if not any(self.registers[f"flow[{index}].control.enabled"] for index in flows):
            raise BoardError("no flow is enabled: configure the board first (`framelane board configure FILE`)")
        check_written_memory(self.registers, capabilities)
        for pair in self.queue_pairs():
            self._queue_pairs.wait_settled(pair.index)
        self.registers["control.arm"] = 1
        try:
            self._wait(lambda state: state.armed, "it is not armed", "a reset was under way: configure it again")
        except BoardError as error:
            wrong = [name for name in _KEEPS_DISARMED if name in self.errors().names]
            if not wrong:
                raise
            raise BoardError(f"the board does not arm: {wrong[0]}: {ADVICE[wrong[0]]}") from error

    def disarm(self) -> None:
        """Finish the current frame and send no more. No effect if the board is disarmed."""
        self.registers["control.arm"] = 0

    def wait_idle(self) -> None:
        """Wait until no frame is in flight, or kept for a receiver that has not acknowledged it."""

        def idle() -> bool:
            state = self.state()
            return state.idle and not state.resetting

        self._wait_until(
            idle,
            max((gives_up_after_s(pair.limits) for pair in self.queue_pairs()), default=0.0),
            "a frame is still under way",
            "is the Ethernet link down, or paused by the switch, does a rate limit (qp[].rate) make a frame take "
            "longer, is a receiver of RC never ready (`framelane board status` says waiting: stop that receiver, or "
            "configure), or does a memory (of frames, of constants) not answer? Mend that and try again, a reset goes "
            "on by itself then; loading the design anew always helps",
        )

    def _wait(self, done: Callable[[State], bool], what: str, advice: str) -> None:
        self._wait_until(lambda: done(self.state()), 0.0, what, advice)

    def _wait_until(self, done: Callable[[], bool], longer_s: float, what: str, advice: str) -> None:
        """Wait until `done`, for the time-out and `longer_s` more, and look a few times: this host may stand still."""
        patience_s = self._timeout_s + longer_s
        deadline, looks = time.monotonic() + patience_s, 0
        while not done():
            looks += 1
            if time.monotonic() > deadline and looks >= _LOOKS:
                state = self.state()
                bits = [field.name for field in fields(state) if getattr(state, field.name)]
                raise BoardError(
                    f"the transmitter hangs: after {patience_s:g} s {what} "
                    f"(status: {', '.join(bits) or 'no bit set'}): {advice}"
                )
            if self._pause_s:
                time.sleep(self._pause_s)

    def set_watchdogs(self, mac_s: float, memory_s: float) -> None:
        """Set the seconds for which the Ethernet core and the memory may stand still.

        After that, packets are dropped, or memory accesses fail. 0 means for ever, as after power-up. Raises
        ConfigError for times that the registers cannot hold.
        """
        self._write([("watchdog", Watchdogs(mac_s, memory_s).units(self.probe().clock_hz))])

    def abort(self) -> None:
        """Reset the core without waiting for the Ethernet core or the memory. Frames in flight are lost.

        Counters, errors and queue pairs are cleared. Raises BoardError if the abort does not end.
        """
        self.registers["command.abort"] = 1
        advice = (
            "a frame leaves at a low rate limit (wait, and try again), memory does not answer writes, or the board's "
            "clock stands (load the design anew)"
        )
        self._wait(lambda state: not state.resetting, "the abort has not ended", advice)

    def set_interrupts(self, names: Iterable[str]) -> None:
        """Set which bits of the register `errors` raise the interrupt; an empty list disables it."""
        known = [field.name for field in self.registers.find("errors").register.fields]
        names = set(names)
        if unknown := sorted(names.difference(known)):
            raise ConfigError(f"errors has no bit {unknown[0]}: choose of {', '.join(known)}")
        fields_of = self.registers.find("errors").register.fields
        self.registers["interrupt_mask"] = sum(1 << field.lsb for field in fields_of if field.name in names)

    def interrupts(self) -> tuple[str, ...]:
        """The bits of `errors` that raise the interrupt now; `clear_errors` clears them."""
        pending = self.registers["interrupt"]
        bits = self.registers.find("errors").register.fields
        return tuple(field.name for field in bits if pending >> field.lsb & 1)

    def wait_interrupt(self, timeout_s: float) -> tuple[str, ...]:
        """Wait for a bit that `set_interrupts` has enabled. Returns the bits that are set, none after `timeout_s`.

        Raises ConfigError if the board's interrupt does not reach this program.
        """
        opened = self._opened
        if not hasattr(opened, "wait_interrupt"):
            raise ConfigError("no interrupt comes from these registers: open the board as a UIO device (uio:uio0)")
        deadline = time.monotonic() + timeout_s
        while not (found := self.interrupts()) and (left := deadline - time.monotonic()) > 0:
            if not cast(Interruptible, opened).wait_interrupt(left):
                return self.interrupts()
        return found

    def resolve(self, ip: int) -> int:
        """The MAC of an IPv4 address (both as integers), which the board asks for by ARP from its configured address.

        Raises BoardError if nobody answers. Only one client may call this at a time.
        """
        self._check_station()
        return self._station.resolve(ip)

    def station(self) -> StationState | None:
        """State of the link; None for a build without receive path."""
        return self._station.state() if self.probe().station else None

    def clock(self) -> ClockState | None:
        """The clock of its time unit; None for a build without one."""
        return clock_state(self._opened)

    def follow_time(
        self, settings: PtpSettings | None = None, *, transport: str = "ethernet", frames: str | None = None
    ) -> PtpFollower:
        """Let its clock follow a grandmaster, as long as the follower's `turn` is called.

        `transport` of PTP's messages is ethernet or udp. `frames`: whose time frames have from now on, own, pixel or
        trigger; None: as before. BoardError where it has no clock, or was not configured; ConfigError for other words.
        """
        if transport not in ("ethernet", "udp"):
            raise ConfigError(f"PTP by {transport} cannot be: give ethernet or udp")
        if frames is not None and frames.upper() not in Stamp.__members__:
            raise ConfigError(f"frames cannot have the time of {frames}: give own, pixel or trigger")
        stamp = None if frames is None else Stamp[frames.upper()]
        local = Endpoint(self.registers["local_mac"], self.registers["local_ip"])
        return PtpFollower(
            self._opened, local, settings, transport="udp" if transport == "udp" else "ethernet", frames=stamp
        )

    def _check_station(self) -> None:
        if not self.probe().station:
            raise ConfigError("this build of the transmitter has no receive path: load a design with Station = 1")

    def queue_pairs(self) -> tuple[QueuePair, ...]:
        """The RC queue pairs that are enabled."""
        found = (self._queue_pairs.read(index) for index in range(self.probe().rc_qps))
        return tuple(pair for pair in found if pair)

    def rearm(self, qp: int, session: Session, mac: int | None = None) -> None:
        """Restart the RC queue pair `qp` for the `session` of a receiver that was restarted; the others go on.

        The board may stay armed. The credit is that of the session, and frame numbers continue. Packets go to `mac`, by
        default the session's. Frames that were not sent are lost. Raises ConfigError, before anything is written, if
        the session is not for this queue pair, or is the one with which it failed.
        """
        if qp >= self.probe().rc_qps:
            raise ConfigError(f"queue pair {qp} cannot be of RC: in this build the first {self.probe().rc_qps} can")
        rearming.rearm(self.registers, self._queue_pairs, self._write, qp, session, mac)

    def publish_credit(self, destination: int, window_end: int) -> None:
        """Give a destination credit: the board may send it the frames below `window_end`.

        Raises ConfigError if this takes credit back from an armed board, because those frames may be in flight.
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
        """All counters at one moment. Only one client may call this at a time."""
        capabilities = self.probe()
        self.registers["command.snapshot"] = 1
        self._wait(lambda state: not state.snapshot_busy, "the counters are not copied", "load the design anew")
        return read_counters(self.registers, capabilities)

    def errors(self) -> Errors:
        """What went wrong since the errors were cleared."""
        names = tuple(name for name, value in self.registers.read_register("errors").items() if value)
        refusal = None
        if "refused" in names:
            refusal = RefusedFrame(**self.registers.read_register("refusal"), frame=self.registers["refusal_frame"])
        return Errors(names, refusal)

    def clear_errors(self) -> None:
        """Clear the errors."""
        bits = self.registers.find("errors").register.fields
        self.registers.write_register("errors", {field.name: 1 for field in bits})
