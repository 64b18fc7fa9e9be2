"""One RC queue pair of a board starts anew, while the others go on."""

from collections.abc import Callable
from ipaddress import IPv4Address

from framelane.base.errors import ConfigError
from framelane.driver.board.network import Write
from framelane.driver.board.queue_pairs import QueuePairs
from framelane.driver.registers.register_file import RegisterFile
from framelane.models.roce_tx.roce_qp import Segmentation, Service
from framelane.models.station.roce_rx import FIRST_QPN
from framelane.session.session import Session

_GEOMETRY = ("slot_bytes", "n_slots")


def rearm(
    registers: RegisterFile,
    queue_pairs: QueuePairs,
    write: Callable[[list[Write]], None],
    qp: int,
    session: Session,
    mac: int | None,
) -> None:
    """See `Board.rearm`; `write` also waits until the entry is in force, and reads it back.

    The entries of its destinations may be written as long as it is in error: none of their frames is taken then.
    """
    rings = _destinations(registers, qp)
    _check(registers, qp, session, rings)
    queue_pairs.check_unused(qp, session.qp_context())
    queue_pairs.close(qp)
    for index in rings:
        entry = f"destination[{index}]"
        write([(f"{entry}.base", {"value": session.base}), (f"{entry}.window_end", {"value": session.window_end})])
    entry = f"qp[{qp}]"
    write(
        [
            (f"{entry}.rkey", {"value": session.rkey}),
            (f"{entry}.ethernet", {"dst_mac": session.receiver.endpoint().mac if mac is None else mac}),
            (f"{entry}.dst_ip", {"value": session.receiver.endpoint().ip}),
            (f"{entry}.port", {"src_port": session.src_port}),
            (f"{entry}.peer", {"dest_qpn": session.qpn}),
            (f"{entry}.start", {"psn": session.psn}),
            (f"{entry}.control", {"set_psn": 1}),
        ]
    )
    queue_pairs.start(qp, session.psn)
    queue_pairs.wait_settled(qp)


def _destinations(registers: RegisterFile, qp: int) -> list[int]:
    """The destinations that are on the queue pair."""
    found = []
    for index in range(registers["sizes.destinations"]):
        control = registers.read_register(f"destination[{index}].control")
        if control["enabled"] and control["qp"] == qp:
            found.append(index)
    return found


def _check(registers: RegisterFile, qp: int, session: Session, rings: list[int]) -> None:
    """The session is one that the queue pair may have, with images and slots as it was configured for."""
    control = registers.read_register(f"qp[{qp}].control")
    if not control["enabled"] or control["service"] != Service.RC:
        raise ConfigError(f"queue pair {qp} is not enabled, or not of RC: configure the board")
    ours = registers["local_ip"]
    wanted: dict[str, tuple[object, object]] = {
        "service": (session.service, "RC"),
        "source_qpn": (session.source_qpn, FIRST_QPN + qp),
        "source.ip": (str(session.source.ip), str(IPv4Address(ours))),
        "mtu": (session.mtu, 1 << control["mtu_log2"]),
        "segmentation": (session.segmentation, Segmentation(control["segmentation"]).name.lower()),
    }
    trailers = {session.layout.trailer_offset(source) for source in range(session.sources)}
    for index in rings:
        entry = f"destination[{index}]"
        wanted |= {f"{name} of {entry}": (getattr(session, name), registers[f"{entry}.{name}"]) for name in _GEOMETRY}
        if registers[f"{entry}.trailer_offset"] not in trailers:
            wanted[f"image of {entry}"] = f"{session.rows} x {session.columns}", "another one"
    for name, (theirs, configured) in wanted.items():
        if theirs != configured:
            raise ConfigError(
                f"queue pair {qp} cannot start anew with that session: its {name} is {theirs}, the board is configured "
                f"for {configured}: give the receiver the plan that it had, or configure the board"
            )
