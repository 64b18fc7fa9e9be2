"""A session in a file, which belongs to one receiver as long as that runs, and the port of the link that is in it."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

from framelane.base.documents import read_text
from framelane.base.errors import InputError, OptionError
from framelane.session.alone import alone, lock
from framelane.session.link_key import LinkKey
from framelane.session.session import Session
from framelane.session.session_link import PORT

_WHO = "another receiver has been publishing its session"


@contextlib.contextmanager
def published(
    session: Session, path: Path | None, key: LinkKey, port: int = PORT, *, force: bool = False
) -> Iterator[None]:
    """Write the session to `path`, if given, with the key of its link and the TCP port on which that listens.

    Within the block no other receiver does so.

    The file stays. An older session there is replaced, with `force` a file of another kind, too, else InputError.

    ConfigError where another one has that file: its sources would be told a session that is not theirs. On a file
    system without locks (flock(2)) nobody is kept from it.
    """
    with contextlib.ExitStack() as held:
        if path is not None:
            with alone("publishing", _WHO), contextlib.ExitStack() as asked:  # from the question to the answer
                if path.is_file() and not lock(path, asked):
                    raise OptionError(
                        "another receiver has published its session in {0} and still runs: give another file with "
                        "{publish}, or end that one",
                        path,
                    )
                session.save(path, {"port": port, **key.document()}, force=force)
                lock(path, held)
        yield


def published_port(path: Path) -> int | None:
    """The port of the link that the document `path` names; None where it names none, as that of an older framelane.

    InputError where it cannot be read, or is not a port.
    """
    text = read_text(path, "session")
    with contextlib.suppress(ValueError, RecursionError):  # `Session.load` says what is wrong with it
        document = json.loads(text)
        link = document.get("link") if isinstance(document, dict) else None
        port = link.get("port") if isinstance(link, dict) else None
        if port is not None and (type(port) is not int or not 0 < port < 1 << 16):
            raise InputError(f"the session {path} is not usable: link.port: give a TCP port, 1 to 65535")
        return port
    return None
