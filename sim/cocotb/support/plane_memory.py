"""The memory behind the read masters of the correction's constants: it answers all planes, each at its own pace."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from bench import STALL_SHARE, Bench
from signals import now

NORMAL_BUFFERABLE = 0b0011
"""ARCACHE of memory that may be buffered, not cached (AMBA IHI 0022, A4.4)."""

PORTS = 6


@dataclass(slots=True)
class _Port:
    beats: deque[tuple[int, bool, int]] = field(default_factory=deque)
    """Address of each beat to be answered, whether it is the last of its burst, and the first cycle for its answer."""
    offered: bool = False
    held: tuple[int, int] | None = None
    """Address and length that were offered and not taken: they must stay."""
    bursts: list[tuple[int, int]] = field(default_factory=list)


class PlaneMemory:
    """`data` from `base` on, behind the packed ports `<prefix>_ar*` and `<prefix>_r*` of the bench's design."""

    def __init__(self, bench: Bench, prefix: str, width: int, base: int, data: bytes, stalls: bool) -> None:
        self.base, self.data = base, bytearray(data)
        self.broken: set[int] = set()
        """Addresses of beats that are answered with an error."""
        self.ports = [_Port() for _ in range(PORTS)]
        self.delay = 0
        """Chance a cycle, in percent, that a port pauses, beside the stalls of the bench."""
        self.latency: Callable[[], int] = lambda: 0
        """Cycles from a burst's request to its first beat, beside those that it has anyway."""
        self._bench, self._lanes, self._stalls = bench, width // 8, stalls
        names = ("araddr", "arlen", "arsize", "arburst", "arcache", "arvalid", "arready")
        answers = ("rvalid", "rready", "rdata", "rresp", "rlast", "rid")
        self._signals = {name: getattr(bench.dut, f"{prefix}_{name}") for name in names + answers}
        self._driven: dict[str, int] = {}
        self._resets = bench.resets
        self._address_w = len(self._signals["araddr"]) // PORTS
        self._set(arready=0, rvalid=0, rdata=0, rresp=0, rlast=0, rid=0)
        bench.answer(self._drive)
        bench.watch(self._sample)

    def _set(self, **values: int) -> None:
        for name, value in values.items():
            if self._driven.get(name) != value:
                self._signals[name].value = self._driven[name] = value

    def _get(self, name: str) -> int:
        return now(self._signals[name])

    def _pauses(self) -> bool:
        return self._bench.random.random() < (STALL_SHARE if self._stalls else self.delay / 100)

    def _forget(self) -> None:
        for port in self.ports:
            port.beats.clear()
            port.offered = False
            port.held = None

    def _drive(self) -> None:
        if self._resets != self._bench.resets:  # a reset lasts no cycle of the bench
            self._forget()
            self._resets = self._bench.resets
        ready = valid = last = response = data = 0
        for k, port in enumerate(self.ports):
            ready |= (not self._pauses()) << k
            if not port.beats or not (port.offered or not self._pauses()):
                continue
            address, ends, due = port.beats[0]
            if due > self._bench.cycle:
                continue
            port.offered = True
            at = address - self.base
            assert 0 <= at <= len(self.data) - self._lanes, f"plane {k} is read at {address:#x}, outside the constants"
            valid |= 1 << k
            last |= ends << k
            response |= (2 if address in self.broken else 0) << 2 * k
            data |= int.from_bytes(self.data[at : at + self._lanes], "little") << 8 * self._lanes * k
        self._set(arready=ready, rvalid=valid, rlast=last, rresp=response, rdata=data)

    def _sample(self) -> None:
        if now(self._bench.rst):
            self._forget()
            return
        valid = self._get("arvalid")
        asked = valid & self._get("arready")
        taken = self._get("rvalid") & self._get("rready")
        for k, port in enumerate(self.ports):
            if taken >> k & 1:
                port.beats.popleft()
                port.offered = False
            offer = self._offer(k) if valid >> k & 1 else None
            assert port.held in (None, offer), f"plane {k}: a read changed, or was withdrawn, while it waited"
            port.held = None if asked >> k & 1 else offer
            if asked >> k & 1:
                self._ask(k, port)

    def _field(self, k: int, name: str, width: int) -> int:
        return self._get(name) >> width * k & (1 << width) - 1

    def _offer(self, k: int) -> tuple[int, int]:
        return self._field(k, "araddr", self._address_w), self._field(k, "arlen", 8) + 1

    def _ask(self, k: int, port: _Port) -> None:
        address, beats = self._offer(k)
        assert address % 4096 + beats * self._lanes <= 4096, f"a burst from {address:#x} crosses 4 KiB"
        assert self._field(k, "arsize", 3) == self._lanes.bit_length() - 1
        assert self._field(k, "arburst", 2) == 1
        assert self._field(k, "arcache", 4) == NORMAL_BUFFERABLE
        port.bursts.append((address, beats))
        due = self._bench.cycle + self.latency()
        port.beats.extend((address + n * self._lanes, n == beats - 1, due) for n in range(beats))
