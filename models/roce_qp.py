"""The QP context: all that `roce_qp.sv` holds for one queue pair of the transmitter."""

from dataclasses import dataclass
from enum import IntEnum

from framelane.models import wire
from framelane.models.errors import ConfigError


class Segmentation(IntEnum):
    """How a message becomes packets."""

    ONLY = 0
    """Every packet a WRITE ONLY with its own RETH: a lost packet costs itself alone."""
    MESSAGE = 1
    """FIRST, MIDDLE, LAST: one RETH a message, 16 bytes less a packet."""


@dataclass(frozen=True, slots=True)
class QpContext:
    """One queue pair of the UC service: `dst` is the receiver, `mtu` in bytes, `psn` that of the first packet."""

    dst: wire.Endpoint
    dest_qpn: int
    rkey: int
    psn: int = 0
    mtu: int = 4096
    segmentation: Segmentation = Segmentation.ONLY
    src_port: int = 0xC000
    pkey: int = 0xFFFF
    tos: int = 0
    ttl: int = 64
    enabled: bool = True

    def __post_init__(self) -> None:
        if self.mtu not in wire.MTUS:
            raise ConfigError(f"path MTU {self.mtu} is impossible: choose one of {', '.join(map(str, wire.MTUS))}")
        widths = {"dest_qpn": 24, "psn": 24, "rkey": 32, "src_port": 16, "pkey": 16, "tos": 8, "ttl": 8}
        for name, bits in widths.items():
            value = getattr(self, name)
            if not 0 <= value < 1 << bits:
                raise ConfigError(f"QP field {name} = {value} does not fit {bits} bits: give 0..{(1 << bits) - 1}")
