"""The configuration of a board, from a TOML file and the sessions that it names."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from framelane.base.errors import ConfigError
from framelane.driver.board.board_readings import Capabilities
from framelane.driver.board.network import Network, check_flow, check_network
from framelane.driver.board.watchdogs import Watchdogs
from framelane.driver.config.board_document import BoardDocument, at, read_document, unusable
from framelane.driver.config.board_flows import Ring, flow_of, take
from framelane.driver.config.board_memory import Calibrate, correction_of, ring_of
from framelane.driver.config.board_network import limits_of, network_of, qps_of
from framelane.driver.registers.entries import FrameRing
from framelane.models.memory.image_writer import Correction
from framelane.models.placement.flow import Flow
from framelane.models.tx import TxConfig
from framelane.session.publishing import published_port
from framelane.session.session import Session
from framelane.session.session_link import PORT


@dataclass(frozen=True, slots=True)
class BoardConfig:
    """What a board is told: `flows` and `destinations` are the names of the entries in `tx`.

    Of each destination: the `credit` that its session gives at the start; the session, and which of its `sources` the
    board is; the TCP port of its receiver's link, where the file says one; the session's file.
    """

    tx: TxConfig
    ring: FrameRing | None
    correction: Correction | None
    network: Network
    watchdogs: Watchdogs
    flows: tuple[str, ...]
    destinations: tuple[str, ...]
    credit: tuple[int, ...]
    sessions: tuple[Session, ...]
    sources: tuple[int, ...]
    link_ports: tuple[int | None, ...]
    session_files: tuple[Path, ...]

    def link_port(self, k: int) -> int:
        """The TCP port of the link of destination `k`: of the file, else as its session's document says now.

        InputError where that cannot be read.
        """
        return self.link_ports[k] or published_port(self.session_files[k]) or PORT


def load(path: Path, capabilities: Capabilities, calibrate: Calibrate) -> BoardConfig:
    """Read the file for a board with `capabilities`; InputError says which table and which key is wrong, and why.

    `calibrate` reads the calibration of [correction].
    """
    document = read_document(path)
    with at(path, "[transmitter]"):
        _check_clock(document, capabilities)
    watchdogs = document.watchdog.times()
    with at(path, "[watchdog]"):
        watchdogs.units(capabilities.clock_hz)
    correction = correction_of(path, document, calibrate)
    frame_ring = ring_of(path, document, correction)
    rings: dict[str, Ring] = {}
    for receiver in document.receiver:
        with at(path, f"[[receiver]] {receiver.name!r}"):
            ring = Ring(receiver, Session.load(path.parent / receiver.session))
            published_port(path.parent / receiver.session)  # says what is wrong with it
            _check_ring(ring, rings, document)
            rings[receiver.name] = ring
    served: dict[str, Ring] = {}
    flows: list[Flow] = []
    for table in document.flow:
        with at(path, f"[[flow]] {table.name!r}"):
            if any(table.name == other.name for other in document.flow[: len(flows)]):
                raise ConfigError("there is another flow of this name: give each its own")
            mine = take(table, rings, served)
            flow = flow_of(table, mine, document.source, len(served), correction)
            flows.append(replace(flow, max_length=longest_message(flow, mine)))
            served |= mine
    if idle := [name for name in rings if name not in served]:
        raise unusable(path, f"[[receiver]] {idle[0]!r}: no flow goes there: name it in one, or remove it")
    sessions = list(dict.fromkeys(ring.session for ring in served.values()))
    qps = qps_of(path, document, sessions, rings, capabilities)
    network = network_of(path, document, sessions, rings, capabilities)
    destinations = tuple(
        ring.session.destination(ring.table.source, sessions.index(ring.session)) for ring in served.values()
    )
    tx = TxConfig(document.transmitter.endpoint(), qps, destinations, tuple(flows))
    credit = tuple(ring.session.window_end for ring in served.values())
    names = tuple(table.name for table in document.flow)
    by_destination = (
        tuple(ring.session for ring in served.values()),
        tuple(ring.table.source for ring in served.values()),
        tuple(ring.table.link_port for ring in served.values()),
        tuple(path.parent / ring.table.session for ring in served.values()),
    )
    for k, table in enumerate(document.flow):
        with at(path, f"[[flow]] {table.name!r}"):
            check_flow(k, tx, network, capabilities)
    with at(path, "[[flow]]"):
        check_network(tx, network, capabilities)
    return BoardConfig(tx, frame_ring, correction, network, watchdogs, names, tuple(served), credit, *by_destination)


_OF_THE_QP = ("rate_gbps", "vlan", "priority", "dscp", "resolve", "gateway", "rc")
"""Keys of a receiver that are its queue pair's, which receivers of one session share."""
_WINDOW_PARTS = 4
"""A message of RC is at most this part of the window: what is left of it when the next one does not fit is less."""


def longest_message(flow: Flow, rings: Mapping[str, Ring]) -> int:
    """The flow's `max_length`: for receivers of RC so that messages fit their windows, else without limit.

    Long ones leave more frames room in the rings of the queue pairs.
    """
    reliable = [ring for ring in rings.values() if ring.session.service == "RC"]
    windows = [(limits_of(ring.table.rc, ring.session.mtu).window, ring.session.mtu) for ring in reliable]
    return min((max(1, window // _WINDOW_PARTS) * mtu for window, mtu in windows), default=flow.max_length)


def _check_clock(document: BoardDocument, capabilities: Capabilities) -> None:
    wanted = document.transmitter.clock_hz
    if wanted and wanted != capabilities.clock_hz:
        raise ConfigError(
            f"clock_hz: {wanted} Hz are wanted, but the clock of this board has {capabilities.clock_hz} Hz"
        )


def _check_ring(ring: Ring, others: Mapping[str, Ring], document: BoardDocument) -> None:
    """A session names the source that it expects; one source of a session is served once."""
    if ring.table.name in others:
        raise ConfigError("there is another receiver of this name: give each its own")
    if ring.session.source.ip != document.transmitter.ip:
        raise ConfigError(
            f"session: {ring.table.session} expects packets from {ring.session.source.ip}, but the ip of "
            f"[transmitter] is {document.transmitter.ip}: correct one of them"
        )
    correction = document.correction
    if correction and ring.session.pixels == "corrected":
        ours, theirs = ((each.unit, each.fraction_bits) for each in (correction, ring.session))
        if ours != theirs:
            raise ConfigError(
                f"session: {ring.table.session} is for {theirs[0]} with {theirs[1]} fraction bits, [correction] makes "
                f"{ours[0]} with {ours[1]}: change one of them"
            )
    for other in others.values():
        if other.session == ring.session and other.table.source == ring.table.source:
            raise ConfigError(f"{other.table.name!r} is source {other.table.source} of the same session: remove one")
        for key in _OF_THE_QP if other.session == ring.session else ():
            if getattr(other.table, key) != getattr(ring.table, key):
                raise ConfigError(f"{key}: {other.table.name!r} has another one, but the same session: give one {key}")
