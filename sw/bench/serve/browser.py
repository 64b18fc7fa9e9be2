"""A headless Chromium, driven by the Chrome DevTools Protocol over two pipes."""

import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CHROMIUM = next((path for name in ("chromium", "google-chrome") if (path := shutil.which(name))), None)
PATIENCE_S = 30.0


class Page:
    """One page, in a browser of its own."""

    def __init__(self, to: int, answers: int) -> None:
        self._to, self._from = to, answers
        self._number, self._rest, self._session = 0, b"", ""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.errors: list[str] = []
        """What the page's scripts have thrown, or told as an error."""
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> Any:
        """The result of a call."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + PATIENCE_S
        while (answer := self._next(end)).get("id") != self._number:
            self._note(answer)
        assert "error" not in answer, answer
        return answer["result"]

    def run(self, script: str) -> Any:
        """The value of an expression, or of the promise that it is."""
        told = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in told, told
        return told["result"].get("value")

    def wait(self, script: str) -> Any:
        """The value of an expression once it is true."""
        end = time.monotonic() + PATIENCE_S
        while not (value := self.run(script)):
            assert time.monotonic() < end, f"{script} is still {value!r}; {self.errors}"
            time.sleep(0.02)
        return value

    def show(self, width: int, height: int, scheme: str = "light") -> None:
        """A window of this size, for one who likes it `light` or `dark`."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.call("Emulation.setDeviceMetricsOverride", **metrics)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def press(self, key: str) -> None:
        """Press a key."""
        for kind in ("keyDown", "keyUp"):
            text = {"text": key} if kind == "keyDown" and len(key) == 1 else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=key, **text)

    def screenshot(self, path: Path) -> None:
        """As PNG."""
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def _note(self, message: dict[str, Any]) -> None:
        if message.get("method") == "Runtime.exceptionThrown":
            self.errors.append(str(message["params"]["exceptionDetails"]))
        elif message.get("method") == "Log.entryAdded" and message["params"]["entry"]["level"] == "error":
            self.errors.append(str(message["params"]["entry"]["text"]))

    def _next(self, end: float) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._from], [], [], max(0.0, end - time.monotonic()))
            assert ready, "Chromium does not answer"
            data = os.read(self._from, 1 << 20)
            assert data, "Chromium has ended"
            self._rest += data
        message, _, self._rest = self._rest.partition(b"\0")
        found: dict[str, Any] = json.loads(message)
        return found


@contextlib.contextmanager
def browsing(folder: Path, nice: int = 0) -> Iterator[Page]:
    """A page of a browser that keeps its profile in `folder`, of so much lower a priority."""
    assert CHROMIUM is not None
    reads, to = os.pipe()
    answers, writes = os.pipe()
    reads, writes = (_moved(end) for end in (reads, writes))
    command = [
        *(CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe"),
        *(f"--user-data-dir={folder}", "--no-first-run", "--disable-background-networking", "--hide-scrollbars"),
    ]

    def connect() -> None:  # the browser reads its descriptor 3 and writes to 4
        os.nice(nice)
        os.dup2(reads, 3)
        os.dup2(writes, 4)

    nowhere = subprocess.DEVNULL
    with subprocess.Popen(command, stdout=nowhere, stderr=nowhere, pass_fds=(3, 4), preexec_fn=connect) as process:
        os.close(reads)
        os.close(writes)
        try:
            yield Page(to, answers)
        finally:
            process.kill()
            os.close(to)
            os.close(answers)


def _moved(end: int) -> int:
    """The same end of a pipe under a number that is in nobody's way."""
    moved = fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 100)
    os.close(end)
    return moved
