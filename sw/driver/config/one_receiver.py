"""One receiver of a configured board: of its file its own table and session alone, the rest from the board."""

from dataclasses import dataclass
from pathlib import Path

from framelane.base.errors import InputError
from framelane.driver.board.board_readings import Capabilities
from framelane.driver.config.board_document import at, read_document
from framelane.driver.config.board_network import asked_of
from framelane.driver.registers.register_file import RegisterFile
from framelane.session.session import Session


@dataclass(frozen=True, slots=True)
class OneReceiver:
    """A receiver with the session that it publishes now: its queue pair, the address whose MAC is asked for, if any.

    `destinations`: the names of all receivers, in the order of their entries.
    """

    session: Session
    qp: int
    asked: int | None
    destinations: tuple[str, ...]


def one_receiver(
    path: Path, name: str, session_file: Path | None, registers: RegisterFile, capabilities: Capabilities
) -> OneReceiver:
    """Find the receiver `name` of the file that the board was configured with.

    Its session is that of `session_file`, or where the file says. The sessions of the others, which may be away, are
    not read. InputError where there is no such receiver, or the board has no entry for it.
    """
    document = read_document(path)
    tables = {table.name: table for table in document.receiver}
    if name not in tables:
        raise InputError(f"there is no receiver {name!r} in {path}: there are {', '.join(map(repr, tables))}")
    destinations = tuple(dict.fromkeys(served for flow in document.flow for served in flow.receivers))
    there = name in destinations and destinations.index(name) < registers["sizes.destinations"]
    entry = f"destination[{destinations.index(name)}]" if there else ""
    if not there or not registers[f"{entry}.control.enabled"]:
        raise InputError(f"the board does not know the receiver {name!r} of {path}: configure it with this file")
    with at(path, f"[[receiver]] {name!r}"):
        session = Session.load(session_file or path.parent / tables[name].session)
        asked = asked_of(session, tables[name], capabilities)
    return OneReceiver(session, registers[f"{entry}.control.qp"], asked, destinations)
