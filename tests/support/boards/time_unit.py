"""The registers of a time unit, as their page says they are, before a simulated clock and network."""

from framelane.driver.registers._time_register_map import REGISTERS
from framelane.driver.registers.register import Register
from framelane.models.roce_tx.wire import Endpoint
from framelane.models.time.ptp_frame import unwrap, wrap
from framelane.models.time.ptp_message import parse
from framelane.models.time.ptp_network import PtpNetwork
from framelane.models.time.time_counter import NS, SECOND, seconds_and_rest

MASTER = Endpoint(0x02_00_00_00_00_01, 0)
_WORD = 0xFFFF_FFFF
_BY_NAME: dict[str, Register] = {each.name: each for each in REGISTERS}


class TimeUnit:
    """`Registers` of the unit alone: words by offset, and commands that do what they are said to."""

    pause_s = 0.0

    def __init__(self, network: PtpNetwork) -> None:
        self._network = network
        self._words: dict[int, int] = {}
        for name, value in {
            "identity": 0x4D544C46,
            "version": 1 << 24 | 1 << 16,
            "sizes": 0b11 | 128 << 8,
            "told_offset": 1 << 31,
            "told_delay": 1 << 31,
            "clock_hz": 250_000_000,
            "period": 4 * NS,
        }.items():
            self.put(name, value)

    def put(self, name: str, value: int) -> None:
        """What a register has."""
        register = _BY_NAME[f"time.{name}"]
        for word in range(register.width // 32):
            self._words[register.offset + 4 * word] = value >> 32 * word & _WORD

    def get(self, name: str) -> int:
        """The same, read."""
        register = _BY_NAME[f"time.{name}"]
        return sum(self._words.get(register.offset + 4 * word, 0) << 32 * word for word in range(register.width // 32))

    def read(self, offset: int) -> int:
        """See `Registers`. The oldest message is there when it is asked for."""
        if offset == _BY_NAME["time.rx_message"].offset and not self.get("rx_message") & 1:
            self._offer()
        return self._words.get(offset, 0)

    def write(self, offset: int, value: int) -> None:
        """See `Registers`."""
        self._words[offset] = value
        if offset == _BY_NAME["time.command"].offset:
            self._words[offset] = 0
            self._command(value)
        elif offset == _BY_NAME["time.adjust"].offset:
            signed = value - (value >> 31 << 32)
            self._network.clock.adjust(signed / (4 * NS) * 1e9)

    def close(self) -> None:
        """See `Registers`."""

    def _command(self, bits: int) -> None:
        if bits & 1:
            seconds, ns, fraction = seconds_and_rest(self._network.clock.read())
            self.put("now_seconds", seconds)
            self.put("now", ns << 32 | fraction)
        if bits & 4:
            seconds = self.get("value_seconds")
            value = self.get("value")
            signed = seconds - (seconds >> 47 << 48)
            self._network.clock.step(signed * SECOND + (value >> 32) * NS + (value & _WORD))
        if bits & 16:
            first, size = _BY_NAME["time.tx[].word"].offset, self.get("tx_message")
            data = b"".join(self._words.get(first + at, 0).to_bytes(4, "little") for at in range(0, size, 4))[:size]
            stamp = self._network.send(parse(unwrap(data).payload))
            self.put("tx_tai", stamp // NS)
            self.put("tx_event", (self.get("tx_event") + (1 << 16)) & 0xFFFF_0000 | stamp % NS >> 16)
        if bits & 32:
            self.put("rx_message", 0)

    def _offer(self) -> None:
        if received := self._network.receive():
            message, stamp = received
            frame = wrap(message, "ethernet", MASTER)
            for at in range(0, len(frame), 4):
                self._words[_BY_NAME["time.rx[].word"].offset + at] = int.from_bytes(frame[at : at + 4], "little")
            self.put("rx_message", 1 | len(frame) << 8)
            self.put("rx_tai", stamp // NS)
            self.put("rx_event", stamp % NS >> 16)
