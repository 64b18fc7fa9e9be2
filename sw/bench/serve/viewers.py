"""Those who look at a service: programs that take pictures as the live page does, and pages of a browser."""

import contextlib
import gzip
import http.client
import io
import json
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from framelane.bench.serve.browser import browsing

_PAUSE_S = 0.1
_LOOK_S = 0.05
_WINDOW = 1200, 800
_LOWEST = 19
"""Browsers are on other machines: here they get what the service leaves."""


class Viewers:
    """What they have seen: by viewer the ages of its pictures, ms from the frame's time stamp."""

    def __init__(self, viewers: int) -> None:
        self.ages_ms: list[list[float]] = [[] for _ in range(viewers)]
        self.over = threading.Event()


@contextlib.contextmanager
def programs(port: int, viewers: int, folder: Path) -> Iterator[Viewers]:
    """Threads that ask for the newest picture again and again, and read it to its last byte."""
    seen = Viewers(viewers)
    threads = [threading.Thread(target=_look, args=(port, ages, seen.over)) for ages in seen.ages_ms]
    yield from _beside(threads, seen)


@contextlib.contextmanager
def pages(port: int, viewers: int, folder: Path) -> Iterator[Viewers]:
    """Live pages, each in a browser of its own; a picture is seen in the next turn of the screen."""
    seen = Viewers(viewers)
    threads = [
        threading.Thread(target=_watch, args=(port, ages, seen.over, folder / f"browser{k}"))
        for k, ages in enumerate(seen.ages_ms)
    ]
    yield from _beside(threads, seen)


def _beside(threads: list[threading.Thread], seen: Viewers) -> Iterator[Viewers]:
    for thread in threads:
        thread.start()
    try:
        yield seen
    finally:
        seen.over.set()
        for thread in threads:
            thread.join()


def _look(port: int, ages_ms: list[float], over: threading.Event) -> None:
    sequence = 0
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
        while not over.is_set():
            begun = time.monotonic()
            connection.request("GET", f"/api/picture?after={sequence}&wait_s=2")
            answer = connection.getresponse()
            data, now = answer.read(), time.time_ns()
            if answer.status == 200:
                head = head_of(data)
                sequence = head["sequence"]
                ages_ms.append((now - head["timestamp_ns"]) / 1e6)
            over.wait(max(0.0, _PAUSE_S - (time.monotonic() - begun)))


def head_of(coded: bytes) -> dict[str, Any]:
    """The head of a picture; its pixels are not unpacked."""
    with gzip.GzipFile(fileobj=io.BytesIO(coded)) as file:
        (length,) = struct.unpack("<I", file.read(4))
        found: dict[str, Any] = json.loads(file.read(length))
    return found


def _watch(port: int, ages_ms: list[float], over: threading.Event, folder: Path) -> None:
    """Take down each age that the page shows, once."""
    with browsing(folder, nice=_LOWEST) as page:
        page.show(*_WINDOW)
        page.call("Page.navigate", url=f"http://127.0.0.1:{port}/")
        last = ""
        while not over.wait(_LOOK_S):
            told = page.run("document.getElementById('canvas')?.dataset.shown ?? ''")
            if told and told != last:
                last = told
                ages_ms.append(float(told.split()[1]))
