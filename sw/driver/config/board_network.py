"""The network in the file that configures a board: its queue pairs, their limits, its station, congestion control."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from framelane.base.errors import ConfigError
from framelane.driver.board.board_readings import Capabilities
from framelane.driver.board.network import Network, Station, default_limits
from framelane.driver.config.board_document import BoardDocument, Receiver, at, unusable
from framelane.driver.config.board_flows import Ring
from framelane.driver.config.network_document import DcqcnTable, RcTable, StationTable
from framelane.models.rc.dcqcn import PERIOD_MAX, DcqcnSettings
from framelane.models.rc.rc_protocol import RcLimits
from framelane.models.rc.rc_timer import LONGEST
from framelane.models.roce_tx import roce_pacer
from framelane.models.roce_tx.roce_qp import AckPolicy, QpContext
from framelane.models.station.roce_rx import FIRST_QPN
from framelane.session.session import Session

_TICK_S = 1.024e-6
_ECT = 0b10
"""ECT(0) of RFC 3168: switches mark such packets, and the receiver answers marked ones with CNPs."""


def limits_of(table: RcTable | None, mtu: int) -> RcLimits:
    """The limits of a QP with path MTU `mtu`: those of its table, the defaults where it says nothing."""
    known = default_limits(mtu)
    if table is None:
        return known
    units = table.timeout_ms * 1e-3 / 4.096e-6
    timeout = next((n for n in range(LONGEST) if units <= 1 << n), LONGEST)
    chosen = {name: getattr(table, name) for name in ("backoff", "retries", "rnr_retries")}
    return RcLimits(window=table.window or known.window, timeout=timeout, **chosen)


def qps_of(
    path: Path, document: BoardDocument, sessions: Sequence[Session], rings: Mapping[str, Ring], build: Capabilities
) -> tuple[QpContext, ...]:
    """The queue pairs of the sessions, in their order. InputError where one cannot be."""
    found = []
    for index, session in enumerate(sessions):
        table = _table_of(session, rings)
        with at(path, f"[[receiver]] {table.name!r}"):
            if session.service == "RC" or document.dcqcn:
                _check_number(index, session, table)
            _check_service(session, table, build)
            found.append(_qp(session, table, document, build))
    return tuple(found)


def network_of(
    path: Path, document: BoardDocument, sessions: Sequence[Session], rings: Mapping[str, Ring], build: Capabilities
) -> Network:
    """What the file at `path` says of the network beside the entries of the tables. InputError where that cannot be."""
    for name in ("station", "dcqcn"):
        if getattr(document, name) and not getattr(build, "station" if name == "station" else "rc"):
            needed = "receive path" if name == "station" else "RC, of which congestion control is a part"
            raise unusable(path, f"[{name}]: this build of the transmitter has no {needed}: remove it, or load another")
    tables = [_table_of(session, rings) for session in sessions]
    limits, ask = list[RcLimits | None](), list[int | None]()
    for session, table in zip(sessions, tables, strict=True):
        with at(path, f"[[receiver]] {table.name!r}"):
            limits.append(limits_of(table.rc, session.mtu) if session.service == "RC" else None)
            ask.append(asked_of(session, table, build))
    with at(path, "[dcqcn]"):
        dcqcn = _dcqcn(document.dcqcn, build) if document.dcqcn else None
    return Network(_station(document.station or StationTable()), tuple(limits), tuple(ask), dcqcn)


def _table_of(session: Session, rings: Mapping[str, Ring]) -> Receiver:
    return next(ring.table for ring in rings.values() if ring.session == session)


def _check_number(index: int, session: Session, table: Receiver) -> None:
    """Its receiver answers to the number that the QP of the board has."""
    if session.source_qpn != FIRST_QPN + index:
        raise ConfigError(
            f"session: its receiver sends acknowledgements and congestion notifications to QP number "
            f"{session.source_qpn}, but it is queue pair {index} of this board, which has number {FIRST_QPN + index}: "
            f"start the receiver with source_qpn = {FIRST_QPN + index} in its plan (queue pairs are counted from 0 in "
            "the order in which the flows name their receivers)"
        )


def _check_service(session: Session, table: Receiver, build: Capabilities) -> None:
    if session.service == "RC" and not build.rc:
        raise ConfigError(
            f"session: {table.session} is of RC, but this build of the transmitter has UC only: load a design with "
            "Rc = 1, or give the receiver's plan service UC"
        )
    if session.service != "RC" and table.rc:
        raise ConfigError(
            f"rc: {table.session} is a session of UC, which has no acknowledgements: remove the key, or give the "
            "receiver's plan service RC"
        )


def _rate(key: str, gbps: float, build: Capabilities) -> int:
    """The rate of a key, as its registers hold it. ConfigError says between what it may be on this board."""
    value = gbps * 1e9 / 8 / build.clock_hz * (1 << roce_pacer.RATE_BITS)
    if not 1 <= value < roce_pacer.RATE_MAX + 1:
        unit = 8e-9 * build.clock_hz / (1 << roce_pacer.RATE_BITS)
        raise ConfigError(
            f"{key}: {gbps:g} Gb/s are impossible with this board's clock of {build.clock_hz * 1e-6:g} MHz: give "
            f"{math.ceil(unit * 1e9) / 1e9:g} to {math.floor(unit * roce_pacer.RATE_MAX):g} Gb/s"
        )
    return roce_pacer.rate(gbps * 1e9 / 8, build.clock_hz)


def _qp(session: Session, table: Receiver, document: BoardDocument, build: Capabilities) -> QpContext:
    changes: dict[str, Any] = {"tos": table.dscp << 2 | (_ECT if document.dcqcn else 0)}
    if table.vlan is not None:
        changes["vlan"] = table.priority << 13 | table.vlan
    if table.rate_gbps is not None:
        rate = _rate("rate_gbps", table.rate_gbps, build)
        changes |= {"rate": rate, "burst": roce_pacer.smallest_burst(rate, build.qps)}
    if table.rc and table.rc.ack_every:
        changes |= {"ack_policy": AckPolicy.INTERVAL, "ack_log2": table.rc.ack_every.bit_length() - 1}
    return replace(session.qp_context(), **changes)


def asked_of(session: Session, table: Receiver, build: Capabilities) -> int | None:
    """The address whose MAC is asked for."""
    if not (table.resolve or table.gateway):
        return None
    if not build.station:
        raise ConfigError(
            "resolve: this build of the transmitter has no receive path for ARP: remove resolve and gateway, and let "
            "the session name the MAC that packets go to"
        )
    return int(table.gateway or session.receiver.ip)


def _station(table: StationTable) -> Station:
    return Station(
        arp=table.arp,
        echo=table.echo,
        pause=table.pause,
        tci=None if table.vlan is None else table.priority << 13 | table.vlan,
        data_priorities=sum(1 << priority for priority in set(table.priorities)),
        control_priorities=sum(1 << priority for priority in set(table.control_priorities)),
        link_bits_per_s=table.link_gbps * 1e9,
        arp_timeout_ms=table.arp_timeout_ms,
        arp_retries=table.arp_retries,
    )


def _period(key: str, period_us: float) -> int:
    """The period of a key in ticks. ConfigError says between what it may be."""
    ticks = round(period_us * 1e-6 / _TICK_S)
    if not 1 <= ticks <= PERIOD_MAX:
        raise ConfigError(
            f"{key}: {period_us:g} us cannot be: give {_TICK_S * 1e6:g} to {PERIOD_MAX * _TICK_S * 1e6:.0f} us"
        )
    return ticks


def _dcqcn(table: DcqcnTable, build: Capabilities) -> DcqcnSettings:
    names = ("line", "minimum", "additive", "hyper")
    rates = {name: _rate(f"{name}_gbps", getattr(table, f"{name}_gbps"), build) for name in names}
    return DcqcnSettings(
        **rates,
        alpha_period=_period("alpha_us", table.alpha_us),
        rise_period=_period("rise_us", table.rise_us),
        bytes_log2=table.bytes_log2,
        gain_log2=table.gain_log2,
        fast_rounds=table.fast_rounds,
    )
