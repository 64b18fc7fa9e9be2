"""The QP context: all that `roce_qp.sv` holds for one queue pair of the transmitter."""

from dataclasses import dataclass
from enum import IntEnum

from framelane.base.errors import ConfigError
from framelane.models.roce_tx import wire

ENTROPY_PORTS = 0xC000
"""UDP source ports 0xC000..0xFFFF, the dynamic ones, carry a flow's entropy (InfiniBand annex A17)."""


class Service(IntEnum):
    """Transport service of a QP: it decides the opcodes, and whether acknowledgements may be asked for."""

    UC = 0
    """Unreliable connection."""
    RC = 1
    """Reliable connection."""


class Segmentation(IntEnum):
    """How a message becomes packets."""

    ONLY = 0
    """Every packet a WRITE ONLY with its own RETH: a lost packet costs itself alone."""
    MESSAGE = 1
    """FIRST, MIDDLE, LAST: one RETH a message, 16 bytes less a packet."""


class AckPolicy(IntEnum):
    """Which packets ask for an acknowledgement (AckReq, InfiniBand vol. 1, 9.2 and 9.7)."""

    NEVER = 0
    LAST = 1
    """The last packet of every message."""
    INTERVAL = 2
    """The last packet of every message, and every packet whose PSN + 1 is a multiple of 2^ack_log2."""


@dataclass(frozen=True, slots=True)
class QpContext:
    """One queue pair: `dst` is the receiver, `mtu` the path MTU in bytes, `psn` that of the first packet.

    `src_port` is sent as it is, or, with `entropy`, replaced by one that a hash of the QP and the message's first PSN
    chooses: routers may then send messages, never packets of one message, on different paths. `tos` holds DSCP (6 bits)
    and ECN (2). `vlan` is the tag control information (priority 3 bits, DEI 1, VLAN id 12), None for no tag. `rate` in
    2^-16 bytes of the line a clock cycle and `burst` in bytes limit the QP (0: no limit; see `roce_pacer`).
    """

    dst: wire.Endpoint
    dest_qpn: int
    rkey: int
    psn: int = 0
    mtu: int = 4096
    service: Service = Service.UC
    segmentation: Segmentation = Segmentation.ONLY
    ack_policy: AckPolicy = AckPolicy.NEVER
    ack_log2: int = 0
    src_port: int = ENTROPY_PORTS
    entropy: bool = False
    vlan: int | None = None
    pkey: int = 0xFFFF
    tos: int = 0
    ttl: int = 64
    rate: int = 0
    burst: int = 0
    enabled: bool = True

    def __post_init__(self) -> None:
        if self.mtu not in wire.MTUS:
            raise ConfigError(f"path MTU {self.mtu} is impossible: choose one of {', '.join(map(str, wire.MTUS))}")
        if self.ack_policy is not AckPolicy.NEVER and self.service is not Service.RC:
            raise ConfigError(f"ack_policy {self.ack_policy.name} needs service RC: UC has no acknowledgements")
        widths = {
            **{"dest_qpn": 24, "psn": 24, "rkey": 32, "src_port": 16, "vlan": 16, "pkey": 16, "tos": 8, "ttl": 8},
            **{"ack_log2": 4, "rate": 24, "burst": 24},
        }
        for name, bits in widths.items():
            value = getattr(self, name)
            if value is not None and not 0 <= value < 1 << bits:
                raise ConfigError(f"QP field {name} = {value} does not fit {bits} bits: give 0..{(1 << bits) - 1}")

    def port_of(self, first_psn: int) -> int:
        """The UDP source port of a message whose first packet has `first_psn`."""
        if not self.entropy:
            return self.src_port
        mixed = self.dest_qpn ^ first_psn
        return ENTROPY_PORTS | (mixed ^ mixed >> 14) & 0x3FFF

    def asks_ack(self, psn: int, last: bool) -> bool:
        """Whether the packet with `psn`, the `last` of its message or not, has AckReq set."""
        if self.ack_policy is AckPolicy.INTERVAL and (psn + 1) % (1 << self.ack_log2) == 0:
            return True
        return last and self.ack_policy is not AckPolicy.NEVER
