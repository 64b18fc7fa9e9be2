"""Buffers in an engine's pages for packets of a source that knows no ring, and what posts them."""

from collections.abc import Mapping
from dataclasses import dataclass

from framelane.base.errors import ConfigError
from framelane.driver.pcie.engine import PcieEngine
from framelane.driver.pcie.engine_endpoint import EngineEndpoint
from framelane.driver.pcie.page_plan import PagePlan
from framelane.models.placement.trailer import TRAILER_BYTES

SIZE_LOG2 = range(7, 17)
"""Buffers of 128 bytes to 64 KiB."""
COUNT_LOG2 = range(1, 17)
"""So many buffers: there is an event for each, of a queue of 2 entries or more."""


@dataclass(frozen=True, slots=True)
class PacketBuffers:
    """2^`count_log2` buffers of 2^`size_log2` bytes each, whose packets' trailers have this `source` (0..255).

    ConfigError for numbers that no engine takes.
    """

    size_log2: int
    count_log2: int
    source: int = 255

    def __post_init__(self) -> None:
        if self.size_log2 not in SIZE_LOG2:
            raise ConfigError(f"buffers of 2^{self.size_log2} bytes cannot be: give 7 (128 bytes) to 16 (64 KiB)")
        if self.count_log2 not in COUNT_LOG2:
            raise ConfigError(f"2^{self.count_log2} buffers cannot be: give 1 to 16")
        if not 0 <= self.source <= 255:
            raise ConfigError(f"source {self.source} cannot be: give 0 to 255")

    @classmethod
    def of(cls, packet_bytes: int, packets: int, source: int = 255) -> "PacketBuffers":
        """The least buffers for packets of so many bytes at most, of which so many at least wait for software."""
        size_log2 = max(SIZE_LOG2[0], (packet_bytes + TRAILER_BYTES - 1).bit_length())
        if size_log2 not in SIZE_LOG2:
            most = (1 << SIZE_LOG2[-1]) - TRAILER_BYTES
            raise ConfigError(f"packets of {packet_bytes} bytes fit into no buffer: {most} is the most")
        return cls(size_log2, max(COUNT_LOG2[0], (packets - 1).bit_length()), source)

    @property
    def count(self) -> int:
        """How many buffers there are."""
        return 1 << self.count_log2

    @property
    def buffer_bytes(self) -> int:
        """Bytes of one, its trailer's included."""
        return 1 << self.size_log2

    def plan(self, page_log2: int = 21) -> PagePlan:
        """Pages for them alone, from the first byte on, and a queue with an entry for each."""
        return PagePlan(self.count << self.size_log2, self.count_log2, page_log2)


class PacketEndpoint:
    """`engine` takes packets into `buffers`, which begin with its first page; see `transport.pcie.packets`.

    `endpoint` is that of the same engine, which is open with the plan of `buffers`. The board may have been configured
    and armed for frames on another engine, but not be reset from here on. BoardError where the engine takes no packets.
    """

    def __init__(self, engine: PcieEngine, endpoint: EngineEndpoint, buffers: PacketBuffers) -> None:
        self._engine, self._endpoint = engine, endpoint
        engine.take_packets(buffers.size_log2, buffers.count_log2, buffers.source)

    def post(self, count: int) -> None:
        """Ring the doorbell: so many buffers have been posted since the beginning, modulo 2^32. One access."""
        self._engine.post(count)

    def consumed(self, count: int) -> None:
        """See `Endpoint`."""
        self._endpoint.consumed(count)

    def wait(self, timeout_s: float) -> None:
        """See `Endpoint`."""
        self._endpoint.wait(timeout_s)

    def faults(self) -> Mapping[str, str]:
        """See `Endpoint`."""
        return self._endpoint.faults()

    def failed(self) -> str:
        """See `Endpoint`."""
        if reason := self._endpoint.failed():
            return reason
        if self._engine.takes_packets():
            return ""
        return (
            "the PCIe engine takes no packets any more: the board was reset, or another program began on this engine: "
            "start this receiver again"
        )

    def close(self) -> None:
        """See `Endpoint`."""
        self._endpoint.close()
