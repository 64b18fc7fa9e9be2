"""The packed structs of `hw/rtl/station/neighbour_pkg.sv` as integers, and the registers of `neighbour` as a value."""

from dataclasses import dataclass
from typing import Any

from framelane.driver.simulated.ports import Struct
from framelane.models.roce_tx.wire import Endpoint

TAG_T = Struct(has_vlan=1, tci=16)
RESOLVE_T = Struct(tag=TAG_T.width, ip=32)
RESOLVED_T = Struct(found=1, ip=32, mac=48)
ARP_EVENTS_T = Struct(malformed=1, stray=1, conflict=1, unresolved=1, resolved=1, lost=1, answered=1)
ECHO_EVENTS_T = Struct(checksum=1, malformed=1, ignored=1, busy=1, answered=1)
PAUSE_EVENTS_T = Struct(held=1, malformed=1, priority_pause=1, pause=1)
NEIGHBOUR_EVENTS_T = Struct(
    **{f"arp_{name}": 1 for name in ARP_EVENTS_T.fields},
    **{f"echo_{name}": 1 for name in ECHO_EVENTS_T.fields},
    **{f"pause_{name}": 1 for name in PAUSE_EVENTS_T.fields},
)
NEIGHBOUR_CONFIG_T = Struct(
    **{"arp_enabled": 1, "echo_enabled": 1, "pause_honoured": 1, "data_priorities": 8, "control_priorities": 8},
    **{"quanta_per_clock": 20, "clocks_per_ms": 24, "timeout_ms": 16, "retries": 4, "tag": TAG_T.width},
    **{"ip": 32, "mac": 48},
)


def tag_t(tci: int | None) -> int:
    """A VLAN tag beside its frame; None: no tag."""
    return TAG_T.pack({"has_vlan": tci is not None, "tci": tci or 0})


def resolve_t(ip: int, tci: int | None = None) -> int:
    """A question: who has `ip`, on the VLAN of that tag?"""
    return RESOLVE_T.pack({"tag": tag_t(tci), "ip": ip})


@dataclass(frozen=True, slots=True)
class NeighbourConfig:
    """The registers of `neighbour`; see `neighbour_config_t`. `tci` is the tag of announcements."""

    local: Endpoint
    tci: int | None = None
    arp_enabled: bool = True
    echo_enabled: bool = True
    pause_honoured: bool = False
    data_priorities: int = 0
    control_priorities: int = 0
    quanta_per_clock: int = 1 << 16
    clocks_per_ms: int = 250_000
    timeout_ms: int = 100
    retries: int = 3

    def pack(self) -> int:
        """The bits of the port."""
        names = (name for name in NEIGHBOUR_CONFIG_T.fields if hasattr(self, name))
        values: dict[str, Any] = {name: getattr(self, name) for name in names}
        return NEIGHBOUR_CONFIG_T.pack(values | {"tag": tag_t(self.tci), "ip": self.local.ip, "mac": self.local.mac})
