"""Makes the picture of the live page, docs/serve/page.png: a service, an emulated detector, and a headless Chromium.

    .venv/bin/python scripts/page_picture.py

`tests/serve/test_page_picture.py` compares it with what the page looks like now.
"""

import contextlib
import json
import socket
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from PIL import Image

from framelane.bench.serve import browser
from framelane.bench.serve.browser import Page, browsing
from framelane.serve.configuration import Configuration
from framelane.serve.running import simulated_plan
from framelane.serve.service import Service
from framelane.serve.serving import Serving
from framelane.source import emulate, parse_impairments

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "serve" / "page.png"
SIZE = 1400, 900
FRAMES, RATE_HZ = 24, 8.0
"""Slower than pictures are taken: the last frame is the one that is shown."""
METADATA = {"distance_mm": 60.0, "beam_x": 512.0, "beam_y": 256.0, "energy_kev": 12.4}
VARYING = "history", "ring-history", "verdict-history", "about", "cursor"
"""What depends on the clock: elements by their id."""
_RECTANGLES = (
    f"{json.dumps(VARYING)}.map(id => document.getElementById(id).getBoundingClientRect())"
    ".map(r => [r.left, r.top, r.right, r.bottom].map(Math.round))"
)
_COLOURS = 128
"""Colours kept in the picture, to make its file small."""


def picture(folder: Path, to: Path) -> list[list[int]]:
    """Take it; the rectangles (left, top, right, bottom) of what depends on the clock."""
    with _service(folder) as (service, url), browsing(folder / "browser") as page:
        page.show(*SIZE)
        page.call("Page.navigate", url=url)
        page.wait("document.getElementById('state')?.textContent === 'armed'")
        configured = service.configuration
        assert configured is not None
        emulate(
            to=service.status()["address"],
            port=configured.source.port,
            frames=FRAMES,
            rate=RATE_HZ,
            impairment=parse_impairments("drop=0.002", seed=4),
        )
        _wait_for_the_last(page)
        page.screenshot(to)
        with Image.open(to) as taken:
            taken.convert("RGB").quantize(_COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(
                to, optimize=True
            )
        found: list[list[int]] = page.run(_RECTANGLES)
        return found


def _wait_for_the_last(page: Page) -> None:
    page.wait("document.getElementById('state').textContent === 'ended'")
    page.wait(f"document.getElementById('about').textContent.startsWith('frame {FRAMES - 1},')")
    page.wait("document.getElementById('history').dataset.samples >= 3")
    page.wait("document.getElementById('verdicts').innerText.includes('24')")


@contextlib.contextmanager
def _service(folder: Path) -> Iterator[tuple[Service, str]]:
    service = Service(folder)
    with contextlib.closing(service):
        serving = Serving(service, port=0)
        thread = threading.Thread(target=serving.run)
        thread.start()
        try:
            source: dict[str, Any] = {"plan": simulated_plan(), "port": _free_port(), "link_port": 0}
            judging = {"peaks": "bragg", "threshold": 4}
            service.configure(Configuration(source=source, judging=judging, metadata=METADATA))  # type: ignore[arg-type]
            service.arm()
            yield service, f"http://127.0.0.1:{serving.port}/"
        finally:
            serving.end()
            thread.join(30)


def _free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def main() -> None:
    """Replace the picture."""
    if browser.CHROMIUM is None:
        raise SystemExit("there is no Chromium: install chromium")
    with tempfile.TemporaryDirectory() as folder:
        picture(Path(folder), PICTURE)
    print(PICTURE)


if __name__ == "__main__":
    main()
