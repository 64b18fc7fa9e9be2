"""The receive path of a board: its state, and the addresses that it asks for."""

from dataclasses import dataclass
from ipaddress import IPv4Address

from framelane.base.errors import BoardError, ConfigError
from framelane.driver.board.queue_pairs import Wait
from framelane.driver.registers.register_file import RegisterFile


@dataclass(frozen=True, slots=True)
class StationState:
    """What the link does: it is up, its packets are held by a pause; the MAC that uses our IPv4 address too, or 0."""

    link: bool
    held: bool
    conflict_mac: int

    def sentences(self) -> list[str]:
        """What is wrong, and what to do."""
        said = []
        if not self.link:
            said.append("the Ethernet link is down: check cable, transceiver, the switch's port, and FEC on both sides")
        if self.held:
            said.append("packets are held by a pause of the link: the switch or a receiver behind it is congested")
        if self.conflict_mac:
            said.append(
                f"{text(self.conflict_mac)} uses this board's IPv4 address too: give one of them another (ip of "
                "[transmitter])"
            )
        return said


def text(mac: int) -> str:
    """An Ethernet address as it is written."""
    return mac.to_bytes(6, "big").hex(":")


class StationRegisters:
    """Reads and commands it."""

    def __init__(self, registers: RegisterFile, wait: Wait) -> None:
        self._registers = registers
        self._wait = wait

    def state(self) -> StationState:
        """How it is."""
        status = self._registers.read_register("station_status")
        return StationState(bool(status["link"]), bool(status["held"]), self._registers["conflict_mac"])

    def resolve(self, ip: int) -> int:
        """The MAC of `ip`, by ARP. BoardError where nobody answers, ConfigError where ARP is off."""
        if not self._registers["station.arp"]:
            raise ConfigError("the board does not ask by ARP: configure it first, with arp = true in [station]")
        arp = self._registers.read_register("arp")
        tries = arp["retries"] + 1
        asks_s = tries * (arp["timeout_ms"] + 1) / 1000
        self._idle(asks_s)
        self._registers["resolve_ip"] = ip
        self._registers["station_command.resolve"] = 1
        self._idle(asks_s)
        status = self._registers.read_register("station_status")
        if self._registers["resolve_ip"] != ip:
            raise BoardError(
                f"another process has asked this board for another address than {IPv4Address(ip)} meanwhile: let one "
                "process drive it, and ask again"
            )
        if status["resolved"]:
            return self._registers["resolved_mac"]
        raise BoardError(self._unanswered(IPv4Address(ip), tries, arp["timeout_ms"]))

    def _idle(self, asks_s: float) -> None:
        self._wait(
            lambda: not self._registers["station_status.resolving"],
            asks_s,
            "a question by ARP has not ended",
            "packets are held by a pause, or the Ethernet core takes none: see `framelane board status`",
        )

    def _unanswered(self, ip: IPv4Address, tries: int, timeout_ms: int) -> str:
        ours = IPv4Address(self._registers["local_ip"])
        said = f"nobody answers ARP for {ip}: {tries} questions of {ours}, {timeout_ms} ms each: "
        if not self._registers["station_status.link"]:
            return (
                f"{said}the Ethernet link is down: check cable, transceiver, the switch's port, and FEC on both sides"
            )
        return (
            f"{said}is that machine up, the address right, in the same subnet and VLAN ([station] vlan)? "
            f"`arping {ours}` from there asks the other way; behind a router give gateway instead"
        )
