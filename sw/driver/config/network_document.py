"""Tables of the file that configures a board: RC of a receiver, [station], [dcqcn], [watchdog]."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from framelane.driver.board.watchdogs import Watchdogs
from framelane.driver.config.document_types import PositiveNumber, PositiveU16, Table

Priority = Annotated[int, Field(ge=0, lt=8)]
VlanId = Annotated[int, Field(gt=0, lt=4095)]


class WatchdogTable(Table):
    """[watchdog]: ms until packets are dropped before an Ethernet core, and accesses to memory fail; 0: never."""

    mac_ms: Annotated[float, Field(ge=0, strict=False, allow_inf_nan=False)] = 0.0
    memory_ms: Annotated[float, Field(ge=0, strict=False, allow_inf_nan=False)] = 0.0

    def times(self) -> Watchdogs:
        """The values as the board takes them."""
        return Watchdogs(self.mac_ms * 1e-3, self.memory_ms * 1e-3)


class RcTable(Table):
    """`rc` of a [[receiver]] whose session is of RC: how much may be outstanding, and when to give up.

    `window` in packets (default: 2 MiB of them); `timeout_ms`: the first time-out, the next larger 4.096 us * 2^n is
    taken, doubled up to `backoff` times; `retries` without progress; `rnr_retries` (7: without limit); `ack_every`: so
    many packets ask for an acknowledgement, beside the last of each message (a power of 2; 0: the last ones only).
    """

    window: Annotated[int, Field(gt=0, le=0xFFFE)] | None = None
    timeout_ms: Annotated[float, Field(ge=0, le=4295, strict=False)] = 2.0
    backoff: Annotated[int, Field(ge=0, le=15)] = 4
    retries: Annotated[int, Field(ge=0, le=15)] = 7
    rnr_retries: Annotated[int, Field(ge=0, le=7)] = 6
    ack_every: Annotated[int, Field(ge=0, le=1 << 15)] = 0

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.ack_every & (self.ack_every - 1):
            raise ValueError(f"ack_every: {self.ack_every} is not a power of 2: give 1, 2, 4 ... 32768, or 0")
        return self


class StationTable(Table):
    """[station]: what the board does for its neighbours on the link of `link_gbps`.

    `arp` and `echo` (ping) are answered; `pause` of 802.3x and PFC of the `priorities` hold the frames' packets, those
    of the `control_priorities` hold ARP and ping, all others are counted only. `vlan` and `priority` are the tag of its
    own questions and announcements. A question by ARP is asked once, and `arp_retries` times more.
    """

    arp: bool = True
    echo: bool = True
    pause: bool = False
    priorities: list[Priority] = Field(default_factory=list)
    control_priorities: list[Priority] = Field(default_factory=list)
    link_gbps: PositiveNumber = 100.0
    vlan: VlanId | None = None
    priority: Priority = 0
    arp_timeout_ms: PositiveU16 = 100
    arp_retries: Annotated[int, Field(ge=0, lt=16)] = 3

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.priority and self.vlan is None:
            raise ValueError("priority: it is part of a VLAN tag, which needs a vlan: give one, or remove priority")
        return self


class DcqcnTable(Table):
    """[dcqcn]: congestion control, on where this table is. Its defaults are the paper's (SIGCOMM 2015, figure 14)."""

    line_gbps: PositiveNumber = 100.0
    minimum_gbps: PositiveNumber = 0.1
    additive_gbps: PositiveNumber = 0.1
    hyper_gbps: PositiveNumber = 1.0
    alpha_us: PositiveNumber = 55.0
    rise_us: PositiveNumber = 55.0
    bytes_log2: Annotated[int, Field(ge=10, le=31)] = 23
    gain_log2: Annotated[int, Field(ge=1, le=15)] = 8
    fast_rounds: Annotated[int, Field(ge=1, le=14)] = 5
