"""Accesses over AXI4-Lite, one at a time, in the loop of a `Bench`."""

from bench import Bench
from signals import now

PATIENCE = 3000
"""Cycles in which an access must be answered."""


class AxiLite:
    """The master of `s_axil_*` of the bench's design."""

    def __init__(self, bench: Bench) -> None:
        self._bench, self._dut = bench, bench.dut
        self._waiting: set[str] = set()
        """Channels whose handshake the access under way still waits for."""
        self._seen: set[str] = set()
        self._data = 0
        for name, value in {"awvalid": 0, "wvalid": 0, "arvalid": 0, "bready": 1, "rready": 1, "wstrb": 15}.items():
            self._set(name, value)
        bench.watch(self._sample)

    def _set(self, name: str, value: int) -> None:
        getattr(self._dut, f"s_axil_{name}").value = value

    def _get(self, name: str) -> int:
        return now(getattr(self._dut, f"s_axil_{name}"))

    def _sample(self) -> None:
        self._seen = {c for c in self._waiting if self._get(f"{c}valid") and self._get(f"{c}ready")}
        if "r" in self._seen:
            self._data = self._get("rdata")

    async def _pass(self, *channels: str) -> None:
        """Run until each channel has had its handshake; of those that we drive, withdraw valid."""
        self._waiting = set(channels)
        for _ in range(PATIENCE):
            await self._bench.step()
            self._waiting -= self._seen
            for channel in self._seen - {"b", "r"}:
                self._set(f"{channel}valid", 0)
            if not self._waiting:
                return
        raise AssertionError(f"no handshake on {', '.join(sorted(self._waiting))} in {PATIENCE} cycles")

    async def write(self, offset: int, value: int) -> None:
        """Write a word."""
        self._set("awaddr", offset)
        self._set("wdata", value)
        self._set("awvalid", 1)
        self._set("wvalid", 1)
        await self._pass("aw", "w", "b")

    async def read(self, offset: int) -> int:
        """Read a word."""
        self._set("araddr", offset)
        self._set("arvalid", 1)
        await self._pass("ar", "r")
        return self._data
