"""What all simulators share: one instance of a Verilated design, and how values reach its C side."""

from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from framelane.base.errors import ConfigError, SimulationError
from framelane.driver.simulated import ports
from framelane.driver.simulated.library import Design
from framelane.models.roce_tx.roce_qp import QpContext

MAX_QPS = 16
"""Places in the QP table."""


class Simulation:
    """One instance of a design, until it is closed. Not for use by several threads at once.

    `width` of its bus in bits, None where it has none.
    """

    def __init__(self, design: Design, width: int | None) -> None:
        self._design = design
        self._lib = design.load(width)
        self._handle = getattr(self._lib, f"{design.name}_new")()

    def _call(self, function: str, *arguments: Any) -> Any:
        if self._handle is None:
            raise SimulationError("this simulator is closed")
        own = (self._handle,) if self._design.owns(function) else ()
        return getattr(self._lib, function)(*own, *arguments)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Free the design and what surrounds it."""
        if self._handle is not None:
            self._call(f"{self._design.name}_delete")
            self._handle = None


def words(value: int, width: int) -> bytes:
    """A port of `width` bits as the C side takes it: words of 32 bits, least significant first."""
    return value.to_bytes(-(-width // 32) * 4, "little")


def qp_writes(qps: tuple[QpContext, ...]) -> list[bytes]:
    """The writes that put `qps` into the QP table from index 0 on; ConfigError where they do not fit."""
    if len(qps) > MAX_QPS:
        raise ConfigError(f"{len(qps)} QPs do not fit the table: {MAX_QPS} at most")
    return [words(ports.qp_write_t(index, qp), ports.QP_WRITE_T.width) for index, qp in enumerate(qps)]


def stall_share(share: float) -> int:
    """The share of cycles (0 to less than 1) in which a side pauses, in 1/256; ConfigError for any other number."""
    if not 0 <= share < 1:
        raise ConfigError(f"a stall share of {share} cannot be: give 0 to less than 1")
    return int(share * 256)


def split(data: NDArray[np.uint8], lengths: NDArray[np.uint32]) -> list[bytes]:
    """The packets that lie one after the other in `data`."""
    buffer, ends = data.tobytes(), np.cumsum(lengths, dtype=np.int64)
    return [buffer[end - length : end] for end, length in zip(ends.tolist(), lengths.tolist(), strict=True)]
