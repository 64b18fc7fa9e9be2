"""The FPGA between a detector and an RDMA device, by its registers (docs/integrating/detector_registers.md)."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from framelane.base.errors import BoardError, ConfigError
from framelane.driver.registers._detector_register_map import REGISTERS
from framelane.driver.registers.register_file import RegisterFile
from framelane.driver.registers.registers import WORD, WORD_BYTES, Registers
from framelane.models.detector.det_correct import DetCorrect
from framelane.models.detector.det_header import DetHeader
from framelane.models.detector.det_place import Target
from framelane.models.registers.registers import qp_words
from framelane.models.roce_tx.roce_qp import QpContext, Service
from framelane.models.roce_tx.wire import Endpoint

_IDENTITY = int.from_bytes(b"FLDT", "little")
_MAJOR = 1
_PATIENCE_S = 2.0
_MEMORY_LIMIT = 16
"""How long the memory of constants may stand still, in 2**16 clock cycles: 4 ms at 250 MHz."""


@dataclass(frozen=True, slots=True)
class DetectorLink:
    """A link of the detector: whether it is up, and the frames that came by it since the last reset.

    `frames` came whole; `bad` were cut or had a wrong FCS, and `lost` found no room: they were dropped.
    """

    up: bool
    frames: int
    bad: int
    lost: int


class DetectorBoard:
    """A `detector_tx` behind `registers`. BoardError where there is none, or it does not do what it is told."""

    def __init__(self, registers: Registers) -> None:
        self._board, self.registers = registers, RegisterFile(registers, REGISTERS)
        if self.registers["identity"] != _IDENTITY:
            raise BoardError("this board is not a detector_tx: load that design, see docs/integrating/detector.md")
        if (major := self.registers["version.major"]) != _MAJOR:
            raise BoardError(f"the board's registers are of version {major}, this software knows {_MAJOR}: update one")

    def configure(
        self,
        header: DetHeader,
        target: Target,
        local: Endpoint,
        first_port: int,
        qp: QpContext,
        correct: DetCorrect | None = None,
    ) -> None:
        """Disarm, and say what comes and where it goes; no frame has credit. ConfigError for what it is not built for.

        `target.qp` is 0: there is one queue pair, `qp`, of UC. With `correct` pixels are corrected on their way, with
        the constants that its owner has put into the board's memory: `jf_constants.pack(correct.fixed, correct.pitch)`
        from `correct.base` on.
        """
        sizes, packet_bytes = self.registers.read_register("sizes"), self.registers["packet_bytes"]
        if (header.packets, header.packet_bytes) != (sizes["packets"], packet_bytes):
            raise ConfigError(
                f"this board is built for {sizes['packets']} packets of {packet_bytes} bytes a module and frame, "
                f"{header.of.name} has {header.packets} of {header.packet_bytes}: build it anew"
            )
        if header.modules > sizes["modules"]:
            raise ConfigError(f"{header.modules} modules: this board is built for {sizes['modules']}")
        if target.qp or qp.service is not Service.UC:
            raise ConfigError("this board has one queue pair, number 0, of UC")
        has_correction = bool(self.registers["correction.present"])
        if correct and not has_correction:
            raise ConfigError("this board is built without the correction: build it with Correct, or let it send raw")
        if correct and correct.header != header:
            raise ConfigError("the correction is of another detector than the one that is configured: give one of both")
        put = self.registers.write_register
        self.disarm()
        if has_correction:
            self._set_correction(correct)
        put("control", {"two_ports": header.interfaces - 1, "learn": target.first is None})
        put("ports", {"first": first_port, "modules": header.modules})
        put("ring", {"slots_log2": target.slots_log2, "first_source": target.first_source})
        values = {"local_mac": local.mac, "local_ip": local.ip, "first": target.first or 0, "window_end": 0}
        for name in ("base", "slot_bytes", "mask_offset", "trailer_offset", "reach"):
            values[name] = getattr(target, name)
        for name, value in values.items():
            self.registers[name] = value
        put("station", {"arp": 1, "ping": 1})
        self._wait(lambda: not self.registers["status.qp_busy"], "its queue pair is not in force")
        first = self.registers.find("qp.control").offset
        words = qp_words(qp)
        for index in (*range(1, len(words)), 0):
            self._board.write(first + WORD_BYTES * index, words[index])
        self._wait(lambda: not self.registers["status.qp_busy"], "its queue pair is not in force")
        put("command", {"announce": 1})

    def _set_correction(self, correct: DetCorrect | None) -> None:
        self.wait_idle()
        if correct:
            self.registers["correction.base"] = correct.base
            self.registers["correction.pitch"] = correct.pitch
            self.registers["correction.timeout"] = _MEMORY_LIMIT
        shifts = dict(zip(("shift0", "shift1", "shift2"), correct.fixed.shift, strict=True)) if correct else {}
        flags = {"enabled": correct is not None, "high_gain": bool(correct and correct.fixed.high_gain)}
        self.registers.write_register("correction.settings", flags | shifts)

    def publish_credit(self, window_end: int) -> None:
        """Let frames of the ring below this number begin."""
        offset = self.registers.find("window_end").offset
        self._board.write(offset, window_end & WORD)
        self._board.write(offset + WORD_BYTES, window_end >> 32)

    def arm(self) -> None:
        """Place the detector's packets from now on."""
        self.registers["control.arm"] = 1
        self._wait(lambda: bool(self.registers["status.armed"]), "it is not armed")

    def disarm(self) -> None:
        """Drop the detector's packets from now on. Frames that are under way end, see `wait_idle`."""
        self.registers["control.arm"] = 0

    def wait_idle(self) -> None:
        """Wait until no frame is under way."""
        self._wait(lambda: bool(self.registers["status.idle"]), "a frame is still under way")

    def reset(self) -> None:
        """End all frames, forget their numbers, zero the counters. Configure it again behind that."""
        self.registers.write_register("command", {"reset": 1})
        self._wait(lambda: not self.registers["status.resetting"], "a frame is still under way")

    def counters(self) -> dict[str, int]:
        """The counters, by name, all of the same time within 64 cycles."""
        self._snapshot()
        names = [register.name for register in REGISTERS if register.name.startswith("det_counters.")]
        return {name.partition(".")[2]: self.registers[name] for name in names}

    def links(self) -> tuple[DetectorLink, ...]:
        """Each link of a `detector_links` as it is now, and its line behind them; nothing of other boards.

        One that is up and should send, and whose frames do not grow from one call to the next, is silent.
        """
        links = self.registers.read_register("links")
        count = links["count"]
        if not count:
            return ()
        self._snapshot()
        up = links["up"] | self.registers["status.link"] << count

        def counted(k: int) -> tuple[int, ...]:
            return tuple(self.registers[f"link_counters[{k}].{name}"] for name in ("frames", "bad", "lost"))

        return tuple(DetectorLink(bool(up >> k & 1), *counted(k)) for k in range(count + 1))

    def _snapshot(self) -> None:
        """Copy all counters for reading."""
        self.registers.write_register("command", {"snapshot": 1})
        self._wait(lambda: not self.registers["status.snapshot_busy"], "its counters cannot be read")

    def _wait(self, done: Callable[[], bool], otherwise: str) -> None:
        deadline = time.monotonic() + _PATIENCE_S
        while not done():
            if time.monotonic() > deadline:
                raise BoardError(f"the board hangs: after {_PATIENCE_S:g} s {otherwise}: is its link up?")
            time.sleep(getattr(self._board, "pause_s", 0.0001))
