"""What a board is told of the network: the limits of its RC queue pairs, its station, congestion control."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields

from framelane.base.errors import ConfigError
from framelane.driver.board.board_readings import Capabilities
from framelane.models.placement.flow import Flow
from framelane.models.rc.dcqcn import DcqcnSettings
from framelane.models.rc.rc_protocol import RcLimits
from framelane.models.rc.rc_timer import TICK_NS, timeout_ticks
from framelane.models.roce_tx import roce_pacer
from framelane.models.roce_tx.roce_qp import AckPolicy, QpContext, Service
from framelane.models.station import pause
from framelane.models.tx import TxConfig

Write = tuple[str, dict[str, int]]
"""A register and values of its fields."""
WINDOW_BYTES = 2 << 20
"""Default of what may be outstanding on a QP.

Messages are of a quarter of the window at most, and a whole one must fit: 3/4 of it are always used. 1.5 MiB at
100 Gb/s are a round trip of 125 us: switches and NICs take 10 to 20 us of it, the rest are queues.
"""
QUANTA_MAX = (1 << 20) - 1


@dataclass(frozen=True, slots=True)
class Station:
    """What the receive path does; see `StationTable`. `tci`: the tag of what it asks and announces, None for none."""

    arp: bool = True
    echo: bool = True
    pause: bool = False
    tci: int | None = None
    data_priorities: int = 0
    control_priorities: int = 0
    link_bits_per_s: float = 100e9
    arp_timeout_ms: int = 100
    arp_retries: int = 3


@dataclass(frozen=True, slots=True)
class Network:
    """Beside the entries of the tables. `limits` and `ask` belong to the QPs, in their order; missing ones are None.

    `limits`: of an RC QP (None: the defaults); `ask`: the IPv4 address whose MAC is asked by ARP for the packets of
    the QP (None: the MAC is known). `dcqcn`: None for off. With `unacknowledged` QPs of RC are taken by a build without
    RC, too: their packets are made, acknowledgements are not read, and nothing is sent again.
    """

    station: Station = field(default_factory=Station)
    limits: tuple[RcLimits | None, ...] = ()
    ask: tuple[int | None, ...] = ()
    dcqcn: DcqcnSettings | None = None
    unacknowledged: bool = False

    def limits_of(self, index: int, qp: QpContext) -> RcLimits:
        """The limits of QP `index`."""
        known = self.limits[index] if index < len(self.limits) else None
        return known or default_limits(qp.mtu)

    def asked_of(self, index: int) -> int | None:
        """The address to ask for QP `index`."""
        return self.ask[index] if index < len(self.ask) else None


def default_limits(mtu: int) -> RcLimits:
    """Limits for a path of 100 Gb/s.

    Time-out 2.1 ms: more than a full buffer of a switch (16 MB are 1.3 ms) and the way there and back. Doubled four
    times, seven retries: 0.17 to 0.33 s until a QP gives up. Six waits for a receiver that is not ready: one of
    framelane asks for 160 us each, and with credit it has posted what the frame needs. Without limit it could hold the
    frame store for ever.
    """
    return RcLimits(window=WINDOW_BYTES // mtu, timeout=9, backoff=4, retries=7, rnr_retries=6)


def timeout_s(exponent: int) -> float:
    """Seconds of the time-out with that exponent."""
    return timeout_ticks(exponent) * TICK_NS * 1e-9


def silence_s(limits: RcLimits) -> float:
    """Seconds of all time-outs, one after the other, of a QP of which the receiver is silent."""
    tries = range(limits.retries + 1)
    return sum(timeout_s(limits.timeout + min(k, limits.backoff)) for k in tries)


def gives_up_after_s(limits: RcLimits) -> float:
    """Seconds from the last acknowledgement of a receiver that falls silent until its QP is in error, at most.

    A time-out during which packets have left, as those that are sent again do, is started once more: each lasts once
    or twice. What makes packets leave later comes on top: a pause of the link, a rate, frames that come one by one.
    """
    return 2 * silence_s(limits)


def settles_s(limits: RcLimits) -> float:
    """Seconds that a QP waits after it was started, before it sends."""
    return timeout_s(limits.timeout + limits.backoff)


def message_packets(flow: Flow, mtu: int) -> int:
    """Packets of the longest message of a flow; a trailer has one."""
    _, size = flow.runs
    return max(1, -(-min(size, flow.max_length) // mtu))


def check_network(config: TxConfig, network: Network | None, capabilities: Capabilities) -> None:
    """Raise ConfigError where a build cannot do what the configuration wants of RC and of the receive path."""
    network = network or Network()
    if not capabilities.station and (network.dcqcn or any(ask is not None for ask in network.ask)):
        raise ConfigError("this build of the transmitter has no receive path: load a design with Station = 1")
    if network.dcqcn and not capabilities.rc:
        raise ConfigError("this build of the transmitter has no congestion control: load a design with Rc = 1")
    if any(ask is not None for ask in network.ask) and not network.station.arp:
        raise ConfigError("a MAC is to be asked for, but arp is off: say arp = true in [station], or give the MAC")
    if network.unacknowledged and not capabilities.rc:
        return
    reliable = {k: qp for k, qp in enumerate(config.qps) if qp.service is Service.RC}
    for index, qp in reliable.items():
        if not capabilities.rc:
            raise ConfigError(
                f"queue pair {index} is of RC, but this build of the transmitter has UC only: load a design with "
                "Rc = 1, or let the receiver publish a session of service UC"
            )
        if index >= capabilities.rc_qps:
            raise ConfigError(
                f"queue pair {index} is of RC, but only the first {capabilities.rc_qps} of this build may be: serve "
                "receivers of RC by the first flows"
            )
        if qp.ack_policy is AckPolicy.NEVER:
            raise ConfigError(
                f"queue pair {index} is of RC and never asks for acknowledgements (ack_policy NEVER): none would come, "
                "and it would end by time-outs: give LAST or INTERVAL"
            )
    for k in range(len(config.flows)):
        check_flow(k, config, network, capabilities)


def check_flow(k: int, config: TxConfig, network: Network, capabilities: Capabilities) -> None:
    """Raise ConfigError where a queue pair of RC cannot send the frames of flow `k`."""
    flow = config.flows[k]
    for destination in config.destinations[flow.first_destination :][: flow.destinations]:
        qp = config.qps[destination.qp]
        if qp.service is Service.RC:
            _check_message(k, flow, qp, network.limits_of(destination.qp, qp), capabilities.rc_depth)


def _check_message(k: int, flow: Flow, qp: QpContext, limits: RcLimits, depth: int) -> None:
    """A message must fit the window, and a frame the ring: else the frames of the other QPs wait behind it."""
    packets = message_packets(flow, qp.mtu)
    if packets > limits.window:
        raise ConfigError(
            f"flow {k} has messages of {packets} packets, but the window of its queue pair is {limits.window}: raise "
            f"the window, or give a max_length of {limits.window * qp.mtu} bytes or less"
        )
    if flow.descriptors > depth:
        runs, _ = flow.runs
        advice = (
            f"each of its {runs} lines is a message: send whole lines of the source to whole lines of the image, fewer "
            "lines, or over UC"
            if runs > 1
            else "raise the window, so that its messages can be longer"
        )
        raise ConfigError(
            f"a frame of flow {k} has {flow.descriptors} descriptors with its trailer, but this build keeps {depth} of "
            f"an RC queue pair, for sending them again: {advice}; or load a design with a larger RcDepth"
        )


def station_writes(network: Network, capabilities: Capabilities) -> Iterator[Write]:
    """The registers of the receive path, for a build that has one; DCQCN is off after them."""
    station = network.station
    quanta = pause.quanta_per_clock(station.link_bits_per_s, capabilities.clock_hz)
    if not 0 < quanta <= QUANTA_MAX and (station.pause or station.data_priorities or station.control_priorities):
        raise ConfigError(
            f"a link of {station.link_bits_per_s / 1e9:g} Gb/s is impossible at {capabilities.clock_hz} Hz: correct "
            "link_gbps of [station]"
        )
    yield "dcqcn", {"enabled": 0}
    yield "pause_quanta", {"value": min(quanta, QUANTA_MAX)}
    yield "pause_priorities", {"data": station.data_priorities, "control": station.control_priorities}
    yield "arp", {"timeout_ms": station.arp_timeout_ms, "retries": station.arp_retries}
    flags = {name: int(getattr(station, name)) for name in ("arp", "echo", "pause")}
    yield "station", flags | {"has_vlan": int(station.tci is not None), "tci": station.tci or 0}


def dcqcn_writes(settings: DcqcnSettings | None, capabilities: Capabilities) -> Iterator[Write]:
    """The registers of congestion control, itself last; none where it is off."""
    if settings is None:
        return
    values = asdict(settings)
    for name in ("line", "minimum", "additive", "hyper"):
        yield f"dcqcn_{name}", {"value": values[name]}
    yield "dcqcn_burst", {"value": roce_pacer.smallest_burst(settings.line, capabilities.qps)}
    yield "dcqcn_period", {"alpha": settings.alpha_period, "rise": settings.rise_period}
    yield "dcqcn", {name: values[name] for name in ("gain_log2", "fast_rounds", "bytes_log2")} | {"enabled": 1}


def limits_writes(index: int, limits: RcLimits) -> Iterator[Write]:
    """The limits of one QP."""
    yield f"qp[{index}].limits", {each.name: getattr(limits, each.name) for each in fields(limits)}
