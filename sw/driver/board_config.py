"""The configuration of a board, from a TOML file and the sessions that it names."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from framelane.driver.board_document import BoardDocument, read_document
from framelane.driver.board_flows import Ring, flow_of, take
from framelane.driver.board_readings import Capabilities
from framelane.driver.entries import FrameRing
from framelane.models import roce_pacer
from framelane.models.errors import ConfigError, InputError
from framelane.models.flow import Flow
from framelane.models.roce_qp import QpContext
from framelane.models.session import Session
from framelane.models.slots import SLOT_ALIGN
from framelane.models.tx import TxConfig


@dataclass(frozen=True, slots=True)
class BoardConfig:
    """What a board is told: `flows` and `destinations` are the names of the entries in `tx`.

    `credit` is what the session of each destination gives at the start.
    """

    tx: TxConfig
    ring: FrameRing | None
    flows: tuple[str, ...]
    destinations: tuple[str, ...]
    credit: tuple[int, ...]


def load(path: Path, capabilities: Capabilities) -> BoardConfig:
    """Read the file for a board with `capabilities`; InputError says which table and which key is wrong, and why."""
    document = read_document(path)
    with _at(path, "[transmitter]"):
        _check_clock(document, capabilities)
    rings: dict[str, Ring] = {}
    for receiver in document.receiver:
        with _at(path, f"[[receiver]] {receiver.name!r}"):
            ring = Ring(receiver, Session.load(path.parent / receiver.session))
            _check_ring(ring, rings, document)
            rings[receiver.name] = ring
    served: dict[str, Ring] = {}
    flows: list[Flow] = []
    for table in document.flow:
        with _at(path, f"[[flow]] {table.name!r}"):
            if any(table.name == other.name for other in document.flow[: len(flows)]):
                raise ConfigError("there is another flow of this name: give each its own")
            mine = take(table, rings, served)
            flows.append(flow_of(table, mine, document.source, len(served)))
            served |= mine
    if idle := [name for name in rings if name not in served]:
        raise InputError(
            f"{_unusable(path)}: [[receiver]] {idle[0]!r}: no flow goes there: name it in one, or remove it"
        )
    sessions = list(dict.fromkeys(ring.session for ring in served.values()))
    qps = tuple(_qp(path, session, rings, capabilities) for session in sessions)
    destinations = tuple(
        ring.session.destination(ring.table.source, sessions.index(ring.session)) for ring in served.values()
    )
    with _at(path, "[store]"):
        ring_of_store = _store(document)
    tx = TxConfig(document.transmitter.endpoint(), qps, destinations, tuple(flows))
    credit = tuple(ring.session.window_end for ring in served.values())
    return BoardConfig(tx, ring_of_store, tuple(table.name for table in document.flow), tuple(served), credit)


def _unusable(path: Path) -> str:
    return f"the configuration {path} is not usable"


@contextmanager
def _at(path: Path, table: str) -> Iterator[None]:
    """Say of an error in which table of the file it is."""
    try:
        yield
    except (ConfigError, InputError) as error:
        raise InputError(f"{_unusable(path)}: {table}: {error}") from error


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
    for other in others.values():
        if other.session == ring.session and other.table.source == ring.table.source:
            raise ConfigError(f"{other.table.name!r} is source {other.table.source} of the same session: remove one")
        if other.session == ring.session and other.table.rate_gbps != ring.table.rate_gbps:
            raise ConfigError(f"rate_gbps: {other.table.name!r} has another one, but the same session: give one rate")


def _qp(path: Path, session: Session, rings: Mapping[str, Ring], capabilities: Capabilities) -> QpContext:
    table = next(ring.table for ring in rings.values() if ring.session == session)
    if table.rate_gbps is None:
        return session.qp_context()
    with _at(path, f"[[receiver]] {table.name!r}"):
        rate = roce_pacer.rate(table.rate_gbps * 1e9 / 8, capabilities.clock_hz)
    return replace(session.qp_context(), rate=rate, burst=roce_pacer.smallest_burst(rate, capabilities.qps))


def _store(document: BoardDocument) -> FrameRing | None:
    store, image = document.store, document.source
    if store is None:
        return None
    if store.slot_bytes is None and image is None:
        raise ConfigError("slot_bytes: is missing: give it, or the size of the image in [source]")
    needed = image.offset + image.rows * image.line_pitch if image else 0
    if store.slot_bytes and store.slot_bytes < needed:
        raise ConfigError(
            f"slot_bytes: {store.slot_bytes} are too few for the image of [source]: give {needed} or more"
        )
    return FrameRing(store.base, store.slot_bytes or -(-needed // SLOT_ALIGN) * SLOT_ALIGN, store.slots)
