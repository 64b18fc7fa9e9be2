"""A served receiver for tests: a real HTTP server on loopback in a thread, and sources that send it packets."""

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
from prometheus_client.parser import text_string_to_metric_families

from framelane.serve import Client
from framelane.serve.service import Service
from framelane.serve.serving import Serving
from framelane.source import Outcome, emulate, parse_impairments
from live_recv import wait_until
from own_source import own_address, own_port

ROWS, COLUMNS = 64, 128


def configuration(**changes: Any) -> dict[str, Any]:
    """Small corrected images over UDP on this machine, on ports of this test's own; `changes` are of the source."""
    ends = {"source": own_address(), "receiver": "127.0.0.1"}
    plan: dict[str, Any] = {"rows": ROWS, "columns": COLUMNS, "n_slots": 64, "pixels": "corrected", "mtu": 1024}
    plan |= {end: {"mac": "02:00:00:00:00:01", "ip": ip} for end, ip in ends.items()}
    plan["src_port"] = own_port()
    source = {"transport": "udp", "plan": plan, "port": own_port(), "link_port": 0}
    return {"source": source | changes}


class Served:
    """A service in a folder, at `url`."""

    def __init__(self, service: Service, serving: Serving) -> None:
        self.service, self.serving = service, serving
        self.url = f"http://127.0.0.1:{serving.port}"

    def send(self, frames: int, *, rate: float | None = None, impair: str | None = None) -> Outcome:
        """Send so many frames to the run that is armed."""
        configured = self.service.configuration
        assert configured is not None
        line = parse_impairments(impair, seed=1) if impair else None
        to = self.service.status()["address"]
        return emulate(to=to, port=configured.source.port, frames=frames, rate=rate, impairment=line)


def metrics_of(here: Served) -> dict[tuple[str, tuple[str, ...]], float]:
    """What Prometheus reads, by the name of a sample and the values of its labels."""
    text = httpx.get(f"{here.url}/metrics").text
    return {
        (sample.name, tuple(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


@contextlib.contextmanager
def served(folder: Path, token: str | None = None) -> Iterator[Served]:
    service = Service(folder)
    with contextlib.closing(service):
        serving = Serving(service, "127.0.0.1", 0, token)
        thread = threading.Thread(target=serving.run)
        thread.start()
        try:
            with Client(f"http://127.0.0.1:{serving.port}", token=token) as client:
                assert wait_until(lambda: client.status()["state"] in ("idle", "ended", "error"))
            yield Served(service, serving)
        finally:
            serving.end()
            thread.join(30)
            assert not thread.is_alive()
