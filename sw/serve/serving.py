"""The HTTP server of a service, until a signal ends it."""

import contextlib
import json
import logging
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType

import uvicorn

from framelane.base.errors import TransportError
from framelane.base.stopping import handled
from framelane.serve.access import check_bind
from framelane.serve.api import make_app
from framelane.serve.pictures import Pictures
from framelane.serve.service import Service

PORT = 8470
_SIGNALS = signal.SIGINT, signal.SIGTERM, signal.SIGHUP
_LAST_ANSWERS_S = 2
_MOST_CONNECTIONS = 128
"""More are answered 503: whoever opens one after the other takes no more memory than that."""


class _Server(uvicorn.Server):
    """Ends in order with a signal, and the process with status 0: that is how a service is stopped."""

    pictures: Pictures

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """See uvicorn: who waits for a picture is answered first."""
        self.pictures.end()
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """See uvicorn: where this is not the main thread, `should_exit` is set by somebody else."""

        def end(number: int, frame: FrameType | None) -> None:
            self.should_exit = True

        if threading.current_thread() is not threading.main_thread():
            yield
            return
        with handled(end, *_SIGNALS):
            yield


class Serving:
    """A service at TCP `host` and `port` (0: any that is free), for those who show `token`, until `end`.

    ConfigError where others than this machine could reach it without a token; TransportError where it cannot listen.
    """

    def __init__(self, service: Service, host: str = "127.0.0.1", port: int = PORT, token: str | None = None) -> None:
        check_bind(host, token)
        self._socket = _listening(host, port)
        self.host, self.port = host, self._socket.getsockname()[1]
        config = uvicorn.Config(
            make_app(service, token),
            log_config=None,
            access_log=False,
            server_header=False,
            limit_concurrency=_MOST_CONNECTIONS,
            timeout_graceful_shutdown=_LAST_ANSWERS_S,
        )
        self._server = _Server(config)
        self._server.pictures = service.pictures

    def run(self, ready: Callable[[], object] = lambda: None) -> None:
        """Serve until a signal, or `end`; then the run is ended in order. `ready` is called when it listens."""
        ready()
        self._server.run(sockets=[self._socket])

    def end(self) -> None:
        """End; from any thread."""
        self._server.should_exit = True


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
        made.listen(64)
    except OSError as error:
        made.close()
        raise TransportError(
            f"the service cannot listen on {host}:{port}: {error.strerror or error}: give another port or host, or "
            "end what listens there"
        ) from error
    return made


class JsonLines(logging.Formatter):
    """A record as one line of JSON: time, level, name, message, its own keys, and the traceback where there is one.

    Its own keys are those of `extra={"about": {...}}`.
    """

    def format(self, record: logging.LogRecord) -> str:
        """See `logging.Formatter`."""
        line = {
            "time": f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(record.created))}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "about", {}),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line)


def log_to_stderr(*, as_json: bool) -> None:
    """Let what happens be told on stderr, a line each."""
    handler = logging.StreamHandler(sys.stderr)
    text = logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
    handler.setFormatter(JsonLines() if as_json else text)
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
