"""The Verilated transmitter as a board: `hw/rtl/tx.sv` compiled by Verilator and driven from Python, no hardware.

The design is built once per bus width into `build/verilated/`, under a name made of its sources' contents.
"""

import ctypes
import hashlib
import subprocess
import tempfile
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from framelane.driver import ports
from framelane.driver.toolchain import gateware_root, verilator_environment
from framelane.models.bd_gen import FrameEvent
from framelane.models.errors import ConfigError, SimulationError
from framelane.models.slots import FREE_RUNNING
from framelane.models.tx import TxConfig

WIDTHS = (64, 128, 256, 512, 1024)
"""Bus widths, in bits, that the sources take."""

MAX_QPS = 16
"""Places in the QP table."""


@dataclass(frozen=True, slots=True)
class TxCounters:
    """The transmitter's counters since its reset; `packets` counts those that left, trailers included."""

    frames_sent: int
    frames_dropped: int
    frames_refused: int
    packets: int
    messages_refused: int
    read_errors: int


def library(width: int = 512) -> Path:
    """The transmitter of a bus width, compiled; built if it is not there yet, which takes about 20 s.

    Raises SimulationError where the tools are missing or the build fails.
    """
    if width not in WIDTHS:
        raise SimulationError(f"the bus cannot be {width} bits wide: choose one of {', '.join(map(str, WIDTHS))}")
    root = gateware_root()
    folders = [root / "hw" / "roce_tx", root / "hw" / "rtl", root / "sim" / "dpi"]
    sources = sorted(path for folder in folders for path in folder.iterdir() if path.suffix in (".sv", ".cpp", ".hpp"))
    digest = hashlib.sha256(version("verilator").encode() + Path(__file__).read_bytes())
    for path in sources:
        digest.update(path.name.encode() + path.read_bytes())
    target = root / "build" / "verilated" / f"tx_{width}_{digest.hexdigest()[:16]}.so"
    if target.is_file():
        return target
    environment = verilator_environment()
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f"tx_{width}_", dir=target.parent) as work:
        command = [
            *("verilator", "--cc", "--exe", "--build", "-j", "2", "-O3", "--assert", "-Wno-fatal", "--prefix", "Vtop"),
            *("--top-module", "tx_board", f"-GDataW={width}", "-Mdir", work, "-o", "tx.so"),
            *("-CFLAGS", "-fPIC -O2", "-LDFLAGS", "-shared", "-MAKEFLAGS", "OPT_FAST=-O2"),
            *(f"-I{folder}" for folder in folders),
            *map(str, sorted((root / "hw").rglob("*_pkg.sv"))),
            *map(str, (root / "sim" / "dpi" / name for name in ("tx_board.sv", "board.cpp", "tx_library.cpp"))),
        ]
        result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if result.returncode:
            log = target.with_suffix(".log")
            log.write_text(result.stdout + result.stderr)
            raise SimulationError(f"Verilator could not build the transmitter: see {log}")
        Path(work, "tx.so").rename(target)
    return target


def _load(path: Path) -> ctypes.CDLL:
    lib = ctypes.CDLL(str(path))
    handle, u8, u32, u64, pointer = ctypes.c_void_p, ctypes.c_uint8, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_void_p
    signatures: dict[str, tuple[Any, list[Any]]] = {
        "tx_new": (handle, []),
        "tx_delete": (None, [handle]),
        "tx_select": (None, [handle]),
        "tx_reset": (None, [handle, u64, u32, pointer]),
        "tx_write_qp": (None, [handle, u8, pointer]),
        "tx_set_window_end": (None, [handle, u64]),
        "tx_offer": (None, [handle, pointer]),
        "tx_run": (ctypes.c_bool, [handle, u64]),
        "tx_counters": (None, [handle, pointer]),
        "board_configure": (None, [u32, u8, u8, u64]),
        "board_write": (None, [u64, pointer, u64]),
        "board_packet_count": (u64, []),
        "board_packet_bytes": (u64, []),
        "board_take": (None, [pointer, pointer]),
        "board_last_activity": (u64, []),
        "board_cycle": (u64, []),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    return lib


def _words(value: int, width: int) -> bytes:
    return value.to_bytes(-(-width // 32) * 4, "little")


class TxSimulator:
    """One simulated transmitter with its frame memory, from reset on. Not for use by several threads at once.

    `latency` of the memory in cycles; `memory_stall` and `sink_stall` are the shares of cycles (0..1) in which each
    side pauses, drawn with `seed`.
    """

    def __init__(
        self,
        config: TxConfig,
        width: int = 512,
        *,
        latency: int = 0,
        memory_stall: float = 0.0,
        sink_stall: float = 0.0,
        seed: int = 1,
    ) -> None:
        if not (0 <= memory_stall < 1 and 0 <= sink_stall < 1):
            raise ConfigError(f"stall shares {memory_stall} and {sink_stall} cannot be: give 0 to less than 1")
        if len(config.qps) > MAX_QPS:
            raise ConfigError(f"{len(config.qps)} QPs do not fit the table: {MAX_QPS} at most")
        self._lib = _load(library(width))
        self._handle = self._lib.tx_new()
        self._patience = 100_000 + 2 * latency
        self._window_end = FREE_RUNNING
        self.cycles = 0
        """Clock cycles from the first frame's offer to the last beat, summed over the runs."""
        self._call("board_configure", latency, int(memory_stall * 256), int(sink_stall * 256), seed)
        self._call("tx_reset", config.local.mac, config.local.ip, _words(ports.flow_t(config.flow), ports.FLOW_T.width))
        for index, qp in enumerate(config.qps):
            self._call("tx_write_qp", index, _words(ports.qp_t(qp), ports.QP_T.width))

    def _call(self, name: str, *arguments: Any) -> Any:
        if self._handle is None:
            raise SimulationError("this simulator is closed")
        self._lib.tx_select(self._handle)
        own = (self._handle,) if name.startswith("tx_") else ()
        return getattr(self._lib, name)(*own, *arguments)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Free the design and its memory."""
        if self._handle is not None:
            self._lib.tx_delete(self._handle)
            self._handle = None

    def write_memory(self, address: int, data: NDArray[Any] | bytes) -> None:
        """Put `data` (any dtype, C order, little endian) at `address` of the frame memory, which grows as needed."""
        array = np.ascontiguousarray(np.frombuffer(data, np.uint8) if isinstance(data, bytes) else data)
        self._call("board_write", address, array.ctypes.data, array.nbytes)

    @property
    def window_end(self) -> int:
        """The credit: a frame is sent only if its number is less."""
        return self._window_end

    @window_end.setter
    def window_end(self, value: int) -> None:
        self._call("tx_set_window_end", value)
        self._window_end = value

    def offer(self, event: FrameEvent) -> None:
        """Queue a frame that lies in the frame memory."""
        self._call("tx_offer", _words(ports.frame_t(event), ports.FRAME_T.width))

    def run(self) -> list[bytes]:
        """Run until all offered frames are sent or dropped; the packets that left, as Ethernet frames without FCS.

        Raises SimulationError where work is left and nothing moves any more.
        """
        start = self._call("board_cycle")
        if not self._call("tx_run", self._patience):
            raise SimulationError(
                f"the transmitter is stuck: nothing moved for {self._patience} cycles, {self.counters()}"
            )
        self.cycles += self._call("board_last_activity") - start
        lengths = np.empty(self._call("board_packet_count"), np.uint32)
        data = np.empty(self._call("board_packet_bytes"), np.uint8)
        self._call("board_take", data.ctypes.data, lengths.ctypes.data)
        buffer, ends = data.tobytes(), np.cumsum(lengths, dtype=np.int64)
        return [buffer[end - length : end] for end, length in zip(ends.tolist(), lengths.tolist(), strict=True)]

    def counters(self) -> TxCounters:
        """Read the counters."""
        values = (ctypes.c_uint64 * 6)()
        self._call("tx_counters", ctypes.addressof(values))
        return TxCounters(*values)
