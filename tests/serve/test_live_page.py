"""The live page in a real browser: it draws what was sent, on a desk and on a phone, by keys and in the dark."""

import base64
import io
import json
from collections.abc import Iterator
from pathlib import Path

import h5py
import matplotlib.image
import numpy as np
import pytest
from numpy.typing import NDArray

from framelane.bench.serve import browser
from framelane.bench.serve.browser import Page, browsing
from framelane.models.jungfrau.jf_correct import PixelCode
from framelane.serve import Client
from framelane.session.session import Session
from framelane.source.emulate_images import images
from served import COLUMNS, ROWS, Served, configuration, served

pytestmark = pytest.mark.skipif(
    browser.CHROMIUM is None, reason="there is no Chromium: the page is looked at where one is"
)
TOKEN = "the-token-of-this-page"
DRAWN = "document.getElementById('canvas').toDataURL('image/png')"
MAGENTA, GREY = [255, 0, 255, 255], [74, 79, 87, 255]


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A service whose only run has had one frame, with a lost packet."""
    with served(tmp_path_factory.mktemp("served"), TOKEN) as service, Client(service.url, token=TOKEN) as client:
        metadata = {"distance_mm": 50.0, "beam_x": 64, "beam_y": 32, "energy_kev": 12.4}
        client.configure(configuration(frames=1) | {"metadata": metadata})
        client.arm()
        service.send(1, impair="drop=0.1")
        assert client.wait_for("ended", 30)["loss"]["incomplete"] == 1
        yield service


@pytest.fixture(scope="module")
def page(here: Served, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browsing(tmp_path_factory.mktemp("browser")) as page:
        page.show(1400, 900)
        page.call("Page.navigate", url=f"{here.url}/#token={TOKEN}")
        page.wait("document.getElementById('about')?.textContent.startsWith('frame 0')")
        yield page


def test_every_pixel_has_the_colour_of_what_was_sent_and_what_never_came_is_magenta(here: Served, page: Page) -> None:
    page.run("document.getElementById('rings').click()")
    with Client(here.url, token=TOKEN) as client:
        image = client.image()
    assert image is not None
    sent = np.asarray(images(Session.load(here.service.folder / "session.json"), None, None, 1)[0]).view(np.int16)
    came = image.pixels != PixelCode.HOLE
    assert 0 < (~came).sum() < came.size
    assert (image.pixels[came] == sent[came]).all()
    drawn = decoded(page.run(DRAWN))
    height, width, _ = drawn.shape
    zoom = min(width / COLUMNS, height / ROWS)
    left, top = (width - COLUMNS * zoom) / 2, (height - ROWS * zoom) / 2
    rows = (top + (np.arange(ROWS) + 0.5) * zoom).astype(int)
    columns = (left + (np.arange(COLUMNS) + 0.5) * zoom).astype(int)
    shown = drawn[np.ix_(rows, columns)]
    assert (shown[~came] == MAGENTA).all()
    assert (shown[image.pixels == PixelCode.MASKED] == GREY).all()
    plain = came & (sent >= 0) & (sent < 100)
    white = page.run("document.getElementById('white-value').textContent")
    expected = 255 * np.sqrt((sent[plain] / float(white.split()[0])).clip(0, 1))
    assert np.abs(shown[plain][:, 0] - expected).max() <= 1
    assert (shown[plain][:, 0] == shown[plain][:, 2]).all()
    page.run("document.getElementById('rings').click()")
    assert (decoded(page.run(DRAWN)) != drawn).any(), "the rings are drawn"


def decoded(url: str) -> NDArray[np.uint8]:
    """A data URL with a PNG: RGBA, (rows, columns, 4)."""
    png = io.BytesIO(base64.b64decode(url.partition(",")[2]))
    pixels: NDArray[np.float32] = matplotlib.image.imread(png, "png")
    return np.rint(pixels * 255).astype(np.uint8)


def test_what_is_wrong_and_the_loss_identity_are_said(page: Page) -> None:
    page.wait("document.getElementById('troubles').textContent.includes('packets lost on the way')")
    loss = page.run("document.getElementById('loss').innerText").split()
    assert loss[loss.index("incomplete") + 1] == loss[loss.index("sent") + 1] == "1"
    assert page.run("document.getElementById('holds').textContent") == "holds"
    assert page.run("document.getElementById('state').textContent") == "ended"
    disabled = "[...document.querySelectorAll('[data-command]')].filter(b => b.disabled).map(b => b.dataset.command)"
    assert page.run(disabled) == ["start", "stop", "abort"]


def test_keys_zoom_and_move_and_change_colours(page: Page) -> None:
    before = page.run(DRAWN)
    page.press("+")
    page.press("ArrowLeft")
    assert page.run(DRAWN) != before
    page.press("0")
    assert page.run(DRAWN) == before
    page.press("c")
    assert page.run("document.getElementById('colours').value") == "dark on light"
    assert page.run(DRAWN) != before
    for _ in range(3):
        page.press("c")
    assert page.run(DRAWN) == before


def test_sum_and_maximum_are_chosen_by_a_key_and_are_those_of_the_pictures(here: Served, page: Page) -> None:
    page.run("document.getElementById('rings').checked && document.getElementById('rings').click()")
    before = page.run(DRAWN)
    for show in ("sum", "maximum"):
        page.press("s")
        assert page.run("document.getElementById('show').value") == show
        page.wait(f"document.getElementById('about').textContent.includes('; {show} of 1 pictures')")
        assert page.run("!document.getElementById('over-label').hidden")
        differ = np.abs(decoded(page.run(DRAWN)).astype(int) - decoded(before)).max()
        assert differ <= {"sum": 16, "maximum": 0}[show], "of one picture both are the picture; a sum has coarser steps"
    page.press("s")
    page.wait("!document.getElementById('about').textContent.includes('pictures')")
    assert page.run("document.getElementById('over-label').hidden")
    page.run("document.getElementById('rings').click()")


HISTORY = """(async () => {
  const { drawCharts } = await import('/charts.js');
  const reasons = (enough, few) => ({ ENOUGH_PEAKS: enough, TOO_FEW_PEAKS: few, HAS_HOLES: 0, KEPT_AT_RANDOM: 0 });
  const samples = [...Array(61).keys()].map((t) => ({
    time: 1e9 + t, frames: 10 * t, lost: t, slots: 64, slots_used: 32, verdicts: reasons(5 * t, 5 * t),
    drift_adu: { 0: t / 10, 1: -t / 20 } }));
  drawCharts(samples, (id) => document.getElementById(id));
  return Object.fromEntries([...document.querySelectorAll('canvas.chart')].map((chart) => [chart.id, {
    says: chart.getAttribute('aria-label'), drawn: chart.toDataURL('image/png') }]));
})()"""
"""Ten frames a second over a minute, one of them lost and half of them hits, half a ring, two modules that drift."""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_charts_show_rates_verdicts_the_ring_and_pedestals_over_time(page: Page, scheme: str) -> None:
    page.show(1400, 900, scheme)
    charts = page.run(HISTORY)
    assert charts["history"]["says"].startswith("10.0 frames/s, 1.0 lost, 50.0 % with enough peaks")
    assert charts["ring-history"]["says"] == "Ring in use: 50.0 %, at most 50.0 %"
    assert "enough peaks 50.0 %" in charts["verdict-history"]["says"]
    assert charts["drift-history"]["says"] == "Pedestal drift, 0: +6.0, 1: -3.0 ADU"
    good, quiet = ([28, 110, 60], [92, 97, 104]) if scheme == "light" else ([125, 220, 154], [154, 161, 169])
    verdicts = decoded(charts["verdict-history"]["drawn"])[:, :, :3]
    assert (verdicts[-3, 10:-10] == good).all(), "hits are below, in the colour of what is good"
    assert (verdicts[2, 10:-10] == quiet).all()
    ring = decoded(charts["ring-history"]["drawn"])[:, :, 3]
    assert abs(int(ring[:, 100].argmax()) - len(ring) // 2) <= 1
    drift = decoded(charts["drift-history"]["drawn"])[:, :, 3]
    ends = np.nonzero(drift[:, -4])[0]
    assert ends.min() < 6, "the module that has drifted most ends at the top"
    assert ends.max() > len(drift) // 2 + 8
    page.show(1400, 900)


def test_the_token_is_asked_for_and_leaves_the_address(here: Served, page: Page) -> None:
    assert page.run("location.href") == f"{here.url}/"
    page.run("sessionStorage.clear()")
    page.wait("document.getElementById('ask').open")
    page.run(
        f"document.getElementById('token').value = {json.dumps(TOKEN)}; document.querySelector('#ask button').click()"
    )
    page.wait("!document.getElementById('ask').open && document.getElementById('state').textContent === 'ended'")


@pytest.mark.parametrize(("width", "height"), [(360, 740), (820, 1180), (1920, 1080)])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_cut_off_on_a_phone_and_text_is_readable_in_the_dark(
    page: Page, width: int, height: int, scheme: str, tmp_path: Path
) -> None:
    page.show(width, height, scheme)
    assert page.run("document.documentElement.scrollWidth") <= width
    ratios = page.run(CONTRASTS)
    assert len(ratios) > 20
    assert min(ratios) >= 4.5, "WCAG 2.2, 1.4.3"
    page.show(1400, 900)
    assert page.errors == [] or all("401" in line for line in page.errors)


CONTRASTS = """(() => {
  const canvas = new OffscreenCanvas(1, 1), pen = canvas.getContext('2d', { willReadFrequently: true });
  const rgb = (colour) => {
    pen.clearRect(0, 0, 1, 1);
    pen.fillStyle = colour;
    pen.fillRect(0, 0, 1, 1);
    return [...pen.getImageData(0, 0, 1, 1).data];
  };
  const linear = (v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
  const ground = (e) => {
    const colour = rgb(getComputedStyle(e).backgroundColor);
    return colour[3] === 255 ? colour : ground(e.parentElement);
  };
  const text = (e) => [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
  const seen = [...document.querySelectorAll('body *')].filter((e) => e.checkVisibility() && !e.disabled && text(e));
  return seen.map((e) => {
    const both = [light(rgb(getComputedStyle(e).color)), light(ground(e))].sort((a, b) => a - b);
    return (both[1] + 0.05) / (both[0] + 0.05);
  });
})()"""
"""The contrast of all text that is seen and its ground (WCAG 2.2, relative luminance)."""


def test_bragg_peaks_have_a_square_where_the_file_has_them(here: Served, page: Page) -> None:
    with Client(here.url, token=TOKEN) as client:
        client.configure(configuration(frames=1) | {"judging": {"peaks": "bragg", "threshold": 3}})
        client.arm()
        here.send(1)
        status = client.wait_for("ended", 30)
    with h5py.File(here.service.folder / status["file"]) as file:
        table = file["entry/result_1"]
        found = int(table["nPeaks"][0])
        places = np.stack([table[f"peak{axis}PosRaw"][0, :found] for axis in "XY"], 1)
    assert found > 0
    page.wait(f"document.getElementById('about').textContent.includes(', {found} peaks')")
    page.run("document.getElementById('rings').checked && document.getElementById('rings').click()")
    with_squares = decoded(page.run(DRAWN))
    page.press("p")
    changed = (decoded(page.run(DRAWN)) != with_squares).any(2)
    page.press("p")
    height, width = changed.shape
    zoom = min(width / COLUMNS, height / ROWS)
    centre = (places + 0.5) * zoom + [(width - COLUMNS * zoom) / 2, (height - ROWS * zoom) / 2]
    rows, columns = np.nonzero(changed)
    far = np.abs(np.stack([columns, rows], 1)[:, None] - centre).max(2)
    side = max(8, 6 * zoom)
    assert (far.min(0) < side / 2 + 2).all(), "each has one"
    assert (far.min(1) < side / 2 + 2).all(), "and nothing else is drawn"
